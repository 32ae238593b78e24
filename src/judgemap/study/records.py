"""Comparisons as the judges made them: who was shown what, in which order, and what was said."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from judgemap.core.comparisons import PairCounts, count_pairs
from judgemap.core.types import BoolArray, FloatArray, IntArray, frozen_floats, frozen_ints
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import Table, did_you_mean, quoted, read_table
from judgemap.geo.labels import clean_label
from judgemap.geo.maps import Areas

if TYPE_CHECKING:
    import pandas as pd

OUTCOMES = ("left", "right", "tie", "skipped", "unknown")
Direction = Literal["lower", "higher"]
"""Whether the area that wins a comparison is the one with the lower or the higher rate."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparisons:
    """Every pair that was shown, one entry a pair; `left` and `right` are positions in `ids`.

    ``winner_is`` says what judges were asked: the area they choose has the lower rate, or the higher one.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> len(data), data.outcome[:2], data.winner_is
    (1848, ('left', 'left'), 'lower')
    >>> len(data.without(["12"])) == len(data) - data.per_judge()["12"]
    True
    """

    ids: tuple[str, ...]
    judge: tuple[str, ...]
    left: IntArray
    right: IntArray
    outcome: tuple[str, ...]
    seconds: FloatArray
    winner_is: Direction = "lower"

    def __post_init__(self) -> None:
        object.__setattr__(self, "left", frozen_ints(self.left))
        object.__setattr__(self, "right", frozen_ints(self.right))
        object.__setattr__(self, "seconds", frozen_floats(self.seconds))
        if len({len(self.judge), len(self.left), len(self.right), len(self.outcome), len(self.seconds)}) != 1:
            raise ValueError("judge, left, right, outcome and seconds must have the same length")
        if self.winner_is not in ("lower", "higher"):
            raise StudyError(f"the winner's rate is 'lower' or 'higher', not {self.winner_is!r}")

    def __repr__(self) -> str:
        decided, judges = int(self.decided.sum()), len(self.per_judge())
        return f"Comparisons({len(self)} pairs shown, {decided} decided, {judges} judges, winner is {self.winner_is})"

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def decided(self) -> BoolArray:
        """Which comparisons have a winner; the others are kept but tell the models nothing."""
        return np.array([outcome in ("left", "right") for outcome in self.outcome], dtype=np.bool_)

    def counts(self) -> PairCounts:
        """Add up the decided comparisons into pair counts."""
        decided = self.decided
        if not decided.any():
            raise StudyError(
                f"none of the {len(self)} comparisons was decided (all are ties, skipped or unknown); "
                "a fit needs at least one answer of left or right"
            )
        left_won = np.array([outcome == "left" for outcome in self.outcome])[decided]
        left, right = self.left[decided], self.right[decided]
        winners, losers = np.where(left_won, left, right), np.where(left_won, right, left)
        return count_pairs(winners, losers, len(self.ids))

    def per_judge(self) -> dict[str, int]:
        """Count the comparisons of each judge, in the order in which judges first appear; unnamed ones are no judge."""
        return dict(Counter(judge for judge in self.judge if judge))

    def only(self, judges: Iterable[str]) -> "Comparisons":
        """Keep the comparisons of these judges."""
        wanted = self._known(judges)
        return self._where(np.array([judge in wanted for judge in self.judge], dtype=np.bool_))

    def without(self, judges: Iterable[str]) -> "Comparisons":
        """Leave out the comparisons of these judges."""
        unwanted = self._known(judges)
        return self._where(np.array([judge not in unwanted for judge in self.judge], dtype=np.bool_))

    def digest(self) -> str:
        """Return a SHA-256 of the areas' ids, the answers and their direction: the same data, the same digest."""
        text = [self.winner_is, "\x1f".join(self.ids)]
        rows = zip(self.judge, self.left.tolist(), self.right.tolist(), self.outcome, strict=True)
        text += [f"{judge}\x1f{left}\x1f{right}\x1f{outcome}" for judge, left, right, outcome in rows]
        return hashlib.sha256("\x1e".join(text).encode()).hexdigest()

    def to_frame(self) -> "pd.DataFrame":
        """Return the table of `comparisons.csv`: judge, left, right, outcome, seconds, with the areas' ids."""
        import pandas as pd

        ids: NDArray[np.object_] = np.array(self.ids, dtype=object)
        return pd.DataFrame(
            {
                "judge": self.judge,
                "left": ids[self.left],
                "right": ids[self.right],
                "outcome": self.outcome,
                "seconds": self.seconds,
            }
        )

    def _known(self, judges: Iterable[str]) -> set[str]:
        wanted, known = set(judges), set(self.judge)
        for judge in sorted(wanted - known):
            raise StudyError(f"there is no judge {judge!r}{did_you_mean(judge, known)}; the judges are {quoted(known)}")
        return wanted

    def _where(self, keep: BoolArray) -> "Comparisons":
        chosen = np.flatnonzero(keep).tolist()
        return Comparisons(
            self.ids,
            tuple(self.judge[row] for row in chosen),
            self.left[keep],
            self.right[keep],
            tuple(self.outcome[row] for row in chosen),
            self.seconds[keep],
            self.winner_is,
        )


