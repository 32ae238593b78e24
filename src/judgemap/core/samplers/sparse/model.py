"""What the sampler for large maps draws from: unknown numbers w in one or more fields, and answers that compare them.

    logit P(a beats b) = s_a − s_b,   s = Gw,   w = (w₁, w₂, …),   w_k ~ N(0, α_k² C_k)

The first field is the map's strengths λ, and without others s = λ. With ties the answers follow Rao and Kupper's rule
in the form of `outcomes.Wins`: each answer counts once for every side that did not lose, with logit P = s_a − s_b − θ,
and there is a factor (e^{2θ} − 1) for every tie.

A prior C is known here by the sparse root of its inverse: no matrix of areas × areas is ever formed.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from scipy import sparse

from judgemap.core.model.counts import JudgedCounts, PairCounts
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import VariancePrior
from judgemap.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from judgemap.core.samplers.spatial.compiled import Rows

NONE = np.empty(0)


class Smoother(Protocol):
    """What a prior N(0, α² C) must provide. Vectors are (areas, columns), float64."""

    @property
    def name(self) -> str:
        """What the prior is called in a fit's record."""

    @property
    def n_areas(self) -> int:
        """The number of areas."""

    @property
    def length(self) -> float | None:
        """The length scale, if the prior has one."""

    @property
    def root(self) -> sparse.csr_array:
        """R with RᵀR = C⁻¹, or nearly: it shapes the mass of trajectories, which need not be exact."""

    def precision(self, vectors: FloatArray) -> FloatArray:
        """C⁻¹ times each column, exactly."""


class Independent:
    """C = I, the prior of the standard model.

    >>> Independent(2).precision(np.ones((2, 1))).ravel()
    array([1., 1.])
    """

    name = "independent"
    length = None

    def __init__(self, n_areas: int) -> None:
        self.n_areas = n_areas
        self.root = sparse.eye_array(n_areas, format="csr")

    def precision(self, vectors: FloatArray) -> FloatArray:
        """Return the vectors themselves."""
        return vectors


@dataclass(frozen=True, eq=False)
class Field:
    """Some of the unknowns, N(0, α² C)."""

    smoother: Smoother
    variance: VariancePrior


class Answered(NamedTuple):
    """Answers by row: how often two places were compared, and how often the first was chosen."""

    first: IntArray
    second: IntArray
    n: IntArray
    wins: IntArray


class Views(NamedTuple):
    """Where judges' own views live: a judge and an area each, and which of them are neighbours on the map."""

    judge: IntArray
    area: IntArray
    graph: AreaGraph


def views_of(counts: JudgedCounts, graph: AreaGraph) -> Views:
    """Give each judge a view of the areas they met and of the neighbours of those.

    What a judge thinks of the rest of the map has no bearing on their answers but by way of these.

    >>> from judgemap.core.model.counts import count_judged
    >>> counts = count_judged([0], left=[0], right=[1], choice=[1], n_areas=5, n_judges=1)
    >>> views_of(counts, AreaGraph(5, [[0, 1], [1, 2], [2, 3], [3, 4]])).area
    array([0, 1, 2])
    """
    n, judges = counts.n_areas, np.tile(counts.judge, 2)
    ends = np.concatenate([counts.first, counts.second])
    met = sparse.csr_array((np.ones(len(ends)), (judges, ends)), shape=(counts.n_judges, n))
    around = sparse.coo_array(met + met @ graph.sparse_adjacency())
    key = np.sort(around.row.astype(np.int64) * n + around.col)
    judge, area = key // n, key % n
    # Two views are neighbours if they are the same judge's of two neighbouring areas.
    i, j = graph.edges.T
    starts = np.searchsorted(judge, np.arange(counts.n_judges + 1))
    place, edges = np.full(n, -1), []
    for begin, end in pairwise(starts):
        place[area[begin:end]] = np.arange(begin, end)
        there = (place[i] >= 0) & (place[j] >= 0)
        edges.append(np.column_stack([place[i[there]], place[j[there]]]))
        place[area[begin:end]] = -1
    return Views(judge, area, AreaGraph(len(area), np.concatenate(edges)))


def answered(counts: PairCounts | JudgedCounts, *, ties: bool) -> Answered:
    """Lay out counts by pair; with ``ties``, by pair and side, ties counting for both sides.

    >>> counts = PairCounts(2, [0], [1], [3], [2], ties=[1])
    >>> answered(counts, ties=True).n, answered(counts, ties=False).n
    (array([3, 2]), array([3]))
    """
    if not ties:
        there = counts.n > 0
        return Answered(counts.first[there], counts.second[there], counts.n[there], counts.wins[there])
    n = np.concatenate([counts.wins, counts.n - counts.wins]) + np.tile(counts.ties, 2)
    first, second = np.concatenate([counts.first, counts.second]), np.concatenate([counts.second, counts.first])
    there = n > 0
    return Answered(first[there], second[there], n[there], n[there])


