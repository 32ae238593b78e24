"""How the panel samplers lay out the data: rows by judge, in blocks of judges with similar numbers of rows.

Judge k's view matters only through the differences X_k u_k of the n_k pairs judged, or through N areas if that is
fewer. So u_k = σ F v_k with C_u = FFᵀ and v_k ~ N(0, I) is split into the part w_k = V_kᵀv_k that the answers depend
on, of length min(n_k, N), and the rest, about which they say nothing and which is drawn from its prior when needed:

    X_k u_k = σ B_k w_k,   B_k = X_k F V_k,   V_kᵀV_k = I,   w_k ~ N(0, I)

This is what lets thousands of judges with few answers each fit into memory. Judges are sorted by their number of rows
and padded to blocks of equal size, with rows that hold no answer and coordinates that nothing depends on, so that a
block is one call.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from judgemap.core.model.judges import PanelModel
from judgemap.core.model.outcomes import Answers, Wins
from judgemap.core.samplers.kernel import Arrays
from judgemap.core.types import FloatArray, IntArray

FULL = 0.75
"""A block takes judges down to this share of its largest, so that little of it is padding."""
MOST_TOGETHER = 500
"""A block takes no more judges than this, so that the X_k F of all its judges stay small."""
DOUBLE_LIMIT = 10_000_000
"""With more entries than this, all B_k are kept in single precision: C_u is then off by one part in ten million."""
NOTHING = 1e-10
"""A direction counts as unseen if the rows say less than this share about it of what they say about the best one."""


class Block(NamedTuple):
    """Judges that are processed together: where to find their rows, their numbers and their coordinates."""

    rows: slice
    judges: slice
    views: slice
    n_judges: int
    n_rows: int
    n_views: int

    def by_judge(self, rows: FloatArray) -> FloatArray:
        """Return the rows of this block, (judge, row, chain)."""
        return rows[self.rows].reshape(self.n_judges, self.n_rows, -1)

    def coordinates(self, views: FloatArray) -> FloatArray:
        """Return the coordinates of this block's views, (judge, coordinate, chain)."""
        return views[self.views].reshape(self.n_judges, self.n_views, -1)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The rows of all blocks, one after another. Judges are sorted; ``order`` gives their original numbers."""

    n_areas: int
    first: IntArray
    second: IntArray
    x: FloatArray
    """1 if the first area was on the left, −1 if on the right, 0 if unknown; shape (rows, 1)."""
    judge: IntArray
    """Position of each row's judge in ``order``."""
    answers: Answers | Wins
    order: IntArray
    blocks: tuple[Block, ...]

    @property
    def n_views(self) -> int:
        """The total number of coordinates of all views."""
        return self.blocks[-1].views.stop if self.blocks else 0

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return len(self.order)

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
        return np.concatenate([block.by_judge(rows).sum(axis=1) for block in self.blocks])

    def spread(self, judges: FloatArray) -> FloatArray:
        """Give each row its judge's value: (judge, chain) → (row, chain)."""
        return np.take(judges, self.judge, axis=0)


