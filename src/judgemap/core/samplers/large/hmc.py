"""Split Hamiltonian Monte Carlo for large maps, many chains at a time, with a fitted mass matrix and two draws of α².

A step is a trajectory of λ at the current α², in the coordinates of a `Mass`, then two draws of τ = log α²:

    α² | λ ~ InvGamma(χ + N/2, ω + λᵀC⁻¹λ/2)
    τ | λ/α, from exp(ℓ(e^{τ/2} λ/α) − χτ − ωe^{−τ}), by slice sampling, which moves λ along

The first learns α² only from the strengths and the second only from the answers; together they make chains forget α² in
a few steps (interweaving: Yu and Meng, 2011). Energies are in double precision, whatever the mass matrix is stored in.
With the curvature at the mode as the mass, the number of kicks a trajectory needs grows like N^{1/4}. That curvature is

    H = C⁻¹/α² + XᵀWX,   w = n κ p̄ (1 − p̄),   p̄ = logit⁻¹(κ(m_i − m_j)),   κ = (1 + π s²_ij/8)^{−1/2}

p̄ is nearly P(i beats j) averaged over λ_i − λ_j ~ N(m_i − m_j, s²_ij) (MacKay, 1992). With κ = 1 this is Laplace's
approximation, whose mode is too near zero and whose α² is too small, for large maps by many standard deviations; with
s² from a few draws of N(0, H⁻¹) both are nearly right (compare `approximate.gaussian`). H need not be formed: systems
with it are solved by conjugate gradients, preconditioned by its diagonal, and the number of iterations depends on how
much each area was compared, not on how many areas there are.

A mass M ≈ H has a ``position`` x for the strengths and a momentum v. Under the Gaussian N(m, M⁻¹), trajectories rotate
(x − c, v) like the hands of a clock; kicks by ``pull(∇log p) + x − c`` account for the difference from it. A trajectory
is exact for any mass and for any ``pull`` that depends only on x, because the Metropolis test uses true energies; a
better mass is accepted more often.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack
from scipy.special import erfcinv, expit

from judgemap.core.approximate.newton import climb
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.likelihood import differences
from judgemap.core.model.prior import FixedVariance, VariancePrior
from judgemap.core.samplers import split_hmc
from judgemap.core.samplers.kernel import Arrays, Kernel, by_steps
from judgemap.core.samplers.slices import slice_line
from judgemap.core.samplers.spatial.hmc import FARTHEST
from judgemap.core.threads import Workers, halves
from judgemap.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from judgemap.core.samplers.large.smoothers import Smoother

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
PANEL = 512
"""Columns of the factor in one panel."""
CHUNK = 4096
"""Rows of a panel processed at a time, whatever the number of threads."""
JITTERS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)
"""Relative amounts added to the diagonal until the matrix is positive definite in single precision."""
KICK_TOLERANCE, NOISE_TOLERANCE = 1e-3, 1e-7
"""Tolerances of conjugate gradients: kicks may be rough, momenta may not."""
WIDTH = 16
"""Chains that share a call, so that a factor of gigabytes is read once for all of them."""
START_SPREAD = 1.5
"""How much wider than its approximation log α² starts. Strengths start only as wide as theirs: if thousands of numbers
were all half as large again, the energy would be so high that nothing would be accepted."""
FEWEST_KICKS, MOST_KICKS = 2, 32
PILOT_KICKS, PILOT_STEPS = 4, (1, 3)
"""The steps are those that do not count and those that do."""
WANTED_ACCEPTANCE = 0.9
SLICE_WIDTH = 4.0
"""The first step of the slice, in standard deviations of log α²."""


@dataclass(frozen=True, eq=False)
class LargeModel:
    """logit P(i beats j) = λ_i − λ_j, λ ~ N(0, α² C), α² fixed or inverse-gamma, with C as a `Smoother`."""

    counts: PairCounts
    smoother: "Smoother"
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
        from judgemap.core.samplers.spatial.compiled import likelihood

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
        from judgemap.core.samplers.spatial.compiled import add_laplacian

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

    α² is the most likely one given mᵀC⁻¹m of γ areas, where γ = N − tr(C⁻¹H⁻¹)/α² is the number of directions the
    answers say something about. Random vectors come from a fixed seed. Where chains end up does not depend on any of
    this.
    """
    rng = np.random.default_rng(0)
    prior, smoother, counts = model.variance, model.smoother, model.counts
    tau = float(np.log(prior.value)) if isinstance(prior, FixedVariance) else 0.0
    mean, kappa, told, smoothed = np.zeros(smoother.n_areas), np.ones(len(counts.n)), 1.0, 0
    probes = smoother.precision_noise(rng, PROBES)
    for _ in range(ROUNDS):
        # 1. The mode and its curvature at this α².
        mean = find_mode(model, tau, mean, kappa)
        curvature = Curvature.at(model, tau, mean, kappa)
        # 2. The α² that agrees with them.
        change = 0.0
        if not isinstance(prior, FixedVariance):
            trace = float((probes * curvature.solve(probes, ROUGH)).sum() / PROBES)
            told = max(smoother.n_areas - np.exp(-tau) * trace, 1.0)
            size = float(mean @ smoother.precision(mean[:, None])[:, 0])
            change = float(np.clip(prior.terms.given(told, size).mode - tau, -2.0, 2.0))
        if abs(change) < NEAR and smoothed >= SMOOTHED:
            break
        tau = float(np.clip(tau + change, -FARTHEST_START, FARTHEST_START))
        # 3. Once α² is nearly found, allow for the uncertainty of the strengths too.
        if abs(change) < 20 * NEAR:
            draws = curvature.solve(curvature.noise(rng, PROBES), ROUGH)
            variance = (differences(counts, draws) ** 2).mean(axis=1)
            kappa, smoothed = 1 / np.sqrt(1 + np.pi / 8 * variance), smoothed + 1
    if isinstance(prior, FixedVariance):
        return Centre(mean, curvature, 0.0)
    # At its mode, −d²/dτ² log p(τ) = n/2 − k + 2ηα².
    sharpness = told / 2 - prior.terms.power + 2 * prior.terms.direct * np.exp(tau)
    return Centre(mean, curvature, float(1 / np.sqrt(sharpness)))


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


