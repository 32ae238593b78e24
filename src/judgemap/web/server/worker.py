"""The worker: takes jobs from the database, one of each lane at a time, until it is told to stop.

`judgemap worker` runs one; `judgemap serve` keeps one or more beside the server, see `judgemap.web.server.supervise`.
"""

import logging
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from types import FrameType

from django.db import DatabaseError, InterfaceError, close_old_connections

from judgemap.web.server.database import is_outage
from judgemap.web.server.jobs import HERE, LANES, SILENCE, STOPPING, claim_next, kinds, let_go, worker_round
from judgemap.web.server.supervise import end_with_server, sweep

logger = logging.getLogger(__name__)
SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_BETWEEN_ROUNDS = 5.0
SECONDS_BETWEEN_BEATS = 2.0
NICENESS = 5
"""Judges are served before jobs are done."""
MOST_LEFT = 3
"""How many jobs may leave steps undone; with more, a long queue would put off every explanation until its end."""
LEFT: deque[Iterator[None]] = deque()
"""The remaining steps of finished jobs; a worker does them while no other job waits."""


def work(prepare: Callable[[], None]) -> None:
    """Do jobs until SIGTERM or Ctrl-C, or until the server whose child this is has gone; call ``prepare`` first.

    Preparing may take a minute of compiling, and ends with the process: it is no job that would have to be put back.
    """
    os.nice(NICENESS)
    end_with_server()
    threading.Thread(target=_beat, daemon=True).start()
    threading.Thread(target=_now_and_then, args=(go_round,), daemon=True).start()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, _stop)
    others = [threading.Thread(target=_serve, args=(lane,)) for lane in LANES[1:]]
    for thread in others:
        thread.start()
    preparing = threading.Thread(target=prepare, daemon=True)
    preparing.start()
    while preparing.is_alive() and not STOPPING.is_set():
        preparing.join(SECONDS_BETWEEN_LOOKS)
    _serve(LANES[0])
    while LEFT:
        _step()
    for thread in others:
        thread.join()


def _serve(lane: str) -> None:
    """Do the jobs of one lane until the worker ends; if something unforeseen ends this, the worker ends too."""
    try:
        while not STOPPING.is_set():
            try:
                close_old_connections()
                if not take_one(lane):
                    STOPPING.wait(SECONDS_BETWEEN_LOOKS)
            except (DatabaseError, InterfaceError) as error:
                _let_go(error, "The database does not answer; the worker tries again.")
                STOPPING.wait(SECONDS_BETWEEN_ROUNDS)
    finally:
        STOPPING.set()
        let_go()


def take_one(lane: str = LANES[0]) -> bool:
    """Do a lane's next job or, if none waits, a step that an earlier fit left; return whether there was either."""
    while lane == LANES[0] and len(LEFT) >= MOST_LEFT:
        _step()
    job = claim_next(lane)
    if job is None:
        return lane == LANES[0] and _step()
    if (left := job.carry_out()) is not None:
        LEFT.append(left)
    return True


def go_round() -> None:
    """Do the regular chores: mark lost jobs, remove dead processes' files, and let apps do theirs."""
    mark_lost()
    sweep()
    worker_round.send(None)


def mark_lost() -> None:
    """Mark the jobs, of every kind, whose worker is gone."""
    for kind in kinds():
        kind.mark_lost()


def watch_for_lost() -> None:
    """Mark lost jobs from this web process: if no worker runs beside the server, perhaps nobody else does."""
    threading.Thread(target=_now_and_then, args=(mark_lost,), daemon=True).start()


def _now_and_then(act: Callable[[], None]) -> None:
    """Act every few seconds, even while a job keeps the worker busy."""
    while not STOPPING.is_set():
        try:
            close_old_connections()
            act()
        except (DatabaseError, InterfaceError) as error:
            _let_go(error, "The database does not answer; asking again later.")
            STOPPING.wait(SILENCE.total_seconds())  # workers could not report either: none of them is lost yet
        STOPPING.wait(SECONDS_BETWEEN_ROUNDS)


def _let_go(error: Exception, words: str) -> None:
    """Log that the database failed (an outage in one line, anything else with a traceback) and drop the connection."""
    logger.error(words, exc_info=not is_outage(error))
    let_go()


def _step() -> bool:
    if not LEFT:
        return False
    if next(LEFT[0], "over") == "over":
        LEFT.popleft()
    return True


def _stop(signum: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler
    """End once the current job has been put back; a third signal ends the process at once."""
    if STOPPING.is_set():
        signal.signal(signum, signal.SIG_DFL)
    STOPPING.set()


def _beat() -> None:
    """Report every two seconds that this process's jobs are alive."""
    while True:
        try:
            for kind, key in list(HERE):
                kind.still_here(key)
        except (DatabaseError, InterfaceError) as error:
            _let_go(error, "The database does not take the worker's pulse.")
        time.sleep(SECONDS_BETWEEN_BEATS)
