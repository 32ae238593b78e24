"""Jobs: work that waits in the database for a worker. A job's row is the only record of its state.

A new kind of job is a model that inherits `Job` and has a `work`; the worker finds it by itself::

    class Draft(Job):
        study = models.ForeignKey(Study, models.CASCADE)

        def work(self) -> None:
            self.tell(0.5, "Half of it is done.")
            self.finish()
"""

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import timedelta
from functools import partial
from typing import ClassVar, Self, TypeVar

from django.apps import apps
from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, models
from django.db.models import F, Manager, Q, QuerySet, Value
from django.db.models.functions import Concat
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext, ngettext

from judgemap.errors import StudyError
from judgemap.web.server.database import is_outage
from judgemap.web.server.forms import sentence

logger = logging.getLogger(__name__)
Result = TypeVar("Result")
SILENCE = timedelta(seconds=30)
"""A worker reports every two seconds; after this long without a report, it is presumed dead."""
SECONDS_BETWEEN_NEWS = 1.0
LONGEST_OUTAGE = 600.0
"""For how many seconds a worker tries to store what it has worked out, while the database is away."""
SECONDS_BETWEEN_TRIES = 1.0
MOST_STARTS = 5
"""How often a job begins, if the database goes away each time."""
AWAY = "the database went away"
STOPPING = threading.Event()
"""Set when this process has been asked to end."""
LANES = ("fits", "drafts")
"""A worker does one job of each lane at a time, so that nobody waits with a small map for a long fit."""
PATIENCE = timedelta(seconds=20)
"""After this long without a worker, the page of a job says that there is none."""
GUESS = 60.0
"""How many seconds a job is expected to take before one of its kind is done."""
LONGEST_WAIT = timedelta(minutes=10)
"""A job that has waited this long goes before shorter ones."""
REMEMBERED = 5
HERE: set[tuple[type["Job"], int]] = set()
"""The jobs that this process is doing, by kind and key; the worker's pulse reports them as alive."""

worker_round = Signal()
"""A worker sends it every few seconds, for regular chores."""


class CancelledError(Exception):
    """A researcher cancelled the job."""


class StoppingError(Exception):
    """The worker was asked to end in the middle of the job."""


class TakenAwayError(Exception):
    """The job was declared lost, or removed, while it was being done."""


def outlast(do: Callable[[], Result]) -> Result:
    """Do something with the database; while it is away, try again for minutes, unless this process has to end.

    It may be done twice: a connection can break after the database has stored everything and before it says so.
    """
    until = time.monotonic() + LONGEST_OUTAGE
    while True:
        try:
            return do()
        except (DatabaseError, InterfaceError) as error:
            over = STOPPING.is_set() or time.monotonic() > until
            if (
                over or connection.in_atomic_block or not is_outage(error)
            ):  # whoever began the transaction does it again
                raise
            logger.warning("The database does not answer; the worker tries again.")
            let_go()
            STOPPING.wait(SECONDS_BETWEEN_TRIES)


def let_go() -> None:
    """Drop a broken connection; it may fail to close, even with an AttributeError from Django."""
    with suppress(Exception):
        connection.close()


