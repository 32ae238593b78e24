"""Split Hamiltonian Monte Carlo, many chains at a time: what the samplers of maps, judges and large maps share.

A sampler brings coordinates q in which its posterior p is nearly N(c, I), or the equivalent for another mass: a `Split`
says how momenta v are drawn and what p is like at q. A trajectory follows the Gaussian part exactly and is kicked by
what that leaves of the gradient, the residual r(q) = ∇log p(q) + q − c:

    kick      v ← v + ω r(q)                                                  before, between and after rotations
    rotation  (q − c, v) ← ((q − c) cos θ + v sin θ, v cos θ − (q − c) sin θ)
    proposal  accepted with probability min(1, p(q', v')/p(q, v))             exact for any θ and any residual

All rotations together cover about a quarter turn, after which the Gaussian part has forgotten where it started. Kicks
are a quadrature of the residual along the way: by the trapezium rule at equal angles, as here, or at the nodes of Gauss
and Lobatto and with their weights, whose error is of a higher order where the residual is small and smooth.
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


class Rule(NamedTuple):
    """A quadrature over a trajectory: how far it rotates between kicks, and how strong these are, as shares of it."""

    gaps: FloatArray
    weights: FloatArray


def trapezium(rotations: int) -> Rule:
    """Kick at equal angles."""
    weights = np.full(rotations + 1, 1 / rotations)
    weights[[0, -1]] /= 2
    return Rule(np.full(rotations, 1 / rotations), weights)


@cache
def lobatto(rotations: int) -> Rule:
    """Kick at both ends and at the extrema of a Legendre polynomial: exact for powers up to 2 rotations − 1.

    >>> rule = lobatto(2)
    >>> rule.gaps.round(3).tolist(), rule.weights.round(3).tolist()
    ([0.5, 0.5], [0.167, 0.667, 0.167])
    """
    polynomial = Legendre.basis(rotations)
    nodes = np.concatenate([[-1.0], np.sort(polynomial.deriv().roots().real), [1.0]])
    return Rule(np.diff(nodes) / 2, 1 / (rotations * (rotations + 1) * polynomial(nodes) ** 2))


class Split(NamedTuple):
    """A posterior as `step` sees it."""

    noise: Callable[[np.random.Generator, int], FloatArray]
    """(rng, chains) → momenta."""
    look: Callable[..., Any]
    """(q, height=whether log p is needed) → state; its acceptance and divergences are not used."""
    log_joint: Callable[[Any, FloatArray], FloatArray]
    """(state, momentum) → log p(q, v) of each chain, up to a constant."""
    turns: Callable[[np.random.Generator, int], FloatArray | float] = jitter
    centre: FloatArray | None = None
    """c, if it is not 0."""
    rule: Callable[[int], Rule] = trapezium
    travel: Callable[..., Any] | None = None
    """(state, momentum, angle, kicks) → state, changing the momentum: all kicks and rotations at once, if compiled."""


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def step(rng: np.random.Generator, split: Split, state: S, kicks: int) -> S:
    """Propose by one trajectory of ``kicks`` rotations between half kicks; each chain accepts or stays.

    A trajectory may overflow; then its chain stays where it is, and the proposal counts as broken down.
    """
    # 1. Draw a momentum, and note the energy that a perfect trajectory would conserve.
    chains = state.q.shape[-1]
    momentum = split.noise(rng, chains)
    before = split.log_joint(state, momentum)
    # 2. Kick and rotate.
    turn = QUARTER_TURN * split.turns(rng, chains)
    if split.travel is not None:
        now = split.travel(state, momentum, turn / kicks, kicks)
    else:
        now, (gaps, weights) = state, split.rule(kicks)
        momentum += weights[0] * turn * now.residual
        for kick in range(1, kicks + 1):
            angle = gaps[kick - 1] * turn
            q = rotate(now.q, momentum, np.cos(angle), np.sin(angle), split.centre)
            now = split.look(q, height=kick == kicks)
            momentum += weights[kick] * turn * now.residual
    # 3. Accept or reject by the error of the energy.
    return settle(rng, state, now, split.log_joint(now, momentum) - before)


def rotate(
    q: FloatArray, momentum: FloatArray, cos: FloatArray, sin: FloatArray, centre: FloatArray | None
) -> FloatArray:
    """Return the new q, and change the momentum in place. Arrays can be large, so few are made."""
    away = q if centre is None else q - centre
    turned, other = cos * away, sin * momentum
    if centre is not None:
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
