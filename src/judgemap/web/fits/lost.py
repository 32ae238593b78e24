"""Fits whose worker was heard of no more: killed, or its machine switched off."""

from datetime import timedelta

from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils import timezone

from judgemap.web.fits.models import FitRun
from judgemap.web.fits.progress import log_line

SILENCE = timedelta(seconds=30)
"""A worker that makes a fit writes every two seconds; after so long without it is taken for dead."""
SAID = "The worker that made this fit was heard of no more, so the fit is lost; no answer is. Start it again."
NO_MORE = "the worker was heard of no more: pictures and briefing may be missing; fit again to have all"


def is_silent(run: FitRun) -> bool:
    """Say whether a worker should have written of a fit, and has not."""
    at_work = run.status == FitRun.Status.RUNNING or (run.status == FitRun.Status.DONE and run.explained_at is None)
    return at_work and run.heard_at is not None and run.heard_at < timezone.now() - SILENCE


def mark_lost() -> int:
    """Mark the fits that nobody makes any more, and return how many there were."""
    now = timezone.now()
    silent = FitRun.objects.filter(heard_at__lt=now - SILENCE)
    silent.filter(status=FitRun.Status.DONE, explained_at=None).update(
        explained_at=now, log=Concat(F("log"), Value(log_line(NO_MORE)))
    )
    return silent.filter(status=FitRun.Status.RUNNING).update(
        status=FitRun.Status.LOST, finished_at=now, said=SAID, log=Concat(F("log"), Value(log_line(SAID)))
    )
