"""A study's answers from the database: the only reader of the last answer to each pair.

Rows are only ever added: a changed answer is a new row with the next revision. So the last answer is the one with the
highest revision, and the answer at an earlier time is the highest revision given by then. Statistics get
`jm.Comparisons`; the export, the API and the dashboard, which show more about a pair, use the `History` itself.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from django.db.models import QuerySet, TextField
from django.db.models.expressions import Func
from numpy.typing import NDArray

from judgemap.core.types import BoolArray, FloatArray, IntArray
from judgemap.study.data.comparisons import OUTCOMES, Comparisons, Direction, Outcome, judge_codes
from judgemap.web.judge.models import Pair
from judgemap.web.studies.areas import area_keys
from judgemap.web.studies.models import Area, Study

SIDES = ("", "left", "right")
IN_TABLES = ("answers__revision", "answers__reason", "design", "probability", "version__number")
"""The further columns of tables: ``History.read(study, more=IN_TABLES).rows(ids)``."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Moment(Func):
    """A time as text in UTC, without the cost of a Python object."""

    template = "CAST(%(expressions)s AS text)"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:  # noqa: ANN401 - Django's
        """Write a time with a zone as one without."""
        return super().as_sql(compiler, connection, template="CAST(%(expressions)s AT TIME ZONE 'UTC' AS text)", **more)


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """Pairs that were shown, except for practice, with all answers: one row per answer, or per pair without one.

    Rows are ordered by judge, position and revision. ``pair`` and ``answer`` are keys, ``left`` and ``right`` positions
    of areas, ``unknown_side`` an index into `SIDES`, and times are in microseconds since 1970 (UTC). If there is no
    answer, ``answer``, ``seen_ms`` and ``answered`` are −1 and the outcome is open. ``more`` holds further columns.
    """

    judge: NDArray[np.object_]
    pair: IntArray
    position: IntArray
    left: IntArray
    right: IntArray
    issued: IntArray
    answer: IntArray
    outcome: IntArray
    unknown_side: IntArray
    seen_ms: IntArray
    answered: IntArray
    more: dict[str, NDArray[np.object_]]

    @classmethod
    def read(cls, study: Study, pairs: QuerySet[Pair] | None = None, more: Sequence[str] = ()) -> "History":
        """Read the history of a study, or of some of its pairs; ``more`` names further fields to read."""
        shown = Pair.objects.filter(judge__study=study) if pairs is None else pairs
        rows = shown.filter(practice=False).order_by("judge_id", "position", "answers__revision").values_list(
            "judge_id", "pk", "position", "left_id", "right_id", Moment("issued_at"), "answers__pk", "answers__outcome",
            "answers__unknown_side", "answers__seen_ms", Moment("answers__answered_at"), *more,
        )  # fmt: skip
        columns = list(zip(*rows, strict=True)) or [()] * (11 + len(more))
        keys = area_keys(study.pk)

        def place(areas: Collection[int]) -> IntArray:
            return np.asarray(keys[np.searchsorted(keys[:, 0], np.array(areas, dtype=np.int64)), 1])

        return cls(
            judge=_objects(columns[0]),
            pair=_ints(columns[1]),
            position=_ints(columns[2]),
            left=place(columns[3]),
            right=place(columns[4]),
            issued=_microseconds(columns[5]),
            answer=_ints(columns[6]),
            outcome=_codes(columns[7], OUTCOMES, Outcome.OPEN),
            unknown_side=_codes(columns[8], SIDES, 0),
            seen_ms=_ints(columns[9]),
            answered=_microseconds(columns[10]),
            more={name: _objects(column) for name, column in zip(more, columns[11:], strict=True)},
        )

    def __len__(self) -> int:
        return len(self.pair)

    def where(self, rows: IntArray | BoolArray) -> "History":
        """Keep some of the rows, in the given order."""
        columns = {name: getattr(self, name)[rows] for name in self.__slots__ if name != "more"}
        return History(**columns, more={name: column[rows] for name, column in self.more.items()})

    def last(self, at: datetime | None = None) -> "History":
        """Keep one row per pair: its last answer, now or at an earlier moment, when the pair may have been open."""
        history = self if at is None else self._by(microseconds(at))
        starts = np.diff(history.pair, prepend=-1) != 0
        # A pair's rows are in the order of revisions; a row without an answer ranks lowest, so any answer is preferred.
        rank = np.where(history.answer < 0, -1, np.arange(len(history)))
        order = np.lexsort((rank, np.cumsum(starts)))
        return history.where(order[np.flatnonzero(np.append(starts[1:], True))]) if len(history) else history

    def _by(self, moment: int) -> "History":
        """Return the rows as they stood at a moment: answers that came later are open pairs."""
        shown = self.where(self.issued <= moment)
        late = shown.answered > moment
        for column in (shown.answer, shown.seen_ms, shown.answered):
            column[late] = -1
        shown.outcome[late], shown.unknown_side[late] = Outcome.OPEN, 0
        return shown

    @property
    def seconds(self) -> FloatArray:
        """How long each pair was in view, by the browser's clock, or by the server's if there was no script."""
        seconds = np.where(self.answered < 0, np.nan, self.seen_ms / 1000)
        for row in np.flatnonzero((self.seen_ms < 0) & (self.answered >= 0)):
            seconds[row] = round(max(int(self.answered[row] - self.issued[row]) / 10**6, 0.0), 3)
        return seconds

    @property
    def answered_at(self) -> FloatArray:
        """When each answer was given, in seconds since 1970; nan if there is none."""
        return np.where(self.answered < 0, np.nan, self.answered / 10**6)

    def comparisons(self, ids: Sequence[str], winner_is: Direction) -> Comparisons:
        """Return the rows as the statistics need them; ``ids`` are the areas' ids, by position."""
        judges, judge = judge_codes(self.judge.tolist())
        columns = (self.left, self.right, self.outcome, self.seconds, self.answered_at)
        return Comparisons(tuple(ids), judges, judge, *columns, winner_is=winner_is)

    def rows(self, ids: Sequence[str]) -> Iterator["TableRow"]:
        """Yield the rows as tables show them; ``ids`` are the areas' ids, by position."""
        columns = (self.pair, self.left, self.right, self.outcome, self.unknown_side, self.seconds, self.answered,
                   self.issued, self.position)  # fmt: skip
        more = zip(*(self.more[name] for name in IN_TABLES), strict=True)
        cells = zip(*(column.tolist() for column in columns), strict=True)
        for judge, row, (revision, reason, *drawn) in zip(self.judge, cells, more, strict=True):
            pair, left, right, outcome, side, seconds, answered, issued, position = row
            given, shown = (EPOCH + timedelta(microseconds=each) for each in (answered, issued))
            yield TableRow(
                pair, judge, ids[left], ids[right], OUTCOMES[outcome], SIDES[side], seconds,
                given if answered >= 0 else None, shown, position, revision or 0, reason or "", *drawn,
            )  # fmt: skip


