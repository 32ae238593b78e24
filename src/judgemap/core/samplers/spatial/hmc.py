"""Split Hamiltonian Monte Carlo in Laplace coordinates, many chains at a time: the default sampler.

Coordinates q = (u, v): τ = log α² = m + s·v and λ = Vw, w = r/(g + e^{−τ}) + u/√(g + e^{−τ}) (`core.laplace`), in which
the posterior is nearly N(0, I). A trajectory rotates exactly under the N(0, I) part and is kicked by the rest of the
gradient, ∇log p(q) + q (Shahbaba, Lan, Johnson and Neal, 2014); a Metropolis step makes it exact.

    log p(q) = ℓ(λ) − ½e^{−τ}wᵀw − (N/2)τ − χτ − ωe^{−τ} − ½Σ log(g + e^{−τ})
    ℓ(λ) = κᵀλ − Σ n log(2 cosh(d/2)),   ∇ℓ = κ − Xᵀ(n/2 · tanh(d/2)),   d = Xλ, κ = Xᵀ(y − n/2)

A trajectory covers a quarter turn, after which the N(0, I) part has forgotten where it started. With α² fixed, v is an
idle standard normal coordinate.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from judgemap.core.approximate.laplace import Laplace, approximate
from judgemap.core.model.prior import FixedVariance, Model
from judgemap.core.samplers.kernel import Arrays, Kernel, Likelihood, broke_down, by_steps, check_block
from judgemap.core.samplers.spatial import pairs as pair_arrays
from judgemap.core.samplers.spatial import wide
from judgemap.core.types import FloatArray, IntArray

QUARTER_TURN = np.pi / 2
JITTER = 0.1
GOOD_ACCEPTANCE = 0.85
FEW = 20_000_000
"""Up to this many pairs × draws NumPy finishes before the compiler is even loaded, which takes about half a second."""


class Point(NamedTuple):
    """A point in the coordinates q, shape (areas + 1, chains), and what was computed there."""

    q: FloatArray
    residual: FloatArray
    """∇log p(q) + q: what the rotation leaves to the kicks."""
    w: FloatArray
    strengths: FloatArray
    log_likelihood: FloatArray


class State(NamedTuple):
    """Where the chains are, how likely their last proposals were to be accepted, and how many have broken down."""

    q: FloatArray
    residual: FloatArray
    w: FloatArray
    strengths: FloatArray
    """λ = Vw, (areas, chains)."""
    log_density: FloatArray
    acceptance: FloatArray
    divergences: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The posterior in the coordinates q: everything about a model that `evaluate` needs."""

    model: Model
    laplace: Laplace
    likelihood: Likelihood
    """`pair_pass.likelihood`, or `pair_arrays.likelihood` in a short run."""
    compiled: bool = True
    """Whether chains are advanced by `hmc_trajectories`; otherwise by `trajectory`, with arrays."""


def build_target(model: Model, laplace: Laplace | None = None) -> Target:
    """Place the coordinates, unless ``laplace`` is given, and lay out the data for `evaluate`."""
    from judgemap.core.samplers.spatial.pairs_compiled import likelihood

    return Target(model, laplace or approximate(model), likelihood(model.counts))


def kernel(model: Model) -> Kernel:
    """Build the sampler of ``model``; a short pilot with a fixed seed chooses the number of kicks."""
    return _with_kicks(build_target(model))


def kernel_for(model: Model, draws: int, laplace: Laplace | None = None) -> Kernel:
    """Build the same sampler for a total number of draws: if there are few, without loading the compiler.

    Which way is taken depends only on the model and the number of draws, so a seed still gives the same numbers.
    """
    if draws * len(model.counts.n) > FEW:
        return _with_kicks(build_target(model, laplace))
    placed = laplace or approximate(model)
    return _with_kicks(Target(model, placed, pair_arrays.likelihood(model.counts), compiled=False))


