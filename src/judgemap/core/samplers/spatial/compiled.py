"""The default sampler, compiled: one pass over the compared pairs for many chains at once, and whole trajectories.

    ℓ(λ) = −Σ (n/2 − (y − n/2) sign d)|d| − n log p,   d = λ_first − λ_second, p = (1 + tanh(|d|/2))/2
    ∇ℓ = Xᵀ(y − n/2 − n/2 · tanh(d/2))

In this form nothing cancels: an answer that is all but certain adds nothing to ℓ. Pairs are processed in blocks that
stay in the processor's first-level cache: gather the differences, respond to all of them in one loop without branches,
which the compiler turns into vector instructions, and scatter. All pairs in a block have the same number of answers, so
that one logarithm serves many p.

The posterior and its coordinates are those of `spatial.hmc`, and a trajectory is that of `split_hmc`. A step is one
call for all chains of a batch: no arrays are allocated on the way, each is read once for everything to be done with its
elements, and products with V and Q are left to BLAS.

Import this module only where it is used: numba is slow to load.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgemap.core.approximate import Laplace
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.prior import FixedVariance, Model, Terms
from judgemap.core.samplers.compiled import compiled, tanh_of_half, within
from judgemap.core.samplers.kernel import HUGE, Arrays
from judgemap.core.samplers.sparse.model import Answered
from judgemap.core.samplers.spatial.hmc import FARTHEST, SpatialState
from judgemap.core.samplers.split_hmc import JITTER, QUARTER_TURN
from judgemap.core.types import FloatArray, IntArray

BLOCK = 1024
"""Differences per block: 8 kB, a quarter of the smallest first-level cache."""
MERGED = 128
"""How many p, each at least a half, are multiplied together; the product does not underflow."""


class Rows(NamedTuple):
    """Compared pairs, grouped by their number of answers n: areas, n/2, y − n/2, and where each group starts."""

    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    half: FloatArray
    excess: FloatArray
    bounds: IntArray


def lay_out(counts: PairCounts | Answered) -> Rows:
    """Sort the pairs into the order in which the pass takes them."""
    order = np.argsort(counts.n, kind="stable")
    n, wins = counts.n[order], counts.wins[order]
    # Unsigned areas spare the compiled code a check for negative indices.
    first, second = counts.first[order].astype(np.uint32), counts.second[order].astype(np.uint32)
    return Rows(first, second, n / 2, wins - n / 2, np.flatnonzero(np.diff(n, prepend=-1, append=-1)))


@compiled
def log_likelihood(rows: Rows, strengths: FloatArray) -> FloatArray:
    """Return ℓ of every column of strengths."""
    fall = np.zeros(strengths.shape[1])
    pass_pairs(rows, strengths, strengths[:0], fall, fall[:0], fall[:0])
    return -fall


@compiled
def gather(rows: Rows, begin: int, end: int, strengths: FloatArray, d: FloatArray) -> int:
    """Write the differences of a block, the chains of a pair side by side; return how many there are."""
    chains, at = strengths.shape[1], 0
    for row in range(begin, end):
        above, below = strengths[rows.first[row]], strengths[rows.second[row]]
        for k in range(chains):
            d[at + k] = above[k] - below[k]
        at += chains
    return at


@compiled
def add_sizes(rows: Rows, begin: int, end: int, d: FloatArray, fall: FloatArray) -> None:
    """Add Σ (n/2 − (y − n/2) sign d)|d| to ``fall``."""
    at = 0
    for row in range(begin, end):
        half, excess = rows.half[row], rows.excess[row]
        for k in range(len(fall)):
            fall[k] += (half - excess * math.copysign(1.0, d[at + k])) * abs(d[at + k])
        at += len(fall)


@compiled
def respond(d: FloatArray, p: FloatArray, size: int) -> None:
    """Write (1 + tanh(|d|/2))/2 into ``p``, and overwrite d with tanh(d/2)."""
    for q in range(size):
        response = tanh_of_half(abs(d[q]))
        p[q] = 0.5 + 0.5 * response
        d[q] = math.copysign(response, d[q])


@compiled
def scatter(rows: Rows, begin: int, end: int, response: FloatArray, score: FloatArray) -> None:
    """Add Xᵀ(y − n/2 − n/2 · response) to ``score``."""
    chains, at = score.shape[1], 0
    for row in range(begin, end):
        half, excess = rows.half[row], rows.excess[row]
        above, below = score[rows.first[row]], score[rows.second[row]]
        for k in range(chains):
            above[k] += excess - half * response[at + k]
        for k in range(chains):
            below[k] -= excess - half * response[at + k]
        at += chains


@compiled
def add_logs(n: float, left: int, p: FloatArray, fall: FloatArray) -> None:
    """Add −n Σ log p to ``fall`` for the ``left`` pairs in ``p``, which is overwritten."""
    chains, merged = len(fall), 1
    # The second half of the rows is multiplied into the first: long loops, which become vector instructions.
    while left > 1 and merged < MERGED:
        kept, merged = left - left // 2, 2 * merged
        for at in range((left - kept) * chains):
            p[at] *= p[kept * chains + at]
        left = kept
    for row in range(left):
        for k in range(chains):
            fall[k] -= n * math.log(p[row * chains + k])


@compiled
def pass_pairs(
    rows: Rows, strengths: FloatArray, score: FloatArray, fall: FloatArray, shift: FloatArray, pull: FloatArray
) -> None:
    """Add ∇ℓ to ``score``, (areas, chains), and −ℓ to ``fall``, (chains,), unless they are empty.

    With ``shift``, (chains,), every difference d is smaller by it, and ``pull`` receives the derivative of ℓ in it.
    """
    chains = strengths.shape[1]
    size = max(1, BLOCK // chains)
    d, p = np.empty(size * chains), np.empty(size * chains)
    for alike in range(len(rows.bounds) - 1):
        until = rows.bounds[alike + 1]
        for begin in range(rows.bounds[alike], until, size):
            end = min(begin + size, until)
            differences = gather(rows, begin, end, strengths, d)
            if len(shift) > 0:
                take_off(d, shift, differences)
            if len(fall) > 0:
                add_sizes(rows, begin, end, d, fall)
            respond(d, p, differences)
            if len(score) > 0:
                scatter(rows, begin, end, d, score)
            if len(pull) > 0:
                add_pull(rows, begin, end, d, pull)
            if len(fall) > 0:
                add_logs(2 * rows.half[begin], end - begin, p, fall)


@compiled
def take_off(d: FloatArray, shift: FloatArray, size: int) -> None:
    """Make every difference smaller by its chain's shift."""
    for at in range(0, size, len(shift)):
        for k in range(len(shift)):
            d[at + k] -= shift[k]