class TableRow(NamedTuple):
    """A pair and an answer to it in words; ``seconds`` is nan and ``answered_at`` None if there is no answer."""

    pair: int
    judge: str
    left: str
    right: str
    outcome: str
    unknown_side: str
    seconds: float
    answered_at: datetime | None
    issued_at: datetime
    position: int
    revision: int
    reason: str
    design: str
    probability: float
    version: int


def load_comparisons(study: Study) -> Comparisons:
    """Return every pair shown, with its last answer: the same as `jm.read_comparisons` reads from the export."""
    return History.read(study).last().comparisons(area_ids(study), direction(study.version.direction))


def area_ids(study: Study) -> tuple[str, ...]:
    """Return the areas' ids, by position."""
    return tuple(Area.objects.filter(study=study).order_by("position").values_list("code", flat=True))


def direction(word: str) -> Direction:
    """Return the library's type for whether the winner has the lower or the higher rate."""
    return "lower" if word == "lower" else "higher"


def microseconds(moment: datetime) -> int:
    """Count microseconds since 1970."""
    return (moment - EPOCH) // timedelta(microseconds=1)


def _objects(column: Collection[object]) -> NDArray[np.object_]:
    array = np.empty(len(column), dtype=object)
    array[:] = column
    return array


def _ints(column: Collection[int | None]) -> IntArray:
    """Turn a column of numbers into an array, with −1 for None."""
    return np.array([-1 if each is None else each for each in column], dtype=np.int64)


def _codes(column: Collection[str | None], words: Sequence[str], nothing: int) -> IntArray:
    codes = {word: code for code, word in enumerate(words)}
    return np.fromiter((nothing if word is None else codes[word] for word in column), np.int64, len(column))


def _microseconds(column: Collection[str | None]) -> IntArray:
    """Read times as microseconds since 1970, with −1 for None."""
    parsed = np.array([each or "NaT" for each in column], dtype="datetime64[us]").astype(np.int64)
    return np.where(parsed == np.iinfo(np.int64).min, -1, parsed)
