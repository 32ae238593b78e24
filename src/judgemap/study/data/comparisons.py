"""Comparisons as the judges made them: who was shown what, in which order, and what the answer was.

A columnar table with one entry for each pair shown. Each source has one reader: `comparison_files` for CSV files,
`web.judge.comparisons` for the study server's database. Everything that counts answers uses this table.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import IntEnum
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgemap.core.model.counts import JudgedCounts, PairCounts, count_judged
from judgemap.core.types import BoolArray, FloatArray, IntArray, frozen_floats, frozen_ints
from judgemap.display import Displayed
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import Table, as_table, check_known, did_you_mean, quoted, read_number, read_table
from judgemap.geo.maps import Areas, clean_label

if TYPE_CHECKING:
    import pandas as pd

Direction = Literal["lower", "higher"]
"""Whether the area that wins a comparison is the one with the lower or the higher rate."""


class Outcome(IntEnum):
    """What happened to a pair: answered in one of five ways, or still open (shown but not answered)."""

    LEFT = 0
    RIGHT = 1
    TIE = 2
    SKIPPED = 3
    UNKNOWN = 4
    OPEN = 5


OUTCOMES = tuple(each.name.lower() for each in Outcome)
ANSWERS = OUTCOMES[: Outcome.OPEN]
"""What a file may say. It has no word for an open pair, which is written as unknown."""
_WRITTEN: NDArray[np.object_] = np.array([*ANSWERS, "unknown"], dtype=object)


class Pairs(NamedTuple):
    """The distinct pairs of a table, first < second, and the number of each entry's pair."""

    first: IntArray
    second: IntArray
    number: IntArray


