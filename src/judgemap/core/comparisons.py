"""Comparisons as pair counts, the sufficient statistic of every model here.

Convention: areas are the integers 0 … N−1. A pair is stored once, with ``first < second``; ``n`` counts its
comparisons and ``wins`` how often ``first`` won. Which area wins (the lower or the higher rate) is the study's
business, not the core's: here a winner has the larger strength.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from judgemap.core.types import FloatArray, IntArray, frozen_ints


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """How often each pair of areas was compared, and how often its first area won.

    >>> counts = count_pairs(winners=[0, 1, 2], losers=[1, 0, 1], n_areas=4)
    >>> counts.first, counts.second, counts.n, counts.wins
    (array([0, 1]), array([1, 2]), array([2, 1]), array([1, 0]))
    """

    n_areas: int
    first: IntArray
    second: IntArray
    n: IntArray
    wins: IntArray

    def __post_init__(self) -> None:
        for field in ("first", "second", "n", "wins"):
            object.__setattr__(self, field, frozen_ints(getattr(self, field)))
        if len({len(self.first), len(self.second), len(self.n), len(self.wins)}) != 1:
            raise ValueError("first, second, n and wins must have the same length")
        if self.n_areas < 1:
            raise ValueError(f"a model needs at least one area, received {self.n_areas}")
        if np.any(self.first < 0) or np.any(self.second >= self.n_areas):
            raise ValueError(f"areas must lie in 0 … {self.n_areas - 1}")
        if np.any(self.first >= self.second):
            raise ValueError("a pair is stored with first < second")
        key = self.first * self.n_areas + self.second
        if len(np.unique(key)) != len(key):
            raise ValueError("a pair is stored once; add up its counts")
        if np.any(self.n < 1) or np.any(self.wins < 0) or np.any(self.wins > self.n):
            raise ValueError("counts must satisfy 0 ≤ wins ≤ n and n ≥ 1")

    @property
    def total(self) -> int:
        """The number of comparisons."""
        return int(self.n.sum())

    def per_area(self) -> IntArray:
        """How many comparisons each area took part in.

        >>> count_pairs([0, 0], [1, 1], n_areas=3).per_area()
        array([2, 2, 0])
        """
        return np.bincount(
            np.concatenate([self.first, self.second]),
            weights=np.concatenate([self.n, self.n]),
            minlength=self.n_areas,
        ).astype(np.int64)

    def excess(self) -> FloatArray:
        """κ = Xᵀ(y − n/2) of the Pólya-Gamma representation: half of each area's wins minus losses."""
        return self.onto_areas(self.wins - self.n / 2)

    def onto_areas(self, values: FloatArray) -> FloatArray:
        """Xᵀv: add each pair's value to its first area and take it from its second.

        >>> count_pairs([0], [1], n_areas=3).onto_areas(np.array([2.0]))
        array([ 2., -2.,  0.])
        """
        gained: FloatArray = np.bincount(self.first, values, self.n_areas).astype(np.float64)
        return gained - np.bincount(self.second, values, self.n_areas)

    def components(self) -> IntArray:
        """Label the connected parts of the comparison graph, so that unconnected areas can be named.

        >>> count_pairs([0, 2], [1, 3], n_areas=5).components()
        array([0, 0, 1, 1, 2])
        """
        shape = (self.n_areas, self.n_areas)
        graph = sparse.coo_array((np.ones(len(self.n)), (self.first, self.second)), shape=shape)
        labels = sparse.csgraph.connected_components(graph, directed=False)[1]
        return labels.astype(np.int64)


def count_pairs(winners: ArrayLike, losers: ArrayLike, n_areas: int) -> PairCounts:
    """Add up comparisons, given as winner and loser, into pair counts.

    >>> count_pairs([0, 0, 1], [1, 1, 0], n_areas=2).wins
    array([2])
    """
    winner, loser = np.asarray(winners, dtype=np.int64), np.asarray(losers, dtype=np.int64)
    if winner.shape != loser.shape or winner.ndim != 1:
        raise ValueError("winners and losers must be two lists of the same length")
    if np.any(winner == loser):
        raise ValueError(f"comparison {int(np.argmax(winner == loser))} compares an area with itself")
    if len(winner) and (min(winner.min(), loser.min()) < 0 or max(winner.max(), loser.max()) >= n_areas):
        raise ValueError(f"areas must lie in 0 … {n_areas - 1}")
    first, second = np.minimum(winner, loser), np.maximum(winner, loser)
    keys, inverse = np.unique(first * n_areas + second, return_inverse=True)
    return PairCounts(
        n_areas=n_areas,
        first=keys // n_areas,
        second=keys % n_areas,
        n=np.bincount(inverse, minlength=len(keys)),
        wins=np.bincount(inverse, weights=winner == first, minlength=len(keys)).astype(np.int64),
    )
