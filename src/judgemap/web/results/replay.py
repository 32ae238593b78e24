"""The answers that a fit was made of, found again after more have come in: nothing is kept twice for it."""

from collections.abc import Iterator
from datetime import datetime
from itertools import islice

import numpy as np

from judgemap.core.types import IntArray
from judgemap.errors import StudyError
from judgemap.study.comparisons import Comparisons
from judgemap.web.judge.comparisons import History, area_ids, direction, microseconds, moment_of
from judgemap.web.judge.models import Pair
from judgemap.web.results.models import FitRun

MOMENTS = 50
"""How many moments are tried at which as many pairs had been shown as the fit knows of."""
ANSWERS_CHANGED = (
    "not all answers of this fit are still there: a judge withdrew; make a new fit and download its archive"
)


def answers_of(run: FitRun) -> Comparisons:
    """Return the very comparisons that a fit was made of, which its hash of the data tells.

    Pairs and answers are only ever added, so the answers at a moment are those given by then. Which moment the worker
    read them at is found by trying those at which something happened, from the start of the fit.
    """
    shown = Pair.objects.filter(judge__study=run.study).exclude(judge__in=run.left_out)
    history = History.read(run.study, shown.filter(judge__in=run.only) if run.only else shown)
    ids, winner_is = area_ids(run.study), direction(run.version.direction)
    issued = np.sort(history.last().issued)
    times = np.unique(np.concatenate([issued, history.answered[history.answered >= 0]]))
    known = run.record.data.shown
    at_its_size = (
        each for each in _moments(run, times) if np.searchsorted(issued, microseconds(each), side="right") == known
    )
    for moment in islice(at_its_size, MOMENTS):
        data = history.last(moment).comparisons(ids, winner_is)
        if data.digest() == run.data_sha256:
            return data
    raise StudyError(ANSWERS_CHANGED)


def _moments(run: FitRun, times: IntArray) -> Iterator[datetime]:
    """Yield the moments to try: the last there is, the fit's beginning, and each one after it."""
    began = run.started_at or run.asked_at
    if len(times):
        yield moment_of(times[-1])
    yield began
    end = times[-1] if run.finished_at is None and len(times) else microseconds(run.finished_at or began)
    yield from (moment_of(each) for each in times[(times > microseconds(began)) & (times <= end)])
