"""The intrinsic conditional autoregressive prior: each area is the mean of its neighbours plus noise.

    λ = m + u,   u: density ∝ exp(−s uᵀLu / 2α²),   m ~ N(0, α²) for each connected part of the map

L is the graph Laplacian: uᵀLu is the sum of squared differences across borders (Besag, York and Mollié, 1991). u sums
to zero in each part, and m is the level of the part. The scale s is chosen so that the geometric mean of the areas'
variances of u is α², which makes α comparable with other priors (Sørbye and Rue, 2014).

An intrinsic prior says nothing about levels. Neither do the answers on a connected map, because they compare areas: the
level is subtracted from every draw, and the posterior of risk and α² is exactly that of the intrinsic prior. On a map
of several parts, the prior of m keeps the posterior proper if nobody compared two of them. An area without neighbours
has u = 0, and therefore N(0, α²).
"""

from functools import cached_property

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import SuperLU, splu

from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import Covariance, check_size
from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray

SAMPLED = 1_000
"""How many evenly spaced areas' variances set the scale; each takes one solve over the whole map."""
COLUMNS = 64
"""Right-hand sides solved at a time."""


class IntrinsicCar:
    """The prior as a `samplers.sparse.model.Smoother`: C⁻¹ = sL + Σ 11ᵀ/n², summed over the parts, each of n areas."""

    name = "car"
    length = None

    def __init__(self, graph: AreaGraph, scale: float | None = None) -> None:
        self.graph, self.n_areas = graph, graph.n_areas
        adjacency = graph.sparse_adjacency()
        self.degrees: FloatArray = np.asarray(adjacency.sum(axis=1), dtype=np.float64)
        self.part: IntArray = graph.components()
        self.sizes: IntArray = np.bincount(self.part)
        self.laplacian = sparse.csr_array(sparse.diags_array(self.degrees) - adjacency)
        self.scale = self._typical_variance() if scale is None else scale

    @property
    def root(self) -> sparse.csr_array:
        """A row √s(e_i − e_j) for every border, and e_i/√n for every area, which stands in for the level of its part.

        Like the prior, it gives the level the variance α²; to the rest of the part it adds next to nothing.
        """
        i, j = self.graph.edges.T
        rows, ones = np.arange(len(i)), np.full(len(i), np.sqrt(self.scale))
        shape = (len(i), self.n_areas)
        crossing = sparse.csr_array((np.r_[ones, -ones], (np.r_[rows, rows], np.r_[i, j])), shape=shape)
        return sparse.csr_array(sparse.vstack([crossing, sparse.diags_array(1 / np.sqrt(self.sizes[self.part]))]))

    def precision(self, vectors: FloatArray) -> FloatArray:
        """C⁻¹ times each column."""
        levels = self._sums(vectors) / self.sizes[:, None] ** 2
        return self.scale * (self.laplacian @ vectors) + levels[self.part]

    def _sums(self, vectors: FloatArray) -> FloatArray:
        """Add up each column over the areas of each part."""
        membership = sparse.csr_array(
            (np.ones(self.n_areas), (self.part, np.arange(self.n_areas))), shape=(len(self.sizes), self.n_areas)
        )
        return np.asarray(membership @ vectors)

    def _within(self, vectors: FloatArray) -> FloatArray:
        """L⁺ times each column: centre within every part, solve, and centre again."""
        solved: FloatArray = self._grounded.solve(self._centred(vectors))
        return self._centred(solved)

    def _centred(self, vectors: FloatArray) -> FloatArray:
        return vectors - (self._sums(vectors) / self.sizes[:, None])[self.part]

    @cached_property
    def _grounded(self) -> SuperLU:
        """Factor L plus 1 at one area per part: for columns summing to zero, solutions differ only by a level.

        Told that the matrix is symmetric, SuperLU takes a second where it would take an hour.
        """
        ground = np.zeros(self.n_areas)
        ground[np.unique(self.part, return_index=True)[1]] = 1.0
        grounded = sparse.csc_array(self.laplacian + sparse.diags_array(ground))
        symmetric = {"SymmetricMode": True}
        return splu(grounded, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options=symmetric)

    def _typical_variance(self) -> float:
        """Find the geometric mean of diag L⁺ over the areas that have a neighbour."""
        joined = np.flatnonzero(self.degrees)
        if not len(joined):
            return 1.0
        chosen = joined[np.unique(np.linspace(0, len(joined) - 1, min(SAMPLED, len(joined))).astype(int))]
        logs = []
        for part in pieces(len(chosen), COLUMNS):
            areas = chosen[part]
            columns = np.arange(len(areas))
            units = np.zeros((self.n_areas, len(areas)))
            units[areas, columns] = 1.0
            logs.append(np.log(self._within(units)[areas, columns]))
        return float(np.exp(np.mean(np.concatenate(logs))))


def intrinsic_car(graph: AreaGraph) -> Covariance:
    """Return the prior as a matrix, for maps that are not large."""
    check_size(graph.n_areas)
    inverse = IntrinsicCar(graph).precision(np.eye(graph.n_areas))
    values, U = linalg.eigh(inverse)
    return Covariance((U / values) @ U.T, (U / np.sqrt(values)) @ U.T, inverse, IntrinsicCar.name)
