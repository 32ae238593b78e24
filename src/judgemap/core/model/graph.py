"""The graph of areas: which areas are neighbours."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from judgemap.core.types import BoolArray, FloatArray, IntArray, frozen_ints


def connected_parts(joined: sparse.csr_array | sparse.coo_array | BoolArray) -> IntArray:
    """Label the connected parts of a graph, numbered by first area; a non-zero entry (i, j) joins i and j.

    >>> connected_parts(np.array([[False, False, True], [False, False, False], [False, False, False]]))
    array([0, 1, 0])
    """
    labels = sparse.csgraph.connected_components(joined, directed=False)[1]
    return labels.astype(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class AreaGraph:
    """An undirected graph on the areas 0 … N−1, stored as a sorted list of edges without loops or repeats.

    >>> path = AreaGraph(3, [[1, 0], [1, 2], [2, 1]])
    >>> path.edges
    array([[0, 1], [1, 2]])
    """

    n_areas: int
    edges: IntArray

    def __post_init__(self) -> None:
        edges = np.array(self.edges, dtype=np.int64).reshape(-1, 2)
        if self.n_areas < 1:
            raise ValueError(f"a graph needs at least one area, received {self.n_areas}")
        if len(edges) and (edges.min() < 0 or edges.max() >= self.n_areas):
            raise ValueError(f"edges must join areas in 0 … {self.n_areas - 1}")
        if np.any(edges[:, 0] == edges[:, 1]):
            raise ValueError("an area cannot border itself")
        ends = np.sort(edges, axis=1)
        keys = np.unique(ends[:, 0] * self.n_areas + ends[:, 1])  # quicker than to sort rows
        object.__setattr__(self, "edges", frozen_ints(np.column_stack(np.divmod(keys, self.n_areas))))

    def sparse_adjacency(self) -> sparse.csr_array:
        """Return A as a sparse symmetric matrix of zeros and ones."""
        i, j = self.edges.T
        ones = np.ones(2 * len(i))
        shape = (self.n_areas, self.n_areas)
        return sparse.csr_array((ones, (np.r_[i, j], np.r_[j, i])), shape=shape)

    def adjacency(self) -> FloatArray:
        """Return A as a dense symmetric matrix of zeros and ones."""
        return self.sparse_adjacency().toarray()

    def components(self) -> IntArray:
        """Label the connected parts, numbered in the order of their first area."""
        return connected_parts(self.sparse_adjacency())

    def around(self, area: int, count: int) -> IntArray:
        """Return the ``count`` areas nearest to ``area`` by borders crossed, itself first; fewer in a smaller part.

        >>> AreaGraph(5, [[0, 1], [1, 2], [2, 3]]).around(1, 3)
        array([1, 0, 2])
        """
        order = sparse.csgraph.breadth_first_order(
            self.sparse_adjacency(), area, directed=False, return_predecessors=False
        )
        return order[:count].astype(np.int64)

    def among(self, areas: IntArray) -> "AreaGraph":
        """Return the graph of some areas alone, numbered in the order given.

        >>> AreaGraph(5, [[0, 1], [1, 2], [2, 4]]).among(np.array([1, 2, 3])).edges
        array([[0, 1]])
        """
        place = np.full(self.n_areas, -1)
        place[areas] = np.arange(len(areas))
        ends = place[self.edges]
        return AreaGraph(len(areas), ends[(ends >= 0).all(axis=1)])

    def distances(self) -> FloatArray:
        """Count the edges on the shortest path between every two areas; inf if there is none."""
        return sparse.csgraph.shortest_path(self.sparse_adjacency(), method="D", directed=False, unweighted=True)