@dataclass(frozen=True, eq=False, repr=False)
class Comparisons(Displayed):
    """Every pair shown, one entry per pair.

    ``left`` and ``right`` are positions in ``ids``; ``judge`` is one in ``judges``, −1 for an answer without a name;
    ``outcome`` is a position in `OUTCOMES`. ``seconds`` is how long the pair was on screen and ``answered_at`` the
    time of the answer (seconds since 1970, UTC); both are nan if unknown. ``winner_is`` says what judges were asked:
    whether the area they choose has the lower or the higher rate.

    >>> areas, data = jm.example_study(seed=1)
    >>> len(data), data.outcome[:2], data.outcome_words[:2].tolist(), data.winner_is
    (1848, array([0, 0]), ['left', 'left'], 'lower')
    >>> len(data.without(["12"])) == len(data) - data.per_judge()["12"]
    True
    """

    ids: tuple[str, ...]
    judges: tuple[str, ...]
    judge: IntArray
    left: IntArray
    right: IntArray
    outcome: IntArray
    seconds: FloatArray
    answered_at: FloatArray
    winner_is: Direction = "lower"

    def __post_init__(self) -> None:
        columns = ("judge", "left", "right", "outcome", "seconds", "answered_at")
        for name in columns[:4]:
            object.__setattr__(self, name, frozen_ints(getattr(self, name)))
        for name in columns[4:]:
            object.__setattr__(self, name, frozen_floats(getattr(self, name)))
        if len({len(getattr(self, name)) for name in columns}) != 1:
            raise ValueError(f"{', '.join(columns)} must have the same length")
        limits = {"judge": (-1, len(self.judges)), "left": (0, len(self.ids)), "right": (0, len(self.ids))}
        for name, (low, high) in (limits | {"outcome": (0, len(OUTCOMES))}).items():
            column = getattr(self, name)
            if len(column) and (column.min() < low or column.max() >= high):
                raise ValueError(f"{name} must lie in {low} … {high - 1}")
        if self.winner_is not in ("lower", "higher"):
            raise StudyError(f"the winner's rate is 'lower' or 'higher', not {self.winner_is!r}")

    @classmethod
    def from_words(
        cls,
        ids: Sequence[str],
        judge: Sequence[str],
        left: ArrayLike,
        right: ArrayLike,
        outcome: Sequence[str],
        seconds: ArrayLike | None = None,
        winner_is: Direction = "lower",
    ) -> "Comparisons":
        """Make the table from a judge's name and an outcome's word for each pair; an empty name means no judge.

        Parameters
        ----------
        ids
            The areas' ids.
        judge
            The name of each pair's judge.
        left, right
            Positions of the areas of each pair in ``ids``.
        outcome
            One of `OUTCOMES` for each pair.
        seconds
            How long each pair was on screen, if known.
        winner_is
            Whether the area chosen has the "lower" or the "higher" rate.

        >>> data = Comparisons.from_words(("a", "b"), ["ann", "", "ann"], [0, 0, 1], [1, 1, 0], ["left", "tie", "left"])
        >>> data.judges, data.judge, data.decided
        (('ann',), array([ 0, -1,  0]), array([ True, False,  True]))
        """
        judges, numbers = judge_codes(judge)
        codes = {word: code for code, word in enumerate(OUTCOMES)}
        unknown = np.full(len(outcome), np.nan)
        return cls(
            ids=tuple(ids),
            judges=judges,
            judge=numbers,
            left=frozen_ints(left),
            right=frozen_ints(right),
            outcome=np.array([codes[word] for word in outcome], dtype=np.int64),
            seconds=unknown if seconds is None else frozen_floats(seconds),
            answered_at=unknown,
            winner_is=winner_is,
        )

    def __repr__(self) -> str:
        decided, judges = int(self.decided.sum()), len(self.per_judge())
        return f"Comparisons({len(self)} pairs shown, {decided} decided, {judges} judges, winner is {self.winner_is})"

    def __len__(self) -> int:
        return len(self.outcome)

    @cached_property
    def decided(self) -> BoolArray:
        """Which comparisons have a winner; the others are kept, but say nothing to a model without ties."""
        return np.less_equal(self.outcome, Outcome.RIGHT)

    @cached_property
    def tied(self) -> BoolArray:
        """Which comparisons are ties."""
        return np.equal(self.outcome, Outcome.TIE)

    @cached_property
    def first_won(self) -> BoolArray:
        """Which decided comparisons were won by the pair's first area: the one that comes first in ``ids``."""
        return np.asarray((self.outcome == Outcome.LEFT) == (self.left < self.right), dtype=np.bool_)

    @cached_property
    def sides(self) -> bool:
        """Whether left and right are sides of the screen; a table of winners and losers has only 'left'."""
        return bool((self.outcome == Outcome.RIGHT).any())

    @cached_property
    def pairs(self) -> Pairs:
        """The distinct pairs, regardless of side, and the number of each entry's pair."""
        size = len(self.ids)
        key = np.minimum(self.left, self.right) * size + np.maximum(self.left, self.right)
        keys, number = np.unique(key, return_inverse=True)
        return Pairs(keys // size, keys % size, number)

    @property
    def outcome_words(self) -> NDArray[np.object_]:
        """The outcomes as written in files, where an open pair is 'unknown'."""
        return _WRITTEN[self.outcome]

    @property
    def judge_names(self) -> NDArray[np.object_]:
        """The name of each entry's judge; empty if there is none."""
        names: NDArray[np.object_] = np.array([*self.judges, ""], dtype=object)
        return names[self.judge]

    def count(self, outcome: Outcome) -> int:
        """Count the comparisons with one outcome.

        Parameters
        ----------
        outcome
            The outcome.
        """
        return int((self.outcome == outcome).sum())

    def counts(self) -> PairCounts:
        """Count the comparisons by pair, with ties; models without ties use ``decided()``."""
        if not self.decided.any():
            raise StudyError(
                f"none of the {len(self):,} comparisons was decided (all are ties, skipped or unknown); "
                "a fit needs at least one answer of left or right"
            )
        return self.counts_of(np.ones(len(self), dtype=np.bool_))

    def counts_of(self, kept: BoolArray) -> PairCounts:
        """Count some of the entries by pair; there may be none.

        Parameters
        ----------
        kept
            Which entries to count.
        """
        pairs, decided = self.pairs, kept & self.decided

        def tally(which: BoolArray) -> IntArray:
            return np.bincount(pairs.number[which], minlength=len(pairs.first))

        n, wins, ties = tally(decided), tally(decided & self.first_won), tally(kept & self.tied)
        there = n + ties > 0
        return PairCounts(len(self.ids), *(each[there] for each in (pairs.first, pairs.second, n, wins, ties)))

    def by_judge(self) -> JudgedCounts:
        """Count by judge, pair and side, for models in which judges differ.

        >>> jm.example_study(seed=1)[1].by_judge().n_judges
        12
        """
        there = self.decided | self.tied
        if unnamed := int((there & (self.judge < 0)).sum()):
            raise StudyError(
                f"{unnamed:,} of {int(there.sum()):,} answers do not name their judge, so judges cannot be told apart; "
                "fill in the column 'judge', or fit one map for all"
            )
        choice = np.select([self.outcome == Outcome.LEFT, self.outcome == Outcome.RIGHT], [1, -1])
        columns = (each[there] for each in (self.judge, self.left, self.right, choice))
        return count_judged(*columns, n_areas=len(self.ids), n_judges=len(self.judges), sides=self.sides)

    def outcomes_by_judge(self) -> IntArray:
        """Count outcomes: one row for each of ``judges``, one column for each of `OUTCOMES`."""
        shape, named = (len(self.judges), len(OUTCOMES)), self.judge >= 0
        key = self.judge[named] * shape[1] + self.outcome[named]
        return np.bincount(key, minlength=shape[0] * shape[1]).reshape(shape)

    def repeats(self) -> tuple[IntArray, IntArray]:
        """Count, for each judge, pairs decided a second time, and how often the answer was the same.

        >>> data = Comparisons.from_words(("a", "b"), ["x"] * 3, [0, 1, 0], [1, 0, 1], ["left", "right", "right"])
        >>> data.repeats()
        (array([2]), array([1]))
        """
        rows, same = self.repeated()
        size = len(self.judges)
        return np.bincount(self.judge[rows], minlength=size), np.bincount(self.judge[rows[same]], minlength=size)

    def repeated(self) -> tuple[IntArray, BoolArray]:
        """Return the rows in which a judge decides a pair again, and whether each answer is the last one's."""
        named = np.flatnonzero(self.decided & (self.judge >= 0))
        key = self.judge[named] * max(len(self.pairs.first), 1) + self.pairs.number[named]
        order = np.argsort(key, kind="stable")
        again = np.diff(key[order]) == 0
        rows = named[order]
        return rows[1:][again], (self.first_won[rows[1:]] == self.first_won[rows[:-1]])[again]

    def per_judge(self) -> dict[str, int]:
        """Count each judge's comparisons, in the order in which judges first appear; unnamed ones are left out."""
        shown = self.outcomes_by_judge().sum(axis=1).tolist()
        return {name: count for name, count in zip(self.judges, shown, strict=True) if count}

    def where(self, kept: BoolArray) -> "Comparisons":
        """Keep some of the entries, and the full list of judges.

        Parameters
        ----------
        kept
            Which entries to keep.
        """
        names = ("judge", "left", "right", "outcome", "seconds", "answered_at")
        return replace(self, **{name: getattr(self, name)[kept] for name in names})

    def only(self, judges: Iterable[str]) -> "Comparisons":
        """Keep the comparisons of these judges.

        Parameters
        ----------
        judges
            Names of judges.
        """
        chosen = self._known(judges)
        return self._of([name for name in self.judges if name in chosen])

    def without(self, judges: Iterable[str]) -> "Comparisons":
        """Leave out the comparisons of these judges.

        Parameters
        ----------
        judges
            Names of judges.
        """
        unwanted = self._known(judges)
        return self._of([name for name in self.judges if name not in unwanted], unnamed=True)

    def digest(self) -> str:
        """Return a SHA-256 of the areas' ids, the answers and their direction: the same data give the same digest.

        Judges count by the order in which they appear, so data whose judges are called something else are the same.
        """
        text = [self.winner_is, "\x1f".join(self.ids)]
        first: dict[int, int] = {}
        judges = np.array([first.setdefault(code, len(first)) if code >= 0 else -1 for code in self.judge.tolist()])
        columns = (judges, self.left, self.right, self.outcome_words)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        text += [f"{judge}\x1f{left}\x1f{right}\x1f{outcome}" for judge, left, right, outcome in rows]
        return hashlib.sha256("\x1e".join(text).encode()).hexdigest()

    def to_frame(self) -> "pd.DataFrame":
        """Return the table of `comparisons.csv`: judge, left, right, outcome, seconds, with the areas' ids."""
        import pandas as pd

        ids: NDArray[np.object_] = np.array(self.ids, dtype=object)
        return pd.DataFrame(
            {
                "judge": self.judge_names,
                "left": ids[self.left],
                "right": ids[self.right],
                "outcome": self.outcome_words,
                "seconds": self.seconds,
            }
        )

    def most_repeated(self, least: int = 10) -> int:
        """Return how often the most repeated row occurs, if ``least`` times or more: same judge, areas, answer, time.

        Parameters
        ----------
        least
            The fewest that count.

        >>> data = Comparisons.from_words(("a", "b"), ["x"] * 12, [0] * 12, [1] * 12, ["left"] * 12)
        >>> data.most_repeated(), data.most_repeated(least=13)
        (12, 0)
        """
        size, named = len(self.ids), np.flatnonzero(self.judge >= 0)
        rows = ((self.judge * size + self.left) * size + self.right) * len(Outcome) + self.outcome
        _, place, times = np.unique(rows[named], return_inverse=True, return_counts=True)
        often = named[times[place] >= least]  # few, if any: only of these are times compared
        when = np.nan_to_num(np.stack([self.seconds, self.answered_at])[:, often], nan=-1.0)
        copies = np.unique(np.vstack([rows[often], when]), axis=1, return_counts=True)[1]
        return int(copies.max(initial=0)) if copies.max(initial=0) >= least else 0

    def _known(self, judges: Iterable[str]) -> set[str]:
        wanted = set(judges)
        for judge in sorted(wanted):
            check_known("judge", judge, self.judges)
        return wanted

    def _of(self, names: Sequence[str], *, unnamed: bool = False) -> "Comparisons":
        """Keep the entries of these judges and, if ``unnamed``, those without a judge's name."""
        place = {name: code for code, name in enumerate(names)}
        # −2 marks entries to drop; an answer without a judge, −1, looks up the last element.
        new: IntArray = np.array([*(place.get(name, -2) for name in self.judges), -1 if unnamed else -2])
        codes = new[self.judge]
        kept = replace(self, judges=tuple(names), judge=np.maximum(codes, -1))
        return kept.where(codes > -2)


def check_map(data: Comparisons, areas: Areas) -> None:
    """Raise a `StudyError` unless the comparisons are of these areas."""
    if data.ids != areas.ids:
        raise StudyError("the comparisons are of different areas; read them again, with the same map")


def judge_codes(names: Sequence[str]) -> tuple[tuple[str, ...], IntArray]:
    """Assign numbers to the judges in the order in which they first appear; an empty name is −1."""
    judges = tuple(dict.fromkeys(name for name in names if name))
    place = {name: code for code, name in enumerate(judges)}
    return judges, np.array([place.get(name, -1) for name in names], dtype=np.int64)


def read_comparisons(source: object, areas: Areas, winner_is: Direction = "lower") -> Comparisons:
    r"""Read comparisons: ``judge,left,right,outcome[,seconds,answered_at,…]``, or ``winner,loser[,judge]``.

    Areas are named by id or by exact name. An outcome is one of left, right, tie, skipped, unknown. A table of winners
    and losers may have outcomes too: tie, skipped or unknown then say that neither won.

    Parameters
    ----------
    source
        The path of a CSV file, a data frame of pandas or polars, or a list of (winner, loser) pairs.
    areas
        The areas that the comparisons are about.
    winner_is
        Whether the chosen area has the "lower" or the "higher" rate.

    Returns
    -------
    Comparisons
        The comparisons in the table's order.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "comparisons.csv")
    ...     _ = path.write_text("judge,left,right,outcome\nann,Loop,Lake View,left\nann,Loop,Uptown,tie\n")
    ...     data = jm.read_comparisons(path, jm.chicago())
    >>> len(data), data.counts().total
    (2, 1)
    >>> len(jm.read_comparisons([("Loop", "Uptown"), ("Loop", "Lake View")], jm.chicago()))
    2
    """
    table = read_table(source) if isinstance(source, (str, Path)) else as_table(source)
    named = "winner" in table.columns or "loser" in table.columns
    if named and not {"left", "right", "outcome"} <= set(table.columns):
        table.require("winner", "loser")
        outcome = _outcomes_of_winners(table)
        left, right = _positions(table, "winner", "loser", areas)
    else:
        table.require("left", "right", "outcome")
        outcome = _outcomes(table)
        left, right = _positions(table, "left", "right", areas)
        _check_winners(table, outcome, areas)
    judge = [row.get("judge", "") for row in table.rows]
    data = Comparisons.from_words(areas.ids, judge, left, right, outcome, _seconds(table), winner_is)
    return replace(data, answered_at=np.array([_moment(row.get("answered_at", "")) for row in table.rows]))


def _outcomes(table: Table) -> list[str]:
    outcomes = [row["outcome"] for row in table.rows]
    table.refuse({row: partial(_no_outcome, outcome) for row, outcome in enumerate(outcomes) if outcome not in ANSWERS})
    return outcomes


def _no_outcome(text: str) -> str:
    return f"{text!r} is not an outcome{did_you_mean(text, ANSWERS)}; use one of {', '.join(ANSWERS)}"


def _outcomes_of_winners(table: Table) -> list[str]:
    """Read the outcomes of a table of winners and losers, which need not have any: the winner counts as the left area.

    'right' would be the winner's side to some and a win of the loser to others.
    """
    outcomes = [row.get("outcome") or "left" for row in table.rows]
    table.refuse(
        {
            row: f"the outcome {outcome!r} does not go with a winner and a loser; leave it empty where the winner won, "
            "and otherwise write tie, skipped or unknown"
            for row, outcome in enumerate(outcomes)
            if outcome not in ANSWERS or outcome == "right"
        }
    )
    return outcomes


def _check_winners(table: Table, outcomes: Sequence[str], areas: Areas) -> None:
    """Refuse rows that name, beside the outcome, a winner or a loser that it contradicts; cells may be empty."""
    lookup, mistakes = areas.lookup, {}
    for row, (cells, outcome) in enumerate(zip(table.rows, outcomes, strict=True)):
        sides = {"left": ("left", "right"), "right": ("right", "left")}.get(outcome)
        for column, side in zip(("winner", "loser"), sides or (None, None), strict=True):
            area = cells.get(column)
            if area and (side is None or lookup.get(clean_label(area)) != lookup[clean_label(cells[side])]):
                mistakes[row] = f"the outcome is {outcome!r}, but the {column} is {area!r}; correct one of them"
    table.refuse(mistakes)


def _moment(text: str) -> float:
    """Read a time, in UTC unless it says otherwise; nan if it is not one, because no model depends on it."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return np.nan
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _positions(table: Table, first: str, second: str, areas: Areas) -> tuple[IntArray, IntArray]:
    """Look up both areas of every row; report those that are not on the map, or that are compared with themselves."""
    lookup = areas.lookup
    left = [lookup.get(clean_label(row[first]), -1) for row in table.rows]
    right = [lookup.get(clean_label(row[second]), -1) for row in table.rows]
    if all(place < 0 for place in (*left, *right)):
        raise StudyError(
            f"{table.path.name} and the map have no area in common: the table names {quoted(_some(table, first))}, "
            f"the map {quoted(areas.ids[:3])} ({quoted(areas.names[:3])}); "
            "check that both use the same ids, or choose the map's id column"
        )
    mistakes: dict[int, str | Callable[[], str]] = {}
    for row, (a, b) in enumerate(zip(left, right, strict=True)):
        if a < 0 or b < 0:
            column = first if a < 0 else second
            area = table.rows[row][column]
            empty = f"the cell of {column!r} is empty; name an area or remove the row"
            mistakes[row] = partial(areas.unknown, area) if area else empty
        elif a == b:
            area = table.rows[row][first]
            mistakes[row] = f"{area!r} is compared with itself; correct it or remove the row"
    table.refuse(mistakes)
    return np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)


def _some(table: Table, column: str) -> Sequence[str]:
    return list(dict.fromkeys(row[column] for row in table.rows[:50]))[:3]


def _seconds(table: Table) -> FloatArray:
    """Read the times, allowing decimal commas: empty cells are nan, and anything else but a time is an error."""
    seconds = np.full(len(table.rows), np.nan)
    mistakes: dict[int, str] = {}
    for row, cells in enumerate(table.rows):
        if not cells.get("seconds"):
            continue
        try:
            seconds[row] = read_number(cells["seconds"])
        except ValueError:
            seconds[row] = -1.0
        if not (np.isfinite(seconds[row]) and seconds[row] >= 0):
            mistakes[row] = f"{cells['seconds']!r} is not a number of seconds; write one, or leave the cell empty"
    table.refuse(mistakes)
    return seconds
