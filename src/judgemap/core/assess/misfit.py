"""How well answers agree with a model's probabilities for them: residuals, mean squares and intervals for shares.

An answer y is 1 or 0 with P(y = 1) = p, so its residual is y − p, with variance v = p(1 − p).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, ndtri

from judgemap.core.types import FloatArray, IntArray

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(41)
LEVEL = 0.95


class MeanSquares(NamedTuple):
    """Outfit and infit of groups of answers, each with the standard deviation expected if the chances are right."""

    outfit: FloatArray
    outfit_sd: FloatArray
    infit: FloatArray
    infit_sd: FloatArray


def mean_squares(won: ArrayLike, chance: ArrayLike, group: IntArray, n_groups: int) -> MeanSquares:
    """Outfit = mean of (y − p)²/v and infit = Σ(y − p)² / Σv over each group's answers; nan for an empty group.

    Both have expectation 1 if y is 1 with probability p. Var (y − p)² = v(1 − 4v), so for independent answers their
    standard deviations are √Σ(1/v − 4) / n and √Σv(1 − 4v) / Σv. One nearly impossible answer makes outfit large but
    hardly moves infit. Source: Wright and Masters (1982), Rating Scale Analysis; Pollitt (2012) for judges.

    >>> squares = mean_squares([1, 1], [0.5, 0.2], np.array([0, 0]), 1)
    >>> squares.outfit, squares.infit.round(4)
    (array([2.5]), array([2.1707]))
    """
    y, p = np.asarray(won, dtype=np.float64), np.asarray(chance, dtype=np.float64)
    v = p * (1 - p)
    if np.any(v <= 0):
        raise ValueError("a probability must lie strictly between 0 and 1")
    squared = (y - p) ** 2

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(group, values, n_groups).astype(np.float64)

    with np.errstate(divide="ignore", invalid="ignore"):
        n, information = total(np.ones_like(p)), total(v)
        return MeanSquares(
            outfit=total(squared / v) / n,
            outfit_sd=np.sqrt(total(np.maximum(1 / v - 4, 0.0))) / n,
            infit=total(squared) / information,
            infit_sd=np.sqrt(total(np.maximum(v * (1 - 4 * v), 0.0))) / information,
        )


def mean_chance(mean: ArrayLike, variance: ArrayLike) -> FloatArray:
    """E logit⁻¹(d) for d ~ N(mean, variance), by Gauss-Hermite quadrature: the chance of a future answer.

    >>> mean_chance([0.0, 2.0], [9.0, 0.0]).round(4)
    array([0.5   , 0.8808])
    """
    centre, spread = np.asarray(mean, dtype=np.float64), np.sqrt(np.asarray(variance, dtype=np.float64))
    result: FloatArray = expit(centre[..., None] + spread[..., None] * NODES) @ (WEIGHTS / WEIGHTS.sum())
    return result


def share_interval(count: ArrayLike, total: ArrayLike, level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval for a share: all s with |count − n s| ≤ z √(n s(1 − s)); 0 to 1 where n = 0.

    Source: Wilson (1927). Its coverage is close to nominal even for few answers.

    >>> low, high = share_interval([5], [10])
    >>> low.round(3), high.round(3)
    (array([0.237]), array([0.763]))
    """
    k, n = np.asarray(count, dtype=np.float64), np.asarray(total, dtype=np.float64)
    z2 = float(ndtri((1 + level) / 2)) ** 2
    middle = (k + z2 / 2) / (n + z2)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.sqrt(z2 * (k * (n - k) / n + z2 / 4)) / (n + z2)
    half = np.where(n > 0, half, 0.5)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)
