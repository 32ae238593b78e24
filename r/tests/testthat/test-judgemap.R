# A chain of five squares, of which the first is judged riskiest and the last least; the winner has the lower rate.
squares <- function() {
  shapes <- lapply(0:4, function(i) sf::st_polygon(list(cbind(i + c(0, 1, 1, 0, 0), c(0, 0, 1, 1, 0)))))
  sf::st_sf(code = paste0("W", 1:5), label = paste("Ward", 1:5),
            geometry = sf::st_sfc(shapes, crs = 27700))
}

answers <- function() {
  pairs <- t(utils::combn(5, 2))
  chosen <- data.frame(winner = paste0("W", pairs[, 2]), loser = paste0("W", pairs[, 1]), judge = "ann")
  chosen[rep(seq_len(nrow(chosen)), 4), ]
}

skip_without <- function(...) {
  if (!nzchar(Sys.which("judgemap")) && !nzchar(Sys.getenv("JUDGEMAP_COMMAND"))) {
    skip("judgemap's command line is not installed")
  }
  for (package in c(...)) skip_if_not_installed(package)
}

quick <- function(...) jm_fit(..., draws = 100, chains = 2)

test_that("a map and a table become a map of risk", {
  skip_without("sf")
  fit <- quick(answers(), squares(), id = "code", name = "label")
  expect_equal(summary(fit)$id, paste0("W", 1:5))
  expect_s3_class(fit$map, "sf")
  expect_equal(as.character(fit$map$id), fit$areas$id)
  expect_output(print(fit), "spatial model of 5 areas, seed 1")
  expect_output(print(fit), fit$info$verdict$headline, fixed = TRUE)
  expect_message(quick(answers(), squares(), id = "code", name = "label"), fit$info$verdict$headline, fixed = TRUE)
  picture <- tempfile(fileext = ".pdf")
  grDevices::pdf(picture)
  plot(fit)
  plot(fit, "risk_sd")
  grDevices::dev.off()
  expect_gt(file.size(picture), 3000)
  expect_error(plot(fit, "danger"), "there is no column 'danger'")
})

test_that("draws are an array that posterior reads", {
  skip_without()
  chain <- matrix(0, 5, 5, dimnames = list(paste0("W", 1:5), NULL))
  chain[cbind(1:4, 2:5)] <- 1
  fit <- quick(answers(), chain + t(chain))
  draws <- jm_draws(fit)
  expect_equal(dim(draws)[1:2], c(100, 2))
  expect_equal(names(dimnames(draws)), c("iteration", "chain", "variable"))
  expect_equal(mean(draws[, , "risk[W1]"]), fit$areas$risk_mean[1], tolerance = 1e-6)
  skip_if_not_installed("posterior")
  summed <- posterior::summarise_draws(posterior::as_draws_array(draws))
  expect_true(all(c("risk[W1]", "alpha2") %in% summed$variable))
  grDevices::pdf(NULL)
  plot(fit)
  grDevices::dev.off()
})

test_that("lists of speedyBBT are read", {
  skip_without()
  chain <- matrix(0, 5, 5)
  chain[cbind(1:4, 2:5)] <- 1
  pairs <- t(utils::combn(5, 2))
  study <- list(comparisons = data.frame(user = 1, win = pairs[, 2], lost = pairs[, 1]),
                adjacencyMatrix = chain + t(chain))
  got <- tryCatch(jm_import(study, winner_is = "lower"), error = function(e) {
    if (grepl("needs rdata", conditionMessage(e))) skip("judgemap[r] is not installed")
    stop(e)
  })
  expect_equal(nrow(got$comparisons), 10)
  expect_equal(nrow(got$areas$edges), 4)
  fit <- quick(got$comparisons, got$areas, winner_is = "lower")
  expect_equal(summary(fit)$id[1], "1")
})

test_that("mistakes are one sentence", {
  skip_without()
  wrong <- transform(answers(), winner = "W9")
  chain <- matrix(1, 5, 5, dimnames = list(paste0("W", 1:5), NULL))
  expect_error(quick(wrong, chain), "area 'W9' is not in the list of areas")
  expect_error(jm_read(tempfile()), "holds no fit")
  expect_error(quick(answers(), list(1)), "give a file, an sf object")
  expect_error(quick(answers(), chain, prior = NULL), "prior: give one value")
  expect_error(quick(answers(), chain, "clusters"), "have names")
  chain[upper.tri(chain)] <- 0
  expect_error(quick(answers(), chain), "borders area 1, or the other way round, but not both")
  expect_error(quick(answers(), chain[1:4, ]), "a row and a column for each area")
})

test_that("versions under development count as the release to come", {
  expect_true(released("0.3.0.dev0") >= needed)
  expect_true(released("0.3.1rc2") >= "0.3.1")
  expect_false(released("0.2.9") >= needed)
})

test_that("a missing program is said", {
  before <- options(judgemap.command = "")
  on.exit(options(before))
  expect_error(jm_command("--version"), "judgemap is not installed")
})
