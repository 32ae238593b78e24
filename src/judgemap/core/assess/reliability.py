"""How much of the variation in the areas' estimates is signal, from one study or from two halves of it."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg
from scipy.special import expit

from judgemap.core.approximate import climb, inverse
from judgemap.core.assess.posterior import by_risk
from judgemap.core.model.counts import PairCounts, information, log_likelihood, score
from judgemap.core.types import FloatArray

TINY, LEAST_SHRUNK = 1e-30, 1e-6
"""Keep a covariance positive definite if its draws hardly differ."""


class Estimates(NamedTuple):
    """Centred strengths and their standard errors."""

    strengths: FloatArray
    errors: FloatArray


def unpooled(counts: PairCounts) -> Estimates:
    """Estimate strengths without borrowing from other areas: nearly maximum likelihood.

    Maximum likelihood gives an area that won every comparison an infinite strength. So each area gets half a win and
    half a loss against a phantom area of strength 0: the maximum of ℓ(λ) + Σ[λ_i/2 − log(1 + e^{λ_i})] always exists.
    Standard errors are the square roots of the diagonal of K(XᵀWX + diag p(1 − p))⁻¹K, K centring.
    """

    def height(at: FloatArray) -> float:
        return float(log_likelihood(counts, at) + (at / 2 - np.logaddexp(0.0, at)).sum())

    def curvature(at: FloatArray) -> FloatArray:
        p = expit(at)
        return information(counts, at) + np.diag(p * (1 - p))

    def ascent(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        gradient = score(counts, at) + 0.5 - expit(at)
        return gradient, linalg.solve(curvature(at), gradient, assume_a="pos")

    strengths = climb(height, ascent, np.zeros(counts.n_areas), close=1e-10)
    V = inverse(curvature(strengths))
    centred = V - V.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    return Estimates(strengths - strengths.mean(), np.sqrt(np.diagonal(centred)))


def separation(estimates: ArrayLike, errors: ArrayLike) -> float:
    """Scale separation reliability: SSR = 1 − mean(error²) / variance of the estimates.

    If estimate = truth + independent error, the variance of the estimates is that of the truth plus the mean squared
    error. SSR is the truth's share of it, and so the squared correlation of estimate and truth. This holds for
    estimates that are not shrunk (those of `unpooled`), not for posterior means. Source: Bramley (2015), Verhavert et
    al. (2018).

    >>> separation([2.0, 0.0, -2.0], [1.0, 1.0, 1.0])
    0.75
    """
    values, squared = np.asarray(estimates, dtype=np.float64), np.asarray(errors, dtype=np.float64) ** 2
    spread = float(values.var(ddof=1))
    return float(1 - squared.mean() / spread) if spread > 0 else float("nan")


def squared_correlations(draws: ArrayLike) -> FloatArray:
    """r² over the areas between the posterior median m and each draw λ; draws are (draws, areas).

    As far as the posterior knows, the truth is one more draw from it. So these are draws of the r² between estimate and
    truth; their mean is a reliability. It is nearly var(m) / (var(m) + mean posterior variance), because over the areas
    cov(m, λ) is on average var(m); and that is nearly the mean correlation of two independent draws. (Medians, because
    with a few answers and a wide prior of α a mean may not exist.)
    """
    values = np.asarray(draws, dtype=np.float64)
    centred = values - values.mean(axis=1, keepdims=True)
    middle = np.median(centred, axis=0)
    middle -= middle.mean()
    with np.errstate(invalid="ignore", divide="ignore"):
        result: FloatArray = (centred @ middle) ** 2 / ((centred**2).sum(axis=1) * (middle @ middle))
    return result


def another_panel(rng: np.random.Generator, draws: ArrayLike, prior_precision: FloatArray) -> FloatArray:
    """r² between this estimate and the one another panel of the same size would give, one for each draw of λ.

    ``draws`` are of the population's map λ, (draws, areas), whose posterior is nearly N(m, V); ``prior_precision`` is
    C⁻¹/α². The information about λ from a panel of this size is J = V⁻¹ − C⁻¹/α². A similar panel of other judges would
    estimate m′ = V(Jλ + ε), ε ~ N(0, J): nearer to the prior than the truth, and off because of its judges and noise.
    With V = LLᵀ (`_covariance_root`) and LᵀC⁻¹L/α² = Q diag(s) Qᵀ, m′ = LQ[(1 − s)QᵀL⁻¹λ + √(1 − s) z], z ~ N(0, I).

    Reliability in the usual sense is the correlation of two such estimates, the square root of this. The r² of m with
    the population's map itself is `squared_correlations` of the same draws, and higher.
    """
    values = np.asarray(draws, dtype=np.float64)
    mean = values.mean(axis=0)
    L = _covariance_root(values)
    s, Q = np.linalg.eigh(L.T @ prior_precision @ L)
    kept = np.clip(1 - s, 0.0, 1.0)
    white = np.linalg.solve(L, values.T)
    other = (L @ Q) @ (kept[:, None] * (Q.T @ white) + np.sqrt(kept)[:, None] * rng.standard_normal(white.shape))
    mine, theirs = mean - mean.mean(), (other - other.mean(axis=0)).T
    with np.errstate(invalid="ignore", divide="ignore"):
        result: FloatArray = (theirs @ mine) ** 2 / ((theirs**2).sum(axis=1) * (mine @ mine))
    return result


def _covariance_root(values: FloatArray) -> FloatArray:
    """L with LLᵀ the draws' covariance S, shrunk if there are too few draws to give a variance in every direction.

    Then it is (1 − δ)S + δμI, where μ is the mean variance and δ the share that is least expected to be wrong, so that
    no direction looks certain only because no draw happened to differ in it. Source: Ledoit and Wolf (2004).
    """
    S = np.cov(values, rowvar=False).astype(np.float64)
    try:
        return np.linalg.cholesky(S).astype(np.float64)
    except np.linalg.LinAlgError:
        squares = ((values - values.mean(axis=0)) ** 2).sum(axis=1)
        mean = np.trace(S) / len(S)
        noise = ((squares**2).mean() - (S**2).sum()) / len(values)
        share = np.clip(noise / max(((S - mean * np.eye(len(S))) ** 2).sum(), TINY), LEAST_SHRUNK, 1.0)
        return np.linalg.cholesky((1 - share) * S + max(share * mean, TINY) * np.eye(len(S))).astype(np.float64)


def stepped_up(correlation: ArrayLike) -> FloatArray:
    """2r/(1 + r): the reliability of all answers, from the correlation of their two halves (Spearman; Brown, 1910)."""
    r = np.asarray(correlation, dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        result: FloatArray = np.where(r > -1, 2 * r / (1 + r), -np.inf)
    return result


def pearson(a: ArrayLike, b: ArrayLike) -> float:
    """Pearson's correlation of two lists; nan if either is constant."""
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    x, y = x - x.mean(), y - y.mean()
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y / size) if size > 0 else float("nan")


def spearman(a: ArrayLike, b: ArrayLike) -> float:
    """Spearman's correlation: Pearson's of the ranks, with equal values sharing their mean rank."""
    return pearson(_mean_ranks(a), _mean_ranks(b))


def _mean_ranks(values: ArrayLike) -> FloatArray:
    _, place, size = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    return (last - (size - 1) / 2)[place]


class Likeness(NamedTuple):
    """How similar two estimates are: correlations, and how many of the ``top`` highest areas they share."""

    pearson: float
    spearman: float
    same_top: int
    top: int


def likeness(first: ArrayLike, second: ArrayLike, top: int = 10) -> Likeness:
    """Compare two estimates of the same areas.

    >>> likeness([3.0, 2.0, 1.0], [3.0, 1.0, 2.0], top=2)
    Likeness(pearson=0.5, spearman=0.5, same_top=1, top=2)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    top = min(top, len(a))
    highest = [set(by_risk(each)[:top].tolist()) for each in (a, b)]
    return Likeness(pearson(a, b), spearman(a, b), len(highest[0] & highest[1]), top)
