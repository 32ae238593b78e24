"""Split Hamiltonian Monte Carlo for large maps, many chains at a time, with a fitted mass matrix and two draws of α².

A step is a trajectory of λ at the current α², in the coordinates of a `Mass`, then two draws of τ = log α²:

    α² | λ ~ InvGamma(χ + N/2, ω + λᵀC⁻¹λ/2)
    τ | λ/α, from exp(ℓ(e^{τ/2} λ/α) − χτ − ωe^{−τ}), by slice sampling, which moves λ along

The first learns α² only from the strengths and the second only from the answers; together they make chains forget α² in
a few steps (interweaving: Yu and Meng, 2011). Energies are in double precision, whatever the mass matrix is stored in.
With the curvature at the mode as the mass, the number of kicks a trajectory needs grows like N^{1/4}.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import erfcinv

from judgemap.core.model.prior import FixedVariance
from judgemap.core.samplers.kernel import Arrays, Kernel, broke_down, by_steps
from judgemap.core.samplers.large.masses import Mass
from judgemap.core.samplers.large.model import Centre, LargeModel
from judgemap.core.samplers.large.smoothers import log_density
from judgemap.core.samplers.spatial import wide
from judgemap.core.samplers.spatial.hmc import JITTER, QUARTER_TURN
from judgemap.core.types import FloatArray, IntArray

WIDTH = 16
"""Chains that share a call, so that a factor of gigabytes is read once for all of them."""
START_SPREAD = 1.5
"""How much wider than its approximation log α² starts. Strengths start only as wide as theirs: if thousands of numbers
were all half as large again, the energy would be so high that nothing would be accepted."""
FEWEST_KICKS, MOST_KICKS = 2, 32
PILOT_KICKS, PILOT_STEPS = 4, 4
WANTED_ACCEPTANCE = 0.9
SLICE_WIDTH = 4.0
"""The first step of the slice, in standard deviations of log α²."""


class State(NamedTuple):
    """Where the chains are: positions, strengths and derivatives there, log α², and how the last step went."""

    position: FloatArray
    strengths: FloatArray
    smooth: FloatArray
    """C⁻¹λ."""
    score: FloatArray
    """∇ℓ(λ)."""
    log_likelihood: FloatArray
    log_variance: FloatArray
    acceptance: FloatArray
    divergences: IntArray

    @property
    def size(self) -> FloatArray:
        """λᵀC⁻¹λ for each chain."""
        total: FloatArray = np.einsum("ik,ik->k", self.strengths, self.smooth)
        return total


class Target(NamedTuple):
    """A model, a mass matrix that suits it, and the approximate centre and spread of its posterior."""

    model: LargeModel
    mass: Mass
    centre: Centre


def kernel(target: Target, kicks: int | None = None) -> Kernel:
    """Build the sampler; unless ``kicks`` is given, a short pilot with a fixed seed finds it."""
    number = choose_kicks(target) if kicks is None else kicks

    def init(_rng: np.random.Generator, strengths: FloatArray, log_variance: FloatArray) -> State:
        return start(target, strengths, log_variance)

    def step(rng: np.random.Generator, state: State) -> State:
        return draw_variance(rng, target, trajectory(rng, target, state, number))

    return by_steps(init, step, read, WIDTH)._replace(block=1)  # a draw can take seconds, and Ctrl-C has to wait for it


def read(state: State) -> Arrays:
    """Keep the strengths in single precision: seven digits of a number that is known to two."""
    return {
        "strengths": state.strengths.T.astype(np.float32),
        "log_variance": state.log_variance,
        "acceptance": state.acceptance,
        "divergences": state.divergences,
    }


def draw_starts(rng: np.random.Generator, target: Target, chains: int) -> tuple[FloatArray, FloatArray]:
    """Draw strengths, (chains, areas), and log α², (chains,), from the Gaussian near the posterior."""
    mass, centre = target.mass, target.centre
    tau = centre.curvature.log_variance + START_SPREAD * centre.log_variance_sd * rng.standard_normal(chains)
    return mass.strengths(mass.centre + mass.noise(rng, chains)).T, tau


def start(target: Target, strengths: FloatArray, log_variance: FloatArray) -> State:
    """Start chains at strengths, (chains, areas), and log α²."""
    position, chains = target.mass.position(np.ascontiguousarray(strengths.T)), len(log_variance)
    return look(target, position, log_variance, np.ones(chains), np.zeros(chains, dtype=np.int64))


def look(
    target: Target, position: FloatArray, log_variance: FloatArray, acceptance: FloatArray, divergences: IntArray
) -> State:
    """Evaluate the likelihood and prior at a position."""
    strengths = target.mass.strengths(position)
    score, height = target.model.likelihood(strengths)
    smooth = target.model.precision(strengths)
    return State(position, strengths, smooth, score, height, log_variance, acceptance, divergences)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def trajectory(rng: np.random.Generator, target: Target, state: State, kicks: int) -> State:
    """Propose strengths by one trajectory, a quarter turn at the current α²; each chain accepts or stays."""
    mass, chains = target.mass, len(state.log_variance)
    momentum = mass.noise(rng, chains)
    before = _energy(target, state, momentum)
    angle = QUARTER_TURN / kicks * (1 + JITTER * rng.uniform(-1, 1, chains))
    cos, sin = np.cos(angle), np.sin(angle)
    now, residual = state, _residual(target, state)
    for _ in range(kicks):
        momentum = momentum + angle / 2 * residual
        away = now.position - mass.centre
        position = mass.centre + cos * away + sin * momentum
        momentum = cos * momentum - sin * away
        now = look(target, position, state.log_variance, state.acceptance, state.divergences)
        residual = _residual(target, now)
        momentum += angle / 2 * residual
    change = before - _energy(target, now, momentum)
    divergences = state.divergences + broke_down(change)
    change = np.where(np.isfinite(change), np.minimum(change, 0.0), -np.inf)
    accepted = np.log(rng.random(chains)) < change
    kept = State._make(np.where(accepted, new, old) for new, old in zip(now, state, strict=True))
    return kept._replace(acceptance=np.exp(change), divergences=divergences)


def _residual(target: Target, state: State) -> FloatArray:
    gradient = state.score - np.exp(-state.log_variance) * state.smooth
    return target.mass.pull(gradient) + state.position - target.mass.centre


def _energy(target: Target, state: State, momentum: FloatArray) -> FloatArray:
    """−log p(λ | α², y) + kinetic energy; α² is constant along the trajectory, so its density can be left out."""
    prior = log_density(target.model.smoother, state.log_variance, state.size)
    return target.mass.kinetic(momentum) - state.log_likelihood - prior


def draw_variance(rng: np.random.Generator, target: Target, state: State) -> State:
    """Draw α² given λ, then τ given λ/α."""
    model = target.model
    prior = model.variance
    if isinstance(prior, FixedVariance):
        return state
    shape, scale, chains = prior.shape, prior.scale, len(state.log_variance)
    tau = np.log(scale + state.size / 2) - np.log(rng.standard_gamma(shape + model.smoother.n_areas / 2, chains))

    def height(at: FloatArray) -> FloatArray:
        """Return the log density at τ on the ray."""
        fit = model.likelihood(state.strengths * np.exp((at - tau) / 2))[1]
        density = fit - shape * at - scale * np.exp(-at)
        return np.where(np.abs(at) <= wide.FARTHEST, density, -np.inf)

    moved = wide.along_the_ray(rng, tau, height, SLICE_WIDTH * target.centre.log_variance_sd)
    factor = np.exp((moved - tau) / 2)
    strengths = factor * state.strengths
    score, fit = model.likelihood(strengths)
    return state._replace(
        position=factor * state.position,
        strengths=strengths,
        smooth=factor * state.smooth,
        score=score,
        log_likelihood=fit,
        log_variance=moved,
    )


def choose_kicks(target: Target) -> int:
    """Find the number of kicks that gives the wanted acceptance, by a short pilot whose draws are discarded.

    The energy error is nearly normal with a standard deviation σ that grows with the square of the angle between kicks,
    and the acceptance is erfc(σ/√8).
    """
    rng = np.random.default_rng(0)
    state = start(target, *draw_starts(rng, target, WIDTH))
    seen = []
    for _ in range(PILOT_STEPS):
        state = trajectory(rng, target, state, PILOT_KICKS)
        seen.append(state.acceptance)
    rate = float(np.clip(np.mean(seen[1:]), 0.02, 0.999))
    ratio = float(erfcinv(rate) / erfcinv(WANTED_ACCEPTANCE))
    return int(np.clip(np.ceil(PILOT_KICKS * np.sqrt(ratio)), FEWEST_KICKS, MOST_KICKS))
