# Options of `judgemap fit` as R writes them: winner_is = "higher" becomes --winner-is higher, TRUE a flag alone.
as_options <- function(given) {
  if (length(given) && (is.null(names(given)) || !all(nzchar(names(given))))) {
    stop("options of judgemap fit have names, such as model = \"clusters\"", call. = FALSE)
  }
  for (name in names(given)) {
    if (length(given[[name]]) != 1 || is.na(given[[name]])) {
      stop(name, ": give one value, or leave the option out for judgemap's default", call. = FALSE)
    }
  }
  names <- paste0("--", gsub("_", "-", names(given)))
  unlist(Map(function(name, value) {
    if (isTRUE(value)) name else if (isFALSE(value)) character() else c(name, as.character(value))
  }, names, given), use.names = FALSE)
}

# Where the areas are, as options: a file, an sf object, an adjacency matrix, or a list of edges and areas.
place_options <- function(areas, folder, id = NULL, name = NULL) {
  columns <- c(if (!is.null(id)) c("--id", id), if (!is.null(name)) c("--name", name))
  if (is.character(areas)) return(c("--areas", normalizePath(areas, mustWork = TRUE), columns))
  if (inherits(areas, "sf")) {
    path <- file.path(folder, "areas.gpkg")
    sf::st_write(areas, path, layer = "areas", quiet = TRUE)
    return(c("--areas", path, columns))
  }
  if (is.matrix(areas)) areas <- edges_of(areas)
  if (!all(c("edges", "areas") %in% names(areas))) {
    stop("areas: give a file, an sf object, an adjacency matrix, or a list of two data frames, edges and areas",
         call. = FALSE)
  }
  write.csv(areas$edges, file.path(folder, "edges.csv"), row.names = FALSE)
  write.csv(areas$areas, file.path(folder, "areas.csv"), row.names = FALSE)
  c("--edges", file.path(folder, "edges.csv"), "--area-names", file.path(folder, "areas.csv"))
}

edges_of <- function(matrix) {
  if (nrow(matrix) != ncol(matrix) || anyNA(matrix)) {
    stop("areas: an adjacency matrix has a row and a column for each area, and no missing values", call. = FALSE)
  }
  one_sided <- which((matrix != 0) != t(matrix != 0), arr.ind = TRUE)
  if (nrow(one_sided)) {
    stop("areas: the adjacency matrix says that area ", one_sided[1, 1], " borders area ", one_sided[1, 2],
         ", or the other way round, but not both; use (m + t(m)) > 0", call. = FALSE)
  }
  labels <- if (is.null(rownames(matrix))) as.character(seq_len(nrow(matrix))) else rownames(matrix)
  pairs <- which(matrix != 0 & upper.tri(matrix), arr.ind = TRUE)
  list(edges = data.frame(area_a = labels[pairs[, 1]], area_b = labels[pairs[, 2]]),
       areas = data.frame(id = labels, name = labels))
}

#' Fit a model to comparisons: the risk of every area.
jm_fit <- function(comparisons, areas, ..., seed = 1, id = NULL, name = NULL, folder = tempfile("judgemap-fit-")) {
  draft <- tempfile("judgemap-")
  dir.create(draft)
  on.exit(unlink(draft, recursive = TRUE))
  if (is.data.frame(comparisons)) {
    table <- comparisons
    comparisons <- file.path(draft, "comparisons.csv")
    write.csv(table, comparisons, row.names = FALSE, na = "")
  }
  comparisons <- normalizePath(comparisons, mustWork = TRUE)
  places <- place_options(areas, draft, id, name)
  jm_command(c("fit", comparisons, places, "--seed", format(seed, scientific = FALSE), as_options(list(...)),
               "-o", folder))
  fit <- jm_read(folder)
  message(paste(verdict_lines(fit), collapse = "\n"))
  fit
}

#' Read lists of speedyBBT: comparisons and areas, for jm_fit.
jm_import <- function(x, winner_is = NULL, ones = "first") {
  draft <- tempfile("judgemap-")
  dir.create(draft)
  on.exit(unlink(draft, recursive = TRUE))
  saveRDS(x, file.path(draft, "data.rds"))
  folder <- file.path(draft, "out")
  jm_command(c("import", "speedybbt", file.path(draft, "data.rds"), "-o", folder, "--ones", ones,
               if (!is.null(winner_is)) c("--winner-is", winner_is)))
  text <- function(file) {
    path <- file.path(folder, file)
    if (file.exists(path)) read.csv(path, colClasses = "character", check.names = FALSE)
  }
  map <- file.path(folder, "areas.geojson")
  shapes <- if (file.exists(map) && requireNamespace("sf", quietly = TRUE)) sf::st_read(map, quiet = TRUE)
  list(comparisons = text("comparisons.csv"),
       areas = if (is.null(shapes)) list(edges = text("edges.csv"), areas = text("areas.csv")) else shapes)
}