Singles = NDArray[np.float32]


class Mass(Protocol):
    """What trajectories need from a mass. Arrays are (areas, chains), float64."""

    centre: FloatArray
    """The position of the mode, (areas, 1)."""

    def strengths(self, position: FloatArray) -> FloatArray:
        """Return λ, which is linear in the position."""

    def position(self, strengths: FloatArray) -> FloatArray:
        """Invert `strengths`."""

    def pull(self, gradient: FloatArray) -> FloatArray:
        """Turn ∇log p(λ) into the acceleration of the position."""

    def kinetic(self, momentum: FloatArray) -> FloatArray:
        """Return the kinetic energy of each chain, which must match the distribution of `noise` exactly."""

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """Draw momenta."""


class DenseMass:
    """x = Lᵀλ with LLᵀ = H, a Cholesky factor in single precision; momenta are N(0, I).

    L is stored in panels of columns, on and below the diagonal: 2N² bytes. The diagonal square of each panel is stored
    inverted, so that solving becomes multiplying.
    """

    def __init__(self, centre: Centre) -> None:
        self.workers = centre.curvature.model.workers
        self.begins = range(0, centre.curvature.model.counts.n_areas, PANEL)
        for jitter in JITTERS:
            self.panels = [_panel(centre, begin, jitter) for begin in self.begins]
            if self._factor():
                break
        else:
            raise FloatingPointError("the curvature is not positive definite in single precision")
        self.centre = self.position(centre.strengths[:, None])

    def _factor(self) -> bool:
        """Factor in place, panel by panel from the left; return False if the matrix is not positive definite."""
        for number, (begin, panel) in enumerate(zip(self.begins, self.panels, strict=True)):
            width = panel.shape[1]
            # An earlier panel of width w starting at s holds its rows from s on; the first w of them are inverted.
            before = [left[begin - start :] for start, left in zip(self.begins[:number], self.panels, strict=False)]

            def take_off(
                rows: slice, panel: Singles = panel, before: list[Singles] = before, width: int = width
            ) -> None:
                for left in before:
                    panel[rows] -= left[rows] @ left[:width].T

            chunks = [slice(first, first + CHUNK) for first in range(0, len(panel), CHUNK)]
            self.workers.each(take_off, chunks)
            factor, failed = lapack.spotrf(panel[:width], lower=1)
            if failed:
                return False
            panel[:width] = np.tril(lapack.strtri(factor, lower=1)[0])

            def divide(rows: slice, panel: Singles = panel, width: int = width) -> None:
                below = slice(max(rows.start, width), rows.stop)
                panel[below] = panel[below] @ panel[:width].T

            self.workers.each(divide, chunks)
        return True

    def strengths(self, position: FloatArray) -> FloatArray:
        """Return L⁻ᵀx."""
        x = position.astype(np.float32)
        for begin, panel in zip(reversed(self.begins), reversed(self.panels), strict=True):
            width = panel.shape[1]
            end = begin + width
            below, known = panel[width:], x[end:]

            def meet(rows: slice, below: Singles = below, known: Singles = known) -> Singles:
                met: Singles = below[rows].T @ known[rows]
                return met

            parts = self.workers.each(meet, halves(len(below)))
            x[begin:end] = panel[:width].T @ (x[begin:end] - parts[0] - parts[1])
        return x.astype(np.float64)

    def position(self, strengths: FloatArray) -> FloatArray:
        """Return Lᵀλ."""
        values, result = strengths.astype(np.float32), np.empty(strengths.shape)
        for begin, panel in zip(self.begins, self.panels, strict=True):
            width = panel.shape[1]
            end = begin + width
            square = np.linalg.inv(panel[:width].astype(np.float64))
            result[begin:end] = square.T @ values[begin:end] + panel[width:].T @ values[end:]
        return result

    def pull(self, gradient: FloatArray) -> FloatArray:
        """L⁻¹g."""
        g = gradient.astype(np.float32)
        for begin, panel in zip(self.begins, self.panels, strict=True):
            width = panel.shape[1]
            end = begin + width
            here = panel[:width] @ g[begin:end]
            g[begin:end] = here
            below, rest = panel[width:], g[end:]

            def take_off(rows: slice, below: Singles = below, rest: Singles = rest, here: Singles = here) -> None:
                rest[rows] -= below[rows] @ here

            self.workers.each(take_off, halves(len(below)))
        return g.astype(np.float64)

    def kinetic(self, momentum: FloatArray) -> FloatArray:
        """|v|²/2."""
        energy: FloatArray = np.einsum("ik,ik->k", momentum, momentum) / 2
        return energy

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """Draw standard normal momenta."""
        return rng.standard_normal((len(self.centre), chains))


