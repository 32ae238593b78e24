"""Readers of strangers' files: at most two at a time on this machine, whichever process asks, and a short queue."""

import fcntl
import logging
import os
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings

from judgemap.errors import StudyError
from judgemap.web.server.sandbox import WALLS

logger = logging.getLogger(__name__)
READERS = 2
MOST_WAITING = 3
"""Files that wait in one process; each holds one of the threads that researchers' pages need too."""
PATIENCE = 60.0
SECONDS = 120.0
"""How long a reader may take; it has less processor time than this, but shares the processor."""
SECONDS_BETWEEN_LOOKS = 0.1
SECONDS_BETWEEN_NEWS = 0.5
BUSY = "other maps are being read at the moment; try again in a minute"

_WAITING = threading.BoundedSemaphore(MOST_WAITING)


class TooMuchError(Exception):
    """A reader took too long."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A module that reads a file in ``folder``, as a program of its own."""

    module: str
    arguments: Sequence[str]
    folder: Path
    environment: Mapping[str, str]
    seconds: float | None = None
    """How long it may take, where that is not `SECONDS`."""


def run_reader(reader: Reader, hear: Callable[[str], None] | None = None) -> bytes:
    """Run a reader when it is its turn, and return what it writes.

    ``hear`` is called about twice a second with the last line that the reader wrote to standard error; what it raises
    ends the reader.
    """
    command = [sys.executable, "-m", reader.module, *reader.arguments]
    with _turn() as lock:
        process = subprocess.Popen(
            command,
            cwd=reader.folder,
            env=dict(reader.environment),
            pass_fds=(lock,),  # a reader keeps its place even if the server is killed meanwhile
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        with process:
            return _listen(process, time.monotonic() + (reader.seconds or SECONDS), hear)


def _listen(process: "subprocess.Popen[bytes]", until: float, hear: Callable[[str], None] | None) -> bytes:
    """Read what a process writes until it ends."""
    written: list[bytes] = []
    lines: deque[str] = deque(maxlen=1)
    out, err = process.stdout, process.stderr
    if out is None or err is None:
        raise ValueError("the reader has no pipes")
    threads = [
        threading.Thread(target=lambda: written.append(out.read()), daemon=True),
        threading.Thread(target=lambda: lines.extend(line.decode(errors="replace") for line in err), daemon=True),
    ]
    for thread in threads:
        thread.start()
    try:
        while threads[0].is_alive():
            threads[0].join(SECONDS_BETWEEN_NEWS)
            if time.monotonic() > until:
                raise TooMuchError
            if hear is not None and lines:
                hear(lines[-1].rstrip())
    finally:
        process.kill()
        for thread in threads:
            thread.join()
    return b"".join(written)


@cache
def warn_of_missing(walls: tuple[str, ...]) -> None:
    """Log, once in a process, that this machine cannot confine readers as it should."""
    if walls:
        logger.warning("%s", missing_sentence(walls))


def missing_sentence(walls: Sequence[str]) -> str:
    """Say which walls are missing, and what they are for.

    >>> missing_sentence(["Landlock"])
    'Uploaded maps are read without Landlock (no files but its own): this system does not have it.'
    """
    named = " and ".join(f"{name} ({WALLS[name]})" for name in walls)
    return f"Uploaded maps are read without {named}: this system does not have {'it' if len(walls) == 1 else 'them'}."


@contextmanager
def _turn() -> Iterator[int]:
    """Wait for a place; yield the open file whose lock is the place."""
    lock = _free_place()
    if lock is None:
        lock = _wait()
    try:
        yield lock
    finally:
        os.close(lock)


def _wait() -> int:
    if not _WAITING.acquire(blocking=False):
        raise StudyError(BUSY)
    try:
        until = time.monotonic() + PATIENCE
        while (lock := _free_place()) is None:
            if time.monotonic() > until:
                raise StudyError(BUSY)
            time.sleep(SECONDS_BETWEEN_LOOKS)
        return lock
    finally:
        _WAITING.release()


def _free_place() -> int | None:
    """Take one of the places, by locking its file in the data folder; None where all are taken."""
    folder: Path = settings.DATA / "readers"
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(READERS):
        lock = os.open(folder / str(number), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return lock
    return None
