"""The Gaussian nearest to the posterior of the strengths for known α²: quick, and better centred than Laplace's.

Of all q = N(m, V) it has the smallest Kullback-Leibler divergence KL(q ‖ posterior). With
d = λ_i − λ_j ~ N(m_i − m_j, s²) under q for every compared pair, p̄ = E logit⁻¹(d) and w̄ = n E p(1 − p), it satisfies

    Xᵀ(y − n p̄) = C⁻¹m/α²,     V⁻¹ = XᵀW̄X + C⁻¹/α².

The mode, Laplace's centre, lies nearer to zero than the mean, because the likelihood of a clear winner is skewed
outwards; probabilities computed around it are too cautious. On the Nottinghamshire study, the means found here are
within 0.03 posterior standard deviations of the exact ones, whereas the mode is up to 0.6 off. Variances are a little
too small, by up to a sixth where the likelihood is most skewed.
Source: Opper and Archambeau (2009); Challis and Barber (2013).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from judgemap.core.approximate import laplace
from judgemap.core.approximate.newton import inverse
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.likelihood import differences, information, laplacian
from judgemap.core.model.prior import FixedVariance, HalfNormal, InverseGamma, Model
from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray

Nodes = tuple[NDArray[np.float32], NDArray[np.float32]]


def _nodes(size: int) -> Nodes:
    places, weights = np.polynomial.hermite_e.hermegauss(size)
    return places.astype(np.float32), (weights / weights.sum()).astype(np.float32)


PLACES, SHARES = np.polynomial.hermite_e.hermegauss(41)
NARROW, FEW_NODES, MANY_NODES = 0.75, _nodes(7), _nodes(15)
"""If no pair's s exceeds `NARROW`, the few nodes are good enough: within 2e-6 of the integral."""
BLOCK = 4096
"""Pairs processed at a time: half a megabyte with their nodes."""
CLOSE = 1e-6
"""Stop after one more step once the squared length of the step, in posterior variances, is below this per area."""
LEAP = 0.01
"""The same limit for the step before; after a longer step, V is computed again first."""
STEPS = 60
NEAR, ROUNDS = 0.005, 12
"""How close log α² should come to its fixed point, and in how many rounds."""
NEAR_ENOUGH = 0.1
"""How close it must have come after the last round."""


