# Makes the .rda files of these tests, with R's packages sf and Matrix: Rscript make.R, in this folder.
# They have the structure of the data of speedyBBT and BSBT; every number in them is invented.
library(sf)
library(Matrix)
n <- 6
ring <- matrix(0, n, n)
for (i in 1:n) { j <- i %% n + 1; ring[i, j] <- ring[j, i] <- 1 }

forcedMarriage <- list(
  comparisons = data.frame(
    user = c(1L, 1L, 2L, 2L, 3L),
    time = c("16:08:26.31", "16:08:47.88", "16:09:14.09", "16:09:23.66", "16:09:42.93"),
    win = c(1L, 3L, 2L, 6L, 5L), lost = c(2L, 1L, 6L, 4L, 1L)),
  wards = data.frame(NAME = paste("Ward", LETTERS[1:n]), AREA_CODE = "DIW", DESCRIPTIO = "Ward",
    FILE_NAME = "COUNTY", stringsAsFactors = TRUE),
  adjacencyMatrix = ring)
save(forcedMarriage, file = "list.rda")

square <- function(x) st_multipolygon(list(list(cbind(x + c(0, 1, 1, 0, 0), c(0, 0, 1, 1, 0)))))
places <- st_sfc(lapply(450000 + 0:(n - 1), square), crs = 27700)
darEsSalaam <- list(
  comparisons = data.frame(outcome = c(1, 1, 2, 0), subward1 = c(1, 2, 3, 4), subward2 = c(2, 3, 4, 5),
    sex = factor(c("m", "f", "m", "f"))),
  subwards = st_sf(subwardName = paste("Subward", 1:n), geometry = places),
  adjacencyMatrix = ring)
save(darEsSalaam, file = "map.rda", compress = "xz")

sy.comparisons <- data.frame(comparison_id = 1:4, user_id = c(1, 1, 2, 2), item_1_id = c(11, 12, 13, 14),
  item_2_id = c(12, 13, 14, 11), selected_item_id = c(11, NA, NA, 11),
  state = c("selected", "tied", "skipped", "selected"))
save(sy.comparisons, file = "items.rda", compress = "bzip2")

dar.comparisons <- data.frame(poorest = c(1L, 2L, 2L), richest = c(3L, 3L, 1L))
dar.adj.matrix <- Matrix(ring[1:3, 1:3], sparse = TRUE)
save(dar.comparisons, file = "apart-comparisons.rda")
save(dar.adj.matrix, file = "apart-adjacency.rda")

named <- list(comparisons = data.frame(winner = c("W1", "W3"), loser = c("W2", "W1")),
  wards = data.frame(code = c("W1", "W2", "W3"), name = c("Ash", "Beech", "Cedar")),
  adjacency = matrix(c(0, 1, 0, 1, 0, 1, 0, 1, 0), 3, dimnames = list(c("W1", "W2", "W3"), c("W1", "W2", "W3"))))
saveRDS(named, "named.rds")

results <- list(lambda = rnorm(3), wards = data.frame(NAME = letters[1:3]), model = "standard")
save(results, file = "nothing.rda")
