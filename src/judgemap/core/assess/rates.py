"""From rank to rate: a risk in log odds, calibrated by the counts that some areas have.

A count y of an area with exposure E (its population, or the count expected of it) and risk r follows

    y ~ NegBin(mean E e^(a + b z), size 1/σ²),   z = (r − c) / s

or, which is the same, y ~ Poisson(E ρ) with a rate ρ = e^(a + b z) g of the area's own, g ~ Gamma(1/σ², 1/σ²). c and s
are the mean and the standard deviation of the areas' mean risks. The priors are weak: a is flat, b ~ N(0, 2²) and
σ ~ half-normal(1).

The risk is uncertain. To put each draw of it into the regression as if it were the truth would flatten b, as any error
in a covariate does. So the likelihood of a count is its mean over that area's risk, by Gauss-Legendre quadrature over
the quantiles of the draws; how risks of different areas depend on each other is left out there. (a, b, log σ) are drawn
by importance sampling, from a t distribution that adapts to their posterior in a few rounds. Then, draw by draw and
area by area, r and ρ are drawn given the count:

    ρ | y ~ Gamma(1/σ² + y, 1/σ² / e^(a + b z) + E)

Without a count, r is one draw of the whole map, and ρ its prior.
"""

from dataclasses import dataclass

import numpy as np
from scipy import optimize, special

from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray

B_SCALE, SIGMA_SCALE = 2.0, 1.0
SMALLEST = -7.0
"""The least log σ: with less, counts could not be told from Poisson ones, and Γ(1/σ²) not be computed."""
NODES = 32
"""At how many quantiles of its area's risk the likelihood of a count is taken."""
MOST_ROUNDS, TRIED, DRAWS, FREEDOM = 12, 300, 1000, 5
STEP, WIDER = 1e-3, 1.2
ENOUGH, LEAST = 0.5, 0.2
"""The share of effective proposals at which a proposal need not adapt further, and the least that is accepted."""
AT_A_TIME = 2_000_000


@dataclass(frozen=True, slots=True, eq=False)
class RateDraws:
    """Draws of a, b and σ, (draws,), and of every area's rate, (draws, areas)."""

    a: FloatArray
    b: FloatArray
    sigma: FloatArray
    rates: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """Areas with counts: their positions, the counts, and their exposures."""

    area: IntArray
    y: FloatArray
    exposure: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """Values of the risk of the areas with counts, (areas, nodes), and the logarithms of the nodes' weights."""

    z: FloatArray
    log_weights: FloatArray