class Job(models.Model):
    """Something that a researcher asked for and a worker does. It never changes once it is over."""

    class Status(models.TextChoices):
        """Where a job is. `LOST` is one whose worker stopped responding."""

        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"
        LOST = "lost"

    UNDER_WAY: ClassVar = (Status.WAITING, Status.RUNNING)
    NAME: ClassVar[str]
    """What sentences call it, such as "fit"."""
    BEGINS: ClassVar[str] = ""
    """What ``said`` is when a worker has just taken it."""
    LANE: ClassVar[str] = LANES[0]
    """Which jobs it waits for: those of its lane."""
    LARGE: ClassVar[float] = float("inf")
    """From this size on, a job takes so much memory that only one such job runs at a time."""
    AGAIN: ClassVar[str] = "Start it again."
    """What a researcher should do about one that failed."""
    _told_at = 0.0

    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    """None if the server or the command line asked."""
    asked_at = models.DateTimeField(auto_now_add=True)
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    progress = models.FloatField(default=0.0)
    """The share of the work that is done, 0 to 1."""
    said = models.CharField(max_length=400, blank=True)
    """One sentence: how it is going, or what went wrong and what to do."""
    log = models.TextField(blank=True)
    """What happened when, one event per line."""
    cancel_asked = models.BooleanField(default=False)
    started_at = models.DateTimeField(null=True)
    """When its present worker took it."""
    heard_at = models.DateTimeField(null=True)
    """When its worker last reported."""
    finished_at = models.DateTimeField(null=True)

    class Meta:
        abstract = True

    @property
    def over(self) -> bool:
        """Whether nothing more will happen to it."""
        return self.status not in self.UNDER_WAY

    @property
    def is_silent(self) -> bool:
        """Whether its worker should have reported by now, but has not."""
        silent = self.heard_at is not None and self.heard_at < timezone.now() - SILENCE
        return silent and self.status == self.Status.RUNNING

    @property
    def is_unattended(self) -> bool:
        """Whether it waits although nothing in its lane runs: workers look several times a second, so there is none."""
        long = self.status == self.Status.WAITING and self.asked_at < timezone.now() - PATIENCE
        return long and not running_in(self.LANE)

    def work(self) -> Iterator[None] | None:
        """Do the job and `finish` it; return any steps left to do while no other job waits."""
        raise NotImplementedError

    def effort(self) -> float:
        """Return how much work it is, in any unit; jobs of one kind are expected to take as long as they are large."""
        return 1.0

    @classmethod
    def seconds_for_effort(cls) -> float | None:
        """Return how long the last jobs of this kind took, over their size; None if there are none."""
        done = cls._rows().filter(status=cls.Status.DONE, started_at__isnull=False, finished_at__isnull=False)
        needed = [field.name for field in cls._meta.concrete_fields if field.is_relation]
        last = list(done.order_by("-finished_at").only("started_at", "finished_at", *needed)[:REMEMBERED])
        times = [(job.started_at, job.finished_at) for job in last]
        taken = sum((end - begin).total_seconds() for begin, end in times if begin and end)
        return taken / sum(job.effort() for job in last) if last else None

    def place_in_queue(self) -> str:
        """Say when a waiting job will probably begin, for the page that waits for it."""
        queue = waiting_in(self.LANE)
        before = queue[: queue.index(self)] if self in queue else []
        ahead = [*before, *running_in(self.LANE)]
        if not ahead:
            return gettext("Next in the queue.")
        minutes = max(1, round(sum(expected_seconds(ahead).values()) / 60))
        numbers = {"place": len(before) + 1, "minutes": minutes}
        return (
            ngettext(
                "Number %(place)d in the queue, about %(minutes)d minute.",
                "Number %(place)d in the queue, about %(minutes)d minutes.",
                minutes,
            )
            % numbers
        )

    @classmethod
    def claim(cls, key: int) -> Self | None:
        """Take a waiting job. If several workers try, only one gets it: the others find no matching row to update."""
        now = timezone.now()
        waiting = cls._rows().filter(pk=key, status=cls.Status.WAITING)
        begun = {"status": cls.Status.RUNNING, "started_at": now, "heard_at": now, "said": cls.BEGINS}
        return cls._rows().get(pk=key) if waiting.update(**begun) else None

    @classmethod
    def still_here(cls, key: int) -> None:
        """Record that a worker is still doing a job."""
        cls._rows().filter(pk=key).update(heard_at=timezone.now())

    def carry_out(self) -> Iterator[None] | None:
        """Do a claimed job. Whatever happens is written into its row; returns any steps that `work` leaves to do."""
        here = (type(self), self.pk)
        HERE.add(here)
        left = None
        try:
            left = self._try_to_work()
        finally:
            if left is None:
                HERE.discard(here)
        return None if left is None else self._follow(left)

    def tell(self, progress: float, news: str | Callable[[], str]) -> None:
        """Write how far the job is, about once a second; raise if the worker has to end.

        News that take long to find are a function. If the database does not answer, it may be back before the job is
        done.
        """
        if STOPPING.is_set():
            raise StoppingError
        if time.monotonic() - self._told_at < SECONDS_BETWEEN_NEWS:
            return
        self.progress, self.said = progress, news if isinstance(news, str) else news()
        try:
            self._report()
        except (DatabaseError, InterfaceError) as error:
            if not is_outage(error):
                raise
            logger.warning("the database does not take news of %s", self)
            let_go()
        self._told_at = time.monotonic()

    def write_line(self, text: str) -> None:
        """Add a line to the log, and write it to the database."""
        self.log += log_line(text)
        self.write()

    def write(self) -> None:
        """Write progress into the database, and check whether somebody wants the job stopped."""
        outlast(self._report)

    def _report(self) -> None:
        if not self._mine().update(heard_at=timezone.now(), **self._fields("progress", "said", "log")):
            raise TakenAwayError
        if self._mine().filter(cancel_asked=True).exists():
            raise CancelledError

    def finish(self, *names: str) -> None:
        """Mark the job done, and write the named fields in the same statement: all or nothing.

        In a transaction of the caller's, it is the caller who has to `outlast` an outage.
        """
        self.status, self.progress = self.Status.DONE, 1.0
        self.finished_at = self.heard_at = timezone.now()
        names = ("status", "progress", "said", "log", "finished_at", "heard_at", *names)
        written = outlast(partial(self._mine().update, **self._fields(*names)))
        if not written and not outlast(
            self._mine(self.Status.DONE).exists
        ):  # it may have been written, and not said so
            raise TakenAwayError

    def cancel(self) -> bool:
        """Cancel the job if it is waiting, or ask the worker to stop if it is running; return whether that was new."""
        rows = self._rows().filter(pk=self.pk)
        ended = {"status": self.Status.CANCELLED, "finished_at": timezone.now(), "said": "Cancelled before it started."}
        taken_back = rows.filter(status=self.Status.WAITING).update(**ended)
        return bool(taken_back or rows.filter(status=self.Status.RUNNING, cancel_asked=False).update(cancel_asked=True))

    @classmethod
    def mark_lost(cls) -> int:
        """Mark running jobs whose worker is gone, and return how many there were."""
        silent = cls._rows().filter(status=cls.Status.RUNNING, heard_at__lt=timezone.now() - SILENCE)
        text = cls.lost_text()
        log = Concat(F("log"), Value(log_line(text)))
        return silent.update(status=cls.Status.LOST, said=text, log=log, finished_at=timezone.now())

    @classmethod
    def lost_text(cls) -> str:
        """Say what happens to a job whose worker is gone."""
        name = cls.NAME
        return f"The worker making this {name} stopped responding. The {name} is lost, but no answers are. {cls.AGAIN}"

    def show_if_lost(self) -> Self:
        """Show a silent job as lost, as a worker will soon record: reading a page writes nothing."""
        if self.is_silent:
            self.status, self.said = self.Status.LOST, self.lost_text()
        return self

    def _try_to_work(self) -> Iterator[None] | None:
        try:
            return self.work()
        except TakenAwayError:
            logger.warning("%s was abandoned while it was running", self)
        except CancelledError:
            self._end(self.Status.CANCELLED, "Cancelled.")
        except StoppingError:
            text = "The server was stopped partway through; it starts again when the server is back."
            self._put_back(f"the worker was stopped; the {self.NAME} waits for the next one", text)
        except StudyError as error:
            self._end(self.Status.FAILED, sentence(error))
        except Exception as error:
            if is_outage(error) and self.log.count(AWAY) < MOST_STARTS - 1:
                self._put_back(f"{AWAY}; the {self.NAME} starts again", "The database went away; this starts again.")
                return None
            logger.exception("%s broke down", self)
            text = "failed. This is our fault, not yours; the server's log has the details."
            self._end(self.Status.FAILED, f"The {self.NAME} {text} {self.AGAIN}")
        return None

    def _follow(self, left: Iterator[None]) -> Iterator[None]:
        try:
            yield from left
        finally:
            HERE.discard((type(self), self.pk))

    def _mine(self, status: Status = Status.RUNNING) -> "QuerySet[Self]":
        """Return the row while it is still this worker's: neither lost nor taken by another worker since."""
        return self._rows().filter(pk=self.pk, status=status, started_at=self.started_at)

    @classmethod
    def _rows(cls) -> "Manager[Self]":
        return cls._default_manager

    def _fields(self, *names: str) -> dict[str, object]:
        return {name: getattr(self, name) for name in names}

    def _end(self, status: Status, text: str) -> None:
        self.log += log_line(text)
        ended = {"status": status, "said": text[:400], "log": self.log, "finished_at": timezone.now()}
        outlast(partial(self._mine().update, **ended))

    def _put_back(self, line: str, text: str) -> None:
        """Leave the job to the next worker."""
        self.log += log_line(line)
        waits = {"status": self.Status.WAITING, "progress": 0.0, "started_at": None, "said": text, "log": self.log}
        outlast(partial(self._mine().update, **waits))


