"""The posterior of a large map, and the Gaussian near it, whose curvature on vectors serves as a mass matrix.

    H = C⁻¹/α² + XᵀWX,   w = n κ p̄ (1 − p̄),   p̄ = logit⁻¹(κ(m_i − m_j)),   κ = (1 + π s²_ij/8)^{−1/2}

p̄ is nearly P(i beats j) averaged over λ_i − λ_j ~ N(m_i − m_j, s²_ij) (MacKay, 1992). With κ = 1 this is Laplace's
approximation, whose mode is too near zero and whose α² is too small, for large maps by many standard deviations; with
s² from a few draws of N(0, H⁻¹) both are nearly right (compare `core.gaussian`).

H is never formed as a matrix here. Systems with it are solved by conjugate gradients, preconditioned by its diagonal:
the number of iterations depends on how much each area was compared, not on how many areas there are.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import expit

from judgemap.core.approximate.newton import climb
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.likelihood import differences
from judgemap.core.model.prior import FixedVariance, VariancePrior
from judgemap.core.samplers.large.smoothers import Smoother
from judgemap.core.threads import Workers, halves
from judgemap.core.types import FloatArray

ITERATIONS = 2_000
"""The most conjugate gradient iterations: a system that needs more is left unfinished, at a cost in the energy."""
NEWTON_TOLERANCE, ROUGH = 1e-3, 1e-2
"""Tolerances of conjugate gradients: for a Newton step, and for averages over random vectors."""
WIDE = 8
"""From this many columns on, they are split between two threads."""
PROBES = 16
"""Random vectors used to estimate variances and the trace of C⁻¹H⁻¹."""
ROUNDS, NEAR, SMOOTHED = 16, 0.01, 4
"""The most rounds of the search for α²; the change of log α² at which it ends; rounds that must have used variances."""
CLOSE = 1e-5
"""What may be left to gain at the mode, per area."""
FARTHEST_START = 8.0
"""No mass matrix is placed at |log α²| beyond this."""


@dataclass(frozen=True, eq=False)
class LargeModel:
    """logit P(i beats j) = λ_i − λ_j, λ ~ N(0, α² C), α² fixed or inverse-gamma, with C as a `Smoother`."""

    counts: PairCounts
    smoother: Smoother
    variance: VariancePrior
    workers: Workers = field(default_factory=Workers)

    def __post_init__(self) -> None:
        if self.counts.n_areas != self.smoother.n_areas:
            raise ValueError(
                f"the comparisons cover {self.counts.n_areas:,} areas, the prior {self.smoother.n_areas:,}"
            )

    def likelihood(self, strengths: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return ∇ℓ, (areas, chains), and ℓ, (chains,), for each column of strengths."""
        (score, height), (more, rest) = self.workers.each(lambda part: part(strengths), self._likelihoods)
        score += more
        return score, height + rest

    def precision(self, vectors: FloatArray) -> FloatArray:
        """C⁻¹ times each column."""
        if vectors.shape[1] < WIDE:
            return self.smoother.precision(vectors)
        parts = self.workers.each(lambda part: self.smoother.precision(vectors[:, part]), halves(vectors.shape[1]))
        return np.concatenate(parts, axis=1)

    @cached_property
    def _likelihoods(self) -> list[Callable[[FloatArray], tuple[FloatArray, FloatArray]]]:
        """Lay out the likelihood of each half of the pairs."""
        from judgemap.core.samplers.spatial.pairs_compiled import likelihood

        counts, columns = self.counts, ("first", "second", "n", "wins")
        return [
            likelihood(PairCounts(counts.n_areas, *(getattr(counts, name)[part] for name in columns)))
            for part in halves(len(counts.n))
        ]


