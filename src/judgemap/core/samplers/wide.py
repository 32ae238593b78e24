"""Moves for studies that say little about α²: the first answers, and answers that never contradict each other.

Without a contradiction every larger α² explains the answers better, and only its prior holds it back: log α² reaches
over tens, and coordinates made at one place do not serve at another. Two moves know no such place; both are exact.

    along the ray: λ and α grow together, λ/α held still, to a τ = log α² from exp(ℓ(e^{τ/2} λ/α) − χτ − ωe^{−τ})
    on an ellipse: λ ↦ λ cos θ + ν sin θ with ν from the prior, to a θ from exp ℓ, α² held still

Each is drawn by a slice (Neal, 2003; Murray, Adams and MacKay, 2010), for all chains of a batch at once. λ moves freely
where α² is small and the ray leads there and back.
"""

from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter

import numpy as np

from judgemap.core.laplace import Laplace
from judgemap.core.prior import InverseGamma, Model
from judgemap.core.types import BoolArray, FloatArray

WIDE = 0.8
"""The standard deviation of log α², as Laplace's approximation has it, from which these moves are made."""
FARTHEST = 80.0
"""|log α²| beyond which a state is refused, because double precision does not hold there. With the usual prior,
χ = 0.1, and no answers at all, the probability beyond it is 0.0003."""
STEP = 4.0
MOST_STEPS = 200
"""Of stepping out and of shrinking; a chain that needs more stays where it is."""
KICKS, ELLIPSES = 8, 2
"""Kicks a trajectory, at least, and ellipses after it: measured to give most with 30 to 500 answers on 77 areas."""

Heights = Callable[[FloatArray], FloatArray]
"""One place for each chain → the log of the density there."""


def needed(model: Model, laplace: Laplace) -> bool:
    """Whether α² could be nearly anything."""
    fixed = not isinstance(model.variance, InverseGamma)
    return not fixed and (laplace.log_variance_sd > WIDE or consistent(model))


def consistent(model: Model) -> bool:
    """Whether no answers contradict each other, directly or around a circle.

    >>> from judgemap.core.comparisons import count_pairs
    >>> from judgemap.core.prior import independent
    >>> chain, circle = count_pairs([0, 1], [1, 2], 3), count_pairs([0, 1, 2], [1, 2, 0], 3)
    >>> [consistent(Model(counts, independent(3), InverseGamma())) for counts in (chain, circle)]
    [True, False]
    """
    counts = model.counts
    won, lost = counts.wins > 0, counts.wins < counts.n
    if (won & lost).any():
        return False
    sorter = TopologicalSorter[int]()
    for i, j, first_won in zip(counts.first.tolist(), counts.second.tolist(), won.tolist(), strict=True):
        sorter.add(*((i, j) if first_won else (j, i)))
    try:
        sorter.prepare()
    except CycleError:
        return False
    return True


def along_the_ray(rng: np.random.Generator, tau: FloatArray, heights: Heights, step: float = STEP) -> FloatArray:
    """Draw τ for each chain by a slice, from the density whose log is ``heights``: step out, then shrink."""
    level = heights(tau) + np.log(rng.random(len(tau)))
    low = tau - step * rng.random(len(tau))
    high = low + step
    for end, outwards in ((low, -step), (high, step)):
        for _ in range(MOST_STEPS):
            inside = heights(end) > level
            if not inside.any():
                break
            end[inside] += outwards
    return shrink(rng, tau, low, high, lambda at: heights(at) > level)


def around_the_ellipse(rng: np.random.Generator, here: FloatArray, there: FloatArray, heights: Heights) -> FloatArray:
    """Draw θ for each chain by a slice, from the density whose log is ``heights`` at here · cos θ + there · sin θ."""
    still = np.zeros(here.shape[1])
    level = heights(here) + np.log(rng.random(len(still)))
    high = 2 * np.pi * rng.random(len(still))
    return shrink(
        rng, still, high - 2 * np.pi, high, lambda at: heights(here * np.cos(at) + there * np.sin(at)) > level
    )


def shrink(
    rng: np.random.Generator,
    place: FloatArray,
    low: FloatArray,
    high: FloatArray,
    inside: Callable[[FloatArray], BoolArray],
) -> FloatArray:
    """Try places between ``low`` and ``high``, which close in on ``place``, until each chain has one inside."""
    result, looking = place.copy(), np.ones(len(place), dtype=bool)
    for _ in range(MOST_STEPS):
        trial = low + (high - low) * rng.random(len(place))
        arrived = looking & inside(trial)
        result[arrived] = trial[arrived]
        looking &= ~arrived
        if not looking.any():
            break
        low, high = np.where(trial < place, trial, low), np.where(trial < place, high, trial)
    return result