class FreeMass:
    """x = λ, and H is never formed: H⁻¹ by conjugate gradients; momenta are N(0, H⁻¹).

    For maps with too many areas to store a factor. It needs only a few vectors of memory per chain.
    """

    def __init__(self, centre: Centre) -> None:
        self.curvature = centre.curvature
        self.centre = centre.strengths[:, None]

    def strengths(self, position: FloatArray) -> FloatArray:
        """Return x."""
        return position

    def position(self, strengths: FloatArray) -> FloatArray:
        """Return λ."""
        return strengths

    def pull(self, gradient: FloatArray) -> FloatArray:
        """H⁻¹g, approximately."""
        return self.curvature.solve(gradient, KICK_TOLERANCE)

    def kinetic(self, momentum: FloatArray) -> FloatArray:
        """vᵀHv/2."""
        energy: FloatArray = np.einsum("ik,ik->k", momentum, self.curvature.times(momentum)) / 2
        return energy

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """H⁻¹ times a draw from N(0, H)."""
        return self.curvature.solve(self.curvature.noise(rng, chains), NOISE_TOLERANCE)


def dense_bytes(n_areas: int) -> int:
    """Return the size of a `DenseMass` in bytes.

    >>> dense_bytes(32_844) // 10**6
    2191
    """
    return 2 * n_areas * (n_areas + PANEL)


