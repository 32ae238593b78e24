"""Long work apart from the server's processes: reading an uploaded file, or writing a large export.

At most two such processes run at a time on this machine, whichever process asks, and a few more wait.
"""

import fcntl
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from django.conf import settings

from judgemap.errors import StudyError
from judgemap.web.server import sandbox
from judgemap.web.server.sandbox import NEWS

READERS = 2
MOST_WAITING = 3
"""How many files may wait in one process; each holds a thread that researchers' pages also need."""
PATIENCE = 60.0
SECONDS = 600.0
"""How long a reader may take; its limit on CPU time ends it long before, unless other work takes the processor."""
SECONDS_BETWEEN_LOOKS = 0.1
BUSY = "other maps or exports are under way at the moment; try again in a minute"

# A file can name addresses, which GDAL would fetch on behalf of whoever uploaded it.
NO_NETWORK = {
    "GDAL_HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "https_proxy": "http://127.0.0.1:9",
    "CPL_VSIL_CURL_ALLOWED_EXTENSIONS": "none",
    "PROJ_NETWORK": "OFF",
}

Hear = Callable[[float, str], None]

_WAITING = threading.BoundedSemaphore(MOST_WAITING)


def unheard(share: float, doing: str) -> None:
    """Ignore a reader's progress."""


class TooMuchError(Exception):
    """A reader took too long."""


def run_reader(
    module: str,
    arguments: Sequence[str],
    folder: Path,
    environment: Mapping[str, str],
    hear: Hear = unheard,
    seconds: float | None = None,
) -> bytes:
    """Run a module in ``folder``, when its turn comes, and return what it writes to standard output.

    ``hear`` is called with its progress; if that raises, the reader ends. It may take ``seconds``, by default
    `SECONDS`.
    """
    with _turn() as lock, subprocess.Popen(
        [sys.executable, "-m", module, *arguments],
        cwd=folder,
        env=dict(environment),
        pass_fds=(lock,),  # a reader keeps its place even if the server is killed
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as reader:  # fmt: skip
        too_long = threading.Event()
        written: list[bytes] = []

        def end() -> None:
            too_long.set()
            reader.kill()

        ending = threading.Timer(seconds or SECONDS, end)
        taking = threading.Thread(target=lambda: written.append(reader.stdout.read() if reader.stdout else b""))
        ending.start()
        taking.start()
        try:
            for line in reader.stderr or ():
                if line.startswith(NEWS.encode()):
                    share, _, doing = line.decode(errors="replace").removeprefix(NEWS).strip().partition(" ")
                    hear(float(share), doing)
            reader.wait()
        except BaseException:
            reader.kill()
            raise
        finally:
            taking.join()
            ending.cancel()
    if too_long.is_set():
        raise TooMuchError
    return written[0]


def missing_walls() -> str:
    """Say which walls this machine lacks, and what they are for; empty if it has them all."""
    if not (walls := sandbox.missing_walls()):
        return ""
    named = " and ".join(f"{name} ({sandbox.WALLS[name]})" for name in walls)
    return f"Uploaded maps are read without {named}: this system does not offer {'it' if len(walls) == 1 else 'them'}."


@contextmanager
def _turn() -> Iterator[int]:
    """Wait for a place; yield the open file whose lock holds it."""
    lock = _wait() if (free := _free_place()) is None else free
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
    """Take one of the places, by locking its file in the data folder; None if all are taken."""
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


def reader_environment(folder: str, drivers: frozenset[str]) -> dict[str, str]:
    """Return the environment of a reader, in which GDAL knows only these formats."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "VIRTUAL_ENV", "PYTHONPATH") if key in os.environ}
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "MPLBACKEND": "agg"}
    arrow = {"ARROW_DEFAULT_MEMORY_POOL": "system"}  # its own takes a gigabyte at once, and the limit counts that
    return kept | threads | arrow | NO_NETWORK | {"GDAL_SKIP": _other_drivers(drivers), "HOME": folder}


@cache
def _other_drivers(drivers: frozenset[str]) -> str:
    """List the formats that must not be opened, whatever a file claims to be."""
    import pyogrio

    return ",".join(sorted(set(pyogrio.list_drivers()) - drivers))


def safe_name(name: str) -> str:
    """Return a file's own name, without characters that could trip up a file system or a page.

    >>> safe_name("../../etc/my wards.GeoJSON")
    'my wards.GeoJSON'
    """
    plain = re.sub(r"[^\w .()-]", "_", re.split(r"[/\\]", name)[-1]).strip(". ")
    return f"{Path(plain).stem[:80]}{Path(plain).suffix[:10]}" or "file"
