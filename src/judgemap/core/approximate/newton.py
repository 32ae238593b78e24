"""Newton's method with step halving, which finds every mode and maximum in the core, and the covariance there."""

from collections.abc import Callable

import numpy as np
from scipy.linalg import lapack

from judgemap.core.types import FloatArray

STEPS = 200
HALVINGS = 60
ROUNDING, EPSILON = 1e-9, 1e-15
"""Both relative to the height: stop once less than the first is left to gain, and treat gains below the second as
rounding error."""

Ascent = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Maps a point to (gradient g, step H⁻¹g), where H is a positive definite stand-in for minus the Hessian."""


def climb(height: Callable[[FloatArray], float], ascent: Ascent, start: FloatArray, close: float) -> FloatArray:
    """Find the maximum of ``height`` from ``start``, stopping once gᵀH⁻¹g < ``close``.

    If the function is nearly quadratic, gᵀH⁻¹g is twice the height still to be gained. A step that goes down is halved
    until it does not; for a concave function this converges from any starting point.

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
        # If no step gains more than rounding error and there was next to nothing left to gain, this is the maximum.
        if trial - value < EPSILON * (1 + abs(value)) and to_gain < ROUNDING * (1 + abs(value)):
            return place
        if trial < value:
            break
        place, value = place + step, trial
    raise FloatingPointError("Newton's method did not find the most likely strengths")


def inverse(precision: FloatArray) -> FloatArray:
    """Invert a symmetric positive definite matrix by its Cholesky factor: half the work of a general inverse.

    >>> inverse(np.array([[2.0, 0.0], [0.0, 4.0]]))
    array([[0.5 , 0. ], [0.  , 0.25]])
    """
    factor, failed = lapack.dpotrf(precision.T, lower=1, clean=1)
    if failed:
        raise ValueError("the precision of the strengths is not positive definite; check the prior's covariance")
    lower, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
    result: FloatArray = np.add(lower, lower.T, order="C")
    result.ravel()[:: len(result) + 1] /= 2
    return result
