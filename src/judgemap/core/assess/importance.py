"""Leaving a judge out without refitting: Pareto smoothed importance weights, and when not to trust them.

Draws s from the posterior given all answers, weighted by r_s = 1 / p(y_k | s), stand in for the posterior given
everyone else's answers. A few weights may dwarf all the others. The largest M = min(S/5, 3√S) of the S weights are
therefore replaced by the quantiles of a generalised Pareto distribution fitted to them, capped at the largest raw
weight. Its shape k̂ says how heavy the tail is: above `GOOD_K`, no practical number of draws is enough.

Vehtari, Simpson, Gelman, Yao and Gabry (2024); the fit is that of Zhang and Stephens (2009), with the paper's weak
prior on k. ArviZ provides this as ``psislw`` but takes seconds to import; the tests compare the two.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from judgemap.core.types import FloatArray

GOOD_K = 0.7
"""Above this Pareto k, importance sampling cannot be relied on (Vehtari et al., 2024)."""
FEWEST = 5
"""The fewest draws in the tail from which k is estimated."""


class Smoothed(NamedTuple):
    """Normalised log-weights, one per draw, and k̂, which is infinite if there are too few draws to estimate it."""

    log_weights: FloatArray
    k: float


def smooth_weights(log_ratios: FloatArray) -> Smoothed:
    """Smooth importance ratios, one per draw, given as logarithms up to a constant.

    >>> weights, k = smooth_weights(np.random.default_rng(1).standard_normal(1000))
    >>> round(float(np.exp(weights).sum()), 6), k < GOOD_K
    (1.0, True)
    """
    x = log_ratios - log_ratios.max()
    order = np.argsort(x, kind="stable")
    size = int(np.ceil(min(len(x) / 5, 3 * np.sqrt(len(x)))))
    # A threshold below the smallest positive number would be 0 once it is exponentiated.
    cut = max(x[order[max(len(x) - size - 1, 0)]], np.log(np.finfo(float).tiny))
    tail = order[x[order] > cut]
    k = np.inf
    if len(tail) >= FEWEST:
        k, scale = _fit_tail(np.exp(x[tail]) - np.exp(cut))
    if np.isfinite(k):
        quantiles = (np.arange(len(tail)) + 0.5) / len(tail)
        x[tail] = np.minimum(np.log(_pareto_quantile(quantiles, k, scale) + np.exp(cut)), 0.0)
    return Smoothed(x - logsumexp(x), float(k))


def _fit_tail(excess: FloatArray) -> tuple[float, float]:
    """Return the shape and scale of a generalised Pareto distribution fitted to sorted excesses over a threshold."""
    n = len(excess)
    candidates = 30 + int(np.sqrt(n))
    b = 1 - np.sqrt(candidates / (np.arange(candidates) + 0.5))
    b = b / (3 * excess[int(n / 4 + 0.5) - 1]) + 1 / excess[-1]
    shapes = np.log1p(-b[:, None] * excess).mean(axis=1)
    profile = n * (np.log(-b / shapes) - shapes - 1)
    weights = np.exp(profile - logsumexp(profile))
    middle = float(weights @ b)
    shape = float(np.log1p(-middle * excess).mean())
    # The weak prior on k acts as if ten more draws had k = 0.5.
    return (n * shape + 10 * 0.5) / (n + 10), -shape / middle


def _pareto_quantile(p: FloatArray, k: float, scale: float) -> FloatArray:
    if abs(k) < np.finfo(float).eps:
        return -scale * np.log1p(-p)
    value: FloatArray = scale * np.expm1(-k * np.log1p(-p)) / k
    return value
