# Draw one polygon or several, with their holes.
draw_shape <- function(shape, colour) {
  rings <- if (inherits(shape, "MULTIPOLYGON")) unlist(unclass(shape), recursive = FALSE) else unclass(shape)
  x <- unlist(lapply(rings, function(ring) c(ring[, 1], NA)))
  y <- unlist(lapply(rings, function(ring) c(ring[, 2], NA)))
  polypath(x[-length(x)], y[-length(y)], col = colour, border = "white", lwd = 0.5, rule = "evenodd")
}

# judgemap's own colours, as on its pages and in the briefing: grey around the average area, blue below, red above.
below <- c("#acacac", "#a9cbe1", "#c8f1ff")
above <- c("#acacac", "#d68350", "#bf4a26", "#8a1c14", "#52080f")
blues <- c("#f7fbff", "#deebf7", "#c6dbef", "#9ecae1", "#6baed6", "#4292c6", "#2171b5", "#08519c", "#08306b")
halved <- c(1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10)

# The limits of the classes and their colours: around 0 for risk, from light to dark for anything else.
map_classes <- function(values, what, classes = 7) {
  if (!grepl("^risk_(median|mean|low|high)$", what)) {
    limits <- pretty(values, classes)
    return(list(limits = limits, colours = along(blues, seq(0.06, 0.98, length.out = length(limits) - 1))))
  }
  ends <- range(values, 0)
  if (diff(ends) < 1e-9) ends <- c(-0.5, 0.5)
  least <- diff(ends) / (classes - 1)
  power <- 10^floor(log10(least))
  step <- power * halved[halved * power >= least * (1 - 1e-9)][1]
  first <- min(floor(ends[1] / step + 0.5 + 1e-9), 0)
  last <- max(ceiling(ends[2] / step + 0.5 - 1e-9), 1)
  shades <- function(anchors, count) along(anchors, seq_len(count) / max(count, 3))
  list(limits = step * (seq(first, last) - 0.5), colours = c(rev(shades(below, -first)), below[1], shades(above, last - 1)))
}

along <- function(anchors, where) if (length(where)) rgb(round(colorRamp(anchors)(where)), maxColorValue = 255)

#' Draw the map of a fit, or its intervals where there is no map.
plot.judgemap_fit <- function(x, what = "risk_median", colours = 7, main = what, ...) {
  values <- x$areas[[what]]
  if (is.null(values)) {
    stop("there is no column '", what, "'; it is one of ", paste(names(x$areas)[-(1:2)], collapse = ", "), call. = FALSE)
  }
  if (is.null(x$map)) return(invisible(plot_intervals(x, main = main, ...)))
  classes <- map_classes(values, what, colours)
  limits <- classes$limits
  palette <- classes$colours
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
