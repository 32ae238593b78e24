"""What a worker writes about a fit while it makes it, and how it hears that it should stop."""

import logging
import threading
import time

import numpy as np
from django.db import OperationalError, connection
from django.utils import timezone

from judgemap.core.diagnostics import ess_bulk, rhat
from judgemap.core.samplers.run import Draws
from judgemap.web.results.models import FitRun

logger = logging.getLogger(__name__)
SECONDS_BETWEEN_NEWS = 1.0
SAMPLED = 0.97
"""The share of the work that is sampling; the rest is what follows it."""
WARMING_UP = "The chains are finding their way to where the answers point."
HERE: set[int] = set()
"""The fits that this process makes: the worker's pulse says that it still does."""
STOPPING = threading.Event()
"""Set when this process was asked to end."""


class CancelledError(Exception):
    """A researcher took the fit back."""


class StoppingError(Exception):
    """The worker was asked to end in the middle of the fit."""


class TakenAwayError(Exception):
    """The fit was given up as lost, or removed, while it was made."""


class Progress:
    """The news of one fit: kept here, written about once a second."""

    def __init__(self, run: FitRun) -> None:
        self.run = run
        self._written = time.monotonic()

    def watch(self, draws: Draws, wanted: int) -> None:
        """Take the draws so far; raise where the fit is to stop."""
        if STOPPING.is_set():
            raise StoppingError
        if time.monotonic() - self._written >= SECONDS_BETWEEN_NEWS:
            self.run.progress = SAMPLED * draws.n_draws / wanted
            self.run.said = describe(draws, wanted)
            self._try_to_write()

    def _try_to_write(self) -> None:
        """Write; where the database does not answer, later: it may be back before the draws are made."""
        try:
            self.write()
        except OperationalError:
            logger.warning("the database does not take news of fit %s", self.run.pk)
            connection.close()
            self._written = time.monotonic()

    def note(self, text: str) -> None:
        """Add a line to the log, and write."""
        self.run.log += log_line(text)
        self.write()

    def write(self) -> None:
        """Write the news into the database, and look whether somebody wants the fit stopped."""
        mine = FitRun.objects.filter(pk=self.run.pk, status=FitRun.Status.RUNNING)
        news = {name: getattr(self.run, name) for name in ("progress", "said", "log")}
        if not mine.update(heard_at=timezone.now(), **news):
            raise TakenAwayError
        if mine.filter(cancel_asked=True).exists():
            raise CancelledError
        self._written = time.monotonic()


def describe(draws: Draws, wanted: int) -> str:
    """Say how far the sampling is, and how good the draws are."""
    done = draws.n_draws
    if done < 8:
        return WARMING_UP
    watched = draws.watched()
    moving = watched[:, :, np.ptp(watched, axis=(0, 1)) > 0]
    judged = f"effective sample size at least {ess_bulk(moving).min():.0f}, largest R-hat {rhat(moving).max():.3f}"
    return f"{done} of {wanted} draws per chain; {judged}."


def log_line(text: str) -> str:
    """Write a line of a fit's log."""
    return f"{timezone.now():%H:%M:%S} {text}\n"
