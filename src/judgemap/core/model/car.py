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
from numpy.typing import NDArray
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
    """The prior as a `samplers.large.smoothers.Smoother`: C⁻¹ = sL + Σ 11ᵀ/n², summed over the parts, each of n areas.

    >>> prior = IntrinsicCar(AreaGraph(3, [[0, 1], [1, 2]]))
    >>> bool(np.allclose(prior.precision(intrinsic_car(prior.graph).matrix), np.eye(3)))
    True
    """

    name = "car"
    length = None

    def __init__(self, graph: AreaGraph) -> None:
        self.graph, self.n_areas = graph, graph.n_areas
        adjacency = graph.sparse_adjacency()
        self.degrees: FloatArray = np.asarray(adjacency.sum(axis=1), dtype=np.float64)
        self.part: IntArray = graph.components()
        self.sizes: IntArray = np.bincount(self.part)
        self.laplacian = sparse.csr_array(sparse.diags_array(self.degrees) - adjacency)
        self.scale = self._typical_variance()

    @property
    def diagonal(self) -> FloatArray:
        """The diagonal of C⁻¹: s times the number of neighbours, and 1/n²."""
        found: FloatArray = self.scale * self.degrees + 1 / self.sizes[self.part] ** 2
        return found

    def precision(self, vectors: FloatArray) -> FloatArray:
        """C⁻¹ times each column."""
        levels = self._sums(vectors) / self.sizes[:, None] ** 2
        product: FloatArray = self.scale * (self.laplacian @ vectors) + levels[self.part]
        return product

    def precision_noise(self, rng: np.random.Generator, columns: int) -> FloatArray:
        """√s ε on every border, added at one end and subtracted at the other, plus ε/n for every part."""
        i, j = self.graph.edges.T
        crossing = np.sqrt(self.scale) * rng.standard_normal((len(i), columns))
        levels = rng.standard_normal((len(self.sizes), columns)) / self.sizes[:, None]
        rows, ones = np.arange(len(i)), np.ones(len(i))
        shape = (self.n_areas, len(i))
        incidence = sparse.csr_array((np.r_[ones, -ones], (np.r_[i, j], np.r_[rows, rows])), shape=shape)
        noise: FloatArray = incidence @ crossing + levels[self.part]
        return noise

    def draw(self, rng: np.random.Generator, columns: int) -> FloatArray:
        """C times a draw from N(0, C⁻¹)."""
        noise = self.precision_noise(rng, columns)
        return self._within(noise) / self.scale + self._sums(noise)[self.part]

    def add_columns(self, scale: float, begin: int, panel: NDArray[np.float32]) -> None:
        """Add columns of C⁻¹."""
        end = begin + panel.shape[1]
        panel += (scale * self.scale) * self.laplacian[begin:, begin:end].toarray()
        alike = self.part[begin:, None] == self.part[None, begin:end]
        panel += np.where(alike, scale / self.sizes[self.part[begin:end]] ** 2, 0.0)

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
        centred: FloatArray = vectors - (self._sums(vectors) / self.sizes[:, None])[self.part]
        return centred

    @cached_property
    def _grounded(self) -> SuperLU:
        """Factor L plus 1 at one area per part: for columns summing to zero, solutions differ only by a level."""
        ground = np.zeros(self.n_areas)
        ground[np.unique(self.part, return_index=True)[1]] = 1.0
        return splu(sparse.csc_array(self.laplacian + sparse.diags_array(ground)), permc_spec="MMD_AT_PLUS_A")

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
    """Return the prior as a matrix, for maps that are not large.

    >>> C = intrinsic_car(AreaGraph(4, [[0, 1], [1, 2]])).matrix
    >>> bool(C[0, 1] > C[0, 2]), float(C[3, 3].round(6))
    (True, 1.0)
    """
    check_size(graph.n_areas)
    inverse = IntrinsicCar(graph).precision(np.eye(graph.n_areas))
    values, U = linalg.eigh(inverse)
    return Covariance((U / values) @ U.T, (U / np.sqrt(values)) @ U.T, inverse, IntrinsicCar.name)
