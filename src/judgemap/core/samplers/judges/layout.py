"""How the panel sampler lays out the data: rows by judge, and for each judge the areas met.

Judge k's view matters only at the a_k areas that the judge met, and there only through the differences X_k u_k of the
pairs judged. So u_k = σ F v_k with C_u = FFᵀ and v_k ~ N(0, I) is split into the part w_k = V_kᵀv_k that the answers
depend on, and the rest, about which they say nothing and which is drawn from its prior when needed:

    X_k u_k = σ X_k G_k w_k,   G_k = F V_k at the areas met,   V_kᵀV_k = I,   w_k ~ N(0, I)

w_k has as many coordinates as X_k has rank: fewer than areas met, and no more than pairs judged. So a judge with
thousands of answers costs no more than one who met as many areas, and thousands of judges with few answers each fit
into memory.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from judgemap.core.model.judges import PanelModel
from judgemap.core.model.outcomes import Answers, Wins
from judgemap.core.samplers.kernel import Arrays
from judgemap.core.types import FloatArray, IntArray

PRECISION = np.float32
"""How G_k and V_k are kept: reading them is what a trajectory waits for. C_u is off by one part in ten million."""
NOTHING = 1e-10
"""A direction counts as unseen if the rows say less than this share about it of what they say about the best one."""


class Met(NamedTuple):
    """The areas that each judge met, one judge's after another, and where in them a row's areas are."""

    row_starts: IntArray
    """Judge k's rows are those from entry k on, up to entry k + 1."""
    area_starts: IntArray
    """Likewise for the areas."""
    areas: IntArray
    above: IntArray
    """Where among its judge's areas a row's first area is."""
    below: IntArray

    def rows(self, judge: int) -> slice:
        """Say which rows are this judge's."""
        return slice(int(self.row_starts[judge]), int(self.row_starts[judge + 1]))

    def of(self, judge: int) -> IntArray:
        """List the areas that this judge met."""
        return self.areas[self.area_starts[judge] : self.area_starts[judge + 1]]

    def laplacian(self, judge: int, weight: FloatArray) -> FloatArray:
        """X_kᵀ diag(weight) X_k, one row and column for each area met."""
        n, (above, below) = len(self.of(judge)), (each[self.rows(judge)] for each in (self.above, self.below))
        between = np.bincount(above * n + below, weight, n * n).astype(np.float64).reshape(n, n)
        between += between.T
        L: FloatArray = np.diag(between.sum(axis=1)) - between
        return L

    def scatter(self, judge: int, values: FloatArray) -> FloatArray:
        """X_kᵀv, one entry for each area met."""
        n, (above, below) = len(self.of(judge)), (each[self.rows(judge)] for each in (self.above, self.below))
        gained: FloatArray = np.bincount(above, values, n).astype(np.float64) - np.bincount(below, values, n)
        return gained


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The rows, sorted by judge."""

    n_areas: int
    n_judges: int
    first: IntArray
    second: IntArray
    x: FloatArray
    """1 if the first area was on the left, −1 if on the right, 0 if unknown; shape (rows, 1)."""
    judge: IntArray
    answers: Answers | Wins
    met: Met

    @property
    def counted(self) -> Answers:
        """The answers as counted, before any `one_sided`."""
        if isinstance(self.answers, Wins):
            raise TypeError("these rows have been made one-sided")
        return self.answers

    def differences(self, strengths: FloatArray) -> FloatArray:
        """Xλ: one row per answered pair."""
        d: FloatArray = np.take(strengths, self.first, axis=0)
        d -= np.take(strengths, self.second, axis=0)
        return d

    def sum_by_judge(self, rows: FloatArray) -> FloatArray:
        """Add up the rows of each judge, (judge, chain)."""
        sums = np.zeros((self.n_judges, *rows.shape[1:]))
        some = np.flatnonzero(np.diff(self.met.row_starts))
        if len(some):
            sums[some] = np.add.reduceat(rows, self.met.row_starts[some])
        return sums

    def spread(self, judges: FloatArray) -> FloatArray:
        """Give each row its judge's value: (judge, chain) → (row, chain)."""
        return np.take(judges, self.judge, axis=0)


def lay_out(model: PanelModel) -> Layout:
    """Sort the rows. If no part depends on the judge or the side, counts are summed over those first."""
    parts, n = model.parts, model.n_areas
    counts = model.counts
    judge = counts.judge if parts.by_judge else np.zeros_like(counts.judge)
    n_judges = counts.n_judges if parts.by_judge else 1
    side = counts.first_left if parts.side else np.full_like(counts.first_left, -1)
    x = np.where(side < 0, 0, 2 * side - 1)
    use = (counts.n > 0) | ((counts.ties > 0) if parts.ties is not None else False)
    key = ((judge * n + counts.first) * n + counts.second) * 3 + x + 1
    keys, row = np.unique(key[use], return_inverse=True)
    ties = counts.ties if parts.ties is not None else np.zeros_like(counts.ties)
    sums = (
        np.bincount(row, each[use], len(keys)).astype(np.float64)[:, None]
        for each in (counts.wins, counts.n - counts.wins, ties)
    )
    pair = keys // 3
    judge, first, second = pair // n**2, pair // n % n, pair % n
    x = (keys % 3 - 1)[:, None].astype(np.float64)
    met = _meet(n, n_judges, judge, first, second)
    return Layout(n, n_judges, first, second, x, judge, Answers(*sums), met)


