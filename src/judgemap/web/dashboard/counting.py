"""A study's comparisons for counting, however many there are: packed by judge, and re-read when a judge answers.

A page that counts a hundred thousand answers cannot read them all each time. So each judge's comparisons are kept as
one array in a database row (a tally), where every process finds them. The worker brings tallies up to date every few
seconds; a page reads what has come in since, and writes nothing. A tally depends only on the pairs and answers, so no
running total can drift.

A judge's stamp shows whether anything has changed: every answer, new or revised, moves the judge's ``busy_until``;
every pair that is shown or left alone changes the last position or whether a pair is open; and a withdrawal clears all
of these. The stamp is read before the rows, so a tally may be newer than its stamp, which costs one more reading, but
never older. Whatever a judge does locks the judge's row, so a judge's keys grow in the order in which they become
visible, and everything new has a key above the last ones seen.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
from django.db import DatabaseError, transaction
from django.db.models import Exists, Max, OuterRef, QuerySet
from numpy.typing import NDArray

from judgemap.core.types import BoolArray, IntArray
from judgemap.study.data.comparisons import Comparisons, Outcome
from judgemap.web.dashboard.models import JudgeTally
from judgemap.web.judge.comparisons import SIDES, History, area_ids
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.studies.models import Study

ROW = np.dtype(
    [
        ("position", "<u4"),
        ("left", "<u2"),
        ("right", "<u2"),
        ("outcome", "u1"),
        ("unknown_side", "u1"),
        ("seconds", "<f8"),
        ("answered_at", "<f8"),
    ]
)
"""A pair that was shown and what was last said about it: columns of `History`."""
FORMAT = "3"
"""Changed with `ROW`, so that tallies of an earlier version are rebuilt."""
Rows = NDArray[np.void]

NEAR = 5000
"""A judge last read this many pairs or answers ago (of all judges) is read in full; for others, only what is new."""
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class JudgeFacts:
    """What a study's pages know about a judge besides the comparisons."""

    name: str
    judged: int
    withdrawn: bool
    joined: datetime


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """All comparisons of a study, and what else tallies know about them.

    ``data`` has its judges in the order of ``judges``, including those without comparisons. For each comparison,
    ``position`` is its number among the judge's pairs and ``unknown_side`` an index into `SIDES`.
    """

    judges: list[JudgeFacts]
    data: Comparisons
    position: IntArray
    unknown_side: IntArray

    @property
    def place(self) -> IntArray:
        """The number of each pair among its judge's, from 1; older studies went on counting after practice."""
        first = np.full(len(self.judges), np.iinfo(np.int64).max)
        np.minimum.at(first, self.data.judge, self.position)
        places: IntArray = self.position - first[self.data.judge] + 1
        return places

    @property
    def answered(self) -> BoolArray:
        """Which pairs were answered at all."""
        return np.not_equal(self.data.outcome, Outcome.OPEN)

    @property
    def judged(self) -> BoolArray:
        """Which pairs were judged: chosen, tied or skipped, by somebody who knows both areas."""
        return np.less_equal(self.data.outcome, Outcome.SKIPPED)

    def unknown(self, side: str) -> BoolArray:
        """Which pairs were left alone because the judge does not know the area on this side."""
        return np.equal(self.unknown_side, SIDES.index(side))


