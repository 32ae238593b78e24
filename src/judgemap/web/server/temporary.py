"""Temporary files of which a process that was killed leaves nothing for long.

Every process of ours keeps its temporary files in a folder of its own, and holds a lock on that for as long as it
lives: what nobody holds belongs to the dead, and any other process removes it.
"""

import atexit
import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

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
