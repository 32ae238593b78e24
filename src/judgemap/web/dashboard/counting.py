"""A study's answers, counted for its live pages: read for each page or, if there are very many, by the worker.

What is read depends only on pairs and answers, so no running total can drift, and what the worker keeps may be deleted
at any time. It is deleted when a judge withdraws.

The page of judges needs every time and every repeat of each judge, and the live page a median and the parts of the map
that decisions link: a database that groups rows gives none of these. So each pair is read once, with its last answer,
and NumPy counts.
"""

import io
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from django.db import transaction
from django.db.models import Count, Max, Sum
from django.utils import timezone
from numpy.typing import NDArray

from judgemap.core.types import BoolArray, FloatArray, IntArray
from judgemap.study.data.comparisons import Comparisons, Outcome
from judgemap.web.dashboard.models import StudyCounts
from judgemap.web.judge.comparisons import SIDES, History, area_ids
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.studies.models import Study

ROW = np.dtype(
    [
        ("judge", "<u4"),
        ("position", "<u4"),
        ("left", "<u2"),
        ("right", "<u2"),
        ("outcome", "u1"),
        ("unknown_side", "u1"),
        ("seconds", "<f8"),
        ("answered_at", "<f8"),
    ]
)
"""A pair that was shown and what was last said about it: columns of `History`; the judge by a place among names."""
Rows = NDArray[np.void]
AT_ONCE = 500
"""How many judges' pairs are read at a time."""
HOUR = 3600
"""An hour, in seconds."""
MANY = 20_000
"""With this many answers, the worker counts them, and pages show its last count."""
EVERY = timedelta(seconds=30)
SLOWER = 10
"""The worker waits at least this many times as long as the last count took."""


class Outcomes(NamedTuple):
    """Pairs by what was said about them; shares are None if there is nothing to share."""

    left: int
    right: int
    tie: int
    skipped: int
    unknown: int
    open: int

    @property
    def decided(self) -> int:
        """Pairs with a winner."""
        return self.left + self.right

    @property
    def judged(self) -> int:
        """Pairs that were judged, by somebody who knows both areas."""
        return self.decided + self.tie + self.skipped

    @property
    def answered(self) -> int:
        """Pairs with any answer."""
        return self.judged + self.unknown

    @property
    def shown(self) -> int:
        """Pairs that were shown, answered or not."""
        return sum(self)

    @property
    def left_share(self) -> float | None:
        """The share of decided pairs in which the left area was chosen."""
        return self.left / self.decided if self.decided else None

    @property
    def tie_share(self) -> float | None:
        """The share of ties among the pairs judged."""
        return self.tie / self.judged if self.judged else None

    @property
    def skip_share(self) -> float | None:
        """The share of skips among the pairs judged."""
        return self.skipped / self.judged if self.judged else None

    @property
    def unknown_share(self) -> float | None:
        """The share of answers that say "I don't know this area"."""
        return self.unknown / self.answered if self.answered else None


class JudgeFacts(NamedTuple):
    """What a study's pages know about a judge besides the comparisons."""

    name: str
    judged: int
    withdrawn_at: datetime | None


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


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Counts of answers by what was said, by area, by hour and by position, and of judges."""

    outcomes: IntArray
    """Counts by `Outcome`, with open pairs last."""
    judged: IntArray
    shown: IntArray
    unknown: IntArray
    """For each area, how often it was judged, shown, and not known to the judge who was shown it."""
    hours: IntArray
    """The hours (since 1970) with answers; ``in_hour`` says how many each had."""
    in_hour: IntArray
    at_position: IntArray
    """How many answers were a judge's first, second, …"""
    times: FloatArray
    """The median time for a pair, the first and the last answer; nan if there is none."""
    judge_judged: IntArray
    judge_withdrawn: BoolArray
    judge_last: FloatArray
    """For each judge: how many pairs they judged, whether they withdrew, when they last answered (−1 for never)."""
    linked: IntArray
    """How many areas were in a decided pair, and how many groups the decided pairs link them into."""

    def pack(self) -> bytes:
        """Write the counts as bytes."""
        packed = io.BytesIO()
        np.savez(packed, **{name: getattr(self, name) for name in self.__slots__})
        return packed.getvalue()

    @classmethod
    def unpack(cls, packed: bytes) -> "Numbers":
        """Read what `pack` wrote."""
        with np.load(io.BytesIO(packed)) as arrays:
            return cls(**{name: arrays[name] for name in cls.__slots__})


