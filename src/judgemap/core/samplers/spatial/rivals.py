"""The samplers that others use for Bradley-Terry models, for comparison with ours in the scalability study.

They are plain and exact, with every advantage their authors give them. None is meant for use in a study.

- `single_site_kernel`: one strength at a time, proposed from its maximum-likelihood estimate and quasi-variance.
- `block_walk_kernel`: all strengths at once, by a short random step that preserves the prior.
- `caron_doucet_kernel`: data augmentation for gamma priors; a different prior from `Model`'s, so a different posterior.

The first two end a step in the same way: they shift all strengths together, then draw α², each from its exact
conditional. States are `Sample`s or contain one, so any number of chains can move at a time.
"""

from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from scipy.special import expit

from judgemap.core.approximate import climb
from judgemap.core.model.counts import PairCounts, information, log_likelihood, score
from judgemap.core.model.prior import Model
from judgemap.core.samplers.gibbs import draw_log_variance
from judgemap.core.samplers.kernel import Kernel, by_steps
from judgemap.core.types import FloatArray, IntArray

PENALTY = 0.1
"""κ of the penalty κ‖λ‖²/2 that is added if the likelihood has no maximum."""


class Sample(NamedTuple):
    """Where the chains are, one row each, and how likely their last proposals were to be accepted."""

    strengths: FloatArray
    log_variance: FloatArray
    acceptance: FloatArray


class Site(NamedTuple):
    """What the update of one area needs from the data."""

    area: int
    opponents: IntArray
    n: IntArray
    """Comparisons with each opponent."""
    wins: int


class WalkState(NamedTuple):
    """The block walk's state: a sample, and the log-likelihood of each chain's strengths."""

    sample: Sample
    log_likelihood: FloatArray


class Estimate(NamedTuple):
    """Centred maximum-likelihood strengths and their quasi-variances."""

    strengths: FloatArray
    quasi_variances: FloatArray


def single_site_kernel(model: Model) -> Kernel:
    """Update each λ_i in turn by independence Metropolis, then the level and α².

    λ_i is proposed from N(m_i + c_i, q_i), with m_i its maximum-likelihood estimate and q_i its quasi-variance. The
    likelihood fixes m only up to a constant; c_i is that constant according to the other strengths, the mean of
    λ_j − m_j over j ≠ i weighted by 1/q_j. It does not depend on λ_i, so the proposal is independent of the value it
    would replace, and is accepted with probability min(1, π(λ')q(λ) / (π(λ)q(λ'))), where π is likelihood times prior.
    The reported acceptance is the mean over areas.

    Source: the single-site sampler in the scalability study of Seymour et al.; see `estimate` for m and q.
    """
    mode, q = estimate(model.counts)
    deviation, weight = np.sqrt(q), 1 / q
    sites = [_site(model.counts, area) for area in range(model.counts.n_areas)]

    def step(rng: np.random.Generator, state: Sample) -> Sample:
        strengths, variance = state.strengths.copy(), np.exp(state.log_variance)
        accepted = np.zeros(len(strengths))
        for site in sites:
            i = site.area
            current = strengths[:, i].copy()
            level = ((strengths - mode) @ weight - (current - mode[i]) * weight[i]) / (weight.sum() - weight[i])
            proposal = mode[i] + level + deviation[i] * rng.standard_normal(len(level))
            log_ratio = (
                log_conditional(model, site, strengths, variance, proposal)
                - log_conditional(model, site, strengths, variance, current)
                + log_proposal(current, mode[i] + level, deviation[i])
                - log_proposal(proposal, mode[i] + level, deviation[i])
            )
            chance = np.exp(np.minimum(0.0, log_ratio))
            strengths[:, i] = np.where(rng.random(len(chance)) < chance, proposal, current)
            accepted += chance
        return finish(rng, model, Sample(strengths, state.log_variance, accepted / len(sites)))

    return by_steps(_start, step, Sample._asdict)


def log_conditional(
    model: Model, site: Site, strengths: FloatArray, variance: FloatArray, value: FloatArray
) -> FloatArray:
    """Evaluate log π(λ_i | λ_j, j ≠ i, α², y) at ``value``, one per chain, up to a constant.

    The prior's part is −(Q_ii λ_i²/2 + λ_i Σ_{j≠i} Q_ij λ_j)/α² with Q = C⁻¹.
    """
    precision = model.covariance.inverse[site.area]
    pull = strengths @ precision - precision[site.area] * strengths[:, site.area]
    met = np.logaddexp(0.0, value[:, None] - strengths[:, site.opponents])
    return site.wins * value - met @ site.n - value * (precision[site.area] * value / 2 + pull) / variance


def log_proposal(value: FloatArray, location: FloatArray, deviation: float) -> FloatArray:
    """Evaluate the log-density of N(location, deviation²) up to a constant that cancels in the ratio."""
    return -(((value - location) / deviation) ** 2) / 2


