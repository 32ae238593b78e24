"""A number for each pair of areas, of which most may be zero and are not stored."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from judgemap.core.types import FloatArray, IntArray, frozen_floats, frozen_ints


@dataclass(frozen=True, slots=True, eq=False)
class PairValues:
    """Values v_ij = v_ji of pairs of areas 0 … N−1; zero where nothing is stored.

    A pair i < j is stored under the key i·N + j. Keys are sorted, so that a value is found in O(log stored).
    ``lowest`` and ``highest`` bound the values, zero included.

    >>> v = PairValues(3, keys=[1, 5], values=[0.5, 2.0])
    >>> v.at(2, 1), v.at([0, 0], [1, 2])
    (array(2.), array([0.5, 0. ]))
    """

    n_areas: int
    keys: IntArray
    values: FloatArray
    lowest: float = field(init=False)
    highest: float = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", frozen_ints(self.keys))
        object.__setattr__(self, "values", frozen_floats(self.values))
        if self.keys.ndim != 1 or self.keys.shape != self.values.shape:
            raise ValueError(f"{self.keys.shape} keys do not match {self.values.shape} values")
        if np.any(np.diff(self.keys) <= 0):
            raise ValueError("the keys of pairs must be sorted and different")
        if np.any(self.first >= self.second) or (len(self.keys) and self.first[-1] >= self.n_areas):
            raise ValueError(f"the key of a pair i < j is i·N + j, with areas in 0 … {self.n_areas - 1}")
        if not np.all(np.isfinite(self.values)):
            raise ValueError("the values of pairs must be finite numbers")
        object.__setattr__(self, "lowest", float(self.values.min(initial=0.0)))
        object.__setattr__(self, "highest", float(self.values.max(initial=0.0)))

    @property
    def first(self) -> IntArray:
        """The smaller area of every stored pair."""
        return self.keys // self.n_areas

    @property
    def second(self) -> IntArray:
        """The larger area of every stored pair."""
        return self.keys % self.n_areas

    def at(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Look up v_ij for areas given in either order; an area with itself has zero."""
        i, j = np.asarray(first, dtype=np.int64), np.asarray(second, dtype=np.int64)
        if not len(self.keys):
            return np.zeros(np.broadcast_shapes(i.shape, j.shape))
        wanted = np.minimum(i, j) * self.n_areas + np.maximum(i, j)
        place = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[place] == wanted, self.values[place], 0.0)

    def within(self, areas: IntArray) -> "PairValues":
        """Keep only the pairs whose areas are both among ``areas``.

        >>> PairValues(3, keys=[1, 5], values=[0.5, 2.0]).within(np.array([1, 2])).values
        array([2.])
        """
        known = np.zeros(self.n_areas, dtype=np.bool_)
        known[areas] = True
        kept = known[self.first] & known[self.second]
        return PairValues(self.n_areas, self.keys[kept], self.values[kept])

    def per_area(self) -> FloatArray:
        """Σ_j v_ij for every area i.

        >>> PairValues(3, keys=[1, 5], values=[0.5, 2.0]).per_area()
        array([0.5, 2.5, 2. ])
        """
        sums: FloatArray = np.bincount(self.first, self.values, self.n_areas).astype(np.float64)
        return sums + np.bincount(self.second, self.values, self.n_areas)


def from_matrix(matrix: FloatArray) -> PairValues:
    """Store the entries above the diagonal of a symmetric matrix, the zeros left out.

    >>> from_matrix(np.array([[9.0, 0.5], [0.5, 9.0]])).values
    array([0.5])
    """
    matrix = np.asarray(matrix, dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"values of pairs must be a square matrix, received shape {matrix.shape}")
    if not np.allclose(matrix, matrix.T, rtol=1e-8, atol=1e-10):
        raise ValueError("values of pairs must be a symmetric matrix: a pair has no first and second")
    first, second = np.nonzero(np.triu(matrix, 1))
    return PairValues(len(matrix), first * len(matrix) + second, matrix[first, second])