def _panel(centre: Centre, begin: int, jitter: float) -> Singles:
    """Write the columns of H from ``begin`` on, on and below the diagonal."""
    curvature = centre.curvature
    counts, w, n = curvature.model.counts, curvature.weights, curvature.model.counts.n_areas
    panel: Singles = np.zeros((n - begin, min(PANEL, n - begin)), dtype=np.float32)
    width = panel.shape[1]
    curvature.model.smoother.add_columns(float(np.exp(-curvature.log_variance)), begin, panel)
    here = np.flatnonzero((counts.first >= begin) & (counts.first < begin + width))
    panel[counts.second[here] - begin, counts.first[here] - begin] -= w[here]
    columns = np.arange(width)
    panel[columns, columns] = curvature.diagonal[begin : begin + width] * (1 + jitter)
    return panel


class LargeState(NamedTuple):
    """Where the chains are: positions, strengths and derivatives there, log α², and how the last step went."""

    q: FloatArray
    """The position x."""
    residual: FloatArray
    """What the rotation leaves to the kicks."""
    strengths: FloatArray
    smooth: FloatArray
    """C⁻¹λ."""
    log_likelihood: FloatArray
    log_variance: FloatArray
    acceptance: FloatArray
    divergences: IntArray

    @property
    def size(self) -> FloatArray:
        """λᵀC⁻¹λ for each chain."""
        total: FloatArray = np.einsum("ik,ik->k", self.strengths, self.smooth)
        return total


class LargeTarget(NamedTuple):
    """A model, a mass matrix that suits it, and the approximate centre and spread of its posterior."""

    model: LargeModel
    mass: Mass
    centre: Centre


def kernel(target: LargeTarget, kicks: int | None = None) -> Kernel:
    """Build the sampler; unless ``kicks`` is given, a short pilot with a fixed seed finds it."""
    number = choose_kicks(target) if kicks is None else kicks

    def init(_rng: np.random.Generator, strengths: FloatArray, log_variance: FloatArray) -> LargeState:
        return start(target, strengths, log_variance)

    def step(rng: np.random.Generator, state: LargeState) -> LargeState:
        return draw_variance(rng, target, trajectory(rng, target, state, number))

    return by_steps(init, step, read, WIDTH)._replace(block=1)  # a draw can take seconds, and Ctrl-C has to wait for it


def read(state: LargeState) -> Arrays:
    """Keep the strengths in single precision: seven digits of a number that is known to two."""
    return {
        "strengths": state.strengths.T.astype(np.float32),
        "log_variance": state.log_variance,
        "acceptance": state.acceptance,
        "divergences": state.divergences,
    }


def draw_starts(rng: np.random.Generator, target: LargeTarget, chains: int) -> tuple[FloatArray, FloatArray]:
    """Draw strengths, (chains, areas), and log α², (chains,), from the Gaussian near the posterior."""
    mass, centre = target.mass, target.centre
    tau = centre.curvature.log_variance + START_SPREAD * centre.log_variance_sd * rng.standard_normal(chains)
    return mass.strengths(mass.centre + mass.noise(rng, chains)).T, tau


