"""Covariates of the areas in the model: λ = Zβ + u, with u ~ N(0, α² C) and β ~ N(0, g α² I).

Z has a column for each covariate, standardised over the areas, so that β is the effect of one standard deviation. Since
β and u are normal, so is λ:

    λ ~ N(0, α² (C + g Z Zᵀ))

which is a prior like any other: every sampler takes it as it is, and β never enters a chain. Afterwards, draw by draw,

    β | λ, α² ~ N(m, α² V),   V = (Zᵀ C⁻¹ Z + I/g)⁻¹,   m = V Zᵀ C⁻¹ λ

is its exact conditional distribution: the answers depend on λ alone. λ is the uncentred strength.
"""

import numpy as np
from scipy import linalg

from judgemap.core.model.prior import Covariance
from judgemap.core.types import FloatArray

SPREAD = 1.0
"""g: before any answers, one standard deviation of a covariate is expected to move an area as far as α does."""


def standardised(values: FloatArray) -> FloatArray:
    """Return columns with mean 0 and standard deviation 1 over the areas."""
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    if not (np.isfinite(spread) & (spread > 0)).all():
        raise ValueError("a covariate must have a finite number for every area, and not the same for all")
    return centred / spread


def with_covariates(covariance: Covariance, Z: FloatArray, g: float = SPREAD) -> Covariance:
    """Return C + g Z Zᵀ, under the name of C; its inverse by Woodbury's identity."""
    matrix = covariance.matrix + g * Z @ Z.T
    pull = covariance.inverse @ Z
    inverse = covariance.inverse - pull @ linalg.solve(np.eye(Z.shape[1]) / g + Z.T @ pull, pull.T, assume_a="pos")
    return Covariance(matrix, linalg.cholesky(matrix, lower=True), inverse, covariance.name, covariance.length)


def draw_effects(
    rng: np.random.Generator,
    covariance: Covariance,
    Z: FloatArray,
    strengths: FloatArray,
    variance: FloatArray,
    g: float = SPREAD,
) -> FloatArray:
    """Draw β, (draws, columns), given draws of λ, (draws, areas), and of α², (draws,); ``covariance`` is C alone."""
    pull = covariance.inverse @ Z
    factor = linalg.cholesky(Z.T @ pull + np.eye(Z.shape[1]) / g, lower=True)  # V⁻¹ = L Lᵀ
    mean = linalg.cho_solve((factor, True), (strengths @ pull).T)
    noise = linalg.solve_triangular(factor, rng.standard_normal(mean.shape), lower=True, trans="T")
    return (mean + np.sqrt(variance) * noise).T


def carried(Z: FloatArray, effects: FloatArray, strengths: FloatArray) -> FloatArray:
    """Return the share of the map that the covariates carry in each draw: var(Zβ) / (var(Zβ) + var(λ − Zβ)).

    Variances are over the areas. Source: Gelman, Goodrich, Gabry and Vehtari (2019), R-squared for Bayesian regression.
    """
    fitted = effects @ Z.T
    by, rest = fitted.var(axis=1), (strengths - fitted).var(axis=1)
    return by / (by + rest)
