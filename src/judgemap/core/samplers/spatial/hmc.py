"""Split Hamiltonian Monte Carlo in Laplace coordinates, many chains at a time: the default sampler.

Coordinates q = (u, v): τ = log α² = m + s·v and λ = Vw, w = r/(g + e^{−τ}) + u/√(g + e^{−τ}) (`approximate.Laplace`),
in which the posterior is nearly N(0, I), as `split_hmc` wants it:

    log p(q) = ℓ(λ) − ½e^{−τ}wᵀw − (N/2)τ + kτ − ωe^{−τ} − ηe^τ − ½Σ log(g + e^{−τ})
    ℓ(λ) = κᵀλ − Σ n log(2 cosh(d/2)),   ∇ℓ = κ − Xᵀ(n/2 · tanh(d/2)),   d = Xλ, κ = Xᵀ(y − n/2)

with k, ω and η from the prior of α² (`prior.Terms`). With α² fixed, v is an idle standard normal coordinate. Long runs
are made by the same equations, compiled (`spatial.compiled`).

The first few answers, and answers that never contradict each other, say little about α². Without a contradiction every
larger α² explains the answers better, and only its prior holds it back: log α² ranges widely, and coordinates made for
one value do not suit another. Two moves after each trajectory do not depend on such coordinates; both are exact slice
draws (`slices`). λ moves freely where α² is small, and the ray leads there and back.

    along the ray: λ and α scale together with λ/α fixed, to a τ = log α² from exp(ℓ(e^{τ/2} λ/α)) p(τ)
    on an ellipse: λ ↦ λ cos θ + ν sin θ with ν from the prior, to a θ from exp ℓ with α² fixed
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit

from judgemap.core.approximate import Laplace, approximate
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.prior import FixedVariance, Model
from judgemap.core.samplers import split_hmc
from judgemap.core.samplers.kernel import Arrays, Kernel, Likelihood, by_steps, check_block
from judgemap.core.samplers.slices import slice_ellipse, slice_line
from judgemap.core.types import FloatArray, IntArray

GOOD_ACCEPTANCE = 0.85
FEW = 20_000_000
"""Up to this many pairs × draws NumPy finishes before the compiler is even loaded, which takes about half a second."""
MOST = 1000
"""How many halves can be multiplied before the product underflows, with a little to spare."""
WIDE_COST = 10_000
"""A step with wide moves asks for the likelihood dozens of times: calls that cost as much as this many pairs."""
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


class Point(NamedTuple):
    """A point in the coordinates q, shape (areas + 1, chains), and what was computed there."""

    q: FloatArray
    residual: FloatArray
    """∇log p(q) + q: what the rotation leaves to the kicks."""
    w: FloatArray
    strengths: FloatArray
    log_likelihood: FloatArray


class SpatialState(NamedTuple):
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
class SpatialTarget:
    """The posterior in the coordinates q: everything about a model that `evaluate` needs."""

    model: Model
    laplace: Laplace
    likelihood: Likelihood
    """`pair_pass.likelihood`, or `likelihood` in a short run."""
    compiled: bool = True
    """Whether chains are advanced by `spatial.compiled`; otherwise by `trajectory`, with arrays."""


def build_target(model: Model, laplace: Laplace | None = None) -> SpatialTarget:
    """Place the coordinates, unless ``laplace`` is given, and lay out the data for `evaluate`."""
    from judgemap.core.samplers.spatial.compiled import likelihood

    return SpatialTarget(model, laplace or approximate(model), likelihood(model.counts))


def kernel(model: Model) -> Kernel:
    """Build the sampler of ``model``; a short pilot with a fixed seed chooses the number of kicks."""
    return _with_kicks(build_target(model))


def kernel_for(model: Model, draws: int, laplace: Laplace | None = None) -> Kernel:
    """Build the same sampler for a total number of draws: if there are few, without loading the compiler.

    Which way is taken depends only on the model and the number of draws, so a seed still gives the same numbers.
    """
    placed = laplace or approximate(model)
    if draws * (len(model.counts.n) + needed(model, placed) * WIDE_COST) > FEW:
        return _with_kicks(build_target(model, placed))
    return _with_kicks(SpatialTarget(model, placed, likelihood(model.counts), compiled=False))


def _with_kicks(target: SpatialTarget) -> Kernel:
    model = target.model
    if needed(model, target.laplace):
        return transition(target, max(WIDE_KICKS, choose_kicks(target)), widely=True)
    return transition(target, choose_kicks(target))


def transition(target: SpatialTarget, kicks: int, *, widely: bool = False) -> Kernel:
    """Return the kernel with a given number of kicks per trajectory; exact for any number, efficient with enough.

    ``widely`` adds the moves on ellipses and along the ray.
    """

    def init(_rng: np.random.Generator, strengths: FloatArray, log_variance: FloatArray) -> SpatialState:
        return start(target, to_coordinates(target, strengths, log_variance))

    width = batch_width(target.model)
    if target.compiled:
        from judgemap.core.samplers.spatial import compiled

        posterior = compiled.build_posterior(target)

        def advance(
            rng: np.random.Generator, state: SpatialState, steps: int, thin: int
        ) -> tuple[SpatialState, Arrays]:
            check_block(steps, thin)
            return compiled.advance(rng, posterior, state, kicks, (steps, thin))

        if not widely:
            return Kernel(init, advance, width)

    def step(rng: np.random.Generator, state: SpatialState) -> SpatialState:
        state = advance(rng, state, 1, 1)[0] if target.compiled else trajectory(rng, target, state, kicks)
        return move_widely(rng, target, state) if widely else state

    return by_steps(init, step, lambda state: read(target, state), width)


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


def start(target: SpatialTarget, q: FloatArray, *, height: bool = True) -> SpatialState:
    """Start chains at q, with log p(q) if ``height`` is true."""
    point, chains = evaluate(target, q, height=height), q.shape[1]
    density = log_density(target, point) if height else point.log_likelihood
    beginning = np.ones(chains), np.zeros(chains, np.int64)
    return SpatialState(q, point.residual, point.w, point.strengths, density, *beginning)


def evaluate(target: SpatialTarget, q: FloatArray, *, height: bool = True) -> Point:
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
        k, omega, eta = prior.terms
        slope_tau = inverse * (moved + spread + omega) - len(w) / 2 + k - eta / inverse
        residual[-1] = laplace.log_variance_sd * slope_tau + v
    return Point(q, residual, w, strengths, log_likelihood)


def log_density(target: SpatialTarget, point: Point) -> FloatArray:
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
        log_prior += prior.terms.log_density(tau)
    return np.where(np.abs(tau) <= FARTHEST, point.log_likelihood + log_prior, -np.inf)


def trajectory(rng: np.random.Generator, target: SpatialTarget, state: SpatialState, kicks: int) -> SpatialState:
    """Make one trajectory; with few comparisons α² can be anything, and it may break down."""

    def noise(rng: np.random.Generator, chains: int) -> FloatArray:
        return np.vstack([target.laplace.noise(rng, chains), rng.standard_normal(chains)])

    def log_joint(state: SpatialState, momentum: FloatArray) -> FloatArray:
        return state.log_density - (momentum**2).sum(axis=0) / 2

    split = split_hmc.Split(noise, lambda q, height: start(target, q, height=height), log_joint)
    return split_hmc.step(rng, split, state, kicks)


@np.errstate(over="ignore", invalid="ignore")
def move_widely(rng: np.random.Generator, target: SpatialTarget, state: SpatialState) -> SpatialState:
    """Move on ellipses and along the ray."""
    laplace, prior, chains = target.laplace, target.model.variance, state.q.shape[1]
    if isinstance(prior, FixedVariance):
        raise TypeError("a fixed α² leaves no ray to move along")
    old = laplace.log_variance_mean + laplace.log_variance_sd * state.q[-1]
    w = state.w
    # 1. Ellipses first: a chain may start from strengths that the answers contradict. From there the ray would lead to
    # an absurd α², and coming back would take hundreds of moves.
    for _ in range(ELLIPSES):
        other = laplace.noise(rng, chains) * np.exp(old / 2)
        angle = slice_ellipse(rng, laplace.V @ w, laplace.V @ other, lambda strengths: target.likelihood(strengths)[1])
        w = w * np.cos(angle) + other * np.sin(angle)
    # 2. The ray.
    ray = laplace.V @ (w * np.exp(-old / 2))

    def height(at: FloatArray) -> FloatArray:
        """Return the log density at τ on the ray."""
        density = target.likelihood(ray * np.exp(at / 2))[1] + prior.terms.log_density(at)
        return np.where(np.abs(at) <= FARTHEST, density, -np.inf)

    tau = slice_line(rng, old, height, RAY_STEP)
    w = w * np.exp((tau - old) / 2)
    # Where α² is huge, trajectories break down but these moves go on, so divergences there do not discredit the draws.
    return start(target, place(laplace, w, tau))._replace(acceptance=state.acceptance)


def choose_kicks(target: SpatialTarget) -> int:
    """Raise the number of kicks from 2 until a short pilot accepts often enough."""
    rng, chains = np.random.default_rng(0), batch_width(target.model)
    return split_hmc.choose_kicks(
        range(2, 17),
        lambda: start(target, to_coordinates(target, *target.laplace.draw(rng, chains, spread=1.0))),
        lambda state, kicks: trajectory(rng, target, state, kicks),
        (4, 1 + 64 // chains),
        GOOD_ACCEPTANCE,
    )


def likelihood(counts: PairCounts) -> Likelihood:
    """Lay out the pairs for NumPy alone, for runs shorter than it takes to load machine code.

    ℓ(λ) = −Σ (n − y) max(d, 0) + y max(−d, 0) − n log p and ∇ℓ = Xᵀ(y − n/2 − n/2 · tanh(d/2)), p = 1/(1 + e^{−|d|}),
    give the same numbers as `spatial.compiled` up to rounding, and nothing cancels here either. One logarithm serves
    many pairs: p is at least a half, so the product of a few hundred does not underflow.
    """
    order = np.argsort(counts.n, kind="stable")
    n, wins = counts.n[order].astype(np.float64), counts.wins[order].astype(np.float64)
    rows, ends = np.arange(len(n)), np.concatenate([counts.first[order], counts.second[order]])
    sides = np.repeat([1.0, -1.0], len(n))
    X = sparse.csr_array((sides, (np.tile(rows, 2), ends)), shape=(len(n), counts.n_areas))
    half_XT = (X.T * (n / 2)).tocsr()
    pull = counts.excess()[:, None]
    # Each product covers pairs with the same number of answers, which the sort above puts next to each other.
    begins = np.flatnonzero((np.diff(n, prepend=-1.0) != 0) | (rows % MOST == 0))

    def at(strengths: FloatArray, *, height: bool = True) -> tuple[FloatArray, FloatArray]:
        d = X @ strengths
        p = expit(np.abs(d))
        score: FloatArray = pull - half_XT @ np.copysign(2 * p - 1, d)
        if not height:
            return score, np.empty(0)
        certain = (n - wins) @ np.maximum(d, 0.0) + wins @ np.maximum(-d, 0.0)
        return score, n[begins] @ np.log(np.multiply.reduceat(p, begins, axis=0)) - certain

    return at


def needed(model: Model, laplace: Laplace) -> bool:
    """Whether α² is poorly determined: uncertain by Laplace's approximation, or by answers that never conflict."""
    fixed = isinstance(model.variance, FixedVariance)
    return not fixed and (laplace.log_variance_sd > WIDE or not model.counts.contradicted)