def job_constraints(name: str) -> tuple[models.CheckConstraint, models.CheckConstraint]:
    """Return the database constraints for the table of a kind of job."""
    return (
        models.CheckConstraint(condition=Q(status__in=Job.Status.values), name=f"{name}_status"),
        models.CheckConstraint(condition=Q(progress__gte=0) & Q(progress__lte=1), name=f"{name}_progress"),
    )


def kinds() -> list[type[Job]]:
    """Return every kind of job."""
    return [model for model in apps.get_models() if issubclass(model, Job)]


def waiting_in(lane: str) -> list[Job]:
    """Return the jobs that wait in a lane, the next one first.

    Nobody's second job comes before another's first. Among those, short jobs come before long ones, unless a long one
    has waited for long.
    """
    waiting = sorted(_of_lane(lane, Job.Status.WAITING), key=lambda job: (job.asked_at, job.pk))
    if len(waiting) < 2:
        return waiting
    had = Counter(job.asked_by_id for job in running_in(lane))
    turns = {}
    for job in waiting:
        turns[job] = had[job.asked_by_id] if job.asked_by_id is not None else 0
        had[job.asked_by_id] += 1
    seconds = expected_seconds(job for job in waiting if job.asked_at > timezone.now() - LONGEST_WAIT)
    return sorted(waiting, key=lambda job: (turns[job], seconds.get(job, 0.0), job.asked_at))


