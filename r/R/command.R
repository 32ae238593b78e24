needed <- "0.3.0" # the oldest judgemap whose folders and options this package knows
checked <- new.env(parent = emptyenv()) # programs whose version is known to do

# The program's path; empty where there is none.
jm_program <- function() {
  getOption("judgemap.command", Sys.getenv("JUDGEMAP_COMMAND", unset = Sys.which("judgemap")[[1]]))
}

# The numbers of a version: 0.3.0.dev0 and 0.3.0rc1 count as 0.3.0, as the options are those of the release to come.
released <- function(version) package_version(sub("[.]?[A-Za-z+].*$", "", version))

check_version <- function(program) {
  if (exists(program, checked, inherits = FALSE)) return(invisible())
  version <- sub("^judgemap ", "", run_program(program, "--version")[1])
  if (released(version) < needed) {
    stop("judgemap ", version, " is too old for this package, which needs ", needed, ": pipx upgrade judgemap",
         call. = FALSE)
  }
  assign(program, version, checked)
}

#' Run judgemap's command line; an error is one sentence, as judgemap says it.
jm_command <- function(arguments) {
  program <- jm_program()
  if (!nzchar(program)) {
    stop("judgemap is not installed; in a checkout of its repository, run 'pipx install .', or say where it is: ",
         "options(judgemap.command = \"/path/to/judgemap\")", call. = FALSE)
  }
  check_version(program)
  run_program(program, arguments)
}

run_program <- function(program, arguments) {
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