def draw_rates(rng: np.random.Generator, risk: FloatArray, counts: Counts) -> RateDraws:
    """Draw the rate of every area, given draws of risk (draws, areas) and the counts of some areas."""
    mean = risk.mean(axis=0)
    z = (risk - mean.mean()) / mean.std()
    held = nodes_of(z[:, counts.area])
    theta = _draw_parameters(rng, held, counts)
    a, b, sigma = theta[:, 0], theta[:, 1], np.exp(theta[:, 2])
    size = sigma**-2
    whole = z[rng.integers(len(z), size=len(theta))]
    expected = np.exp(a[:, None] + b[:, None] * whole)
    shape, pull = np.repeat(size[:, None], z.shape[1], axis=1), size[:, None] / expected
    for part in pieces(len(theta), AT_A_TIME // held.z.size + 1):
        likely = _log_likelihood(theta[part], held, counts)
        chosen = (likely + rng.gumbel(size=likely.shape)).argmax(axis=2)
        own = held.z[np.arange(len(held.z)), chosen]
        pull[part, counts.area] = size[part, None] / np.exp(a[part, None] + b[part, None] * own) + counts.exposure
    shape[:, counts.area] += counts.y
    return RateDraws(a, b, sigma, rng.standard_gamma(shape) / pull)


def nodes_of(z: FloatArray) -> Held:
    """Choose the values of each area's risk, with weights, over which the likelihood of its count is averaged."""
    place, weights = np.polynomial.legendre.leggauss(NODES)
    return Held(np.quantile(z, (place + 1) / 2, axis=0).T, np.log(weights / 2))


def _log_likelihood(theta: FloatArray, held: Held, counts: Counts) -> FloatArray:
    """Return the log likelihood of each count at each node, with the node's weight: (parameters, areas, nodes)."""
    a, b, size = theta[:, 0, None], theta[:, 1, None], np.exp(-2 * theta[:, 2, None])
    y, level = counts.y, a + np.log(counts.exposure)
    fixed = special.gammaln(y + size) - special.gammaln(size) - special.gammaln(y + 1) + y * (level - np.log(size))
    tilt = b[:, :, None] * held.z
    ratio = np.log1p(np.exp(level - np.log(size))[:, :, None] * np.exp(tilt))
    return fixed[:, :, None] + y[:, None] * tilt - (y + size)[:, :, None] * ratio + held.log_weights


def log_posterior(theta: FloatArray, held: Held, counts: Counts) -> FloatArray:
    """Return the log posterior density of each (a, b, log σ), up to a constant."""
    parts = []
    for part in pieces(len(theta), AT_A_TIME // held.z.size + 1):
        each = _log_likelihood(theta[part], held, counts)
        most = each.max(axis=2)
        each -= most[:, :, None]  # scipy's logsumexp takes three times as long
        likely = (most + np.log(np.exp(each, out=each).sum(axis=2))).sum(axis=1)
        b, sigma = theta[part, 1], np.exp(theta[part, 2])
        likely[theta[part, 2] < SMALLEST] = -np.inf
        parts.append(likely - (b / B_SCALE) ** 2 / 2 - (sigma / SIGMA_SCALE) ** 2 / 2 + theta[part, 2])
    return np.concatenate(parts)


def _draw_parameters(rng: np.random.Generator, held: Held, counts: Counts) -> FloatArray:
    """Draw (a, b, log σ) by adaptive importance sampling."""
    begin = np.array([np.log(counts.y.sum() / counts.exposure.sum()), 0.3, -1.0])

    def depth(at: FloatArray) -> float:
        return float(-log_posterior(at[None], held, counts)[0])

    mode: FloatArray = optimize.minimize(depth, begin.tolist(), method="Nelder-Mead").x
    centre, factor, effective = mode, _width(mode, held, counts), 0.0
    for _ in range(MOST_ROUNDS):
        many = DRAWS if effective >= ENOUGH else TRIED
        theta, weights = _propose(rng, centre, factor, many, held, counts)
        effective = 1 / (weights**2).sum() / many
        if many == DRAWS and effective >= LEAST:
            return theta[rng.choice(DRAWS, DRAWS, p=weights)]
        centre = weights @ theta
        away = (theta - centre) * np.sqrt(weights)[:, None]
        factor = np.asarray(WIDER * np.linalg.cholesky(away.T @ away + 1e-6 * np.eye(3)), dtype=np.float64)
    raise ValueError("the parameters of the rates could not be drawn")


def _width(mode: FloatArray, held: Held, counts: Counts) -> FloatArray:
    """Return a factor F of the posterior's covariance F Fᵀ at its mode, by its curvature there."""
    unit, signs = STEP * np.eye(3), np.array([(1, 1), (1, -1), (-1, 1), (-1, -1)])
    moved = mode + signs[:, 0, None] * unit[:, None, None] + signs[:, 1, None] * unit[None, :, None]
    heights = log_posterior(moved.reshape(-1, 3), held, counts).reshape(3, 3, 4)
    bend, axes = np.linalg.eigh(-(heights * signs.prod(axis=1)).sum(axis=2) / (4 * STEP**2))
    return np.asarray(axes / np.sqrt(np.maximum(bend, 0.4)))  # σ may hardly be bounded from below


def _propose(
    rng: np.random.Generator, centre: FloatArray, factor: FloatArray, many: int, held: Held, counts: Counts
) -> tuple[FloatArray, FloatArray]:
    """Draw parameters from a t distribution, and weigh them by posterior over proposal."""
    noise = rng.standard_normal((many, 3)) * np.sqrt(FREEDOM / rng.chisquare(FREEDOM, (many, 1)))
    theta = centre + noise @ factor.T
    proposed = -(FREEDOM + 3) / 2 * np.log1p((noise**2).sum(axis=1) / FREEDOM)
    return theta, special.softmax(log_posterior(theta, held, counts) - proposed)
