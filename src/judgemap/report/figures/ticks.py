"""Round numbers along an axis.

They are the ones that matplotlib's ``MaxNLocator`` gives. Web pages cannot use it: they do not load matplotlib, so that
they start fast and stay small.
"""

import math

import numpy as np

from judgemap.core.types import FloatArray

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def round_step(least: float, steps: tuple[float, ...] = STEPS) -> float:
    """Return the smallest round number that is at least ``least``: one of ``steps``, times a power of ten.

    >>> round_step(0.23), round_step(0.23, (1, 2, 5, 10)), round_step(3000)
    (0.25, 0.5, 5000.0)
    """
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in steps if step * power >= least * (1 - 1e-9))


def round_limits(least: float, most: float, count: int = 7) -> FloatArray:
    """Return round limits that contain a range, in at most about ``count`` equal steps.

    >>> round_limits(0.1, 2.9)
    array([0. , 0.5, 1. , 1.5, 2. , 2.5, 3. ])

    A range of one value, however large, is widened on each side by half of it, or by 0.5 if it is below 1.

    >>> round_limits(1e30, 1e30)[[0, -1]]
    array([4.0e+29, 1.6e+30])
    """
    if most - least <= 1e-9 * max(1.0, abs(most)):
        margin = max(1.0, abs(most)) / 2
        least, most = least - margin, most + margin
    step = round_step((most - least) / count)
    first, last = math.floor(least / step + 1e-9), math.ceil(most / step - 1e-9)
    limits: FloatArray = step * np.arange(first, last + 1, dtype=np.float64)
    return limits
