"""The answers that a fit was made of, found again after more have come in: nothing is kept twice for it."""

from bisect import bisect_right
from collections.abc import Iterator
from datetime import datetime
from itertools import islice

import numpy as np
from django.db.models import F

from judgemap.errors import StudyError
from judgemap.study.comparisons import Comparisons
from judgemap.web.judge.comparisons import seconds_in_view
from judgemap.web.judge.models import Answer, Pair
from judgemap.web.results.models import FitRun
from judgemap.web.studies.models import Area

MOMENTS = 50
"""How many moments are tried at which as many pairs had been shown as the fit knows of."""
_Pair = tuple[int, str, int, int, datetime]
_Given = tuple[int, str, int | None, datetime]
ANSWERS_CHANGED = (
    "the answers that this fit was made of are not all there any more: a judge withdrew; make a new fit, and download "
    "its archive"
)


def answers_of(run: FitRun) -> Comparisons:
    """Return the very comparisons that a fit was made of, which its hash of the data tells.

    Pairs and answers are only ever added, so the answers at a moment are those given by then. Which moment the worker
    read them at is found by trying those at which something happened, from the start of the fit.
    """
    shown = Pair.objects.filter(judge__study=run.study, practice=False).order_by("judge_id", "position")
    if run.only:
        shown = shown.filter(judge__in=run.only)
    pairs = list(
        shown.exclude(judge__in=run.left_out).values_list(
            "pk", "judge_id", F("left__position"), F("right__position"), "issued_at"
        )
    )
    given = list(
        Answer.objects.filter(pair__judge__study=run.study, pair__practice=False)
        .order_by("revision")
        .values_list("pair_id", "outcome", "seen_ms", "answered_at")
    )
    ids = tuple(Area.objects.filter(study=run.study).order_by("position").values_list("code", flat=True))
    issued = sorted(pair[4] for pair in pairs)
    moments = _moments(run, [*issued, *(answer[3] for answer in given)])
    right_number = (each for each in moments if bisect_right(issued, each) == run.record.data.shown)
    for moment in islice(right_number, MOMENTS):
        data = _at(moment, run, ids, pairs, given)
        if data.digest() == run.data_sha256:
            return data
    raise StudyError(ANSWERS_CHANGED)


def _moments(run: FitRun, times: list[datetime]) -> Iterator[datetime]:
    """Yield the moments to try: the last there is, the fit's beginning, and each one after it."""
    began = run.started_at or run.asked_at
    if times:
        yield max(times)
    yield began
    yield from sorted({time for time in times if began < time <= (run.finished_at or time)})


def _at(moment: datetime, run: FitRun, ids: tuple[str, ...], pairs: list[_Pair], given: list[_Given]) -> Comparisons:
    """Return the comparisons as they were at a moment."""
    said = {pair: (outcome, seen_ms, at) for pair, outcome, seen_ms, at in given if at <= moment}
    rows = [(pair, said.get(pair[0])) for pair in pairs if pair[4] <= moment]
    return Comparisons.from_words(
        ids=ids,
        judge=[pair[1] for pair, _ in rows],
        left=np.array([pair[2] for pair, _ in rows], dtype=np.int64),
        right=np.array([pair[3] for pair, _ in rows], dtype=np.int64),
        outcome=[answer[0] if answer else "open" for _, answer in rows],
        seconds=np.array([seconds_in_view(pair[4], *answer[1:]) if answer else np.nan for pair, answer in rows]),
        winner_is="lower" if run.version.direction == "lower" else "higher",
    )