@compiled
def add_pull(rows: Rows, begin: int, end: int, response: FloatArray, pull: FloatArray) -> None:
    """Take Σ (y − n/2 − n/2 · response) from ``pull``."""
    at = 0
    for row in range(begin, end):
        for k in range(len(pull)):
            pull[k] -= rows.excess[row] - rows.half[row] * response[at + k]
        at += len(pull)


@compiled
def add_laplacian(
    first: IntArray, second: IntArray, weights: FloatArray, vectors: FloatArray, result: FloatArray
) -> None:
    """Add XᵀWX times each column of ``vectors`` to ``result``."""
    columns = vectors.shape[1]
    for pair in range(len(weights)):
        above, below, w = vectors[first[pair]], vectors[second[pair]], weights[pair]
        up, down = result[first[pair]], result[second[pair]]
        for k in range(columns):
            moved = w * (above[k] - below[k])
            up[k] += moved
            down[k] -= moved


@compiled
def add_to_triangle(first: IntArray, second: IntArray, weights: FloatArray, matrix: FloatArray) -> None:
    """Add XᵀWX to ``matrix`` on and above the diagonal."""
    for pair in range(len(weights)):
        i, j, w = first[pair], second[pair], weights[pair]
        matrix[i, i] += w
        matrix[j, j] += w
        matrix[i, j] -= w