def block_walk_kernel(model: Model, delta: float = 0.01) -> Kernel:
    """Move all strengths at once by an underrelaxed random walk, then the level and α².

    λ' = √(1 − δ²) λ + δ ν with ν ~ N(0, α²C) preserves the prior, so λ' is accepted with the ratio of the likelihoods
    alone. δ is fixed; BSBT leaves it to the user. `tune_delta` finds one that suits the data.

    Source: Seymour et al. (2022), the Bayesian spatial Bradley-Terry model; the proposal is Neal's (1999), known since
    as preconditioned Crank-Nicolson.
    """
    if not 0 < delta <= 1:
        raise ValueError(f"the block walk's delta must lie in (0, 1], received {delta}")

    def init(rng: np.random.Generator, strengths: FloatArray, log_variance: FloatArray) -> WalkState:
        return WalkState(_start(rng, strengths, log_variance), log_likelihood(model.counts, strengths.T))

    def step(rng: np.random.Generator, state: WalkState) -> WalkState:
        strengths, log_variance, _ = state.sample
        noise = np.exp(log_variance / 2)[:, None] * model.covariance.draw(rng, len(strengths))
        proposal = underrelax(strengths, noise, delta)
        proposed = log_likelihood(model.counts, proposal.T)
        chance = np.exp(np.minimum(0.0, proposed - state.log_likelihood))
        moved = rng.random(len(chance)) < chance
        strengths = np.where(moved[:, None], proposal, strengths)
        sample = finish(rng, model, Sample(strengths, log_variance, chance))
        return WalkState(sample, np.where(moved, proposed, state.log_likelihood))

    return by_steps(init, step, lambda state: state.sample._asdict())


def underrelax(strengths: FloatArray, noise: FloatArray, delta: float) -> FloatArray:
    """Return √(1 − δ²) λ + δ ν, which has the same distribution as λ and ν if these are independent and identical."""
    return np.sqrt(1 - delta**2) * strengths + delta * noise


def tune_delta(
    rng: np.random.Generator, model: Model, starts: tuple[FloatArray, FloatArray], steps: int = 200, rounds: int = 12
) -> float:
    """Choose δ for `block_walk_kernel` by a pilot: scale it until about 23 % of proposals are accepted.

    Each round runs ``steps`` steps from where the last one ended; ``starts``, strengths and log α², should be near the
    posterior, because the walk takes a long time to get there. Keep the result fixed for the actual run.
    """
    delta = 0.01
    for _ in range(rounds):
        kernel = block_walk_kernel(model, delta)
        _, draws = kernel.advance(rng, kernel.init(rng, *starts), steps, 1)
        starts = draws["strengths"][:, -1], draws["log_variance"][:, -1]
        delta = min(1.0, delta * float(np.exp(2 * (draws["acceptance"].mean() - 0.23))))
    return delta


def caron_doucet_kernel(counts: PairCounts, shape: float = 1.0, rate: float = 1.0) -> Kernel:
    """Gibbs sampling by data augmentation for the Bradley-Terry model with independent gamma priors.

    w_i = e^{λ_i} ~ Gamma(a, b), shape and rate. Z_ij | w ~ Gamma(n_ij, w_i + w_j) for every compared pair;
    w_i | Z ~ Gamma(a + wins of i, b + Σ_j Z_ij). Then w is rescaled so that its sum is a fresh draw from Gamma(N a, b):
    under this prior the sum is independent of the proportions, and the likelihood depends only on those.

    **The prior is not that of `Model`**: it has no map and no α², so the posterior is a different one, and only the
    speed can be compared. The samples' log α² is 0.

    Source: Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS 21.
    """
    for name, value in (("shape a", shape), ("rate b", rate)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"the {name} of the prior of e^λ must be a positive number, received {value}")
    first, second, pairs = counts.first, counts.second, np.arange(len(counts.n))
    wins = np.bincount(first, counts.wins, counts.n_areas) + np.bincount(second, counts.n - counts.wins, counts.n_areas)
    gather = sparse.csr_array(
        (np.ones(2 * len(pairs)), (np.r_[pairs, pairs], np.r_[first, second])), shape=(len(pairs), counts.n_areas)
    )

    def step(rng: np.random.Generator, state: Sample) -> Sample:
        log_sum = np.logaddexp(state.strengths[:, first], state.strengths[:, second])
        latent = rng.standard_gamma(counts.n, log_sum.shape) * np.exp(-log_sum)
        log_w = log_gamma(rng, np.broadcast_to(shape + wins, state.strengths.shape)) - np.log(rate + latent @ gather)
        return Sample(rescale(rng, log_w, shape, rate), np.zeros(len(log_w)), np.ones(len(log_w)))

    return by_steps(_start, step, Sample._asdict)


def rescale(rng: np.random.Generator, log_w: FloatArray, shape: float, rate: float) -> FloatArray:
    """Multiply each chain's w by a factor, so that its sum is a draw from Gamma(N a, b)."""
    chains, n_areas = log_w.shape
    total = log_gamma(rng, np.full(chains, n_areas * shape)) - np.log(rate)
    return log_w + (total - np.logaddexp.reduce(log_w, axis=1))[:, None]