class Gaussian(NamedTuple):
    """N(mean, covariance) of the strengths, and the α² for which it was found."""

    mean: FloatArray
    covariance: FloatArray
    variance: float

    def chances(self, first: IntArray, second: IntArray) -> FloatArray:
        """P(first beats second) for each pair, averaged over the uncertainty of the strengths."""
        return mean_chance(self.mean[first] - self.mean[second], self.spread(first, second))

    def spread(self, first: IntArray, second: IntArray) -> FloatArray:
        """Var(λ_first − λ_second) for each pair."""
        V, own = self.covariance, np.diagonal(self.covariance)
        first, second = np.asarray(first), np.asarray(second)
        return np.maximum(own[first] + own[second] - 2 * V.take(first * len(V) + second), 0.0)

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw strengths, (draws, areas)."""
        factor = np.linalg.cholesky(self.covariance)
        return self.mean + rng.standard_normal((size, len(self.mean))) @ factor.T


def gaussian(model: Model, near: Gaussian | None = None) -> Gaussian:
    """Find the nearest Gaussian, starting from ``near`` if given; falls back on Laplace's if the search fails.

    If α² is not fixed, it is chosen to agree with the strengths found: log α² is the most likely one given λᵀC⁻¹λ, at
    its mean. (Found by the secant method in log α².)

    >>> from judgemap.core.model.counts import count_pairs
    >>> from judgemap.core.model.prior import independent
    >>> nearest = gaussian(Model(count_pairs([0] * 3, [1] * 3, n_areas=2), independent(2), FixedVariance(9.0)))
    >>> nearest.mean.round(2)
    array([ 2.04, -2.04])
    """
    match model.variance:
        case FixedVariance(value):
            return _at(model, value, near)
        case _:
            start = near.variance if near is not None else np.exp(laplace.approximate(model).log_variance_mean)
            return _with_variance(model, model.variance, _at(model, float(start), near))


def _with_variance(model: Model, prior: HalfNormal | InverseGamma, now: Gaussian) -> Gaussian:
    """Solve f(τ) = τ for τ = log α², where f updates α² from the strengths found at τ."""
    tau, change = [np.log(now.variance)], [_updated(model, prior, now) - np.log(now.variance)]
    for _ in range(ROUNDS):
        if abs(change[-1]) < NEAR:
            break
        # A typical slope to begin with; then the slope of the secant through the last two points.
        slope = (change[-1] - change[-2]) / (tau[-1] - tau[-2]) if len(tau) > 1 else -0.2
        step = -change[-1] / slope if slope < -0.02 else change[-1]
        tau.append(tau[-1] + float(np.clip(step, -2.0, 2.0)))
        now = _at(model, float(np.exp(tau[-1])), now)
        change.append(_updated(model, prior, now) - tau[-1])
    if abs(change[-1]) < NEAR_ENOUGH:
        return now
    variance = float(np.exp(laplace.approximate(model).log_variance_mean))
    return _at_mode(model, variance)


def _updated(model: Model, prior: HalfNormal | InverseGamma, now: Gaussian) -> float:
    precision = model.covariance.inverse
    size = now.mean @ precision @ now.mean + (precision * now.covariance).sum()
    return prior.terms.given(len(now.mean), size).mode


def _at(model: Model, variance: float, near: Gaussian | None) -> Gaussian:
    """Find the nearest Gaussian for one α²."""
    counts, precision = model.counts, model.covariance.inverse / variance
    now = Gaussian(near.mean, near.covariance, variance) if near is not None else _at_mode(model, variance)
    chance, weight = _moments(counts, now)
    gradient = _gradient(counts, precision, now.mean, chance)
    moved = np.inf
    for _ in range(STEPS):
        V = inverse(laplacian(counts, counts.n * weight) + precision)
        step = V @ gradient
        distance = float(gradient @ step)  # the squared length of Newton's step, in posterior standard deviations
        # A step longer than the last one overshoots, so go only half of it.
        now = Gaussian(now.mean + (1.0 if distance < moved else 0.5) * step, V, variance)
        chance, weight = _moments(counts, now)
        gradient = _gradient(counts, precision, now.mean, chance)
        # Compared with another inverse, a last step with the same V costs next to nothing.
        last = V @ gradient
        if float(gradient @ last) < CLOSE * counts.n_areas and distance < LEAP * counts.n_areas:
            return Gaussian(now.mean + last, V, variance)
        moved = distance
    # Some pairs are nearly certain, and the quadrature is inaccurate: use Laplace.
    return _at_mode(model, variance)


def _gradient(counts: PairCounts, precision: FloatArray, mean: FloatArray, chance: FloatArray) -> FloatArray:
    gradient: FloatArray = counts.onto_areas(counts.wins - counts.n * chance) - precision @ mean
    return gradient


def _at_mode(model: Model, variance: float) -> Gaussian:
    counts, prior = model.counts, model.covariance.inverse / variance
    mode = laplace.mode(model, float(np.log(variance)), np.zeros(counts.n_areas))
    return Gaussian(mode, inverse(information(counts, mode) + prior), variance)


def _moments(counts: PairCounts, at: Gaussian) -> tuple[FloatArray, FloatArray]:
    """E p and E p(1 − p) for every compared pair, in blocks that fit into the processor's cache.

    Single precision is used because its exponential is ten times as fast; its error, at most 3e-7, is below that of the
    quadrature.
    """
    centre = differences(counts, at.mean).astype(np.float32)
    spread = np.sqrt(at.spread(counts.first, counts.second)).astype(np.float32)
    nodes, shares = FEW_NODES if len(spread) and spread.max() < NARROW else MANY_NODES
    chance, weight = np.empty(len(centre)), np.empty(len(centre))
    for part in pieces(len(centre), BLOCK):
        p = np.multiply.outer(-nodes, spread[part])
        p -= centre[part]
        with np.errstate(over="ignore"):  # for a pair that is all but certain, p is then 0
            np.exp(p, out=p)
        p += 1
        np.reciprocal(p, out=p)
        chance[part] = shares @ p
        np.square(p, out=p)
        weight[part] = np.maximum(chance[part] - shares @ p, 0.0)
    return chance, weight


def mean_chance(mean: ArrayLike, variance: ArrayLike) -> FloatArray:
    """E logit⁻¹(d) for d ~ N(mean, variance), by Gauss-Hermite quadrature: the chance of a future answer.

    >>> mean_chance([0.0, 2.0], [9.0, 0.0]).round(4)
    array([0.5   , 0.8808])
    """
    centre, spread = np.asarray(mean, dtype=np.float64), np.sqrt(np.asarray(variance, dtype=np.float64))
    result: FloatArray = expit(centre[..., None] + spread[..., None] * PLACES) @ (SHARES / SHARES.sum())
    return result
