#' Run judgemap's command line; an error is one sentence, as judgemap says it.
jm_command <- function(arguments) {
  program <- getOption("judgemap.command", Sys.getenv("JUDGEMAP_COMMAND", unset = Sys.which("judgemap")[[1]]))
  if (!nzchar(program)) {
    stop("judgemap is not installed; install it with 'pipx install judgemap', or say where it is: ",
         "options(judgemap.command = \"/path/to/judgemap\")", call. = FALSE)
  }
  said <- tempfile()
  on.exit(unlink(said))
  lines <- suppressWarnings(system2(program, shQuote(arguments), stdout = TRUE, stderr = said))
  status <- attr(lines, "status")
  if (!is.null(status) && status != 0) {
    wrong <- paste(readLines(said, warn = FALSE), collapse = "\n")
    stop(if (nzchar(wrong)) wrong else paste("judgemap ended with status", status), call. = FALSE)
  }
  as.character(lines)
}
