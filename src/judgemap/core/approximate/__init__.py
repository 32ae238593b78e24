"""Gaussians near the posterior: Newton steps, Laplace, and the best centred one."""
