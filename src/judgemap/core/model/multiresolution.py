"""A Gaussian process on centroids with structure at every scale, from neighbours to the whole map.

    C_ij = mean over l = 0 … L−1 of (1 + r) e^{−r},   r = √3 d_ij / (2^l ℓ)

Each level is a Matérn 3/2 process with twice the length of the one before, from ℓ, the distance between neighbours, up
to half the width of the map. Nobody has to know how far a hidden harm reaches, as they would to choose a single length.

For large maps the process is built from coarse to fine (Katzfuss and Guinness, 2021; Vecchia, 1988). Areas are ordered
so that each is as far as possible from all before it. An area then depends on its `NEAREST` nearest areas in coarser
generations, and given those is independent of all other areas before it:

    λ_i = Σ_j a_ij λ_j + √d_i ε_i,   C⁻¹ = (I − A)ᵀ D⁻¹ (I − A)

which is sparse, and itself a proper Gaussian process, close to the one above.
"""

import numpy as np
from scipy import sparse
from scipy.spatial import cKDTree

from judgemap.core.model.prior import Covariance, euclidean, from_kernel
from judgemap.core.types import FloatArray, IntArray

NEAREST = 20
"""How many coarser areas an area depends on."""
GROWTH = 1.02
"""The factor by which the number of areas grows from one generation to the next."""
LEAST_VARIANCE = 1e-9
"""Smallest conditional variance of an area given its coarser areas; less means that two areas share a centroid."""
NAME = "multi-resolution"


def level_lengths(points: FloatArray, length: float) -> FloatArray:
    """Return the lengths of the levels: doubled from ``length`` up to half the map's width, at least one.

    >>> level_lengths(np.array([[0.0, 0.0], [40.0, 0.0]]), 3.0)
    array([ 3.,  6., 12.])
    """
    if not (np.isfinite(length) and length > 0):
        raise ValueError(f"the length scale must be a positive number, received {length}")
    width = float(np.ptp(points, axis=0).max()) / 2
    levels = int(np.floor(np.log2(max(width / length, 1.0)))) + 1
    return length * np.exp2(np.arange(levels))


def correlation(distance: FloatArray, lengths: FloatArray) -> FloatArray:
    """C as a function of distance."""
    total = np.zeros_like(distance)
    for length in lengths:
        r = np.sqrt(3) * distance / length
        total += (1 + r) * np.exp(-r)
    return total / len(lengths)


def multiresolution(points: FloatArray, length: float) -> Covariance:
    """Return the process as a matrix, for maps that are not large."""
    distance = euclidean(points)
    lengths = level_lengths(points, length)
    return from_kernel(NAME, distance, length, lambda r: correlation(length * r, lengths))


class MultiResolution:
    """The process from coarse to fine, as a `samplers.sparse.model.Smoother`."""

    name = NAME

    def __init__(self, points: FloatArray, length: float) -> None:
        self.n_areas, self.length = len(points), length
        self.order = coarse_to_fine(points)
        whitened = whitening(points[self.order], level_lengths(points, length))
        shuffle = sparse.csr_array((np.ones(self.n_areas), (np.arange(self.n_areas), self.order)))
        self.root = sparse.csr_array(whitened @ shuffle)
        """D^{−1/2}(I − A)."""
        self._transposed = sparse.csr_array(self.root.T)

    def precision(self, vectors: FloatArray) -> FloatArray:
        """C⁻¹ times each column."""
        return self._transposed @ (self.root @ vectors)


def coarse_to_fine(points: FloatArray) -> IntArray:
    """Order points so that each is as far as possible from all before it, starting with the one nearest the middle.

    >>> coarse_to_fine(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0], [2.1, 0.0]]))
    array([1, 3, 0, 2])
    """
    x, y = np.ascontiguousarray(points.T)
    nearest = np.full(len(points), np.inf)
    order = np.empty(len(points), dtype=np.int64)
    here = int(np.argmin(np.hypot(x - x.mean(), y - y.mean())))
    for place in range(len(points)):
        order[place] = here
        np.minimum(nearest, (x - x[here]) ** 2 + (y - y[here]) ** 2, out=nearest)
        nearest[here] = -1.0
        here = int(np.argmax(nearest))
    return order


def whitening(points: FloatArray, lengths: FloatArray) -> sparse.csr_array:
    """Build D^{−1/2}(I − A), lower triangular, for ordered points, generation by generation."""
    rows, columns, values = [], [], []
    first = 0
    while first < len(points):
        last = min(max(int(GROWTH * first), first + 1), len(points))
        given = min(first, NEAREST)
        known = cKDTree(points[:first]).query(points[first:last], k=np.arange(1, given + 1))[1] if given else None
        near = np.empty((last - first, 0), dtype=np.int64) if known is None else np.sort(known, axis=1)
        weights, variance = conditionals(points[first:last], points[near], lengths)
        if variance.min() < LEAST_VARIANCE:
            raise ValueError("two areas have the same centroid; choose a prior based on borders")
        scale = 1 / np.sqrt(variance)
        places = np.arange(first, last)
        rows.append(np.repeat(places, given + 1))
        columns.append(np.column_stack([near, places]).ravel())
        values.append(np.column_stack([-weights * scale[:, None], scale]).ravel())
        first = last
    where = (np.concatenate(rows), np.concatenate(columns))
    return sparse.csr_array((np.concatenate(values), where), shape=(len(points), len(points)))


def conditionals(at: FloatArray, near: FloatArray, lengths: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find the weights and variance of each area given those near it: ``at`` is (n, 2) and ``near`` (n, k, 2)."""
    between, across = (
        correlation(np.hypot(steps[..., 0], steps[..., 1]), lengths)
        for steps in (near[:, :, None] - near[:, None], near - at[:, None])
    )
    if not near.shape[1]:
        return across, np.ones(len(at))
    weights = np.linalg.solve(between, across[:, :, None])[:, :, 0].astype(np.float64)
    return weights, 1 - (weights * across).sum(axis=1)
