"""Processes that are killed with SIGKILL at the worst moment leave nothing to read."""

import os
import signal
import warnings
from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.management import call_command

from judgemap.web.server import backup
from judgemap.web.studies.log import record

WORDS = "a reason that was typed in confidence"


@pytest.fixture
def folder(scratch, tmp_path) -> Path:
    """A folder with a data folder and one for backups, beside a database with something confidential in it."""
    if backup.connection.vendor != "sqlite":
        pytest.skip("a fork cannot share its parent's connection to PostgreSQL")
    (tmp_path / "backups").mkdir()
    record(None, None, "noted", {"words": WORDS})
    return tmp_path


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def ends_by(act: Callable[[], None], where: object, name: str) -> int:
    """Do something in a fork that dies where it calls a function; return the signal that ended it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork of a process with threads: it starts none
        child = os.fork()
    if not child:
        try:
            setattr(where, name, die)
            act()
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def readable(folder: Path) -> list[str]:
    """Name the files that have the confidential words."""
    return [str(path) for path in folder.rglob("*") if path.is_file() and WORDS.encode() in path.read_bytes()]


@pytest.mark.parametrize(
    ("lock", "where", "name"),
    [("key", backup, "_digest"), ("key", backup.Lock, "close"), ("", os, "fsync")],
)
def test_a_backup_that_is_killed_leaves_nothing_to_read(folder, lock, where, name):
    keys = (backup.make_key(folder / "key"),) if lock else ()
    made = folder / "backups" / "copy"
    assert ends_by(lambda: backup.back_up(made, backup.Lock(keys), verify=True), where, name) == -signal.SIGKILL
    assert readable(folder) == []
    assert list(made.parent.iterdir()) == []


@pytest.mark.parametrize(("where", "name"), [(backup, "_check_content"), (backup.connection, "check_constraints")])
def test_a_restore_that_is_killed_leaves_nothing_to_read(folder, where, name):
    """Nor anything half done: it is one transaction, as tests/web/server/test_backup.py shows."""
    path, key = folder / "copy.age", backup.Key(folder / "key")
    backup.back_up(path, backup.Lock((backup.make_key(folder / "key"),)))
    call_command("flush", interactive=False, verbosity=0)

    def restore() -> None:
        with backup.opened(path, key) as (copy, _):
            backup.restore(path, copy)

    assert ends_by(restore, where, name) == -signal.SIGKILL
    assert readable(folder) == []