def add_up(counted: Counted, n_areas: int) -> Numbers:
    """Add up all answers of a study."""
    data, answered = counted.data, counted.answered
    shown = np.ones(len(data), dtype=np.bool_)
    at = data.answered_at[answered]
    hours, in_hour = np.unique((at // HOUR).astype(np.int64), return_counts=True)
    seconds = data.seconds[answered]
    last = np.full(len(counted.judges), -1.0)
    np.fmax.at(last, data.judge, data.answered_at)

    def tally(left: BoolArray, right: BoolArray) -> IntArray:
        return np.bincount(np.concatenate([data.left[left], data.right[right]]), minlength=n_areas)

    return Numbers(
        outcomes=np.array([data.count(each) for each in Outcome]),
        judged=tally(counted.judged, counted.judged),
        shown=tally(shown, shown),
        unknown=tally(counted.unknown("left"), counted.unknown("right")),
        hours=hours,
        in_hour=in_hour,
        at_position=np.bincount(counted.position[answered])[1:],
        times=np.array([np.median(seconds), at.min(), at.max()]) if len(at) else np.full(3, np.nan),
        judge_judged=np.array([judge.judged for judge in counted.judges], dtype=np.int64),
        judge_withdrawn=np.array([judge.withdrawn_at is not None for judge in counted.judges], dtype=np.bool_),
        judge_last=last,
        linked=_linked(data) if data.decided.any() else np.zeros(2, dtype=np.int64),
    )


def _linked(data: Comparisons) -> IntArray:
    """Count the areas that were in a decided pair, and the groups that the decided pairs link them into."""
    counts = data.counts().decided()
    decided = counts.per_area() > 0
    return np.array([int(decided.sum()), len(np.unique(counts.components()[decided]))])


def count(study: Study) -> Counted:
    """Return a study's comparisons as they are now or, if there are very many, as the worker last read them."""
    judges = _judges(study)
    kept = StudyCounts.objects.filter(study=study).values_list("rows", "names").first()
    if kept:
        rows, names = np.frombuffer(kept[0], ROW), kept[1]
    else:
        names = [facts.name for facts in judges]
        rows = _rows_at(study.pk, tuple(names), _stamp(study))
    return _counted(study, judges, rows, names)


def _counted(study: Study, judges: list[JudgeFacts], rows: Rows, names: list[str]) -> Counted:
    place = {facts.name: number for number, facts in enumerate(judges)}
    judge = np.array([place[name] for name in names], dtype=np.int64)[rows["judge"]]
    columns = (rows["left"], rows["right"], rows["outcome"], rows["seconds"], rows["answered_at"])
    data = Comparisons(area_ids(study), tuple(place), judge, *columns)
    return Counted(judges, data, rows["position"].astype(np.int64), rows["unknown_side"].astype(np.int64))


def _judges(study: Study) -> list[JudgeFacts]:
    """Return the facts about each judge, by name."""
    rows = Judge.objects.filter(study=study).order_by("name").values_list(*JudgeFacts._fields)
    return [JudgeFacts(*row) for row in rows]


def _withdrawn(judges: list[JudgeFacts]) -> int:
    return sum(each.withdrawn_at is not None for each in judges)


def _stamp(study: Study) -> tuple[int | None, ...]:
    """Return numbers that change whenever a pair is shown or answered, an answer is changed, or a judge withdraws."""
    answers = Answer.objects.filter(pair__judge__study=study).aggregate(last=Max("pk"), count=Count("pk"))
    shown = Pair.objects.filter(judge__study=study).aggregate(last=Max("pk"), count=Count("pk"))
    return (*answers.values(), *shown.values())


@lru_cache(maxsize=4)
def _rows_at(study_id: int, names: tuple[str, ...], stamp: tuple[int | None, ...]) -> Rows:  # noqa: ARG001 - a key
    return _read(Study(pk=study_id), names)


def _read(study: Study, names: tuple[str, ...]) -> Rows:
    """Read every pair that was shown, with its last answer, some judges at a time."""
    place = {name: number for number, name in enumerate(names)}
    parts = [np.empty(0, ROW)]
    for first in range(0, len(names), AT_ONCE):
        some = names[first : first + AT_ONCE]
        last = History.read(study, Pair.objects.filter(judge__study=study, judge__in=some)).last()
        part = np.empty(len(last), ROW)
        part["judge"] = [place[name] for name in last.judge]
        for column in (ROW.names or ())[1:]:
            part[column] = getattr(last, column)
        parts.append(part)
    return np.concatenate(parts)


def numbers_of(study: Study, n_areas: int) -> Numbers:
    """Return a study's counts as they are now or, for a study with very many answers, as they were last stored."""
    kept = StudyCounts.objects.filter(study=study).values_list("packed", flat=True).first()
    return Numbers.unpack(bytes(kept)) if kept else add_up(count(study), n_areas)


def keep_counts(study: Study) -> bool:
    """Store the counts of a study with very many answers; False if they were stored just now and have to wait."""
    if (Judge.objects.filter(study=study).aggregate(total=Sum("judged"))["total"] or 0) < MANY:
        return True
    began = timezone.now()
    if StudyCounts.objects.filter(study=study, due_at__gt=began).exists():
        return False
    judges = _judges(study)
    names = [facts.name for facts in judges]
    rows = _read(study, tuple(names))
    packed = add_up(_counted(study, judges, rows, names), study.areas.count()).pack()
    due = timezone.now() + max(EVERY, SLOWER * (timezone.now() - began))
    kept = {"packed": packed, "rows": rows.tobytes(), "names": names, "due_at": due}
    with transaction.atomic():  # whoever withdraws waits for this, or is noticed
        held = Judge.objects.select_for_update(no_key=True).filter(study=study).order_by("name")
        if sum(gone is not None for gone in held.values_list("withdrawn_at", flat=True)) == _withdrawn(judges):
            StudyCounts.objects.update_or_create(study=study, defaults=kept)
    return True


class Upkeep:
    """Keeps the counts of every study with new answers; one per process, called now and then."""

    def __init__(self) -> None:
        self._seen = 0
        self._behind: set[int] = set()

    def __call__(self, **_: object) -> None:
        """Look for answers that came since the last call, and for studies whose counts had to wait."""
        newest = Answer.objects.aggregate(last=Max("pk"))["last"] or 0
        if newest > self._seen:
            # Answers that are being erased are in a study without a version, which nobody sees.
            fresh = Study.objects.filter(current__isnull=False, judges__pairs__answers__pk__gt=self._seen)
            self._behind |= set(fresh.values_list("pk", flat=True).distinct())
        self._seen = newest
        for study in Study.objects.filter(pk__in=self._behind):
            if keep_counts(study):
                self._behind.discard(study.pk)


def forget_counts(study: Study, **_: object) -> None:
    """Delete stored counts when a study's answers are removed."""
    StudyCounts.objects.filter(study=study).delete()
