"""The Bradley-Terry likelihood, logit P(i beats j) = λ_i − λ_j, computed from pair counts."""

import numpy as np
from scipy.special import expit

from judgemap.core.model.counts import PairCounts
from judgemap.core.types import FloatArray


def differences(counts: PairCounts, strengths: FloatArray) -> FloatArray:
    """λ_first − λ_second for every compared pair; areas are the first axis."""
    return strengths[counts.first] - strengths[counts.second]


def log_likelihood(counts: PairCounts, strengths: FloatArray) -> FloatArray:
    """ℓ = Σ y d − n log(1 + e^d), d = λ_first − λ_second. Areas are the first axis; other axes are kept.

    >>> from judgemap.core.model.counts import count_pairs
    >>> round(float(log_likelihood(count_pairs([0], [1], 2), np.zeros(2))), 4)
    -0.6931
    """
    d = differences(counts, strengths)
    result: FloatArray = counts.wins @ d - counts.n @ np.logaddexp(0.0, d)
    return result


def score(counts: PairCounts, strengths: FloatArray) -> FloatArray:
    """∇ℓ = Xᵀ(y − n p) at one vector of strengths."""
    return counts.onto_areas(counts.wins - counts.n * expit(differences(counts, strengths)))


def laplacian(counts: PairCounts, weights: FloatArray) -> FloatArray:
    """XᵀWX = Σ_pairs w (e_i − e_j)(e_i − e_j)ᵀ, a weighted graph Laplacian, filled in without a matrix product."""
    i, j = counts.first, counts.second
    n = counts.n_areas
    flat = np.zeros(n * n)  # indexing with one number instead of two takes half the time
    flat[i * n + j] = flat[j * n + i] = -weights
    flat[:: n + 1] = np.bincount(i, weights, n) + np.bincount(j, weights, n)
    return flat.reshape(n, n)


def information(counts: PairCounts, strengths: FloatArray) -> FloatArray:
    """−∇²ℓ = XᵀWX with w = n p (1 − p)."""
    p = expit(differences(counts, strengths))
    return laplacian(counts, counts.n * p * (1 - p))
