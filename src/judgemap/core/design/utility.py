"""Utilities: how much a study has taught us, or a pair would teach us.

`trace_precision` and `pair_precision` take posterior draws of the strengths, an array (draws, areas). The other
functions take a posterior covariance V. With K = I − 11ᵀ/N, strengths are reported as Kλ, because the likelihood says
nothing about their mean. tr(KVK) is the sum of the variances of the reported strengths, which designs try to make
small. To first order, asking a pair x = e_i − e_j reduces it by ‖KVx‖² = xᵀ(VKV)x per unit of information.

`known_by` says what a panel's answers tell us about the population that its judges come from. Judge k sees
μ_k = λ + u_k, with λ ~ N(0, α²C) and u_k ~ N(0, Σ), Σ = σ²C_u. Let W = diag p(1 − p) at the truth, so that judge k's
answers carry the information S_k = X_kᵀW_kX_k about μ_k. With u_k integrated out, their information about λ is

    G_k = S_k − S_k(S_k + Σ⁻¹)⁻¹S_k = X_kᵀ(W_k⁻¹ + X_kΣX_kᵀ)⁻¹X_k,     V = (C⁻¹/α² + Σ_k G_k)⁻¹

where V is the posterior covariance of λ. However many answers one judge gives, G_k stays below (KΣK)⁺: what we would
learn about the population from knowing one judge's map exactly. Two things are approximate: the Gaussian shape
(Laplace, at the truth), and taking α² and σ² as known.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.special import expit

from judgemap.core.model.prior import Covariance
from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray

CHUNK = 4_000_000
"""The most numbers in memory at a time, pairs × draws: 32 MB."""
EVERYTHING = 1e9
"""The information in answers without end, if judges are alike."""


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
    """U2 = mean over pairs of 1 / Var(p_ij | y), p_ij = logit⁻¹(λ_i − λ_j), and its robust alternative."""
    variance = pair_variances(draws)
    with np.errstate(divide="ignore"):
        return PairPrecision(mean=float((1 / variance).mean()), robust=float(1 / np.median(variance)))


def pair_variances(draws: ArrayLike) -> FloatArray:
    """Var(p_ij | y) for all pairs i < j, in the order of ``np.triu_indices(N, 1)``, computed in chunks.

    p is taken for the area likelier to lose, because near 1 a pair certain to twenty digits would lose its variance.
    """
    strengths = np.ascontiguousarray(_checked(draws).T)
    n_areas, n_draws = strengths.shape
    i, j = np.triu_indices(n_areas, 1)
    mean = strengths.mean(axis=1)
    favourite = mean[i] >= mean[j]
    winner, loser = np.where(favourite, i, j), np.where(favourite, j, i)
    variance = np.empty(len(i))
    for part in pieces(len(i), CHUNK // n_draws):
        variance[part] = expit(strengths[loser[part]] - strengths[winner[part]]).var(axis=1, ddof=1)
    return variance


def centred_trace(V: FloatArray) -> float:
    """tr(KVK) = tr V − 1ᵀV1/N."""
    return float(np.trace(V) - V.sum() / len(V))


def centred_square(V: FloatArray) -> FloatArray:
    """VKV = (KV)ᵀ(KV), because K² = K; NumPy halves the work when it sees a matrix times its own transpose."""
    centred = V - V.mean(axis=0)
    return centred.T @ centred


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


def _checked(draws: ArrayLike) -> FloatArray:
    strengths = np.asarray(draws, dtype=np.float64)
    if strengths.ndim != 2 or strengths.shape[0] < 2 or strengths.shape[1] < 2:
        raise ValueError(
            f"utilities need draws as an array (draws, areas), at least two of each, received {strengths.shape}"
        )
    if not np.all(np.isfinite(strengths)):
        raise ValueError("utilities need finite draws of the strengths")
    return strengths


class Population(NamedTuple):
    """How areas differ, α²C, and how much judges disagree about them, Σ = σ²C_u."""

    covariance: Covariance
    alpha: float
    views: FloatArray


def judge_information(pairs: IntArray, strengths: FloatArray, views: FloatArray) -> FloatArray:
    """G_k from one judge's answers to ``pairs``, one per row; ``strengths`` are the judge's own, ``views`` is Σ.

    Inverts a matrix over the areas or over the answers, whichever is smaller.
    """
    n_answers, n_areas = len(pairs), len(strengths)
    X = np.zeros((n_answers, n_areas))
    X[np.arange(n_answers), pairs[:, 0]] = 1.0
    X[np.arange(n_answers), pairs[:, 1]] = -1.0
    p = expit(X @ strengths)
    weights = np.maximum(p * (1 - p), 1e-12)
    if n_answers < n_areas:
        factor = linalg.cholesky(X @ views @ X.T + np.diag(1 / weights), lower=True)
        half = linalg.solve_triangular(factor, X, lower=True)
        return half.T @ half
    S = X.T @ (weights[:, None] * X)
    information = linalg.solve(np.eye(n_areas) + S @ views, S)
    return (information + information.T) / 2


def endless_information(views: FloatArray) -> FloatArray:
    """(KΣK)⁺: what one judge whose map is known exactly, up to its level, says about the population.

    If judges are alike, that is everything: as much as numbers can express.

    >>> endless_information(2 * np.eye(2))
    array([[ 0.25, -0.25], [-0.25,  0.25]])
    """
    if not views.any():
        return EVERYTHING * centred(np.eye(len(views)))
    return np.linalg.pinv(centred(views), hermitian=True).astype(np.float64)


def known_by(
    pairs: IntArray, own: FloatArray, views: FloatArray, judges: Sequence[int], per_judge: Sequence[int]
) -> Iterator[FloatArray]:
    """Yield for each number of judges what their answers tell about the population, Σ_k G_k.

    ``pairs`` are those asked of each judge, (judges, answers, 2), and ``own`` the judges' strengths, (judges, areas).
    Each array has the shape (answers each and, last, unlimited answers; areas; areas). Both sequences increase.
    """
    n_areas = own.shape[1]
    known = np.zeros((len(per_judge) + 1, n_areas, n_areas))
    endless = endless_information(views)
    for judge in range(max(judges)):
        for row, answers in enumerate(per_judge):
            known[row] += judge_information(pairs[judge, :answers], own[judge], views)
        known[-1] += endless
        if judge + 1 in judges:
            yield known.copy()


def centred(V: FloatArray) -> FloatArray:
    """KVK."""
    half = V - V.mean(axis=0)
    return half - half.mean(axis=1, keepdims=True)
