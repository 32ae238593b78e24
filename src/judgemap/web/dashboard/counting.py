"""A study's comparisons for counting, however many there are: packed judge by judge, and re-read where a judge went on.

A page that counts a hundred thousand answers cannot read them all each time. So each judge's comparisons are kept as
one array in a row of the database, where every process finds them, and whoever looks brings up to date those that have
changed. What they hold is a function of the pairs and answers alone; nothing is added up that could drift.

Whether a judge has changed is read off the judge's stamp: every answer and every changed answer moves the judge's
``busy_until`` on, every pair that is shown or left alone moves the last position or whether a pair is open, and a
withdrawal takes all of them away. The stamp is read before the rows, so a tally may be newer than its stamp, which
costs one more reading, and never older. All acts of a judge hold the judge's row, so a judge's keys grow in the order
in which they become visible, and those above the last ones seen are all that is new.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.db import DatabaseError, transaction
from django.db.models import Exists, Max, OuterRef, QuerySet, TextField
from django.db.models.expressions import Func
from numpy.typing import NDArray

from judgemap.core.types import BoolArray, IntArray
from judgemap.web.dashboard.models import JudgeTally
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.studies.models import Area, Study

ROW = np.dtype(
    [
        ("position", "<u4"),
        ("left", "<u2"),
        ("right", "<u2"),
        ("said", "u1"),
        ("seconds", "<f8"),
        ("answered", "<i8"),
    ]
)
"""A pair that was shown: areas by position, what was last said (a place in `SAID`), seconds, and when, in µs."""
FORMAT = "2"
"""Changed with `ROW`, so that tallies of an earlier version are rebuilt."""
SAID = ("", "left", "right", "tie", "skipped", "unknown left", "unknown right")
"""Not answered; an outcome; or the side of the area that is not known."""
CODES = {word: code for code, word in enumerate(SAID)}
Rows = NDArray[np.void]

NEAR = 5000
"""A judge last read this many pairs or answers ago (of all judges) is read again; the others have little news."""
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """What a study's pages know of a judge beside the comparisons."""

    name: str
    judged: int
    withdrawn: bool
    joined: datetime


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """All comparisons of a study: ``rows``, and for each the place of its judge in ``judges``."""

    judges: list[JudgeFacts]
    rows: Rows
    owner: IntArray

    def said(self, *words: str) -> BoolArray:
        """Which pairs were last said to be one of these."""
        wanted = np.isin(SAID, words)
        return np.asarray(wanted[self.rows["said"]])

    @property
    def answered(self) -> BoolArray:
        """Which pairs were answered at all."""
        return np.asarray(self.rows["said"] != 0)

    @property
    def judged(self) -> BoolArray:
        """Which pairs were judged: chosen, tied or skipped, by somebody who knows both areas."""
        return self.said("left", "right", "tie", "skipped")

    def of(self, judge: int) -> Rows:
        """Return the comparisons of one judge, in the order in which they were shown."""
        first, last = np.searchsorted(self.owner, [judge, judge + 1])
        return self.rows[first:last]


def count(study: Study) -> Counted:
    """Return a study's comparisons as they are now, and keep what had to be read again."""
    found = list(_judges(study))
    tallies = {row[0]: JudgeTally(*row) for row in _tallies(study)}
    stale = {
        name: stamp
        for name, stamp, facts in found
        if not facts.withdrawn and (name not in tallies or tallies[name].stamp != stamp)
    }
    if stale:
        fresh = _brought_up_to_date(study, stale, tallies)
        _keep(fresh)
        tallies |= {tally.judge_id: tally for tally in fresh}
    empty = np.empty(0, ROW)
    arrays = [np.frombuffer(tallies[name].rows, ROW) if name in tallies else empty for name, _, _ in found]
    owner = np.repeat(np.arange(len(arrays)), [len(each) for each in arrays])
    rows = np.concatenate(arrays) if arrays else np.empty(0, ROW)
    return Counted([facts for *_, facts in found], rows, owner)


def _judges(study: Study) -> Iterator[tuple[str, str, JudgeFacts]]:
    """Yield each judge's name, stamp and facts, by name."""
    shown = Pair.objects.filter(judge=OuterRef("pk"), practice__in=[False]).order_by("-position")
    open_pair = Pair.objects.filter(judge=OuterRef("pk"), open=True)
    judges = Judge.objects.filter(study=study).order_by("name").annotate(
        last=shown.values("position")[:1], opened=Exists(open_pair)
    )  # fmt: skip
    fields = ("name", "judged", "withdrawn_at", "created_at", "busy_until", "last", "opened")
    for name, judged, withdrawn, joined, busy, last, opened in judges.values_list(*fields):
        stamp = f"{FORMAT} {busy.isoformat() if busy else ''} {last or 0} {'open' if opened else ''}"
        yield name, stamp, JudgeFacts(name, judged, withdrawn is not None, joined)


