"""Utilities: how much a study has taught us, or a pair would teach us.

`trace_precision` and `pair_precision` take posterior draws of the strengths, an array (draws, areas). The other
functions take a posterior covariance V. With K = I − 11ᵀ/N, strengths are reported as Kλ, because the likelihood says
nothing about their mean. tr(KVK) is the sum of the variances of the reported strengths, which designs try to make
small. To first order, asking a pair x = e_i − e_j reduces it by ‖KVx‖² = xᵀ(VKV)x per unit of information.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack
from scipy.special import expit

from judgemap.core.types import FloatArray

CHUNK = 4_000_000
"""The most numbers in memory at a time, pairs × draws: 32 MB."""


class PairPrecision(NamedTuple):
    """U2 and a robust alternative, both over all pairs of areas.

    The mean is dominated by the few pairs that are nearly certain, and differs between similar studies by orders of
    magnitude. ``robust`` is 1 / median Var(p_ij | y), which is also the median of 1 / Var(p_ij | y).
    """

    mean: float
    robust: float


def trace_precision(draws: ArrayLike) -> float:
    """U1 = 1 / tr cov(λ − λ̄ | y), where λ̄ is the mean over the areas in each draw.

    Source: the paper's U1, the Bayesian A-posterior precision (Ryan et al., 2015). The paper does not centre, so its
    trace is dominated by the variance of λ̄, about which the answers say nothing.

    >>> trace_precision(np.array([[1.0, -1.0], [-1.0, 1.0], [0.0, 0.0]]))
    0.5
    """
    strengths = _checked(draws)
    centred = strengths - strengths.mean(axis=1, keepdims=True)
    return float(1 / centred.var(axis=0, ddof=1).sum())


def pair_precision(draws: ArrayLike) -> PairPrecision:
    """U2 = mean over pairs of 1 / Var(p_ij | y), p_ij = logit⁻¹(λ_i − λ_j), and its robust alternative.

    >>> rng = np.random.default_rng(1)
    >>> sharp, vague = rng.normal(scale=0.1, size=(500, 5)), rng.normal(scale=1.0, size=(500, 5))
    >>> pair_precision(sharp).robust > pair_precision(vague).robust
    True
    """
    variance = pair_variances(draws)
    with np.errstate(divide="ignore"):
        return PairPrecision(mean=float((1 / variance).mean()), robust=float(1 / np.median(variance)))


def pair_variances(draws: ArrayLike) -> FloatArray:
    """Var(p_ij | y) for all pairs i < j, in the order of ``np.triu_indices(N, 1)``, computed in chunks.

    p is taken for the area likelier to lose, because near 1 a pair certain to twenty digits would lose its variance.

    >>> pair_variances(np.array([[0.0, 0.0], [2.0, 0.0]])).round(4)
    array([0.0725])
    """
    strengths = np.ascontiguousarray(_checked(draws).T)
    n_areas, n_draws = strengths.shape
    i, j = np.triu_indices(n_areas, 1)
    mean = strengths.mean(axis=1)
    favourite = mean[i] >= mean[j]
    winner, loser = np.where(favourite, i, j), np.where(favourite, j, i)
    variance = np.empty(len(i))
    step = max(1, CHUNK // n_draws)
    for start in range(0, len(i), step):
        part = slice(start, start + step)
        variance[part] = expit(strengths[loser[part]] - strengths[winner[part]]).var(axis=1, ddof=1)
    return variance


def centred_trace(V: FloatArray) -> float:
    """tr(KVK) = tr V − 1ᵀV1/N.

    >>> centred_trace(np.eye(4))
    3.0
    """
    return float(np.trace(V) - V.sum() / len(V))


def centred_square(V: FloatArray) -> FloatArray:
    """VKV = (KV)ᵀ(KV), because K² = K; NumPy halves the work when it sees a matrix times its own transpose."""
    centred = V - V.mean(axis=0)
    square: FloatArray = centred.T @ centred
    return square


def contrasts(M: FloatArray) -> FloatArray:
    """xᵀMx = M_ii + M_jj − 2M_ij for the differences x = e_i − e_j of all pairs, as a matrix; M is symmetric.

    >>> contrasts(np.eye(2))
    array([[0., 2.], [2., 0.]])
    """
    diagonal = np.diagonal(M)
    result: FloatArray = M * -2.0
    result += diagonal[:, None]
    result += diagonal
    return result


def inverse(precision: FloatArray) -> FloatArray:
    """Invert a symmetric positive definite matrix by its Cholesky factor: half the work of a general inverse.

    >>> inverse(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0. ], [0.  , 0.25]])
    """
    factor, failed = lapack.dpotrf(precision.T, lower=1, clean=1)
    if failed:
        raise ValueError("the precision of the strengths is not positive definite; check the prior's covariance")
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    result: FloatArray = np.add(lower, lower.T, order="C")
    result.ravel()[:: len(result) + 1] /= 2
    return result


def _checked(draws: ArrayLike) -> FloatArray:
    strengths = np.asarray(draws, dtype=np.float64)
    if strengths.ndim != 2 or strengths.shape[0] < 2 or strengths.shape[1] < 2:
        raise ValueError(
            f"utilities need draws as an array (draws, areas), at least two of each, received {strengths.shape}"
        )
    if not np.all(np.isfinite(strengths)):
        raise ValueError("utilities need finite draws of the strengths")
    return strengths