def read_comparisons(path: str | Path, areas: Areas, winner_is: Direction = "lower") -> Comparisons:
    r"""Read comparisons.csv: ``judge,left,right,outcome[,seconds,…]``, or ``winner,loser[,judge]``.

    Areas are named by id or by exact name. An outcome is one of left, right, tie, skipped, unknown.

    >>> import tempfile, judgemap as jm
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "comparisons.csv")
    ...     _ = path.write_text("judge,left,right,outcome\nann,Loop,Lake View,left\nann,Loop,Uptown,tie\n")
    ...     data = jm.read_comparisons(path, jm.chicago())
    >>> len(data), data.counts().total
    (2, 1)
    """
    table = read_table(path)
    if "winner" in table.columns or "loser" in table.columns:
        table.require("winner", "loser")
        first, second = "winner", "loser"
        outcome: tuple[str, ...] = ("left",) * len(table.rows)
    else:
        table.require("left", "right", "outcome")
        first, second = "left", "right"
        outcome = tuple(_outcome(table, row) for row in range(len(table.rows)))
    left, right = _positions(table, first, second, areas)
    return Comparisons(
        ids=areas.ids,
        judge=tuple(row.get("judge", "") for row in table.rows),
        left=left,
        right=right,
        outcome=outcome,
        seconds=_seconds(table),
        winner_is=winner_is,
    )


def _outcome(table: Table, row: int) -> str:
    outcome = table.rows[row]["outcome"]
    if outcome not in OUTCOMES:
        raise StudyError(
            f"{table.where(row)}: {outcome!r} is no outcome{did_you_mean(outcome, OUTCOMES)}; "
            f"use one of {', '.join(OUTCOMES)}"
        )
    return outcome


def _positions(table: Table, first: str, second: str, areas: Areas) -> tuple[IntArray, IntArray]:
    """Look up both areas of every row; name the first that is not on the map, or compared with itself."""
    lookup = areas.lookup
    left = [lookup.get(clean_label(row[first]), -1) for row in table.rows]
    right = [lookup.get(clean_label(row[second]), -1) for row in table.rows]
    if all(place < 0 for place in (*left, *right)):
        raise StudyError(
            f"{table.path.name} and the map share no area: the table names {quoted(_some(table, first))}, "
            f"the map {quoted(areas.ids[:3])} ({quoted(areas.names[:3])}); "
            "check that both use the same ids, or choose the map's id column"
        )
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        for place, column in ((a, first), (b, second)):
            if place < 0:
                area = table.rows[row][column]
                if not area:
                    raise StudyError(
                        f"{table.where(row)}: the cell of {column!r} is empty; name an area or remove the row"
                    )
                raise StudyError(f"{table.where(row)}: {areas.unknown(area)}")
        if a == b:
            raise StudyError(
                f"{table.where(row)}: {table.rows[row][first]!r} is compared with itself; correct it or remove the row"
            )
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def _some(table: Table, column: str) -> Sequence[str]:
    return list(dict.fromkeys(row[column] for row in table.rows[:50]))[:3]


def _seconds(table: Table) -> FloatArray:
    """Read the times: empty cells and a missing column are nan; anything but a time is an error."""
    if "seconds" not in table.columns:
        return np.full(len(table.rows), np.nan)
    seconds = np.full(len(table.rows), np.nan)
    for row, cells in enumerate(table.rows):
        if not cells["seconds"]:
            continue
        try:
            seconds[row] = float(cells["seconds"])
        except ValueError:
            seconds[row] = -1.0
        if not (np.isfinite(seconds[row]) and seconds[row] >= 0):
            raise StudyError(
                f"{table.where(row)}: {cells['seconds']!r} is no number of seconds; write one, or leave the cell empty"
            )
    return seconds
