"""Newton's method with step halving: the one way in which modes and maxima are found here."""

from collections.abc import Callable

import numpy as np

from judgemap.core.types import FloatArray

STEPS = 200
HALVINGS = 60
ROUNDING, EPSILON = 1e-9, 1e-15
"""Relative to the height: what must be left to gain to go on, and what a step must have gained, not to be rounding."""

Ascent = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Place → (gradient g, step H⁻¹g), with H a positive definite stand-in for minus the second derivatives."""


def climb(height: Callable[[FloatArray], float], ascent: Ascent, start: FloatArray, close: float) -> FloatArray:
    """Find the top of ``height`` from ``start``; it is taken as reached where gᵀH⁻¹g < ``close``.

    gᵀH⁻¹g is twice the height that is still to be gained, if the function is nearly quadratic. A step that leads
    down is halved until it does not; for a concave function this converges from anywhere.

    >>> def up(x):
    ...     return -np.sinh(x - 3), -np.tanh(x - 3)
    >>> climb(lambda x: -float(np.cosh(x - 3).sum()), up, np.zeros(1), 1e-12).round(6)
    array([3.])
    """
    place, value = start, height(start)
    for _ in range(STEPS):
        try:
            gradient, step = ascent(place)
        except np.linalg.LinAlgError:
            raise FloatingPointError("the curvature is not positive definite in double precision") from None
        to_gain = float(gradient @ step)
        if to_gain < close:
            return place
        for _ in range(HALVINGS):
            trial = height(place + step)
            if trial >= value:
                break
            step = step / 2
        # Where no step gains more than rounding takes, the top is reached, if no more was to be gained.
        if trial - value < EPSILON * (1 + abs(value)) and to_gain < ROUNDING * (1 + abs(value)):
            return place
        if trial < value:
            break
        place, value = place + step, trial
    raise FloatingPointError("Newton's method did not find the most likely strengths")