def log_gamma(rng: np.random.Generator, shape: FloatArray) -> FloatArray:
    """Draw log g, g ~ Gamma(a, 1), as log(g⁺u^{1/a}) with g⁺ ~ Gamma(a + 1, 1): for small a, g could round to 0."""
    return np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape


def finish(rng: np.random.Generator, model: Model, sample: Sample) -> Sample:
    """End a step: shift each chain's strengths together, then draw its α², InvGamma(χ + N/2, ω + λᵀC⁻¹λ/2)."""
    strengths = shift(rng, model, sample.strengths, sample.log_variance)
    inverse = model.covariance.inverse
    log_variance = np.array([draw_log_variance(rng, model.variance, inverse, row) for row in strengths])
    return Sample(strengths, log_variance, sample.acceptance)


def shift(rng: np.random.Generator, model: Model, strengths: FloatArray, log_variance: FloatArray) -> FloatArray:
    """Draw each chain's level from its exact conditional; the likelihood does not depend on it.

    With r = λ − λ̄·1 and Q = C⁻¹/α², λ becomes r + c·1, c ~ N(−1ᵀQr / 1ᵀQ1, 1 / 1ᵀQ1).
    """
    pull = model.covariance.inverse.sum(axis=0)
    residual = strengths - strengths.mean(axis=1, keepdims=True)
    noise = np.exp(log_variance / 2) * rng.standard_normal(len(residual)) / np.sqrt(pull.sum())
    return residual + (noise - residual @ pull / pull.sum())[:, None]


def estimate(counts: PairCounts) -> Estimate:
    """Maximise the likelihood, and return each strength with a quasi-variance.

    Quasi-variances q make q_i + q_j ≈ v_ij = Var(λ̂_i − λ̂_j) for all pairs at once: they minimise
    Σ_{i<j} (log(q_i + q_j) − log v_ij)². None may be below half of Var(λ̂_i | λ̂_j, j ≠ i), because an area that is the
    only link between others would get 0. A maximum exists if and only if every area can be reached from every other
    along wins (Ford, 1957); if there is none, the log-likelihood is lightly penalised by κ‖λ‖²/2 with κ = 0.1, which is
    good enough for a proposal.

    Source: Firth and de Menezes (2004), Quasi-variances, Biometrika 91, 65-80.
    """
    if counts.n_areas < 2:
        raise ValueError("a pair needs two areas")
    penalty = 0.0 if counts.tiers() == 1 else PENALTY
    ridge = penalty * np.eye(counts.n_areas)
    level = np.full_like(ridge, 1 / counts.n_areas)

    def curvature(strengths: FloatArray) -> FloatArray:
        return information(counts, strengths) + ridge + level

    def ascent(strengths: FloatArray) -> tuple[FloatArray, FloatArray]:
        gradient = score(counts, strengths) - penalty * strengths
        return gradient, linalg.solve(curvature(strengths), gradient, assume_a="pos")

    def height(strengths: FloatArray) -> float:
        return float(log_likelihood(counts, strengths) - penalty * strengths @ strengths / 2)

    strengths = climb(height, ascent, np.zeros(counts.n_areas), close=1e-20)
    covariance = linalg.inv(curvature(strengths))
    q = quasi_variances(np.add.outer(np.diag(covariance), np.diag(covariance)) - 2 * covariance)
    return Estimate(strengths, np.maximum(q, 0.5 / np.diag(information(counts, strengths) + ridge)))


def quasi_variances(contrasts: FloatArray) -> FloatArray:
    """Return the q that minimise Σ_{i<j} (log(q_i + q_j) − log v_ij)², where v are the variances of all differences.

    Uses Gauss-Newton in log q, which keeps them positive; the best may be nearly 0.
    """
    apart = ~np.eye(len(contrasts), dtype=bool)
    goal = np.log(contrasts, where=apart, out=np.zeros_like(contrasts))

    def misfit(log_q: FloatArray) -> FloatArray:
        return apart * (np.logaddexp.outer(log_q, log_q) - goal)

    def ascent(log_q: FloatArray) -> tuple[FloatArray, FloatArray]:
        share = apart * expit(np.subtract.outer(log_q, log_q))
        normal = share * share.T + np.diag((share**2).sum(axis=1))
        gradient = -(share * misfit(log_q)).sum(axis=1)
        return gradient, linalg.lstsq(normal, gradient)[0]

    def height(log_q: FloatArray) -> float:
        return -float((misfit(log_q) ** 2).sum()) / 4

    start = np.full(len(contrasts), np.log(contrasts[apart].mean() / 2))
    return np.exp(climb(height, ascent, start, close=1e-12))


def _site(counts: PairCounts, area: int) -> Site:
    ahead, behind = counts.first == area, counts.second == area
    return Site(
        area=area,
        opponents=np.r_[counts.second[ahead], counts.first[behind]],
        n=np.r_[counts.n[ahead], counts.n[behind]],
        wins=int(counts.wins[ahead].sum() + (counts.n - counts.wins)[behind].sum()),
    )


def _start(_rng: np.random.Generator, strengths: FloatArray, log_variance: FloatArray) -> Sample:
    return Sample(strengths.copy(), log_variance.copy(), np.ones(len(log_variance)))