TOGETHER = 8
"""How many g + e^{−τ} are multiplied per logarithm; none that matters is beyond e^±81."""


class Posterior(NamedTuple):
    """A model and its coordinates; with a fixed α², its prior is not used."""

    rows: Rows
    V: FloatArray
    Q: FloatArray
    g: FloatArray
    r: FloatArray
    log_variance_mean: float
    log_variance_sd: float
    fixed: bool
    prior: Terms


class Room(NamedTuple):
    """Working space for a proposal: where it is, its momentum, and intermediate results.

    ``root`` is (g + e^{−τ})^{−½} and ``inverse`` e^{−τ}; ``score`` and ``slope`` are ∇ℓ in λ and in w; ``fall`` is −ℓ.
    """

    q: FloatArray
    momentum: FloatArray
    residual: FloatArray
    w: FloatArray
    strengths: FloatArray
    root: FloatArray
    score: FloatArray
    slope: FloatArray
    inverse: FloatArray
    fall: FloatArray


class Trace(NamedTuple):
    """The draws that are kept: (chain, draw, …)."""

    strengths: FloatArray
    log_variance: FloatArray
    acceptance: FloatArray
    divergences: IntArray


def build_posterior(model: Model, laplace: Laplace) -> Posterior:
    """Lay out a model and its coordinates for compiled code."""
    prior, rows = model.variance, lay_out(model.counts)
    V, Q, g, r = (np.ascontiguousarray(each) for each in (laplace.V, laplace.Q, laplace.g, laplace.r))
    mean, sd = float(laplace.log_variance_mean), float(laplace.log_variance_sd)
    fixed = isinstance(prior, FixedVariance)
    terms = Terms(0.0, 0.0, 0.0) if isinstance(prior, FixedVariance) else Terms._make(map(float, prior.terms))
    return Posterior(rows, V, Q, g, r, mean, sd, fixed, terms)


def advance(
    rng: np.random.Generator, posterior: Posterior, state: SpatialState, kicks: int, schedule: tuple[int, int]
) -> tuple[SpatialState, Arrays]:
    """Make ``schedule[0]`` trajectories and keep every ``schedule[1]``-th draw; the given state is not changed."""
    state = SpatialState._make(np.array(each, order="C") for each in state)
    return state, take(rng, posterior, state, kicks, schedule)._asdict()


@within
def make_room(n_areas: int, chains: int) -> Room:
    """Make the working space for some chains."""
    shape, longer = (n_areas, chains), (n_areas + 1, chains)
    return Room(
        np.empty(longer),
        np.empty(longer),
        np.empty(longer),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        np.empty(chains),
        np.empty(chains),
    )


@compiled
def look(posterior: Posterior, q: FloatArray) -> SpatialState:
    """Start chains at q."""
    n_areas, chains = len(posterior.g), q.shape[1]
    room = make_room(n_areas, chains)
    room.q[:] = q
    evaluate(posterior, room, True)  # noqa: FBT003 - called from compiled code
    density, count = log_density(posterior, room), np.zeros(chains, np.int64)
    return SpatialState(room.q, room.residual, room.w, room.strengths, density, np.ones(chains), count)