def _with_kicks(target: Target) -> Kernel:
    model = target.model
    if wide.needed(model, target.laplace):
        return transition(target, max(wide.KICKS, choose_kicks(target)), widely=True)
    return transition(target, choose_kicks(target))


def transition(target: Target, kicks: int, *, widely: bool = False) -> Kernel:
    """Return the kernel with a given number of kicks per trajectory; exact for any number, efficient with enough.

    ``widely`` adds the moves of `wide`.
    """

    def init(_rng: np.random.Generator, strengths: FloatArray, log_variance: FloatArray) -> State:
        return start(target, to_coordinates(target, strengths, log_variance))

    width = batch_width(target.model)
    if target.compiled:
        from judgemap.core.samplers.spatial import trajectories as hmc_trajectories

        posterior = hmc_trajectories.build_posterior(target)

        def advance(rng: np.random.Generator, state: State, steps: int, thin: int) -> tuple[State, Arrays]:
            check_block(steps, thin)
            return hmc_trajectories.advance(rng, posterior, state, kicks, (steps, thin))

        if not widely:
            return Kernel(init, advance, width)

    def step(rng: np.random.Generator, state: State) -> State:
        state = advance(rng, state, 1, 1)[0] if target.compiled else trajectory(rng, target, state, kicks)
        return move_widely(rng, target, state) if widely else state

    return by_steps(init, step, lambda state: read(target, state), width)


def read(target: Target, state: State) -> Arrays:
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


def to_coordinates(target: Target, strengths: FloatArray, log_variance: FloatArray) -> FloatArray:
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


def start(target: Target, q: FloatArray) -> State:
    """Start chains at q."""
    point, chains = evaluate(target, q), q.shape[1]
    beginning = np.ones(chains), np.zeros(chains, np.int64)
    return State(q, point.residual, point.w, point.strengths, log_density(target, point), *beginning)


def evaluate(target: Target, q: FloatArray, *, height: bool = True) -> Point:
    """Find the residual gradient at q for all chains of the batch, and ℓ if ``height`` is true."""
    laplace, prior = target.laplace, target.model.variance
    u, v = q[:-1], q[-1]
    tau = laplace.log_variance_mean + laplace.log_variance_sd * v
    inverse = np.exp(-tau)
    variance = 1 / (laplace.g[:, None] + inverse)
    root = np.sqrt(variance)
    centre = laplace.r[:, None] * variance
    w = centre + u * root
    strengths = laplace.V @ w
    score, log_likelihood = target.likelihood(strengths, height=height)

    slope = laplace.V.T @ score - inverse * w
    residual = np.empty_like(q)
    residual[:-1] = slope * root + u
    if isinstance(prior, FixedVariance):
        residual[-1] = 0.0
    else:
        moved = (slope * (centre + u * root / 2) * variance).sum(axis=0)
        spread = ((w * w).sum(axis=0) + variance.sum(axis=0)) / 2
        slope_tau = inverse * (moved + spread + prior.scale) - len(w) / 2 - prior.shape
        residual[-1] = laplace.log_variance_sd * slope_tau + v
    return Point(q, residual, w, strengths, log_likelihood)


