#' Read a folder that `judgemap fit` wrote.
jm_read <- function(folder) {
  if (!file.exists(file.path(folder, "fit.json"))) {
    stop(folder, " holds no fit (there is no fit.json in it); make one with jm_fit", call. = FALSE)
  }
  areas <- read.csv(file.path(folder, "areas.csv"), colClasses = c(id = "character", name = "character"))
  map <- file.path(folder, "areas.geojson")
  shapes <- NULL
  if (file.exists(map) && requireNamespace("sf", quietly = TRUE)) {
    shapes <- sf::st_read(map, quiet = TRUE)
    shapes <- shapes[match(areas$id, as.character(shapes$id)), ]
  }
  clusters <- file.path(folder, "clusters.csv")
  structure(
    list(areas = areas, map = shapes, info = jsonlite::fromJSON(file.path(folder, "fit.json")),
         clusters = if (file.exists(clusters)) read.csv(clusters, colClasses = c(id = "character")),
         folder = normalizePath(folder)),
    class = "judgemap_fit"
  )
}

#' The draws of a fit: an array of iterations, chains and variables, as the package posterior reads them.
jm_draws <- function(fit) {
  path <- tempfile(fileext = ".draws.csv")
  on.exit(unlink(path))
  jm_command(c("export", fit$folder, "--as", "draws-csv", "-o", path))
  table <- read.csv(path, check.names = FALSE)
  variables <- setdiff(names(table), c(".chain", ".iteration", ".draw"))
  chains <- max(table$.chain)
  iterations <- max(table$.iteration)
  array(unlist(table[variables], use.names = FALSE), c(iterations, chains, length(variables)),
        dimnames = list(iteration = as.character(seq_len(iterations)), chain = as.character(seq_len(chains)),
                        variable = variables))
}

as.data.frame.judgemap_fit <- function(x, ...) x$areas

# What a reader must know before any number: whether the fit can be used, and what speaks against it.
verdict_lines <- function(x) {
  verdict <- x$info$verdict
  if (is.null(verdict)) return("The fit has no verdict.")
  c(paste0(verdict$headline, "."), verdict$grounds$text[verdict$grounds$grade != "sound"])
}

print.judgemap_fit <- function(x, ...) {
  cat(sprintf("judgemap: %s model of %d areas, seed %s\n", x$info$model, nrow(x$areas), format(x$info$seed)))
  writeLines(strwrap(verdict_lines(x)))
  highest <- x$areas[order(-x$areas$risk_median), c("id", "name", "risk_median", "risk_low", "risk_high", "p_top10")]
  print(head(highest, 10), row.names = FALSE, digits = 3)
  invisible(x)
}

summary.judgemap_fit <- function(object, ...) {
  object$areas[order(-object$areas$risk_median), ]
}