@dataclass(frozen=True, eq=False)
class SparseModel:
    """The answers, the fields, what is compared, and how many answers were ties; None if ties are not modelled."""

    rows: Answered
    fields: tuple[Field, ...]
    ties: int | None = None
    seen: sparse.csr_array | None = None
    """G; None if the unknowns themselves are compared."""

    @classmethod
    def of_map(cls, counts: PairCounts, smoother: Smoother, variance: VariancePrior, *, ties: bool) -> "SparseModel":
        """Return the model of a map: one field, its strengths. Without ``ties``, tied answers are left out."""
        if counts.n_areas != smoother.n_areas:
            raise ValueError(f"the comparisons cover {counts.n_areas:,} areas, the prior {smoother.n_areas:,}")
        modelled = int(counts.ties.sum()) if ties else None
        return cls(answered(counts, ties=ties), (Field(smoother, variance),), modelled)

    @classmethod
    def of_judges(cls, counts: JudgedCounts, views: Views, fields: tuple[Field, Field], *, ties: bool) -> "SparseModel":
        """Return the model in which judges differ: the map and all views are fields; a judge compares their sums."""
        n, size = counts.n_areas, len(views.area)
        places = np.arange(size)
        where = np.tile(places, 2), np.concatenate([views.area, n + places])
        seen = sparse.csr_array((np.ones(2 * size), where), shape=(size, n + size))
        key = views.judge * n + views.area
        own = replace(
            counts,
            n_areas=size,
            **{name: np.searchsorted(key, counts.judge * n + getattr(counts, name)) for name in ("first", "second")},
        )
        modelled = int(counts.ties.sum()) if ties else None
        return cls(answered(own, ties=ties), fields, modelled, seen)

    @cached_property
    def slices(self) -> list[slice]:
        """Where each field is among the unknowns."""
        ends = np.cumsum([0, *(field.smoother.n_areas for field in self.fields)])
        return [slice(int(low), int(high)) for low, high in pairwise(ends)]

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return int(self.slices[-1].stop)

    @cached_property
    def roots(self) -> list[sparse.csc_array]:
        """RᵀR of each field, among all unknowns."""
        found = []
        for field, part in zip(self.fields, self.slices, strict=True):
            inner = sparse.coo_array(field.smoother.root.T @ field.smoother.root)
            where = (inner.row + part.start, inner.col + part.start)
            found.append(sparse.csc_array((inner.data, where), shape=(self.size, self.size)))
        return found

    @property
    def borders(self) -> sparse.csc_array:
        """A matrix with entries where areas are neighbours in the map's prior."""
        map_ = self.slices[0]
        return sparse.csc_array(self.roots[0][map_, map_])

    @property
    def areas(self) -> IntArray:
        """The area of each place that is compared."""
        if self.seen is None:
            return np.arange(self.size)
        return self.seen[:, self.slices[0]].indices.astype(np.int64)

    @cached_property
    def _onto(self) -> sparse.csr_array | None:
        return None if self.seen is None else sparse.csr_array(self.seen.T)

    def look(self, unknowns: FloatArray) -> FloatArray:
        """Gw."""
        seen: FloatArray = unknowns if self.seen is None else self.seen @ unknowns
        return seen

    def onto(self, seen: FloatArray) -> FloatArray:
        """Gᵀ times each column."""
        found: FloatArray = seen if self._onto is None else self._onto @ seen
        return found

    def differences(self, unknowns: FloatArray) -> FloatArray:
        """s_a − s_b for each row."""
        seen = self.look(unknowns)
        apart: FloatArray = seen[self.rows.first] - seen[self.rows.second]
        return apart

    def onto_unknowns(self, values: FloatArray) -> FloatArray:
        """Add a value for each row to what it compares: Xᵀ times it."""
        places = self.size if self.seen is None else self.seen.shape[0]
        rows = self.rows
        found: FloatArray = np.bincount(rows.first, values, places).astype(np.float64)
        found -= np.bincount(rows.second, values, places)
        return self.onto(found)

    def precision(self, unknowns: FloatArray) -> FloatArray:
        """C⁻¹w, field by field."""
        parts = [field.smoother.precision(unknowns[part]) for field, part in zip(self.fields, self.slices, strict=True)]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def by_field(self, one: FloatArray, other: FloatArray) -> FloatArray:
        """Multiply two arrays (unknowns, chains), and add up over each field: (fields, chains)."""
        return np.array([np.einsum("ik,ik->k", one[part], other[part]) for part in self.slices])

    @cached_property
    def _compiled(self) -> "Rows":
        from judgemap.core.samplers.spatial.compiled import lay_out

        return lay_out(self.rows)

    def likelihood(self, unknowns: FloatArray, theta: FloatArray, *, height: bool = True) -> "Likelihood":
        """ℓ of each chain and its derivatives; ℓ is left out if ``height`` is false."""
        from judgemap.core.samplers.spatial.compiled import pass_pairs

        seen, chains = np.ascontiguousarray(self.look(unknowns)), unknowns.shape[1]
        score, fall, pull = np.zeros_like(seen), np.zeros(chains), np.zeros(chains)
        shift, pulled = (NONE, NONE) if self.ties is None else (theta, pull)
        pass_pairs(self._compiled, seen, score, fall if height else NONE, shift, pulled)
        return Likelihood(-fall, self.onto(score), pull)


class Likelihood(NamedTuple):
    """ℓ, (chains,), its gradient in the unknowns, (unknowns, chains), and its derivative in θ, (chains,)."""

    value: FloatArray
    score: FloatArray
    pull: FloatArray