def log_density(target: Target, point: Point) -> FloatArray:
    """Return log p(q), up to a constant, for each chain."""
    laplace, prior, w = target.laplace, target.model.variance, point.w
    v = point.q[-1]
    tau = laplace.log_variance_mean + laplace.log_variance_sd * v
    inverse = np.exp(-tau)
    volume = len(w) * tau + np.log(laplace.g[:, None] + inverse).sum(axis=0)
    log_prior = -(inverse * (w * w).sum(axis=0) + volume) / 2
    if isinstance(prior, FixedVariance):
        log_prior -= v * v / 2
    else:
        log_prior -= prior.shape * tau + prior.scale * inverse
    return np.where(np.abs(tau) <= wide.FARTHEST, point.log_likelihood + log_prior, -np.inf)


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def trajectory(rng: np.random.Generator, target: Target, state: State, kicks: int) -> State:
    """Propose by one trajectory of ``kicks`` rotations between half kicks; each chain accepts or stays.

    With few comparisons α² can be anything and a trajectory may overflow; then the chain stays where it is, and the
    proposal counts as broken down.
    """
    chains = state.q.shape[1]
    momentum = np.vstack([target.laplace.noise(rng, chains), rng.standard_normal(chains)])
    energy = state.log_density - (momentum**2).sum(axis=0) / 2
    angle = QUARTER_TURN / kicks * (1 + JITTER * rng.uniform(-1, 1, chains))
    cos, sin = np.cos(angle), np.sin(angle)
    q, residual = state.q, state.residual
    for kick in range(1, kicks + 1):
        momentum += angle / 2 * residual
        q, momentum = cos * q + sin * momentum, cos * momentum - sin * q
        point = evaluate(target, q, height=kick == kicks)
        residual = point.residual
        momentum += angle / 2 * residual
    density = log_density(target, point)
    change = density - (momentum**2).sum(axis=0) / 2 - energy
    divergences = state.divergences + broke_down(change)
    change = np.where(np.isfinite(change), np.minimum(change, 0.0), -np.inf)
    accepted = np.log(rng.random(chains)) < change
    proposed = State(q, residual, point.w, point.strengths, density, np.exp(change), divergences)
    kept = State._make(np.where(accepted, new, old) for new, old in zip(proposed, state, strict=True))
    return kept._replace(acceptance=proposed.acceptance, divergences=divergences)


@np.errstate(over="ignore", invalid="ignore")
def move_widely(rng: np.random.Generator, target: Target, state: State) -> State:
    """Move on ellipses and along the ray (`wide`)."""
    laplace, prior, chains = target.laplace, target.model.variance, state.q.shape[1]
    if isinstance(prior, FixedVariance):
        raise TypeError("a fixed α² leaves no ray to move along")
    shape, scale = prior.shape, prior.scale
    old = laplace.log_variance_mean + laplace.log_variance_sd * state.q[-1]
    w = state.w
    # Ellipses first: a chain may start from strengths that the answers contradict. From there the ray would lead to an
    # absurd α², and coming back would take hundreds of moves.
    for _ in range(wide.ELLIPSES):
        other = laplace.noise(rng, chains) * np.exp(old / 2)
        angle = wide.around_the_ellipse(
            rng, laplace.V @ w, laplace.V @ other, lambda strengths: target.likelihood(strengths)[1]
        )
        w = w * np.cos(angle) + other * np.sin(angle)
    ray = laplace.V @ (w * np.exp(-old / 2))

    def height(at: FloatArray) -> FloatArray:
        """Return the log density at τ on the ray."""
        density = target.likelihood(ray * np.exp(at / 2))[1] - shape * at - scale * np.exp(-at)
        return np.where(np.abs(at) <= wide.FARTHEST, density, -np.inf)

    tau = wide.along_the_ray(rng, old, height)
    w = w * np.exp((tau - old) / 2)
    # Where α² is huge, trajectories break down but these moves go on, so divergences there do not discredit the draws.
    return start(target, place(laplace, w, tau))._replace(acceptance=state.acceptance)


def choose_kicks(target: Target) -> int:
    """Raise the number of kicks from 2 until a short pilot accepts often enough; its draws are discarded."""
    rng = np.random.default_rng(0)
    chains = batch_width(target.model)
    for kicks in range(2, 17):
        state = start(target, to_coordinates(target, *target.laplace.draw(rng, chains, spread=1.0)))
        seen = []
        for _ in range(5 + 64 // chains):
            state = trajectory(rng, target, state, kicks)
            seen.append(float(state.acceptance.mean()))
        if np.mean(seen[4:]) >= GOOD_ACCEPTANCE:
            break
    return kicks
