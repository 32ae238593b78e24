"""Slice draws (Neal, 2003) for many chains at once: on the line, and on an ellipse."""

from collections.abc import Callable

import numpy as np

from judgemap.core.types import BoolArray, FloatArray

MOST_STEPS = 200
"""The most steps out, and the most shrinks; a chain that needs more stays where it is."""

Heights = Callable[[FloatArray], FloatArray]
"""One point per chain → the log density there."""


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def slice_line(rng: np.random.Generator, x: FloatArray, heights: Heights, step: float) -> FloatArray:
    """Draw x for each chain from the log density ``heights``: step out by ``step``, then shrink."""
    level = heights(x) + np.log(rng.random(len(x)))
    low = x - step * rng.random(len(x))
    high = low + step
    for end, outwards in ((low, -step), (high, step)):
        for _ in range(MOST_STEPS):
            inside = heights(end) > level
            if not inside.any():
                break
            end[inside] += outwards
    return _shrink(rng, x, low, high, lambda at: heights(at) > level)


def slice_ellipse(rng: np.random.Generator, here: FloatArray, there: FloatArray, heights: Heights) -> FloatArray:
    """Draw θ for each chain from the log density ``heights`` at here · cos θ + there · sin θ.

    With ``there`` from the Gaussian prior of ``here``, that point is a draw from prior × likelihood, if ``heights`` is
    the log likelihood. Source: Murray, Adams and MacKay (2010), Elliptical slice sampling.
    """
    still = np.zeros(here.shape[1])
    level = heights(here) + np.log(rng.random(len(still)))
    high = 2 * np.pi * rng.random(len(still))
    return _shrink(
        rng, still, high - 2 * np.pi, high, lambda at: heights(here * np.cos(at) + there * np.sin(at)) > level
    )


def _shrink(
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
