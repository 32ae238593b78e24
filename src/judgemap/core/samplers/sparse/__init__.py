"""The sampler for large maps: the curvature of the posterior is sparse, and so is its factor."""
