# Draw one polygon or several, with their holes.
draw_shape <- function(shape, colour) {
  rings <- if (inherits(shape, "MULTIPOLYGON")) unlist(unclass(shape), recursive = FALSE) else unclass(shape)
  x <- unlist(lapply(rings, function(ring) c(ring[, 1], NA)))
  y <- unlist(lapply(rings, function(ring) c(ring[, 2], NA)))
  polypath(x[-length(x)], y[-length(y)], col = colour, border = "white", lwd = 0.5, rule = "evenodd")
}

#' Draw the map of a fit, or its intervals where there is no map.
plot.judgemap_fit <- function(x, what = "risk_median", colours = 7, main = what, ...) {
  values <- x$areas[[what]]
  if (is.null(values)) {
    stop("there is no column '", what, "'; it is one of ", paste(names(x$areas)[-(1:2)], collapse = ", "), call. = FALSE)
  }
  if (is.null(x$map)) return(invisible(plot_intervals(x, main = main, ...)))
  limits <- pretty(values, colours)
  palette <- hcl.colors(length(limits) - 1, "YlOrRd", rev = TRUE)
  class <- findInterval(values, limits, all.inside = TRUE)
  shapes <- sf::st_geometry(x$map)
  box <- sf::st_bbox(shapes)
  ratio <- if (isTRUE(sf::st_is_longlat(shapes))) 1 / cos(mean(box[c("ymin", "ymax")]) * pi / 180) else 1
  plot(NA, xlim = box[c("xmin", "xmax")], ylim = box[c("ymin", "ymax")], asp = ratio, axes = FALSE, xlab = "",
       ylab = "", main = main, ...)
  for (area in seq_along(shapes)) draw_shape(shapes[[area]], palette[class[area]])
  legend("bottomleft", fill = rev(palette), border = NA, bty = "n", cex = 0.8,
         legend = rev(paste(head(limits, -1), "to", limits[-1])))
  invisible(x)
}

plot_intervals <- function(x, main, top = 20, ...) {
  shown <- head(x$areas[order(-x$areas$risk_median), ], top)
  row <- rev(seq_len(nrow(shown)))
  before <- par(mar = c(4, 10, 3, 1))
  on.exit(par(before))
  plot(shown$risk_median, row, xlim = range(shown$risk_low, shown$risk_high), yaxt = "n", pch = 19, ylab = "",
       xlab = "risk, with 95 % interval", main = main, ...)
  segments(shown$risk_low, row, shown$risk_high, row)
  axis(2, row, shown$name, las = 1, tick = FALSE)
  x
}
