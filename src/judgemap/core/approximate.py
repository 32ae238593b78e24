"""Gaussians near the posterior: Newton's method to the mode, Laplace's, and the best centred one."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg
from scipy.linalg import lapack
from scipy.special import expit

from judgemap.core.model.counts import PairCounts, differences, information, laplacian, log_likelihood, score
from judgemap.core.model.prior import FixedVariance, HalfNormal, InverseGamma, Model
from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray

CLIMB_STEPS = 200
HALVINGS = 60
ROUNDING, EPSILON = 1e-9, 1e-15
"""Both relative to the height: stop once less than the first is left to gain, and treat gains below the second as
rounding error."""

Ascent = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Maps a point to (gradient g, step H⁻¹g), where H is a positive definite stand-in for minus the Hessian."""


def climb(height: Callable[[FloatArray], float], ascent: Ascent, start: FloatArray, close: float) -> FloatArray:
    """Find the maximum of ``height`` from ``start``, stopping once gᵀH⁻¹g < ``close``.

    If the function is nearly quadratic, gᵀH⁻¹g is twice the height still to be gained. A step that goes down is halved
    until it does not; for a concave function this converges from any starting point.
    """
    place, value = start, height(start)
    for _ in range(CLIMB_STEPS):
        try:
            gradient, step = ascent(place)
        except np.linalg.LinAlgError:
            raise FloatingPointError("the curvature is not positive definite in double precision") from None
        to_gain = float(gradient @ step)
        if to_gain < close:
            return place
        for _ in range(HALVINGS):
            trial = height(place + step)
            if trial >= value:
                break
            step = step / 2
        # If no step gains more than rounding error and there was next to nothing left to gain, this is the maximum.
        if trial - value < EPSILON * (1 + abs(value)) and to_gain < ROUNDING * (1 + abs(value)):
            return place
        if trial < value:
            break
        place, value = place + step, trial
    raise FloatingPointError("Newton's method did not find the most likely strengths")


def inverse(precision: FloatArray) -> FloatArray:
    """Invert a symmetric positive definite matrix by its Cholesky factor: half the work of a general inverse."""
    factor, failed = lapack.dpotrf(precision.T, lower=1, clean=1)
    if failed:
        raise ValueError("the precision of the strengths is not positive definite; check the prior's covariance")
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    result: FloatArray = np.add(lower, lower.T, order="C")
    result.ravel()[:: len(result) + 1] /= 2
    return result


GRID = np.linspace(-12.0, 14.0, 521)
"""Values of log α² at which its approximate posterior is tabulated: α from 0.0025 to 1,100."""


@dataclass(frozen=True, slots=True, eq=False)
class Laplace:
    """Coordinates in which the posterior is nearly standard normal, for every α² at once.

    With H = XᵀWX and score s at the mode λ̂, ℓ(λ) ≈ ℓ̂ + sᵀ(λ − λ̂) − ½(λ − λ̂)ᵀH(λ − λ̂). Choose V with VᵀC⁻¹V = I and
    VᵀHV = diag(g), and write λ = Vw, τ = log α². Then, for every τ, the coordinates of w are independent in the
    approximate posterior: w_k ~ N(r_k/(g_k + e^{−τ}), 1/(g_k + e^{−τ})), r = Vᵀ(Hλ̂ + s). This gives a starting point
    and good coordinates; on its own it misses the posterior means of a real study by half a standard deviation.

    V = FQ with C = FFᵀ and Q the eigenvectors of FᵀHF. These are not unique: signs are free, and so is the basis where
    eigenvalues repeat (areas never compared, symmetric maps), and each processor's linear algebra makes its own choice.
    Noise is therefore drawn as one number per area and turned into these coordinates by Qᵀ, which cancels that choice:
    the same seed gives the same strengths, up to rounding, on every processor.
    """

    V: FloatArray
    Q: FloatArray
    g: FloatArray
    r: FloatArray
    log_variance_mean: float
    log_variance_sd: float

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """Draw standard normal coordinates, (areas, chains), that do not depend on the choice of eigenvectors."""
        return self.Q.T @ rng.standard_normal((len(self.g), chains))

    def draw(self, rng: np.random.Generator, chains: int, spread: float) -> tuple[FloatArray, FloatArray]:
        """Draw (strengths, log α²) for each chain, ``spread`` times as dispersed as the approximation."""
        tau = self.log_variance_mean + spread * self.log_variance_sd * rng.standard_normal(chains)
        variance = 1 / (self.g[:, None] + np.exp(-tau))
        w = self.r[:, None] * variance + spread * np.sqrt(variance) * self.noise(rng, chains)
        return (self.V @ w).T, tau