def _meet(n_areas: int, n_judges: int, judge: IntArray, first: IntArray, second: IntArray) -> Met:
    place, where = np.unique(np.r_[judge * n_areas + first, judge * n_areas + second], return_inverse=True)
    starts = np.searchsorted(place, np.arange(n_judges + 1) * n_areas)
    above, below = where.reshape(2, -1) - starts[judge]
    return Met(np.searchsorted(judge, np.arange(n_judges + 1)), starts, place % n_areas, above, below)


def one_sided(layout: Layout) -> Layout:
    """Write Rao and Kupper's answers as `Wins`: mirrored rows have their areas and x swapped."""
    answers, n_rows = layout.counted, len(layout.first)
    n = np.concatenate([answers.first + answers.ties, answers.second + answers.ties])[:, 0]
    taken = np.flatnonzero(n > 0)
    taken = taken[np.argsort(layout.judge[taken % max(n_rows, 1)], kind="stable")]
    first, second = np.r_[layout.first, layout.second][taken], np.r_[layout.second, layout.first][taken]
    judge = np.tile(layout.judge, 2)[taken]
    return replace(
        layout,
        first=first,
        second=second,
        x=np.concatenate([layout.x, -layout.x])[taken],
        judge=judge,
        answers=Wins(n[taken][:, None], float(answers.ties.sum())),
        met=_meet(layout.n_areas, layout.n_judges, judge, first, second),
    )


class Views(NamedTuple):
    """The factors of all views, one judge's after another: G (area met, coordinate) and V (area, coordinate)."""

    starts: IntArray
    """Where each judge's coordinates begin, and where they all end."""
    cells: IntArray
    """Likewise for the entries of G."""
    G: FloatArray
    V: FloatArray

    @property
    def size(self) -> int:
        """The total number of coordinates."""
        return int(self.starts[-1])

    def coordinates(self, judge: int) -> slice:
        """Say which coordinates are this judge's."""
        return slice(int(self.starts[judge]), int(self.starts[judge + 1]))

    def each(self, n_areas: int) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Yield G and V of every judge; what is written into them is written here."""
        for k, views in enumerate(np.diff(self.starts)):
            G, V = self.G[self.cells[k] : self.cells[k + 1]], self.V[n_areas * self.starts[k] :]
            yield G.reshape(-1, views) if views else G.reshape(0, 0), V[: n_areas * views].reshape(n_areas, views)


def build_views(layout: Layout, factor: FloatArray | None) -> Views:
    """Find G_k and V_k of every judge, from C_u = FFᵀ; without it judges have no views of their own."""
    met, n = layout.met, layout.n_areas
    pairs = [_seen_of(met, k, factor) for k in range(layout.n_judges)] if factor is not None else []
    sizes = np.array([V.shape[1] for _, V in pairs] or [0] * layout.n_judges, dtype=np.int64)
    starts = np.r_[0, np.cumsum(sizes)]
    cells = np.r_[0, np.cumsum(sizes * np.diff(met.area_starts))]
    views = Views(starts, cells, np.empty(cells[-1], PRECISION), np.empty(n * starts[-1], PRECISION))
    for (G, V), (own_G, own_V) in zip(pairs, views.each(n), strict=False):
        if V.shape[1]:
            own_G[...], own_V[...] = G, V
    return views


def _seen_of(met: Met, judge: int, factor: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Find an orthonormal basis V of the directions that the judge's rows see, and G = FV at the areas met."""
    F = factor[met.of(judge)]
    if not len(F):
        return np.empty((0, 0)), np.empty((len(factor), 0))
    seen, E = np.linalg.eigh(met.laplacian(judge, np.ones(len(met.above[met.rows(judge)]))))
    design = E[:, seen > NOTHING * seen[-1]].T @ F
    square, U = np.linalg.eigh(design @ design.T)
    told = square > NOTHING * square[-1]
    V = design.T @ (U[:, told] / np.sqrt(square[told]))
    return F @ V, V


def onto_areas(layout: Layout, rows: FloatArray) -> FloatArray:
    """Xᵀv: add each row's value to its first area and subtract it from its second."""
    gained: FloatArray = np.bincount(layout.first, rows, layout.n_areas).astype(np.float64)
    return gained - np.bincount(layout.second, rows, layout.n_areas)


def summarise_views(strengths: FloatArray, views: FloatArray, *, keep_views: bool) -> Arrays:
    """Summarise the views (chain, judge, area) as the panel's map and the judges' distances; keep them if wanted."""
    own = views - views.mean(axis=2, keepdims=True)
    arrays: Arrays = {
        "panel_strengths": strengths + views.mean(axis=1),
        "distance": np.sqrt((own**2).mean(axis=2)),
    }
    return arrays | ({"views": views.astype(np.float32)} if keep_views else {})
