"""The model: counts of comparisons, the graph of areas, likelihoods and priors."""