def approximate(model: Model) -> Laplace:
    """Find the mode of λ near the posterior mean of log α², and the coordinates there.

    The joint mode of (λ, α²) is not a sensible centre, because the density grows without bound as α → 0. Instead, α² is
    placed by its approximate marginal posterior, with λ integrated out.
    """
    fixed = isinstance(model.variance, FixedVariance)
    tau = float(np.log(model.variance.value)) if isinstance(model.variance, FixedVariance) else 0.0
    strengths = np.zeros(model.counts.n_areas)
    # A few rounds are enough: this only places the coordinates, so it need not converge.
    for _ in range(6):
        strengths = find_mode(model, tau, strengths)
        H = information(model.counts, strengths)
        F = model.covariance.factor
        g, Q = linalg.eigh(F.T @ H @ F)
        g, V = np.maximum(g, 0.0), F @ Q
        r = V.T @ (H @ strengths + score(model.counts, strengths))
        if fixed:
            return Laplace(V, Q, g, r, tau, 0.0)
        mean, sd = _log_variance_moments(model, g, r)
        if abs(mean - tau) < 0.25 * sd:
            break
        tau = mean
    return Laplace(V, Q, g, r, mean, sd)


def find_mode(model: Model, log_variance: float, start: FloatArray) -> FloatArray:
    """Maximise ℓ(λ) − λᵀC⁻¹λ/(2α²), a concave function."""
    precision = model.covariance.inverse * np.exp(-log_variance)

    def height(at: FloatArray) -> float:
        return float(log_likelihood(model.counts, at) - at @ precision @ at / 2)

    def ascent(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        gradient = score(model.counts, at) - precision @ at
        return gradient, linalg.solve(information(model.counts, at) + precision, gradient, assume_a="pos")

    return climb(height, ascent, start, close=1e-9)


def _log_variance_moments(model: Model, g: FloatArray, r: FloatArray) -> tuple[float, float]:
    """Mean and sd of τ under its approximate marginal posterior, by quadrature on a grid.

    log p(τ) ≈ ½Σ r²/(g + e^{−τ}) − ½Σ log(1 + g e^τ) + the log density of the prior.
    """
    if isinstance(model.variance, FixedVariance):
        raise TypeError("a fixed α² has no posterior")
    inverse = np.exp(-GRID)
    gain = (r**2) @ (1 / (g[:, None] + inverse)) / 2
    volume = np.log1p(g[:, None] * np.exp(GRID)).sum(axis=0) / 2
    log_density = gain - volume + model.variance.terms.log_density(GRID)
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = float(weight @ GRID)
    return mean, float(np.sqrt(weight @ (GRID - mean) ** 2))


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
    """The Gaussian nearest to the posterior of the strengths for known α²: quick, and better centred than Laplace's.

    Of all q = N(m, V) it has the smallest Kullback-Leibler divergence KL(q ‖ posterior). With
    d = λ_i − λ_j ~ N(m_i − m_j, s²) under q for every compared pair, p̄ = E logit⁻¹(d) and w̄ = n E p(1 − p), it
    satisfies

        Xᵀ(y − n p̄) = C⁻¹m/α²,     V⁻¹ = XᵀW̄X + C⁻¹/α².

    The mode, Laplace's centre, lies nearer to zero than the mean, because the likelihood of a clear winner is skewed
    outwards; probabilities computed around it are too cautious. On the Nottinghamshire study, the means found here are
    within 0.03 posterior standard deviations of the exact ones, whereas the mode is up to 0.6 off. Variances are a
    little too small, by up to a sixth where the likelihood is most skewed.
    Source: Opper and Archambeau (2009); Challis and Barber (2013).
    """

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
    """
    match model.variance:
        case FixedVariance(value):
            return _at(model, value, near)
        case _:
            start = near.variance if near is not None else np.exp(approximate(model).log_variance_mean)
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
    variance = float(np.exp(approximate(model).log_variance_mean))
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
    return counts.onto_areas(counts.wins - counts.n * chance) - precision @ mean


def _at_mode(model: Model, variance: float) -> Gaussian:
    counts, prior = model.counts, model.covariance.inverse / variance
    mode = find_mode(model, float(np.log(variance)), np.zeros(counts.n_areas))
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
    """E logit⁻¹(d) for d ~ N(mean, variance), by Gauss-Hermite quadrature: the chance of a future answer."""
    centre, spread = np.asarray(mean, dtype=np.float64), np.sqrt(np.asarray(variance, dtype=np.float64))
    return expit(centre[..., None] + spread[..., None] * PLACES) @ (SHARES / SHARES.sum())