def _tallies(study: Study) -> QuerySet[JudgeTally, Any]:
    kept = JudgeTally.objects.filter(judge__study=study, stamp__startswith=f"{FORMAT} ")
    return kept.values_list("judge_id", "stamp", "seen_pair", "seen_answer", "rows")


def _brought_up_to_date(study: Study, stale: dict[str, str], tallies: dict[str, JudgeTally]) -> list[JudgeTally]:
    near = {name: tallies[name] for name in _near(stale, tallies)}
    keys, last = _news(near)
    read = [
        _Read.of(study, Pair.objects.filter(judge__in=names))
        for names in _chunks([each for each in stale if each not in near])
    ]
    read += [_Read.of(study, Pair.objects.filter(pk__in=some)) for some in _chunks(keys)]
    pieces = _by_judge(read)
    fresh = []
    for name, stamp in sorted(stale.items()):
        rows, seen_pair, seen_answer = pieces.get(name, (np.empty(0, ROW), 0, 0))
        if name in near:
            rows = _merged(np.frombuffer(near[name].rows, ROW), rows)
            seen_pair, seen_answer = last[name]
        seen = {"seen_pair": seen_pair, "seen_answer": seen_answer}
        fresh.append(JudgeTally(judge_id=name, stamp=stamp, rows=rows.tobytes(), **seen))
    return fresh


def _near(stale: Collection[str], tallies: dict[str, JudgeTally]) -> Iterator[str]:
    """Yield the judges with a few news; the others are new, or were last read long ago."""
    last_pair = Pair.objects.aggregate(last=Max("pk"))["last"] or 0
    last_answer = Answer.objects.aggregate(last=Max("pk"))["last"] or 0
    for name in stale:
        kept = tallies.get(name)
        if kept is None or not kept.rows:
            continue
        if last_pair - kept.seen_pair < NEAR and last_answer - kept.seen_answer < NEAR:
            yield name


def _news(near: dict[str, JudgeTally]) -> tuple[list[int], dict[str, tuple[int, int]]]:
    """Return the keys of the pairs that were shown or answered since these tallies, and what each judge's last are.

    The pairs themselves are read later, and may by then have answers beyond these: the next look reads them again.
    """
    if not near:
        return [], {}
    shown = Pair.objects.filter(pk__gt=min(tally.seen_pair for tally in near.values()))
    said = Answer.objects.filter(pk__gt=min(tally.seen_answer for tally in near.values()))
    keys: set[int] = set()
    last_pair = {name: tally.seen_pair for name, tally in near.items()}
    last_answer = {name: tally.seen_answer for name, tally in near.items()}
    for name, key in shown.values_list("judge_id", "pk"):
        if name in near:
            keys.add(key)
            last_pair[name] = max(last_pair[name], key)
    for name, key, answer in said.values_list("pair__judge_id", "pair_id", "pk"):
        if name in near:
            keys.add(key)
            last_answer[name] = max(last_answer[name], answer)
    return sorted(keys), {name: (last_pair[name], last_answer[name]) for name in near}


def _merged(old: Rows, new: Rows) -> Rows:
    """Return the old rows with the new ones in place of those at the same positions."""
    rows = np.concatenate([old[~np.isin(old["position"], new["position"])], new])
    return rows[np.argsort(rows["position"])]


def _by_judge(news: Sequence["_Read"]) -> dict[str, tuple[Rows, int, int]]:
    """Part what was read by judge: the rows, and the last pair and answer among them."""
    pieces: dict[str, tuple[Rows, int, int]] = {}
    for read in news:
        names, owner = np.unique(read.judge, return_inverse=True)
        order = np.lexsort((read.rows["position"], owner))
        ends = np.searchsorted(owner[order], np.arange(len(names) + 1))
        for name, first, last in zip(names.tolist(), ends[:-1], ends[1:], strict=True):
            mine = order[first:last]
            rows, seen_pair, seen_answer = pieces.get(name, (np.empty(0, ROW), 0, 0))
            pieces[name] = (
                _merged(rows, read.rows[mine]),
                max(seen_pair, int(read.pair[mine].max())),
                max(seen_answer, int(read.answer[mine].max())),
            )
    return pieces


