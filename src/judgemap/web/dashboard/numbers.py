"""A study's running counts, as shown on the live page. For a study with very many answers they are stored.

Adding up a million answers takes seconds, so the worker does it every half minute and keeps the counts in one row,
which the page reads. They depend only on the answers, so the row may be deleted at any time.
"""

import io
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
from django.db.models import Sum
from django.utils import timezone

from judgemap.core.types import BoolArray, FloatArray, IntArray
from judgemap.study.data.comparisons import Comparisons, Outcome
from judgemap.web.dashboard.counting import Counted, count
from judgemap.web.dashboard.models import StudyCounts
from judgemap.web.judge.models import Judge
from judgemap.web.studies.models import Study

HOUR = 3600
"""An hour, in seconds."""
MANY = 100_000
"""How many answers a study must have for its counts to be stored."""
EVERY = timedelta(seconds=30)


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
        at_position=np.bincount(counted.place[answered])[1:],
        times=np.array([np.median(seconds), at.min(), at.max()]) if len(at) else np.full(3, np.nan),
        judge_judged=np.array([judge.judged for judge in counted.judges], dtype=np.int64),
        judge_withdrawn=np.array([judge.withdrawn for judge in counted.judges], dtype=np.bool_),
        judge_last=last,
        linked=_linked(data) if data.decided.any() else np.zeros(2, dtype=np.int64),
    )


def _linked(data: Comparisons) -> IntArray:
    """Count the areas that were in a decided pair, and the groups that the decided pairs link them into."""
    counts = data.counts().decided()
    decided = counts.per_area() > 0
    return np.array([int(decided.sum()), len(np.unique(counts.components()[decided]))])


def numbers_of(study: Study, n_areas: int) -> Numbers:
    """Return a study's counts as they are now or, for a study with very many answers, as they were last stored."""
    kept = StudyCounts.objects.filter(study=study).values_list("packed", flat=True).first()
    return Numbers.unpack(bytes(kept)) if kept else add_up(count(study), n_areas)


def keep_numbers(study: Study) -> bool:
    """Store the counts of a study with very many answers; False if they were stored just now and have to wait."""
    if (Judge.objects.filter(study=study).aggregate(total=Sum("judged"))["total"] or 0) < MANY:
        return True
    if StudyCounts.objects.filter(study=study, kept_at__gt=timezone.now() - EVERY).exists():
        return False
    packed = add_up(count(study), study.areas.count()).pack()
    StudyCounts.objects.update_or_create(study=study, defaults={"packed": packed, "kept_at": timezone.now()})
    return True


def forget_numbers(study: Study | None = None, judge: Judge | None = None, **_: object) -> None:
    """Delete stored counts when answers are removed: all of a study's, or one judge's."""
    StudyCounts.objects.filter(study=judge.study_id if judge is not None else study).delete()