def count(study: Study) -> Counted:
    """Return a study's comparisons as they are now."""
    judges = list(_judges(study))
    tallies = {row[0]: JudgeTally(*row) for row in _tallies(study)}
    tallies |= {tally.judge_id: tally for tally in _fresh(study, judges, tallies)}
    packed = [tallies[name].rows if name in tallies else b"" for name, *_ in judges]
    rows = np.frombuffer(b"".join(packed), ROW)
    judge = np.repeat(np.arange(len(packed)), [len(each) // ROW.itemsize for each in packed])
    names = tuple(name for name, *_ in judges)
    columns = (rows["left"], rows["right"], rows["outcome"], rows["seconds"], rows["answered_at"])
    data = Comparisons(area_ids(study), names, judge, *columns)
    position, unknown_side = rows["position"].astype(np.int64), rows["unknown_side"].astype(np.int64)
    return Counted([facts for *_, facts in judges], data, position, unknown_side)


def keep_tallies(study: Study) -> None:
    """Bring the stored tallies of a study up to date; for those that need no change, only the stamps are read."""
    stamps = dict(_tallies(study).values_list("judge_id", "stamp"))
    changed = [each for each in _judges(study) if stamps.get(each[0]) != each[1]]
    names = [name for name, *_ in changed if name in stamps]
    rows = (row for some in _chunks(names) for row in _tallies(study).filter(judge__in=some))
    if fresh := _fresh(study, changed, {row[0]: JudgeTally(*row) for row in rows}):
        _keep(fresh)


class Upkeep:
    """Keeps the tallies of every study with new answers up to date; one per process, called now and then.

    ``also`` is called for each such study, and again in the next round if it returns False.
    """

    def __init__(self, also: Callable[[Study], bool] = lambda study: True) -> None:  # noqa: ARG005
        self._seen = 0
        self._also = also
        self._behind: set[int] = set()

    def __call__(self, **_: object) -> None:
        """Look for answers that came since the last call."""
        newest = Answer.objects.aggregate(last=Max("pk"))["last"] or 0
        if newest > self._seen:
            made = Study.objects.exclude(current=None)
            for study in made.filter(judges__pairs__answers__pk__gt=self._seen).distinct():
                keep_tallies(study)
                self._behind.add(study.pk)
        self._seen = newest
        for study in Study.objects.filter(pk__in=self._behind):
            if self._also(study):
                self._behind.discard(study.pk)


def _fresh(
    study: Study, judges: Sequence[tuple[str, str, JudgeFacts]], tallies: dict[str, JudgeTally]
) -> list[JudgeTally]:
    """Return new tallies of the judges who have done something since theirs were stored."""
    stale = {
        name: stamp
        for name, stamp, facts in judges
        if not facts.withdrawn and (name not in tallies or tallies[name].stamp != stamp)
    }
    return _brought_up_to_date(study, stale, tallies) if stale else []


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
        History.read(study, Pair.objects.filter(judge__in=names))
        for names in _chunks([each for each in stale if each not in near])
    ]
    read += [History.read(study, Pair.objects.filter(pk__in=some)) for some in _chunks(keys)]
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
    """Yield the judges with little to read; the others are new, or were last read long ago."""
    last_pair = Pair.objects.aggregate(last=Max("pk"))["last"] or 0
    last_answer = Answer.objects.aggregate(last=Max("pk"))["last"] or 0
    for name in stale:
        kept = tallies.get(name)
        if kept is None or not kept.rows:
            continue
        if last_pair - kept.seen_pair < NEAR and last_answer - kept.seen_answer < NEAR:
            yield name


def _news(near: dict[str, JudgeTally]) -> tuple[list[int], dict[str, tuple[int, int]]]:
    """Return the keys of pairs shown or answered since these tallies, and each judge's last pair and answer.

    The pairs themselves are read later, and may have further answers by then: the next round reads them again.
    """
    if not near:
        return [], {}
    shown = Pair.objects.filter(pk__gt=min(tally.seen_pair for tally in near.values()))
    answered = Answer.objects.filter(pk__gt=min(tally.seen_answer for tally in near.values()))
    keys: set[int] = set()
    last_pair = {name: tally.seen_pair for name, tally in near.items()}
    last_answer = {name: tally.seen_answer for name, tally in near.items()}
    for name, key in shown.values_list("judge_id", "pk"):
        if name in near:
            keys.add(key)
            last_pair[name] = max(last_pair[name], key)
    for name, key, answer in answered.values_list("pair__judge_id", "pair_id", "pk"):
        if name in near:
            keys.add(key)
            last_answer[name] = max(last_answer[name], answer)
    return sorted(keys), {name: (last_pair[name], last_answer[name]) for name in near}


def _merged(old: Rows, new: Rows) -> Rows:
    """Return the old rows, with those at the same positions replaced by the new ones."""
    rows = np.concatenate([old[~np.isin(old["position"], new["position"])], new])
    return rows[np.argsort(rows["position"])]


def _by_judge(read: Sequence[History]) -> dict[str, tuple[Rows, int, int]]:
    """Split what was read by judge: the rows, and the last pair and answer among them."""
    pieces: dict[str, tuple[Rows, int, int]] = {}
    for history in read:
        last = history.last()
        packed = _packed(last)
        starts = np.flatnonzero(last.judge[1:] != last.judge[:-1]) + 1
        for mine in np.split(np.arange(len(last)), starts) if len(last) else ():
            name = last.judge[mine[0]]
            rows, seen_pair, seen_answer = pieces.get(name, (np.empty(0, ROW), 0, 0))
            pieces[name] = (
                _merged(rows, packed[mine]),
                max(seen_pair, int(last.pair[mine].max())),
                max(seen_answer, int(last.answer[mine].max())),
            )
    return pieces


def _packed(history: History) -> Rows:
    rows = np.empty(len(history), ROW)
    for name in ROW.names or ():
        rows[name] = getattr(history, name)
    return rows


def _keep(tallies: list[JudgeTally]) -> None:
    """Store tallies for the next round. If that fails, the next round reads the same rows again.

    The judges' rows are locked, so that nothing is stored about a judge who withdraws at this moment.
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