def lay_out(model: PanelModel) -> Layout:
    """Sort and pad the rows. If no part depends on the judge or the side, counts are summed over those first."""
    parts, n = model.parts, model.n_areas
    counts = model.counts
    judge = counts.judge if parts.by_judge else np.zeros_like(counts.judge)
    n_judges = counts.n_judges if parts.by_judge else 1
    side = counts.first_left if parts.side is not None else np.full_like(counts.first_left, -1)
    x = np.where(side < 0, 0, 2 * side - 1)
    use = (counts.n > 0) | ((counts.ties > 0) if parts.ties is not None else False)
    key = ((judge * n + counts.first) * n + counts.second) * 3 + x + 1
    keys, row = np.unique(key[use], return_inverse=True)
    ties = counts.ties if parts.ties is not None else np.zeros_like(counts.ties)
    sums = (
        np.bincount(row, each[use], len(keys)).astype(np.int64) for each in (counts.wins, counts.n - counts.wins, ties)
    )
    pair = keys // 3
    return _pad(n, n_judges, pair // n**2, (pair // n % n, pair % n, keys % 3 - 1, *sums))


def _pad(n_areas: int, n_judges: int, judge: IntArray, columns: tuple[IntArray, ...]) -> Layout:
    sizes = np.bincount(judge, minlength=n_judges)
    order = np.argsort(-sizes, kind="stable")
    starts = np.searchsorted(judge, np.arange(n_judges))
    blocks: list[Block] = []
    source: list[IntArray] = []
    done = rows = views = 0
    while done < n_judges:
        n_rows = max(1, int(sizes[order[done]]))
        # Judges without a row come last, and share one block of a single padded row each.
        members = int(np.sum(sizes[order[done:]] >= FULL * n_rows)) or n_judges - done
        members = min(members, MOST_TOGETHER)
        n_views = min(n_rows, n_areas)
        chosen = order[done : done + members]
        at = np.arange(n_rows)
        source.append(np.where(at < sizes[chosen, None], starts[chosen, None] + at, -1).ravel())
        blocks.append(
            Block(
                slice(rows, rows + members * n_rows),
                slice(done, done + members),
                slice(views, views + members * n_views),
                members,
                n_rows,
                n_views,
            )
        )
        done, rows, views = done + members, rows + members * n_rows, views + members * n_views
    taken = np.concatenate(source)
    # Index −1 reads the row of zeros appended here: a pair of area 0 with itself, never answered.
    first, second, x, wins, losses, ties = (np.append(each, 0)[taken] for each in columns)
    return Layout(
        n_areas=n_areas,
        first=first.astype(np.int64),
        second=second.astype(np.int64),
        x=x[:, None].astype(np.float64),
        judge=np.concatenate([np.repeat(np.arange(b.judges.start, b.judges.stop), b.n_rows) for b in blocks]),
        answers=Answers(*(each[:, None].astype(np.float64) for each in (wins, losses, ties))),
        order=order,
        blocks=tuple(blocks),
    )


def one_sided(layout: Layout) -> Layout:
    """Write Rao and Kupper's answers as `Wins`: mirrored rows have their areas and x swapped."""
    answers = layout.counted
    ties = answers.ties
    n = np.concatenate([answers.first + ties, answers.second + ties])[:, 0]
    first, second = np.r_[layout.first, layout.second], np.r_[layout.second, layout.first]
    x = np.concatenate([layout.x, -layout.x])
    blocks, source, rows = [], [], 0
    for block in layout.blocks:
        here = np.arange(block.rows.start, block.rows.stop).reshape(block.n_judges, -1)
        both = np.concatenate([here, here + len(layout.first)], axis=1)
        n_rows = max(1, int((n[both] > 0).sum(axis=1).max()))
        source.append(np.take_along_axis(both, np.argsort(n[both] == 0, axis=1, kind="stable")[:, :n_rows], 1).ravel())
        blocks.append(block._replace(rows=slice(rows, rows + block.n_judges * n_rows), n_rows=n_rows))
        rows += block.n_judges * n_rows
    taken = np.concatenate(source)
    some = n[taken] > 0
    return replace(
        layout,
        first=np.where(some, first[taken], 0),
        second=np.where(some, second[taken], 0),
        x=np.where(some[:, None], x[taken], 0.0),
        judge=np.concatenate([np.repeat(np.arange(b.judges.start, b.judges.stop), b.n_rows) for b in blocks]),
        answers=Wins(n[taken][:, None], float(ties.sum())),
        blocks=tuple(blocks),
    )


class Views(NamedTuple):
    """Factors of one block's views: B (judge, row, coordinate) and V (judge, area, coordinate).

    Columns are zero if a judge's rows are fewer, or say less, than the block has coordinates.
    """

    B: FloatArray
    V: FloatArray


def onto_areas(layout: Layout, rows: FloatArray) -> FloatArray:
    """Xᵀv: add each row's value to its first area and subtract it from its second."""
    gained: FloatArray = np.bincount(layout.first, rows, layout.n_areas).astype(np.float64)
    return gained - np.bincount(layout.second, rows, layout.n_areas)


def build_views(layout: Layout, factor: FloatArray) -> list[Views]:
    """Find B_k and V_k of every judge, from C_u = FFᵀ, in single precision if they would fill gigabytes."""
    size = sum(block.n_judges * block.n_rows * block.n_views for block in layout.blocks)
    precision = np.float64 if size < DOUBLE_LIMIT else np.float32
    views = []
    for block in layout.blocks:
        design = (factor[layout.first[block.rows]] - factor[layout.second[block.rows]]).reshape(
            block.n_judges, block.n_rows, layout.n_areas
        )
        B, V = _all_areas(design) if block.n_views == layout.n_areas else _seen_of(design, block.n_views)
        views.append(Views(B.astype(precision, copy=False), V.astype(precision, copy=False)))
    return views


def _all_areas(design: FloatArray) -> Views:
    n_judges, _, n_areas = design.shape
    return Views(design, np.broadcast_to(np.eye(n_areas), (n_judges, n_areas, n_areas)))


def _seen_of(design: FloatArray, n_views: int) -> Views:
    """From X F = U s Vᵀ: B = U s, and V, without the directions about which the rows say nothing."""
    square, U = np.linalg.eigh(design @ np.swapaxes(design, 1, 2))
    square, U = square[:, -n_views:], U[:, :, -n_views:]
    seen = square > NOTHING * square[:, -1:]
    s = np.sqrt(np.where(seen, square, 1.0))[:, None, :]
    U = np.where(seen[:, None, :], U, 0.0)
    return Views(U * s, (np.swapaxes(design, 1, 2) @ U) / s)


def summarise_views(strengths: FloatArray, views: FloatArray, *, keep_views: bool) -> Arrays:
    """Summarise the views (chain, judge, area) as the panel's map and the judges' distances; keep them if wanted."""
    own = views - views.mean(axis=2, keepdims=True)
    arrays: Arrays = {
        "panel_strengths": strengths + views.mean(axis=1),
        "distance": np.sqrt((own**2).mean(axis=2)),
    }
    return arrays | ({"views": views.astype(np.float32)} if keep_views else {})