def _keep(tallies: list[JudgeTally]) -> None:
    """Keep tallies for the next look. Where that fails, the next look reads again what this one has read.

    The judges' rows are held, so that nothing is kept of a judge who withdraws at this moment.
    """
    try:
        with transaction.atomic():
            held = Judge.objects.select_for_update(no_key=True).order_by("name")
            there = {name for names in _chunks(tallies) for name in held.filter(
                name__in=[tally.judge_id for tally in names], withdrawn_at=None).values_list("name", flat=True)
            }  # fmt: skip
            JudgeTally.objects.bulk_create(
                [tally for tally in tallies if tally.judge_id in there],
                batch_size=AT_ONCE // 5,
                update_conflicts=True,
                unique_fields=["judge"],
                update_fields=["stamp", "seen_pair", "seen_answer", "rows"],
            )
    except DatabaseError:
        return


def _chunks(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    for first in range(0, len(items), AT_ONCE):
        yield items[first : first + AT_ONCE]


class Moment(Func):
    """A time as text in UTC, without the cost of making it a Python object."""

    template = "CAST(%(expressions)s AS text)"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> Any:  # noqa: ANN401 - Django's
        """Write a time with its zone as one without."""
        return super().as_sql(compiler, connection, template="CAST(%(expressions)s AT TIME ZONE 'UTC' AS text)", **more)


@dataclass(frozen=True, slots=True, eq=False)
class _Read:
    """Pairs out of the database with what was last said: the rows, each one's judge, and its and its answer's keys."""

    rows: Rows
    judge: NDArray[np.str_]
    pair: IntArray
    answer: IntArray

    @classmethod
    def of(cls, study: Study, pairs: QuerySet[Pair]) -> "_Read":
        found = pairs.filter(practice=False).values_list(
            "judge_id", "pk", "position", "left_id", "right_id", Moment("issued_at"), "answers__pk", "answers__outcome",
            "answers__unknown_side", "answers__seen_ms", Moment("answers__answered_at"),
        )  # fmt: skip
        columns = list(zip(*found, strict=True)) or [()] * 11
        pair, answer = _ints(columns[1]), _ints(columns[6])
        last = _last_of_each(pair, answer)
        rows = np.empty(len(last), ROW)
        place = _Places.of(study)
        rows["position"] = _ints(columns[2])[last]
        rows["left"], rows["right"] = place(columns[3])[last], place(columns[4])[last]
        rows["said"] = _codes(columns[7], columns[8])[last]
        rows["answered"] = _microseconds(columns[10])[last]
        rows["seconds"] = _seconds(_ints(columns[9])[last], _microseconds(columns[5])[last], rows["answered"])
        return cls(rows, np.array(columns[0], dtype=np.str_)[last], pair[last], answer[last])


class _Places:
    """Areas' positions by their keys."""

    def __init__(self, keys: IntArray, positions: IntArray) -> None:
        self._keys, self._positions = keys, positions

    @classmethod
    def of(cls, study: Study) -> "_Places":
        pairs = np.array(list(Area.objects.filter(study=study).order_by("pk").values_list("pk", "position")))
        return cls(pairs[:, 0], pairs[:, 1])

    def __call__(self, keys: Collection[int]) -> IntArray:
        return self._positions[np.searchsorted(self._keys, np.array(keys, dtype=np.int64))]


def _ints(column: Collection[int | None]) -> IntArray:
    """Make an array of a column of numbers; −1 where there is none."""
    return np.array([-1 if each is None else each for each in column], dtype=np.int64)


def _last_of_each(pair: IntArray, answer: IntArray) -> IntArray:
    """Return where the last answer of each pair is: revisions of a pair are added one after another."""
    order = np.lexsort((answer, pair))
    return order[np.flatnonzero(np.diff(pair[order], append=-1))]


def _codes(outcomes: Collection[str | None], sides: Collection[str | None]) -> IntArray:
    words = (f"unknown {side}" if said == "unknown" else said or "" for said, side in zip(outcomes, sides, strict=True))
    return np.fromiter((CODES[word] for word in words), np.int64, len(outcomes))


def _microseconds(moments: Collection[str | None]) -> IntArray:
    """Read times as microseconds since 1970; −1 where there is none."""
    texts = [each or "NaT" for each in moments]
    parsed = np.array(texts, dtype="datetime64[us]").astype(np.int64)
    return np.where(parsed == np.iinfo(np.int64).min, -1, parsed)


def _seconds(seen_ms: IntArray, issued: IntArray, answered: IntArray) -> NDArray[np.float64]:
    """Return how long each pair was in view, as `judge.comparisons.seconds_in_view` does."""
    seconds = seen_ms / 1000
    for row in np.flatnonzero((seen_ms < 0) & (answered >= 0)):
        seconds[row] = round(max(int(answered[row] - issued[row]) / 10**6, 0.0), 3)
    return np.where(answered < 0, np.nan, seconds)
