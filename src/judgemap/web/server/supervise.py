"""The processes of a server: its port, its workers, how they all end with the server, and their temporary files.

Every process keeps its temporary files in a folder of its own, and holds a lock on that for as long as it lives: what
nobody holds belongs to the dead, and any other process removes it.
"""

import atexit
import errno
import fcntl
import logging
import os
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from judgemap.errors import StudyError

logger = logging.getLogger(__name__)
PATIENCE = 3.0
"""How many seconds to wait for a port that a killed server's processes are about to release."""
SECONDS_BETWEEN_LOOKS = 0.5
SECONDS_BETWEEN_RESTARTS = 1.0
SECONDS_TO_END = 20.0
"""After this many seconds, a process whose server is gone ends even in the middle of its work."""
SERVER = "JUDGEMAP_SERVER_PROCESS"
"""The environment variable in which a server gives its processes its process id."""
NO_WORKERS = "JUDGEMAP_NO_WORKERS"
"""The environment variable that is set if no worker runs beside the server."""
COMMAND = """import signal
signal.signal(signal.SIGINT, signal.SIG_DFL)
from judgemap.web import start
start.work()
"""
FILES = 512
"""How many files a process may open besides its connections."""
SECONDS_TO_STOP = 10.0
SHORTEST_LIFE = 10.0
"""A process that ends within this many seconds is restarted only after a pause."""


def check_port(host: str, port: int) -> None:
    """Raise a `StudyError` if the server cannot listen.

    Granian lets several servers share a port: without this check, two servers with two databases would take turns
    answering.
    """
    until = time.monotonic() + PATIENCE
    while (problem := _try_to_listen(host, port)) is not None:
        if problem.errno != errno.EADDRINUSE:
            raise StudyError(_sentence(problem, host, port))
        if time.monotonic() > until:
            raise StudyError(
                f"port {port} is already in use; stop the other program, or choose another port with --port"
            )
        time.sleep(SECONDS_BETWEEN_LOOKS)


def allow_connections(most: int) -> int:
    """Let this process and its children open ``most`` connections, or as many as the system allows; return how many."""
    _, highest = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = most + FILES if highest == resource.RLIM_INFINITY else min(most + FILES, highest)
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, highest))
    return max(files - FILES, 1)


def restarting() -> Any:  # noqa: ANN401 - granian's types are its own
    """Return granian's server, made to restart a process as often as it ends; granian gives up at the second time."""
    from granian import Granian

    class Restarting(Granian):  # type: ignore[misc, valid-type]
        restarted_at = float("-inf")

        def _respawn_workers(self, workers: list[int], *rest: Any, **options: Any) -> None:  # noqa: ANN401
            logger.error("a process of the server ended unexpectedly; another one takes its place")
            if time.monotonic() - self.restarted_at < SHORTEST_LIFE:
                time.sleep(SECONDS_BETWEEN_RESTARTS)
            self.restarted_at = time.monotonic()
            super()._respawn_workers(workers, *rest, **options)
            self.respawned_wrks.clear()  # what granian would take for a crash loop

    return Restarting


def end_with_server() -> None:
    """End this process when its server is gone, even if that was killed: otherwise it would hold the port for ever.

    Nothing happens if no server gave its id, as for a worker that runs by itself.
    """
    server = os.environ.get(SERVER, "")
    if server.isdecimal():
        threading.Thread(target=_watch, args=(int(server),), daemon=True).start()


def _try_to_listen(host: str, port: int) -> OSError | None:
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        socket.create_server(address, family=family).close()
    except OSError as error:
        return error
    return None


def _sentence(problem: OSError, host: str, port: int) -> str:
    if problem.errno == errno.EACCES:
        return f"port {port} needs rights that this account lacks; choose 1024 or above with --port"
    return f"the server cannot listen on {host!r} ({problem.strerror}); name an address of this machine with --host"


def _watch(server: int) -> None:
    """Wait until the server is no longer this process's parent, then end: by SIGTERM, or else at once."""
    while os.getppid() == server:
        time.sleep(SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(SECONDS_TO_END)
    os._exit(1)


class Workers:
    """A number of workers, each a process of its own; another one is started whenever one ends."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._ending = threading.Event()
        self._children: list[tuple[subprocess.Popen[bytes], float]] = []
        self._watcher = threading.Thread(target=self._keep, daemon=True)

    def start(self) -> None:
        """Start them all, and watch over them."""
        self._children = [self._launch() for _ in range(self._count)]
        self._watcher.start()

    def stop(self) -> None:
        """End them all: SIGTERM, then SIGKILL."""
        self._ending.set()
        self._watcher.join()
        until = time.monotonic() + SECONDS_TO_STOP
        for child, _ in self._children:
            child.terminate()
        for child, _ in self._children:
            try:
                child.wait(max(until - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                child.kill()

    def _keep(self) -> None:
        while not self._ending.wait(SECONDS_BETWEEN_LOOKS):
            for place, (child, began) in enumerate(self._children):
                if child.poll() is not None and time.monotonic() - began > SHORTEST_LIFE:
                    self._children[place] = self._launch()

    @staticmethod
    def _launch() -> "tuple[subprocess.Popen[bytes], float]":
        return subprocess.Popen([sys.executable, "-c", COMMAND], stdin=subprocess.DEVNULL), time.monotonic()


PREFIX = "judgemap-process-"


def use_own_folder() -> None:
    """Keep the temporary files of this process, and of those that it forks, in a new folder; remove dead ones'."""
    tempfile.tempdir = None  # a test may start several in one process
    sweep()
    while not _hold(folder := Path(tempfile.mkdtemp(prefix=PREFIX))):
        pass  # another process swept it before it was locked
    tempfile.tempdir = str(folder)
    atexit.register(_leave, folder, os.getpid())


def sweep(folder: Path | None = None, prefix: str = PREFIX) -> None:
    """Remove what no living process holds among this user's files with a prefix, by default processes' folders."""
    if folder is None:
        own = Path(tempfile.gettempdir())
        folder = own.parent if own.name.startswith(PREFIX) else own
    for path in folder.glob(f"{prefix}*"):
        with suppress(OSError):
            if path.lstat().st_uid != os.getuid() or path.is_symlink():
                continue
            if (handle := _lock(path)) is None:
                continue
            try:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            finally:
                os.close(handle)


def _hold(path: Path) -> bool:
    """Lock a path until this process ends; False if it is gone."""
    with suppress(FileNotFoundError):
        return _lock(path) is not None and path.exists()
    return False


def _lock(path: Path) -> int | None:
    """Lock a path if nobody else has, and return its open handle."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _leave(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not a fork, whose parent goes on
        shutil.rmtree(folder, ignore_errors=True)