@compiled
def take(
    rng: np.random.Generator, posterior: Posterior, state: SpatialState, kicks: int, schedule: tuple[int, int]
) -> Trace:
    """Do what `advance` does, changing the arrays of ``state``."""
    steps, thin = schedule
    n_areas, chains, draws = len(posterior.g), state.q.shape[1], steps // thin
    room = make_room(n_areas, chains)
    trace = Trace(
        np.empty((chains, draws, n_areas)),
        np.empty((chains, draws)),
        np.empty((chains, draws)),
        np.empty((chains, draws), np.int64),
    )
    before = np.empty(chains, np.int64)
    for k in range(chains):
        before[k] = state.divergences[k]
    for step in range(steps):
        trajectory(rng, posterior, state, kicks, room)
        if (step + 1) % thin == 0:
            keep(posterior, state, before, trace, step // thin)
    return trace


@within
def keep(posterior: Posterior, state: SpatialState, before: IntArray, trace: Trace, draw: int) -> None:
    """Record a draw; ``before`` holds the divergences up to the previous draw."""
    n_areas, chains = state.strengths.shape
    for k in range(chains):
        trace.log_variance[k, draw] = posterior.log_variance_mean + posterior.log_variance_sd * state.q[n_areas, k]
        trace.acceptance[k, draw] = state.acceptance[k]
        trace.divergences[k, draw] = state.divergences[k] - before[k]
        before[k] = state.divergences[k]
        for i in range(n_areas):
            trace.strengths[k, draw, i] = state.strengths[i, k]


@within
def trajectory(rng: np.random.Generator, posterior: Posterior, state: SpatialState, kicks: int, room: Room) -> None:
    """Propose by one trajectory, and move the chains that accept."""
    q, momentum, residual, chains = room.q, room.momentum, room.residual, room.q.shape[1]
    push(rng, posterior, room)
    half, cos, sin, change = np.empty(chains), np.empty(chains), np.empty(chains), np.empty(chains)
    for k in range(chains):
        angle = QUARTER_TURN / kicks * (1 + JITTER * rng.uniform(-1.0, 1.0))
        half[k], cos[k], sin[k] = angle / 2, math.cos(angle), math.sin(angle)
        change[k] = -state.log_density[k]
    add_kinetic(1.0, momentum, change)
    for kick in range(kicks):
        from_q, from_residual = (state.q, state.residual) if kick == 0 else (q, residual)
        for i in range(len(q)):
            for k in range(chains):
                pushed, at = momentum[i, k] + half[k] * from_residual[i, k], from_q[i, k]
                momentum[i, k] = cos[k] * pushed - sin[k] * at
                q[i, k] = cos[k] * at + sin[k] * pushed
        evaluate(posterior, room, kick == kicks - 1)
        for i in range(len(q)):
            for k in range(chains):
                momentum[i, k] += half[k] * residual[i, k]
    add_kinetic(-1.0, momentum, change)
    settle(rng, state, room, log_density(posterior, room), change)


@within
def push(rng: np.random.Generator, posterior: Posterior, room: Room) -> None:
    """Draw the momentum (see `Laplace.noise`), using the space for the slope to hold the noise."""
    n_areas, chains = room.slope.shape
    for i in range(n_areas):
        for k in range(chains):
            room.slope[i, k] = rng.standard_normal()
    np.dot(posterior.Q.T, room.slope, room.momentum[:n_areas])
    for k in range(chains):
        room.momentum[n_areas, k] = rng.standard_normal()


@within
def evaluate(posterior: Posterior, room: Room, height: bool) -> None:  # noqa: FBT001 - called from compiled code
    """Find the residual gradient at q, and −ℓ if ``height`` is true.

    With s = Vᵀ∇ℓ − e^{−τ}w, the slope in w, and P = g + e^{−τ}, it is s/√P + u in u, and in v

        sd · (e^{−τ}[Σ s(r/P + ½u/√P)/P + ½Σ(w² + 1/P) + ω] − N/2 + k − ηe^τ) + v
    """
    q, w, root, inverse, slope = room.q, room.w, room.root, room.inverse, room.slope
    n_areas, chains = w.shape
    for k in range(chains):
        inverse[k] = math.exp(-(posterior.log_variance_mean + posterior.log_variance_sd * q[n_areas, k]))
    for i in range(n_areas):
        g, r = posterior.g[i], posterior.r[i]
        for k in range(chains):
            variance = 1 / (g + inverse[k])
            root[i, k] = math.sqrt(variance)
            w[i, k] = r * variance + q[i, k] * root[i, k]
    np.dot(posterior.V, w, room.strengths)
    room.score[:] = 0.0
    room.fall[:] = 0.0
    none = room.fall[:0]
    pass_pairs(posterior.rows, room.strengths, room.score, room.fall if height else none, none, none)
    np.dot(posterior.V.T, room.score, slope)
    moved, spread = np.zeros(chains), np.zeros(chains)
    for i in range(n_areas):
        for k in range(chains):
            pull, half = slope[i, k] - inverse[k] * w[i, k], q[i, k] * root[i, k] / 2
            room.residual[i, k] = pull * root[i, k] + q[i, k]
            variance = root[i, k] * root[i, k]
            moved[k] += pull * (w[i, k] - half) * variance
            spread[k] += w[i, k] * w[i, k] + variance
    for k in range(chains):
        prior = posterior.prior
        slope_tau = inverse[k] * (moved[k] + spread[k] / 2 + prior.inverse) - n_areas / 2 + prior.power
        slope_tau -= prior.direct / inverse[k]
        room.residual[n_areas, k] = 0.0 if posterior.fixed else posterior.log_variance_sd * slope_tau + q[n_areas, k]


@within
def log_density(posterior: Posterior, room: Room) -> FloatArray:
    """Return log p(q), up to a constant, for each chain."""
    g, w, inverse, v = posterior.g, room.w, room.inverse, room.q[-1]
    n_areas, chains = w.shape
    squares, logs, product = np.zeros(chains), np.zeros(chains), np.ones(chains)
    for i in range(n_areas):
        for k in range(chains):
            squares[k] += w[i, k] * w[i, k]
            product[k] *= g[i] + inverse[k]
        if (i + 1) % TOGETHER == 0 or i + 1 == n_areas:
            for k in range(chains):
                logs[k] += math.log(product[k])
                product[k] = 1.0
    density = np.empty(chains)
    for k in range(chains):
        tau = posterior.log_variance_mean + posterior.log_variance_sd * v[k]
        height = -room.fall[k] - (inverse[k] * squares[k] + n_areas * tau + logs[k]) / 2
        prior = posterior.prior
        fall = prior.inverse * inverse[k] - prior.power * tau + prior.direct / inverse[k]
        height -= v[k] * v[k] / 2 if posterior.fixed else fall
        density[k] = height if abs(tau) <= FARTHEST else -np.inf
    return density


@within
def add_kinetic(times: float, momentum: FloatArray, energy: FloatArray) -> None:
    """Add ``times`` ½ Σ momentum² of each chain to ``energy``."""
    for i in range(len(momentum)):
        for k in range(len(energy)):
            energy[k] += times * momentum[i, k] * momentum[i, k] / 2


@within
def settle(rng: np.random.Generator, state: SpatialState, room: Room, density: FloatArray, change: FloatArray) -> None:
    """Accept or reject for each chain, by the sum of ``density`` and ``change``; a chain that broke down stays."""
    n_areas, chains = room.w.shape
    accepted = np.empty(chains, np.bool_)
    for k in range(chains):
        rise = density[k] + change[k]
        finite = math.isfinite(rise)
        state.divergences[k] += not (finite and rise > -HUGE)
        log_chance = min(rise, 0.0) if finite else -np.inf
        accepted[k] = math.log(rng.random()) < log_chance
        state.acceptance[k] = math.exp(log_chance)
        if accepted[k]:
            state.log_density[k] = density[k]
    for i in range(n_areas + 1):
        for k in range(chains):
            state.q[i, k] = room.q[i, k] if accepted[k] else state.q[i, k]
            state.residual[i, k] = room.residual[i, k] if accepted[k] else state.residual[i, k]
    for i in range(n_areas):
        for k in range(chains):
            state.w[i, k] = room.w[i, k] if accepted[k] else state.w[i, k]
            state.strengths[i, k] = room.strengths[i, k] if accepted[k] else state.strengths[i, k]
