# Times the R package speedyBBT's Gibbs iteration: the package itself where it is installed, otherwise its updates, made
# with the library calls that it makes them with.
# Pólya-Gamma variables are drawn by BayesLogit, as in the package. Where BayesLogit is not installed, they are replaced by
# their means: the draws are then wrong, and an iteration is cheaper than the package's own, never dearer.
#
#     Rscript speedybbt.R FOLDER ITERATIONS     prints CPU milliseconds an iteration, and whether they were drawn

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
iterations <- as.integer(arguments[2])
pairs <- read.csv(file.path(folder, "pairs.csv"))
precision <- as.matrix(read.csv(file.path(folder, "precision.csv"), header = FALSE))
dimnames(precision) <- NULL
precision <- (precision + t(precision)) / 2 # what was rounded in the file is not quite symmetric
areas <- nrow(precision)
rows <- nrow(pairs)

if (requireNamespace("speedyBBT", quietly = TRUE)) {
  fit <- get(intersect(c("speedy_BBTm", "speedyBBTm"), getNamespaceExports("speedyBBT"))[1], asNamespace("speedyBBT"))
  won <- rep(seq_len(rows), pairs$wins)
  lost <- rep(seq_len(rows), pairs$n - pairs$wins)
  given <- list(rep(1, sum(pairs$n)), c(pairs$first[won], pairs$second[lost]), c(pairs$second[won], pairs$first[lost]))
  given[[grep("prior.*(var|cov)", names(formals(fit)), value = TRUE)[1]]] <- chol2inv(chol(precision))
  given[[grep("^n.?iter", names(formals(fit)), value = TRUE)[1]]] <- iterations
  spent <- system.time(do.call(fit, given))
  cat(1000 * (spent[["user.self"]] + spent[["sys.self"]]) / iterations, TRUE, "\n")
  quit()
}
X <- Matrix::sparseMatrix(
  i = rep(seq_len(rows), 2), j = c(pairs$first, pairs$second), x = rep(c(1, -1), each = rows), dims = c(rows, areas)
)
pull <- Matrix::t(X) %*% (pairs$wins - pairs$n / 2)

drawn <- requireNamespace("BayesLogit", quietly = TRUE)
means <- function(n, d) n * ifelse(abs(d) < 1e-6, 0.25, tanh(d / 2) / (2 * d))
polya_gamma <- if (drawn) function(n, d) BayesLogit::rpg(rows, n, d) else means

lambda <- numeric(areas)
kept <- matrix(0, iterations, areas)
variances <- numeric(iterations)
began <- proc.time()
for (k in seq_len(iterations)) {
  variance <- 1 / rgamma(1, 0.01 + areas / 2, 0.5 * t(lambda) %*% precision %*% lambda + 0.01)
  d <- as.numeric(X %*% lambda)
  z <- polya_gamma(pairs$n, d)
  Z <- Matrix::sparseMatrix(i = seq_len(rows), j = seq_len(rows), x = z)
  V <- chol2inv(chol(Matrix::forceSymmetric(Matrix::t(X) %*% Z %*% X + precision / variance)))
  V <- as.matrix(V)
  V <- (V + t(V)) / 2
  diag(V) <- diag(V) + 1e-10 * mean(diag(V)) # rounding must not make it indefinite
  lambda <- as.numeric(t(chol(V)) %*% rnorm(areas) + V %*% pull)
  lambda <- lambda - mean(lambda)
  kept[k, ] <- lambda
  variances[k] <- variance
  all_so_far <- cbind(kept, variances) # the package copies its whole history in every iteration
}
spent <- proc.time() - began
cat(1000 * (spent[["user.self"]] + spent[["sys.self"]]) / iterations, drawn, "\n")