@dataclass(frozen=True, eq=False)
class Curvature:
    """H = e^{−τ} C⁻¹ + XᵀWX, on vectors (areas, columns)."""

    model: LargeModel
    log_variance: float
    weights: FloatArray

    @classmethod
    def at(cls, model: LargeModel, log_variance: float, strengths: FloatArray, kappa: FloatArray) -> "Curvature":
        """Return the curvature at some strengths; ``kappa`` is κ, one entry per pair."""
        p = expit(kappa * differences(model.counts, strengths))
        return cls(model, log_variance, model.counts.n * kappa * p * (1 - p))

    @cached_property
    def diagonal(self) -> FloatArray:
        """H_ii."""
        counts, w = self.model.counts, self.weights
        data = np.bincount(counts.first, w, counts.n_areas) + np.bincount(counts.second, w, counts.n_areas)
        found: FloatArray = np.exp(-self.log_variance) * self.model.smoother.diagonal + data
        return found

    def times(self, vectors: FloatArray) -> FloatArray:
        """H times each column."""
        counts = self.model.counts
        from judgemap.core.samplers.spatial.pairs_compiled import add_laplacian

        result: FloatArray = np.exp(-self.log_variance) * self.model.precision(vectors)
        add_laplacian(counts.first, counts.second, self.weights, vectors, result)
        return result

    def noise(self, rng: np.random.Generator, columns: int) -> FloatArray:
        """Draw columns from N(0, H): α⁻¹ times the prior's noise, plus √w ε for every pair."""
        counts = self.model.counts
        result: FloatArray = np.exp(-self.log_variance / 2) * self.model.smoother.precision_noise(rng, columns)
        for column in range(columns):
            result[:, column] += counts.onto_areas(np.sqrt(self.weights) * rng.standard_normal(len(self.weights)))
        return result

    def solve(self, vectors: FloatArray, tolerance: float) -> FloatArray:
        """H⁻¹ times each column, to a residual of ``tolerance`` times the size of the column."""
        scale = 1 / self.diagonal[:, None]
        result, residual = np.zeros_like(vectors), vectors.copy()
        preconditioned = scale * residual
        direction = preconditioned.copy()
        product = (residual * preconditioned).sum(axis=0)
        enough = tolerance**2 * product
        for _ in range(ITERATIONS):
            going = product > enough
            if not going.any():
                break
            image = self.times(direction)
            step = np.divide(product, (direction * image).sum(axis=0), out=np.zeros_like(product), where=going)
            result += step * direction
            residual -= step * image
            preconditioned = scale * residual
            new = (residual * preconditioned).sum(axis=0)
            turn = np.divide(new, product, out=np.zeros_like(new), where=going)
            direction = preconditioned + turn * direction
            product = np.where(going, new, product)
        return result


@dataclass(frozen=True, eq=False)
class Centre:
    """The centre of the posterior of λ at a probable α², the curvature there, and how uncertain log α² is."""

    strengths: FloatArray
    curvature: Curvature
    log_variance_sd: float


def find_centre(model: LargeModel) -> Centre:
    """Find the centre of the strengths, and the α² that agrees with it (MacKay's evidence iteration).

    α² = (ω + mᵀC⁻¹m/2) / (χ + γ/2), where γ = N − tr(C⁻¹H⁻¹)/α² is the number of directions the answers say something
    about. Random vectors come from a fixed seed. Where chains end up does not depend on any of this.
    """
    rng = np.random.default_rng(0)
    prior, smoother, counts = model.variance, model.smoother, model.counts
    tau = float(np.log(prior.value)) if isinstance(prior, FixedVariance) else 0.0
    mean, kappa, told, smoothed = np.zeros(smoother.n_areas), np.ones(len(counts.n)), 1.0, 0
    probes = smoother.precision_noise(rng, PROBES)
    for _ in range(ROUNDS):
        mean = find_mode(model, tau, mean, kappa)
        curvature = Curvature.at(model, tau, mean, kappa)
        change = 0.0
        if not isinstance(prior, FixedVariance):
            trace = float((probes * curvature.solve(probes, ROUGH)).sum() / PROBES)
            told = max(smoother.n_areas - np.exp(-tau) * trace, 1.0)
            size = float(mean @ smoother.precision(mean[:, None])[:, 0])
            better = float(np.log((prior.scale + size / 2) / (prior.shape + told / 2)))
            change = float(np.clip(better - tau, -2.0, 2.0))
        if abs(change) < NEAR and smoothed >= SMOOTHED:
            break
        tau = float(np.clip(tau + change, -FARTHEST_START, FARTHEST_START))
        # Once α² is nearly found, allow for the uncertainty of the strengths too.
        if abs(change) < 20 * NEAR:
            draws = curvature.solve(curvature.noise(rng, PROBES), ROUGH)
            variance = (differences(counts, draws) ** 2).mean(axis=1)
            kappa, smoothed = 1 / np.sqrt(1 + np.pi / 8 * variance), smoothed + 1
    sd = 0.0 if isinstance(prior, FixedVariance) else float(np.sqrt(2 / (2 * prior.shape + told)))
    return Centre(mean, curvature, sd)


def find_mode(model: LargeModel, log_variance: float, start: FloatArray, kappa: FloatArray) -> FloatArray:
    """Maximise Σ(y d − n log(1 + e^{κd})/κ) − e^{−τ}λᵀC⁻¹λ/2, d = Xλ, by Newton's method with conjugate gradients."""
    inverse, counts = np.exp(-log_variance), model.counts

    def pull(at: FloatArray) -> FloatArray:
        pulled: FloatArray = inverse * model.smoother.precision(at[:, None])[:, 0]
        return pulled

    def height(at: FloatArray) -> float:
        d = differences(counts, at)
        fit = counts.wins @ d - (counts.n / kappa) @ np.logaddexp(0.0, kappa * d)
        return float(fit - at @ pull(at) / 2)

    def ascent(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(kappa * differences(counts, at))
        gradient = counts.onto_areas(counts.wins - counts.n * p) - pull(at)
        step = Curvature.at(model, log_variance, at, kappa).solve(gradient[:, None], NEWTON_TOLERANCE)
        return gradient, step[:, 0]

    return climb(height, ascent, start, close=CLOSE * counts.n_areas)
