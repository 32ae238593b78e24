# Times the R package speedyBBT's Gibbs iteration: its updates, made with the library calls that it makes them with.
# The Pólya-Gamma variables, which the package draws by BayesLogit, are replaced by their means, because BayesLogit may
# not be installed. The draws are therefore wrong, and an iteration is cheaper than the package's own, never dearer.
#
#     Rscript speedybbt.R FOLDER ITERATIONS     prints CPU milliseconds an iteration

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
iterations <- as.integer(arguments[2])
pairs <- read.csv(file.path(folder, "pairs.csv"))
precision <- as.matrix(read.csv(file.path(folder, "precision.csv"), header = FALSE))
dimnames(precision) <- NULL
areas <- nrow(precision)
rows <- nrow(pairs)
X <- Matrix::sparseMatrix(
  i = rep(seq_len(rows), 2), j = c(pairs$first, pairs$second), x = rep(c(1, -1), each = rows), dims = c(rows, areas)
)
pull <- Matrix::t(X) %*% (pairs$wins - pairs$n / 2)

lambda <- numeric(areas)
kept <- matrix(0, iterations, areas)
variances <- numeric(iterations)
began <- proc.time()
for (k in seq_len(iterations)) {
  variance <- 1 / rgamma(1, 0.01 + areas / 2, 0.5 * t(lambda) %*% precision %*% lambda + 0.01)
  d <- as.numeric(X %*% lambda)
  z <- pairs$n * ifelse(abs(d) < 1e-6, 0.25, tanh(d / 2) / (2 * d))
  Z <- Matrix::sparseMatrix(i = seq_len(rows), j = seq_len(rows), x = z)
  V <- chol2inv(chol(Matrix::t(X) %*% Z %*% X + precision / variance))
  lambda <- as.numeric(t(chol(V)) %*% rnorm(areas) + V %*% pull)
  lambda <- lambda - mean(lambda)
  kept[k, ] <- lambda
  variances[k] <- variance
  all_so_far <- cbind(kept, variances) # the package copies its whole history in every iteration
}
spent <- proc.time() - began
cat(1000 * (spent[["user.self"]] + spent[["sys.self"]]) / iterations, "\n")