def expected_seconds(jobs: Iterable[Job]) -> dict[Job, float]:
    """Return how long the rest of each job will probably take, from its size and the last jobs of its kind."""
    for_effort = {kind: kind.seconds_for_effort() for kind in kinds()}
    return {
        job: (GUESS if (each := for_effort[type(job)]) is None else each * job.effort()) * (1 - job.progress)
        for job in jobs
    }


def running_in(lane: str) -> list[Job]:
    """Return the jobs of a lane that workers are doing."""
    return _of_lane(lane, Job.Status.RUNNING)


def _of_lane(lane: str, status: Job.Status) -> list[Job]:
    return [job for kind in kinds() if lane == kind.LANE for job in kind._default_manager.filter(status=status)]  # noqa: SLF001 - Django's


def claim_next(lane: str) -> Job | None:
    """Claim the next job of a lane; None if none is waiting, or only large ones while another large one runs."""
    for first in waiting_in(lane):
        is_large = first.effort() >= first.LARGE
        if is_large and any(job.effort() >= job.LARGE for each in LANES for job in running_in(each)):
            continue
        if (job := first.claim(first.pk)) is not None:
            return job
    return None


def log_line(text: str) -> str:
    """Write a line of a job's log."""
    return f"{timezone.now():%H:%M:%S} {text}\n"
