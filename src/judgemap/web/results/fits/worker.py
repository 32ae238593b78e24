"""The worker: takes fits out of the database, one at a time, until it is told to end.

`judgemap worker` runs one; `judgemap serve` keeps one or more beside the server, see `judgemap.web.server.supervise`.
"""

import logging
import os
import signal
import tempfile
import threading
import time
from datetime import timedelta
from pathlib import Path
from types import FrameType

from django.db import DatabaseError, close_old_connections, connection
from django.utils import timezone
from django.utils.crypto import get_random_string
from django_tasks_db.management.commands.db_worker import Worker
from django_tasks_db.models import DBTaskResult

from judgemap.web.results.fits.actions import ask_where_due
from judgemap.web.results.fits.lost import mark_lost, queue_again
from judgemap.web.results.fits.progress import HERE, STOPPING
from judgemap.web.results.fits.tasks import UNEXPLAINED, explain_next
from judgemap.web.results.models import FitRun

logger = logging.getLogger(__name__)
SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_BETWEEN_ROUNDS = 5.0
"""How often a worker that has nothing to do looks for lost fits and for studies with enough new answers."""
SECONDS_BETWEEN_BEATS = 2.0
SECONDS_TO_END = 10.0
"""After so long, a worker whose server is gone ends in the middle of what it does."""
KEPT = timedelta(days=30)
NICENESS = 5
"""Judges are served before fits are made."""


class FitWorker(Worker):
    """Makes every fit that waits, then says that there is none left."""

    def __init__(self) -> None:
        super().__init__(
            queue_names=["default"],
            interval=SECONDS_BETWEEN_LOOKS,
            batch=True,
            backend_name="default",
            startup_delay=False,
            max_tasks=None,
            worker_id=get_random_string(32),
            excluded_queue_names=[],
        )

    def shutdown(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002 - a signal handler
        """End when the fit under way has been put back; the third time of asking, at once."""
        if STOPPING.is_set():
            self.reset_signals()
        STOPPING.set()
        self.running = False


def work(parent: int | None = None) -> None:
    """Make fits until SIGTERM or Ctrl-C; or until the process ``parent`` is gone."""
    os.nice(NICENESS)
    threading.Thread(target=_beat, args=(parent,), daemon=True).start()
    warm_up()
    worker = FitWorker()
    worker.configure_signals()
    next_round = time.monotonic()
    while worker.running:
        try:
            close_old_connections()
            if time.monotonic() >= next_round:
                go_round()
                next_round = time.monotonic() + SECONDS_BETWEEN_ROUNDS
            if DBTaskResult.objects.ready().exists():
                worker.run()
            if UNEXPLAINED:
                explain_next()
                continue
        except DatabaseError:
            logger.exception("the database does not answer; the worker tries again")
            connection.close()
            STOPPING.wait(SECONDS_BETWEEN_ROUNDS)
        STOPPING.wait(SECONDS_BETWEEN_LOOKS)
    while UNEXPLAINED:
        explain_next()


def go_round() -> None:
    """Do what is due now and then: lost fits, automatic fits, and notes of old tasks."""
    mark_lost()
    queue_again()
    ask_where_due()
    old = DBTaskResult.objects.filter(enqueued_at__lt=timezone.now() - KEPT)
    if old.exists():
        old.exclude(pk__in=DBTaskResult.objects.ready().values("pk")).delete()


def warm_up() -> None:
    """Load what fits need and run the smallest of each kind, so that a researcher does not wait for it."""
    import geopandas
    import numpy as np
    import shapely

    from judgemap.core.graph import AreaGraph
    from judgemap.geo.maps import Areas
    from judgemap.study.comparisons import Comparisons
    from judgemap.study.settings import FitSettings
    from judgemap.web.results.fits.running import table_of

    boxes = geopandas.GeoSeries([shapely.box(i, 0, i + 1, 1) for i in range(3)], crs="EPSG:4326")
    areas = Areas(("a", "b", "c"), ("A", "B", "C"), AreaGraph(3, np.array([[0, 1], [1, 2]])), boxes)
    sides = np.array([0, 1, 0, 1]), np.array([1, 2, 2, 0])
    data = Comparisons.from_words(areas.ids, ("x",) * 4, *sides, ("left", "left", "right", "left"))
    for model in ("spatial", "clusters"):
        fit = FitSettings(model=model, chains=2, warmup=5, draws=20, thin=1, seed=1).run(data, areas)
        table_of(fit)
        with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
            fit.save(Path(folder, "results"))


def _beat(parent: int | None) -> None:
    """Say every two seconds that the fits under way here are; end this process where the server is gone."""
    ending: float | None = None
    while True:
        if parent is not None and os.getppid() != parent and ending is None:
            os.kill(os.getpid(), signal.SIGTERM)
            ending = time.monotonic() + SECONDS_TO_END
        if ending is not None and time.monotonic() > ending:
            os._exit(1)
        try:
            if HERE:
                FitRun.objects.filter(pk__in=list(HERE)).update(heard_at=timezone.now())
        except DatabaseError:
            logger.exception("the database does not take the worker's pulse")
            connection.close()
        time.sleep(SECONDS_BETWEEN_BEATS)
