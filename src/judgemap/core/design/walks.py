"""Communicability between some areas of a map of any size, from the walks that start there.

(e^A)_ij counts the walks from i to j, those of k steps with weight 1/k!. Walks reach only nearby areas before their
weight vanishes, so a few areas cost no more on a nation than on a town. (`model.communicability` has all pairs.)

Import this module only where it is used: numba is slow to load.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.compiled import compiled
from judgemap.core.types import FloatArray, IntArray

LEAST = 1e-13
"""Walks of one length that add less than this in all are the last to be followed."""


class Borders(NamedTuple):
    """The neighbours of area i: ``neighbours[start[i] : start[i + 1]]``."""

    start: NDArray[np.int64]
    neighbours: NDArray[np.uint32]

    @classmethod
    def of(cls, graph: AreaGraph) -> "Borders":
        """Lay out the graph for compiled code."""
        A = graph.sparse_adjacency()
        return cls(A.indptr.astype(np.int64), A.indices.astype(np.uint32))


@compiled
def add_walks(borders: Borders, area: int, work: FloatArray, near: IntArray, seen: IntArray) -> int:
    """Write row ``area`` of e^A into ``work[0]``, at the areas ``near``; return how many areas that is.

    Walks count until all those of one length add less than `LEAST`. ``work``, (3, areas), must be zero, and ``seen``
    must not contain ``area``; `forget` clears ``work``.
    """
    total, now, then = work[0], work[1], work[2]
    near[0], seen[area], size, inner = area, area, 1, 0
    total[area] = now[area] = 1.0
    for steps in range(1, 400):
        outer = size
        for place in range(inner, outer):
            here = near[place]
            for at in range(borders.start[here], borders.start[here + 1]):
                other = np.int64(borders.neighbours[at])
                if seen[other] != area:
                    seen[other], near[size] = area, other
                    size += 1
        inner = outer
        added = 0.0
        for place in range(size):
            here, walks = near[place], 0.0
            for at in range(borders.start[here], borders.start[here + 1]):
                walks += now[borders.neighbours[at]]
            then[here] = walks / steps
            added += then[here] * then[here]
        for place in range(size):
            here = near[place]
            total[here] += then[here]
            now[here] = then[here]
        if added < LEAST * LEAST:
            break
    return size


@compiled
def forget(work: FloatArray, near: IntArray, size: int) -> None:
    """Clear what `add_walks` wrote."""
    for place in range(size):
        work[0, near[place]] = work[1, near[place]] = work[2, near[place]] = 0.0


@compiled
def _rows_among(borders: Borders, areas: IntArray, result: FloatArray) -> None:
    n_areas = len(borders.start) - 1
    work, near, seen = np.zeros((3, n_areas)), np.empty(n_areas, np.int64), np.full(n_areas, -1)
    for row in range(len(areas)):
        size = add_walks(borders, areas[row], work, near, seen)
        for column in range(len(areas)):
            result[row, column] = work[0, areas[column]]
        forget(work, near, size)


def correlation_among(graph: AreaGraph, areas: IntArray) -> FloatArray:
    """C_ij = (e^A)_ij / √((e^A)_ii (e^A)_jj) for some areas of a map of any size, at the cost of only their walks.

    >>> correlation_among(AreaGraph(4, [[0, 1], [1, 2], [2, 3]]), np.array([0, 1])).round(3)
    array([[1.   , 0.732],
           [0.732, 1.   ]])
    """
    communicability = np.empty((len(areas), len(areas)))
    _rows_among(Borders.of(graph), np.asarray(areas, dtype=np.int64), communicability)
    root = np.sqrt(np.diagonal(communicability))
    correlation: FloatArray = communicability / np.outer(root, root)
    np.fill_diagonal(correlation, 1.0)
    return (correlation + correlation.T) / 2