def start(target: LargeTarget, strengths: FloatArray, log_variance: FloatArray) -> LargeState:
    """Start chains at strengths, (chains, areas), and log α²."""
    return look(target, target.mass.position(np.ascontiguousarray(strengths.T)), log_variance)


def look(target: LargeTarget, position: FloatArray, log_variance: FloatArray) -> LargeState:
    """Evaluate the likelihood and prior at a position."""
    strengths, chains = target.mass.strengths(position), len(log_variance)
    score, fit = target.model.likelihood(strengths)
    smooth = target.model.precision(strengths)
    residual = _residual(target, position, score - np.exp(-log_variance) * smooth)
    beginning = np.ones(chains), np.zeros(chains, dtype=np.int64)
    return LargeState(position, residual, strengths, smooth, fit, log_variance, *beginning)


def _residual(target: LargeTarget, position: FloatArray, gradient: FloatArray) -> FloatArray:
    return target.mass.pull(gradient) + position - target.mass.centre


def trajectory(rng: np.random.Generator, target: LargeTarget, state: LargeState, kicks: int) -> LargeState:
    """Propose strengths by one trajectory at the current α²; each chain accepts or stays."""
    mass, log_variance = target.mass, state.log_variance

    def log_joint(state: LargeState, momentum: FloatArray) -> FloatArray:
        """Return log p(λ | α², y) − kinetic energy; α² is constant along the trajectory, so its density is left out."""
        return state.log_likelihood - mass.kinetic(momentum) + log_prior(state)

    split = split_hmc.Split(mass.noise, lambda q, **_: look(target, q, log_variance), log_joint, centre=mass.centre)
    return split_hmc.step(rng, split, state, kicks)


def log_prior(state: LargeState) -> FloatArray:
    """Return log N(λ; 0, α²C), up to a constant."""
    return -(len(state.q) * state.log_variance + state.size * np.exp(-state.log_variance)) / 2


def draw_variance(rng: np.random.Generator, target: LargeTarget, state: LargeState) -> LargeState:
    """Draw α² given λ, then τ given λ/α."""
    model = target.model
    prior = model.variance
    if isinstance(prior, FixedVariance):
        return state
    terms, n = prior.terms, model.smoother.n_areas
    tau = np.array([terms.given(n, size).draw(rng) for size in state.size])

    def height(at: FloatArray) -> FloatArray:
        """Return the log density at τ on the ray."""
        fit = model.likelihood(state.strengths * np.exp((at - tau) / 2))[1]
        density = fit + terms.log_density(at)
        return np.where(np.abs(at) <= FARTHEST, density, -np.inf)

    moved = slice_line(rng, tau, height, SLICE_WIDTH * target.centre.log_variance_sd)
    factor = np.exp((moved - tau) / 2)
    q, strengths, smooth = factor * state.q, factor * state.strengths, factor * state.smooth
    score, fit = model.likelihood(strengths)
    residual = _residual(target, q, score - np.exp(-moved) * smooth)
    return state._replace(
        q=q, residual=residual, strengths=strengths, smooth=smooth, log_likelihood=fit, log_variance=moved
    )


def choose_kicks(target: LargeTarget) -> int:
    """Find the number of kicks that gives the wanted acceptance, by a short pilot whose draws are discarded.

    The energy error is nearly normal with a standard deviation σ that grows with the square of the angle between kicks,
    and the acceptance is erfc(σ/√8).
    """
    rng = np.random.default_rng(0)
    begin = start(target, *draw_starts(rng, target, WIDTH))
    rate = split_hmc.pilot_acceptance(
        begin, lambda state, kicks: trajectory(rng, target, state, kicks), PILOT_KICKS, PILOT_STEPS
    )
    ratio = float(erfcinv(np.clip(rate, 0.02, 0.999)) / erfcinv(WANTED_ACCEPTANCE))
    return int(np.clip(np.ceil(PILOT_KICKS * np.sqrt(ratio)), FEWEST_KICKS, MOST_KICKS))
