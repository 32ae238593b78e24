"""Moves for studies that say little about α²: the first few answers, and answers that never contradict each other.

Without a contradiction every larger α² explains the answers better, and only its prior holds it back: log α² ranges
widely, and coordinates made for one value do not suit another. Two moves do not depend on such coordinates; both are
exact.

    along the ray: λ and α scale together with λ/α fixed, to a τ = log α² from exp(ℓ(e^{τ/2} λ/α) − χτ − ωe^{−τ})
    on an ellipse: λ ↦ λ cos θ + ν sin θ with ν from the prior, to a θ from exp ℓ with α² fixed

Each is a slice draw (Neal, 2003; Murray, Adams and MacKay, 2010), for all chains of a batch at once. λ moves freely
where α² is small, and the ray leads there and back.
"""

from collections.abc import Callable
from graphlib import CycleError, TopologicalSorter

import numpy as np

from judgemap.core.approximate.laplace import Laplace
from judgemap.core.model.prior import InverseGamma, Model
from judgemap.core.types import BoolArray, FloatArray

WIDE = 0.8
"""These moves are made if the Laplace approximation gives log α² a standard deviation above this."""
FARTHEST = 80.0
"""States with |log α²| beyond this are rejected, because double precision fails there. With the usual prior,
χ = 0.1, and no answers at all, the probability beyond it is 0.0003."""
STEP = 4.0
MOST_STEPS = 200
"""The most steps out, and the most shrinks; a chain that needs more stays where it is."""
KICKS, ELLIPSES = 8, 2
"""The fewest kicks per trajectory, and the ellipses after it: measured to work best with 30 to 500 answers on 77
areas."""

Heights = Callable[[FloatArray], FloatArray]
"""One point per chain → the log density there."""


def needed(model: Model, laplace: Laplace) -> bool:
    """Whether α² is poorly determined: uncertain by Laplace's approximation, or by answers that never conflict."""
    fixed = not isinstance(model.variance, InverseGamma)
    return not fixed and (laplace.log_variance_sd > WIDE or consistent(model))


def consistent(model: Model) -> bool:
    """Whether no answers contradict each other, directly or in a cycle.

    >>> from judgemap.core.model.counts import count_pairs
    >>> from judgemap.core.model.prior import independent
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
    """Draw τ for each chain by slice sampling from the log density ``heights``: step out, then shrink."""
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
    """Draw θ for each chain by slice sampling from the log density ``heights`` at here · cos θ + there · sin θ."""
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
    """Try points between ``low`` and ``high``, closing in on ``place``, until every chain has one inside."""
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
