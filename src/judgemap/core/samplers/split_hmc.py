"""Split Hamiltonian Monte Carlo, many chains at a time: what the samplers of maps, judges and large maps share.

A sampler brings coordinates q in which its posterior p is nearly N(c, I), or the equivalent for another mass: a `Split`
says how momenta v are drawn, what p(q, v) is, and how a trajectory travels. That follows the Gaussian part exactly and
is kicked by what this leaves of the gradient, the residual r(q) = ∇log p(q) + q − c:

    kick      v ← v + ω r(q)                                                  before, between and after rotations
    rotation  (q − c, v) ← ((q − c) cos θ + v sin θ, v cos θ − (q − c) sin θ)
    proposal  accepted with probability min(1, p(q', v')/p(q, v))             exact for any θ, ω and residual

All rotations together cover about a quarter turn, after which the Gaussian part has forgotten where it started. Kicks
are a quadrature of the residual along the way. Compiled trajectories follow the trapezium rule: kicks at equal angles,
half as strong at both ends. Those of large maps (`kicking`) follow Gauss and Lobatto's, whose error is of a higher
order if the residual is small and smooth.
Sources: Shahbaba, Lan, Johnson and Neal (2014), Split Hamiltonian Monte Carlo, Statistics and Computing 24; Laskar and
Robutel (2001), High order symplectic integrators for perturbed Hamiltonian systems, Celestial Mechanics 80.
"""

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.polynomial.legendre import Legendre

from judgemap.core.samplers.kernel import broke_down
from judgemap.core.types import FloatArray, IntArray

QUARTER_TURN = np.pi / 2
JITTER = 0.1

S = TypeVar("S", bound=Any)
"""A state: a named tuple of arrays with one column per chain, with at least the fields of `HMCState`."""


class HMCState(NamedTuple):
    """Where the chains are, how likely their last proposals were to be accepted, and how many have broken down."""

    q: FloatArray
    residual: FloatArray
    log_density: FloatArray
    acceptance: FloatArray
    divergences: IntArray


def jitter(rng: np.random.Generator, chains: int) -> FloatArray:
    """Draw how far each chain turns, as a share of a quarter turn: varied, so that no chain returns to its start."""
    return 1 + JITTER * rng.uniform(-1, 1, chains)


class Split(NamedTuple):
    """A posterior as `step` sees it."""

    noise: Callable[[np.random.Generator, int], FloatArray]
    """(rng, chains) → momenta."""
    log_joint: Callable[[Any, FloatArray], FloatArray]
    """(state, momentum) → log p(q, v) of each chain, up to a constant."""
    travel: Callable[..., Any]
    """(state, momentum, angle of all rotations together, kicks) → state, changing the momentum."""
    turns: Callable[[np.random.Generator, int], FloatArray | float] = jitter


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def step(rng: np.random.Generator, split: Split, state: S, kicks: int) -> S:
    """Propose by one trajectory of ``kicks`` rotations; each chain accepts or stays.

    A trajectory may overflow; then its chain stays where it is, and the proposal counts as broken down.
    """
    # 1. Draw a momentum, and note the energy that a perfect trajectory would conserve.
    chains = state.q.shape[-1]
    momentum = split.noise(rng, chains)
    before = split.log_joint(state, momentum)
    # 2. Kick and rotate.
    now = split.travel(state, momentum, QUARTER_TURN * split.turns(rng, chains), kicks)
    # 3. Accept or reject by the error of the energy.
    return settle(rng, state, now, split.log_joint(now, momentum) - before)


def kicking(look: Callable[..., S], centre: FloatArray) -> Callable[[S, FloatArray, FloatArray, int], S]:
    """Return a `Split.travel` that looks at p after each rotation; c is the ``centre``.

    ``look`` is (q, height=whether log p is needed) → state; its acceptance and divergences are not used.
    """

    def travel(state: S, momentum: FloatArray, turn: FloatArray, kicks: int) -> S:
        gaps, weights = lobatto(kicks)
        momentum += weights[0] * turn * state.residual
        for kick in range(1, kicks + 1):
            q = rotate(state.q, momentum, gaps[kick - 1] * turn, centre)
            state = look(q, height=kick == kicks)
            momentum += weights[kick] * turn * state.residual
        return state

    return travel


@cache
def lobatto(rotations: int) -> tuple[FloatArray, FloatArray]:
    """Return how far to rotate between kicks, and how strong these are, as shares of the whole angle.

    Kicks are at both ends and at the extrema of a Legendre polynomial: exact for powers up to 2 rotations − 1.

    >>> gaps, weights = lobatto(2)
    >>> gaps.round(3).tolist(), weights.round(3).tolist()
    ([0.5, 0.5], [0.167, 0.667, 0.167])
    """
    polynomial = Legendre.basis(rotations)
    nodes = np.concatenate([[-1.0], np.sort(polynomial.deriv().roots().real), [1.0]])
    return np.diff(nodes) / 2, 1 / (rotations * (rotations + 1) * polynomial(nodes) ** 2)


def rotate(q: FloatArray, momentum: FloatArray, angle: FloatArray, centre: FloatArray) -> FloatArray:
    """Return the new q, and change the momentum in place. Arrays can be large, so few are made."""
    cos, sin, away = np.cos(angle), np.sin(angle), q - centre
    turned, other = cos * away, sin * momentum
    turned += centre
    turned += other
    np.multiply(away, sin, out=other)
    momentum *= cos
    momentum -= other
    return turned


def settle(rng: np.random.Generator, state: S, proposed: S, change: FloatArray) -> S:
    """Move the chains that accept, given the changes of log p(q, v)."""
    broken = broke_down(change)
    change = np.where(broken, -np.inf, np.minimum(change, 0.0))
    accepted = np.log(rng.random(len(change))) < change
    kept = type(state)._make(np.where(accepted, new, old) for new, old in zip(proposed, state, strict=True))
    return kept._replace(acceptance=np.exp(change), divergences=state.divergences + broken)


def choose_kicks(
    tries: Iterable[int],
    begin: Callable[[], S],
    advance: Callable[[S, int], S],
    lengths: tuple[int, int],
    good: float,
    lowest: float = 0.0,
) -> int:
    """Return the first number of kicks with which a pilot is accepted often enough, or the last one tried.

    Every pilot makes ``lengths`` steps: some that do not count, and some that do. Its draws are discarded. The mean
    must be ``good``, and that of the lowest tenth at least ``lowest``: where a posterior is narrow at one end, most
    proposals may be accepted and those from that end hardly ever.
    """
    for kicks in tries:
        seen = np.sort(pilot_acceptances(begin(), advance, kicks, lengths))
        if seen.mean() >= good and seen[: max(1, len(seen) // 10)].mean() >= lowest:
            break
    return kicks


def pilot_acceptances(state: S, advance: Callable[[S, int], S], kicks: int, lengths: tuple[int, int]) -> FloatArray:
    """Return how likely the proposals of the steps that count were to be accepted: see `choose_kicks`."""
    seen = []
    for _ in range(sum(lengths)):
        state = advance(state, kicks)
        seen.append(state.acceptance)
    return np.concatenate(seen[lengths[0] :])
