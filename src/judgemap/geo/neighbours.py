"""Neighbours as people already have them in memory: an adjacency matrix, a graph of libpysal or networkx, pairs."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from judgemap.core.types import IntArray
from judgemap.errors import StudyError


class Neighbours(NamedTuple):
    """Pairs of neighbours, as positions among the labels; a matrix without labels has None."""

    edges: IntArray
    size: int
    labels: tuple[Hashable, ...] | None = None

    def placed(self, ids: Sequence[str], index: Sequence[Hashable]) -> IntArray:
        """Return the pairs as positions among some areas, named by their ids or by the index of their table.

        >>> Neighbours(np.array([[0, 1]]), 2, ("b", "a")).placed(["a", "b"], [0, 1])
        array([[1, 0]])
        """
        if self.size != len(ids):
            raise StudyError(f"the neighbours are those of {self.size:,} areas, and there are {len(ids):,}; match them")
        if self.labels is None:
            return self.edges
        known = index if set(self.labels) == set(index) else ids
        place = {label: position for position, label in enumerate(known)}
        labels = self.labels if known is index else tuple(str(each) for each in self.labels)
        missing = [label for label in labels if label not in place]
        if missing:
            raise StudyError(f"the neighbours name an area {missing[0]!r}, which is neither an id nor in the index")
        return np.array([place[label] for label in labels], dtype=np.int64)[self.edges]


def neighbours_of(source: Any) -> Neighbours:  # noqa: ANN401 - whatever a caller has
    """Read pairs of neighbours from a matrix, a libpysal ``Graph`` or ``W``, or a networkx graph.

    >>> neighbours_of([[0, 1, 0], [1, 0, 1], [0, 1, 0]]).edges
    array([[0, 1],
           [1, 2]])
    """
    if hasattr(source, "adjacency") and hasattr(source, "unique_ids"):  # libpysal.graph.Graph
        weights = source.adjacency
        return _from_pairs([pair for pair, weight in weights.items() if weight], tuple(source.unique_ids))
    if hasattr(source, "neighbors") and hasattr(source, "id_order"):  # libpysal.weights.W
        return _from_pairs([(a, b) for a, others in source.neighbors.items() for b in others], tuple(source.id_order))
    if hasattr(source, "nodes") and hasattr(source, "edges"):  # networkx.Graph
        return _from_pairs(list(source.edges()), tuple(source.nodes))
    labels = tuple(source.index) if hasattr(source, "index") and hasattr(source, "columns") else None
    try:
        matrix: Any = source if sparse.issparse(source) else np.asarray(source, dtype=np.float64)
        matrix = sparse.coo_array(matrix)
    except (TypeError, ValueError):
        raise StudyError(
            f"neighbours: give a CSV file, a square matrix, or a graph of libpysal, not {type(source).__name__}"
        ) from None
    return _from_matrix(matrix, labels)


def _from_matrix(matrix: Any, labels: tuple[Hashable, ...] | None) -> Neighbours:  # noqa: ANN401 - sparse
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        shape = " × ".join(f"{each:,}" for each in matrix.shape)
        raise StudyError(f"a matrix of neighbours has a row and a column for each area; this one is {shape}")
    if not np.isfinite(matrix.data).all() or (matrix.data < 0).any():
        raise StudyError("a matrix of neighbours is 1 where two areas meet and 0 elsewhere; this one has other values")
    size = matrix.shape[0]
    rows, columns = (ends.astype(np.int64) for ends in matrix.nonzero())
    if not np.array_equal(np.unique(rows * size + columns), np.unique(columns * size + rows)):
        raise StudyError(
            "the matrix of neighbours is not symmetric: an area has a neighbour which does not have it; if only one "
            "triangle is filled, add the transpose"
        )
    upper = rows < columns
    return Neighbours(np.unique(np.column_stack([rows[upper], columns[upper]]), axis=0), size, labels)


def _from_pairs(pairs: Sequence[tuple[Hashable, Hashable]], labels: tuple[Hashable, ...]) -> Neighbours:
    place = {label: position for position, label in enumerate(labels)}
    ends = {(place[a], place[b]) if place[a] < place[b] else (place[b], place[a]) for a, b in pairs if a != b}
    return Neighbours(np.array(sorted(ends), dtype=np.int64).reshape(-1, 2), len(labels), labels)
