"""The array types used throughout the core."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


def frozen_floats(values: ArrayLike) -> FloatArray:
    """Copy ``values`` into a read-only array of floats."""
    array = np.array(values, dtype=np.float64)
    array.setflags(write=False)
    return array


def frozen_ints(values: ArrayLike) -> IntArray:
    """Copy ``values`` into a read-only array of integers."""
    array = np.array(values, dtype=np.int64)
    array.setflags(write=False)
    return array
