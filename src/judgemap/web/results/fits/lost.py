"""Fits whose worker stopped responding: killed, or its machine switched off."""

from datetime import timedelta

from django.db.models import F, Value
from django.db.models.functions import Concat
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from judgemap.web.results.fits.forgetting import forget_withdrawn
from judgemap.web.results.fits.progress import log_line
from judgemap.web.results.fits.tasks import run_fit
from judgemap.web.results.models import FitRun

SILENCE = timedelta(seconds=30)
"""A worker that makes a fit writes every two seconds; after so long without it is taken for dead."""
SAID = "The worker making this fit stopped responding, so the fit is lost; no answers were lost. Start it again."
NO_MORE = "the worker stopped responding: pictures and briefing may be missing; make a new fit to get them all"


def is_silent(run: FitRun) -> bool:
    """Say whether a worker should have written of a fit, and has not."""
    at_work = run.status == FitRun.Status.RUNNING or (run.status == FitRun.Status.DONE and run.explained_at is None)
    return at_work and run.heard_at is not None and run.heard_at < timezone.now() - SILENCE


def mark_lost() -> int:
    """Mark the fits that nobody makes any more, and return how many there were."""
    now = timezone.now()
    silent = FitRun.objects.filter(heard_at__lt=now - SILENCE)
    unexplained = silent.filter(status=FitRun.Status.DONE, explained_at=None)
    for run in unexplained.defer("rows", "findings", "log"):
        forget_withdrawn(run)
    unexplained.update(explained_at=now, log=Concat(F("log"), Value(log_line(NO_MORE))))
    return silent.filter(status=FitRun.Status.RUNNING).update(
        status=FitRun.Status.LOST, finished_at=now, said=SAID, log=Concat(F("log"), Value(log_line(SAID)))
    )


def queue_again() -> int:
    """Queue the fits that wait although no task does, and return how many: who took it was killed before it began.

    Where the task is in good hands after all, the second one finds nothing to do.
    """
    ready = DBTaskResult.objects.ready().filter(task_path=run_fit.module_path)
    queued = {args_kwargs["args"][0] for args_kwargs in ready.values_list("args_kwargs", flat=True)}
    waiting = FitRun.objects.filter(status=FitRun.Status.WAITING, asked_at__lt=timezone.now() - SILENCE)
    forgotten = sorted(set(waiting.values_list("pk", flat=True)) - queued)
    for key in forgotten:
        run_fit.enqueue(key)
    return len(forgotten)
