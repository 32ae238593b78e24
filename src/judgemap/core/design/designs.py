"""Designs: probability distributions over pairs, from which the pairs shown to judges are drawn.

A design gives pair {i, j} the probability q_ij ∝ base + offset_ij. Offsets are stored sparsely or not at all, so that a
design for 35,000 areas (612 million pairs) takes about a hundred megabytes and drawing a pair takes the same time on
any map: there is never a table of all pairs.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from judgemap.core.model.communicability import PairValues, communicability_pairs, from_matrix
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import Covariance
from judgemap.core.types import FloatArray, IntArray, frozen_floats

TABLE_LIMIT = 2_000
"""The most areas whose pairs may all be listed when rejection would take too long."""
ROUNDS = 12
"""Rounds of rejection, each with twice as many proposals as the one before, before listing the pairs instead."""


@dataclass(frozen=True, slots=True, eq=False)
class PairDesign:
    """q_ij ∝ base + offset_ij for the pairs of ``areas``, and 0 for all others.

    If some offset is negative, pairs are proposed uniformly and accepted with probability weight/bound; otherwise the
    design is a mixture of the uniform one and a list of the stored pairs, and nothing is rejected. Both are exact.
    """

    areas: IntArray
    base: float
    offsets: PairValues
    cumulative: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "areas", known_areas(self.areas, self.offsets.n_areas))
        if not (np.isfinite(self.base) and self.base >= 0):
            raise ValueError(f"the base weight of a design must be zero or more, received {self.base}")
        if self.offsets.lowest < -self.base - 1e-9:
            raise ValueError("a design gives some pair a negative weight; weights must be zero or more")
        if not self._rejects():
            object.__setattr__(self, "offsets", self._offsets_within())
        listed = np.empty(0) if self._rejects() else np.cumsum(self.offsets.values)
        object.__setattr__(self, "cumulative", frozen_floats(listed))

    @property
    def n_areas(self) -> int:
        """The number of areas on the map, whether the judge knows them or not."""
        return self.offsets.n_areas

    def weight(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Return base + offset_ij, proportional to the probability, for two different members of ``areas``."""
        return np.maximum(self.base + self.offsets.at(first, second), 0.0)

    def total(self) -> float:
        """Σ_{i<j} weight_ij over the pairs of ``areas``, in one pass through the stored offsets."""
        stored = self._offsets_within().values
        size = len(self.areas)
        elsewhere = self.base * (size * (size - 1) // 2 - len(stored))
        return self._positive(elsewhere + float(np.maximum(self.base + stored, 0.0).sum()))

    def probability(self, first: ArrayLike, second: ArrayLike) -> FloatArray:
        """Return q_ij, the probability that the next pair is {i, j}; 0 for areas outside ``areas``."""
        first, second = np.asarray(first), np.asarray(second)
        asked = np.isin(first, self.areas) & np.isin(second, self.areas) & (first != second)
        return np.where(asked, self.weight(first, second) / self.total(), 0.0)

    def exposure(self) -> FloatArray:
        """Σ_j q_ij: the probability that area i is in the next pair. Over all areas these add up to 2."""
        sums = np.zeros(self.n_areas)
        sums[self.areas] = self.base * (len(self.areas) - 1)
        return np.maximum(sums + self._offsets_within().per_area(), 0.0) / self.total()

    def restricted(self, areas: ArrayLike) -> "PairDesign":
        """Condition the design on both areas being in ``areas``, for a judge who knows only those."""
        known = np.intersect1d(known_areas(areas, self.n_areas), self.areas)
        return PairDesign(known, self.base, self.offsets)

    def draw(self, rng: np.random.Generator, size: int) -> IntArray:
        """Draw ``size`` independent pairs, one per row, in random order; column 0 is shown on the left."""
        if self._rejects():
            return self._draw_by_rejection(rng, size)
        listed = float(self.cumulative[-1]) if len(self.cumulative) else 0.0
        total = self._positive(self.base * len(self.areas) * (len(self.areas) - 1) / 2 + listed)
        pairs = _uniform_pairs(rng, self.areas, size)
        from_list = rng.random(size) * total < listed
        if from_list.any():
            pairs[from_list] = self._draw_from_list(rng, int(from_list.sum()))
        return pairs

    def _rejects(self) -> bool:
        return self.offsets.lowest < 0

    def _positive(self, total: float) -> float:
        if not total > 0:
            raise ValueError(
                f"the design gives zero weight to every pair of these {len(self.areas):,} areas; "
                "use another design here"
            )
        return total

    def _offsets_within(self) -> PairValues:
        return self.offsets if len(self.areas) == self.n_areas else self.offsets.within(self.areas)

    def _draw_from_list(self, rng: np.random.Generator, size: int) -> IntArray:
        place = np.searchsorted(self.cumulative, rng.random(size) * self.cumulative[-1], side="right")
        key = self.offsets.keys[np.minimum(place, len(self.cumulative) - 1)]
        return rng.permuted(np.stack([key // self.n_areas, key % self.n_areas], axis=1), axis=1)

    def _draw_by_rejection(self, rng: np.random.Generator, size: int) -> IntArray:
        bound = self.base + self.offsets.highest
        drawn = np.empty((0, 2), dtype=np.int64)
        batch = size + 16
        for _ in range(ROUNDS):
            pairs = _uniform_pairs(rng, self.areas, batch)
            accepted = rng.random(batch) * bound < self.weight(pairs[:, 0], pairs[:, 1])
            drawn = np.concatenate([drawn, pairs[accepted]])[:size]
            if len(drawn) == size:
                return drawn
            batch = min(2 * batch, 1_000_000)
        if len(self.areas) > TABLE_LIMIT:
            raise ValueError(
                f"the design hardly ever picks a pair of these {len(self.areas):,} areas; use the uniform design"
            )
        return np.concatenate([drawn, self._listed().draw(rng, size - len(drawn))])

    def _listed(self) -> "PairDesign":
        """Return the same design as a list of all pairs, without a base."""
        i, j = np.triu_indices(len(self.areas), 1)
        first, second = self.areas[i], self.areas[j]
        return PairDesign(
            self.areas, 0.0, PairValues(self.n_areas, first * self.n_areas + second, self.weight(first, second))
        )


def uniform(n_areas: int) -> PairDesign:
    """Make all pairs equally likely."""
    return PairDesign(np.arange(n_areas), 1.0, PairValues(n_areas, np.empty(0, dtype=np.int64), np.empty(0)))


def naive_spatial(graph: AreaGraph) -> PairDesign:
    """q_ij ∝ 1 − (e^A)_ij / Σ_{k<l} (e^A)_kl: slightly fewer connected pairs, as in the paper's comparison.

    The sum is over pairs, so that the fractions form a distribution. They are all tiny, so the design is nearly
    uniform.
    """
    pairs = communicability_pairs(graph).pairs
    total = float(pairs.values.sum())
    if not total > 0:
        return uniform(graph.n_areas)
    return PairDesign(np.arange(graph.n_areas), 1.0, PairValues(graph.n_areas, pairs.keys, -pairs.values / total))


def principal_component(graph: AreaGraph) -> PairDesign:
    """q_ij ∝ 2(1 − C_ij), where C is the communicability correlation: dissimilar areas come up more often.

    The paper defines q_r = Σ_c (u_r^(c))² ψ^(c) / Σψ over the eigenpairs (ψ, u) of Δ, the covariance of all N(N−1)/2
    differences. But Σ_c (u_r^(c))² ψ^(c) = (UΨUᵀ)_rr = Δ_rr = C_ii + C_jj − 2C_ij, so no eigenpairs are needed. Exact
    up to 2,000 areas; beyond that, every weight is accurate to 1e-5 on ordinary maps.
    """
    correlation = communicability_pairs(graph).correlation()
    return PairDesign(
        np.arange(graph.n_areas), 1.0, PairValues(graph.n_areas, correlation.keys, -np.minimum(correlation.values, 1.0))
    )


def principal_component_of(covariance: Covariance) -> PairDesign:
    """q_ij ∝ C_ii + C_jj − 2C_ij, the prior variance of the difference, for any covariance."""
    variance = np.diagonal(covariance.matrix)
    return weighted(np.maximum(variance[:, None] + variance - 2 * covariance.matrix, 0.0))


def on_a_larger_map(design: PairDesign, areas: IntArray, n_areas: int) -> PairDesign:
    """Apply a design for areas 0 … m−1 to ``areas``, in ascending order, of a map with ``n_areas``.

    >>> np.sort(on_a_larger_map(uniform(2), np.array([3, 7]), 10).draw(np.random.default_rng(1), 1))
    array([[3, 7]])
    """
    stored = design.offsets
    keys = areas[stored.first] * n_areas + areas[stored.second]
    return PairDesign(areas[design.areas], design.base, PairValues(n_areas, keys, stored.values))


def weighted(weights: ArrayLike) -> PairDesign:
    """q_ij ∝ w_ij for a symmetric matrix of weights; its diagonal is ignored."""
    listed = from_matrix(np.asarray(weights, dtype=np.float64))
    if listed.lowest < 0:
        raise ValueError(f"the weights of pairs must be zero or more, received {listed.lowest:g}")
    if not listed.values.sum() > 0:
        raise ValueError("all pairs have weight zero, so none can be drawn; give at least one pair a weight")
    return PairDesign(np.arange(listed.n_areas), 0.0, listed)


def _uniform_pairs(rng: np.random.Generator, areas: IntArray, size: int) -> IntArray:
    left = rng.integers(len(areas), size=size)
    right = (left + rng.integers(1, len(areas), size=size)) % len(areas)
    return areas[np.stack([left, right], axis=1)]


def compact_pieces(points: FloatArray, most: int) -> list[IntArray]:
    """Cut a map into pieces of at most ``most`` areas, by halving it across its longer side; areas are given as points.

    >>> compact_pieces(np.array([[0.0, 0], [9, 0], [1, 0], [8, 1]]), 2)
    [array([0, 2]), array([1, 3])]
    """
    pieces, left = [], [np.arange(len(points))]
    while left:
        piece = left.pop()
        if len(piece) <= most:
            pieces.append(np.sort(piece))
            continue
        across = points[piece, np.argmax(np.ptp(points[piece], axis=0))]
        order = piece[np.argsort(across, kind="stable")]
        left += [order[len(order) // 2 :], order[: len(order) // 2]]
    return pieces


def known_areas(areas: ArrayLike, n_areas: int) -> IntArray:
    """Sort the areas a judge knows; check that they are on the map and that there are at least two."""
    known = np.unique(np.asarray(areas, dtype=np.int64))
    if len(known) and (known[0] < 0 or known[-1] >= n_areas):
        raise ValueError(f"areas must lie in 0 … {n_areas - 1}")
    if len(known) < 2:
        has = "only one area" if len(known) else "no area"
        raise ValueError(f"a pair needs two different areas, but {has} can be asked about; add areas this judge knows")
    known.setflags(write=False)
    return known
