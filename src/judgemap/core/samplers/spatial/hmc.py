"""Split Hamiltonian Monte Carlo in Laplace coordinates, many chains at a time: the default sampler.

Coordinates q = (u, v): τ = log α² = m + s·v and λ = Vw, w = r/(g + e^{−τ}) + u/√(g + e^{−τ}) (`approximate.Laplace`),
in which the posterior is nearly N(0, I), as `split_hmc` wants it:

    log p(q) = ℓ(λ) − ½e^{−τ}wᵀw − (N/2)τ + kτ − ωe^{−τ} − ηe^τ − ½Σ log(g + e^{−τ})
    ℓ(λ) = κᵀλ − Σ n log(2 cosh(d/2)),   ∇ℓ = κ − Xᵀ(n/2 · tanh(d/2)),   d = Xλ, κ = Xᵀ(y − n/2)

with k, ω and η from the prior of α² (`prior.Terms`). With α² fixed, v is an idle standard normal coordinate. The
density, its gradient and the trajectories are in `spatial.compiled`.

The first few answers, and answers that never contradict each other, say little about α². Without a contradiction every
larger α² explains the answers better, and only its prior holds it back: log α² ranges widely, and coordinates made for
one value do not suit another. Two moves after each trajectory do not depend on such coordinates; both are exact slice
draws (`slices`). λ moves freely where α² is small, and the ray leads there and back.

    along the ray: λ and α scale together with λ/α fixed, to a τ = log α² from exp(ℓ(e^{τ/2} λ/α)) p(τ)
    on an ellipse: λ ↦ λ cos θ + ν sin θ with ν from the prior, to a θ from exp ℓ with α² fixed
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from judgemap.core.approximate import Laplace, approximate
from judgemap.core.model.prior import FixedVariance, Model
from judgemap.core.samplers import split_hmc
from judgemap.core.samplers.kernel import Arrays, Kernel, by_steps, check_block
from judgemap.core.samplers.slices import slice_ellipse, slice_line
from judgemap.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from judgemap.core.samplers.spatial.compiled import Posterior

GOOD_ACCEPTANCE = 0.85
WIDE = 0.8
"""The moves along the ray and on ellipses are made if Laplace gives log α² a standard deviation above this."""
FARTHEST = 80.0
"""States with |log α²| beyond this are rejected, because double precision fails there. With the usual prior,
χ = 0.1, and no answers at all, the probability beyond it is 0.0003."""
RAY_STEP = 4.0
"""The first step along the ray, in log α²."""
WIDE_KICKS, ELLIPSES = 8, 2
"""The fewest kicks per trajectory, and the ellipses after it: measured to work best with 30 to 500 answers on 77
areas."""


class SpatialState(NamedTuple):
    """Where the chains are, how likely their last proposals were to be accepted, and how many have broken down."""

    q: FloatArray
    """The coordinates, (areas + 1, chains)."""
    residual: FloatArray
    """∇log p(q) + q: what the rotation leaves to the kicks."""
    w: FloatArray
    strengths: FloatArray
    """λ = Vw, (areas, chains)."""
    log_density: FloatArray
    acceptance: FloatArray
    divergences: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class SpatialTarget:
    """The posterior in the coordinates q."""

    model: Model
    laplace: Laplace
    posterior: "Posterior"
    """Both, laid out for compiled code."""


def build_target(model: Model, laplace: Laplace | None = None) -> SpatialTarget:
    """Place the coordinates, unless ``laplace`` is given, and lay out the data."""
    from judgemap.core.samplers.spatial.compiled import build_posterior

    laplace = laplace or approximate(model)
    return SpatialTarget(model, laplace, build_posterior(model, laplace))


def kernel(model: Model, laplace: Laplace | None = None) -> Kernel:
    """Build the sampler of ``model``; a short pilot with a fixed seed chooses the number of kicks."""
    target = build_target(model, laplace)
    if needed(model, target.laplace):
        return transition(target, max(WIDE_KICKS, choose_kicks(target)), widely=True)
    return transition(target, choose_kicks(target))


def transition(target: SpatialTarget, kicks: int, *, widely: bool = False) -> Kernel:
    """Return the kernel with a given number of kicks per trajectory; exact for any number, efficient with enough.

    ``widely`` adds the moves on ellipses and along the ray.
    """
    from judgemap.core.samplers.spatial import compiled

    def init(_rng: np.random.Generator, strengths: FloatArray, log_variance: FloatArray) -> SpatialState:
        return compiled.look(target.posterior, to_coordinates(target, strengths, log_variance))

    def advance(rng: np.random.Generator, state: SpatialState, steps: int, thin: int) -> tuple[SpatialState, Arrays]:
        check_block(steps, thin)
        return compiled.advance(rng, target.posterior, state, kicks, (steps, thin))

    def step(rng: np.random.Generator, state: SpatialState) -> SpatialState:
        return move_widely(rng, target, advance(rng, state, 1, 1)[0])

    width = batch_width(target.model)
    return by_steps(init, step, lambda state: read(target, state), width) if widely else Kernel(init, advance, width)


def read(target: SpatialTarget, state: SpatialState) -> Arrays:
    """Turn q back into strengths and log α²."""
    return {
        "strengths": state.strengths.T,
        "log_variance": target.laplace.log_variance_mean + target.laplace.log_variance_sd * state.q[-1],
        "acceptance": state.acceptance,
        "divergences": state.divergences,
    }


def batch_width(model: Model) -> int:
    """How many chains share a call: many in a small study, where calls cost most; otherwise eight, a cache line.

    At 452 areas and 53,000 pairs a draw with eight takes two thirds of the time it takes with four.
    """
    return int(np.clip(60_000 // max(len(model.counts.n), model.counts.n_areas), 8, 32))


def to_coordinates(target: SpatialTarget, strengths: FloatArray, log_variance: FloatArray) -> FloatArray:
    """Invert λ(u, v), τ(v) to find where a chain should start."""
    laplace = target.laplace
    return place(laplace, laplace.V.T @ target.model.covariance.inverse @ strengths.T, log_variance)


def place(laplace: Laplace, w: FloatArray, log_variance: FloatArray) -> FloatArray:
    """Find q from w (λ = Vw) and τ."""
    precision = laplace.g[:, None] + np.exp(-log_variance)
    u = (w - laplace.r[:, None] / precision) * np.sqrt(precision)
    sd = laplace.log_variance_sd
    v = (log_variance - laplace.log_variance_mean) / sd if sd > 0 else np.zeros_like(log_variance)
    return np.vstack([u, v])


@np.errstate(over="ignore", invalid="ignore")
def move_widely(rng: np.random.Generator, target: SpatialTarget, state: SpatialState) -> SpatialState:
    """Move on ellipses and along the ray."""
    from judgemap.core.samplers.spatial import compiled

    laplace, prior, chains = target.laplace, target.model.variance, state.q.shape[1]
    if isinstance(prior, FixedVariance):
        raise TypeError("a fixed α² leaves no ray to move along")
    old = laplace.log_variance_mean + laplace.log_variance_sd * state.q[-1]
    w = state.w

    def likelihood(strengths: FloatArray) -> FloatArray:
        return compiled.log_likelihood(target.posterior.rows, strengths)

    # 1. Ellipses first: a chain may start from strengths that the answers contradict. From there the ray would lead to
    # an absurd α², and coming back would take hundreds of moves.
    for _ in range(ELLIPSES):
        other = laplace.noise(rng, chains) * np.exp(old / 2)
        angle = slice_ellipse(rng, laplace.V @ w, laplace.V @ other, likelihood)
        w = w * np.cos(angle) + other * np.sin(angle)
    # 2. The ray.
    ray = laplace.V @ (w * np.exp(-old / 2))

    def height(at: FloatArray) -> FloatArray:
        """Return the log density at τ on the ray."""
        density = likelihood(ray * np.exp(at / 2)) + prior.terms.log_density(at)
        return np.where(np.abs(at) <= FARTHEST, density, -np.inf)

    tau = slice_line(rng, old, height, RAY_STEP)
    w = w * np.exp((tau - old) / 2)
    # Where α² is huge, trajectories break down but these moves go on, so divergences there do not discredit the draws.
    return compiled.look(target.posterior, place(laplace, w, tau))._replace(acceptance=state.acceptance)


def choose_kicks(target: SpatialTarget) -> int:
    """Raise the number of kicks from 2 until a short pilot accepts often enough."""
    from judgemap.core.samplers.spatial import compiled

    rng, chains, posterior = np.random.default_rng(0), batch_width(target.model), target.posterior
    return split_hmc.choose_kicks(
        range(2, 17),
        lambda: compiled.look(posterior, to_coordinates(target, *target.laplace.draw(rng, chains, spread=1.0))),
        lambda state, kicks: compiled.advance(rng, posterior, state, kicks, (1, 1))[0],
        (4, 1 + 64 // chains),
        GOOD_ACCEPTANCE,
    )


def needed(model: Model, laplace: Laplace) -> bool:
    """Whether α² is poorly determined: uncertain by Laplace's approximation, or by answers that never conflict."""
    fixed = isinstance(model.variance, FixedVariance)
    return not fixed and (laplace.log_variance_sd > WIDE or not model.counts.contradicted)
