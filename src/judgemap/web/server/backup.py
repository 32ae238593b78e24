"""Copies of the database from one moment, while the server runs: for export and backup.

A backup is always a SQLite file, sealed with a digest and encrypted if wanted; a PostgreSQL database is copied into it
row by row. See `judgemap.web.server.restoring` for the way back.
"""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections, transaction

from judgemap.errors import StudyError
from judgemap.web.server.copying import copy_rows, file_database, fingerprints
from judgemap.web.server.encryption import NO_LOCK, Lock
from judgemap.web.server.restoring import checked_copy
from judgemap.web.server.seal import seal


@contextmanager
def snapshot(using: str = "default") -> Iterator[None]:
    """See the database as it is at this moment, whatever others write meanwhile; do not write inside it."""
    database = connections[using]
    with _only_reading(database), transaction.atomic(using=using):
        if database.vendor == "postgresql":
            with database.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


@contextmanager
def _only_reading(database: Any) -> Iterator[None]:  # noqa: ANN401 - a connection of any kind
    """Start SQLite's transactions without the write lock, which would make every judge wait."""
    if database.vendor != "sqlite":
        yield
        return
    database.ensure_connection()
    usual, database.transaction_mode = database.transaction_mode, "DEFERRED"
    try:
        yield
    finally:
        database.transaction_mode = usual


def back_up(path: Path, lock: Lock = NO_LOCK, *, verify: bool = False) -> Path:
    """Write a consistent copy of the whole database into a new file that only its owner can read.

    With ``verify``, it is restored into a scratch database, in which every row must match the original.
    """
    if path.exists():
        raise StudyError(f"{path} already exists; choose another name for the backup")
    finished = path.with_name(f".{path.name}.part")
    # An unencrypted draft stays beside the database, which is no more secret, and never goes where backups go.
    folder = settings.DATA if lock else path.parent
    draft = folder / f".{path.name}.{os.getpid()}.draft"
    try:
        draft.touch(mode=0o600)  # before it has anything in it that others might read
        _write(draft, verify=verify)
        if lock:
            finished.touch(mode=0o600)
            lock.close(draft, finished)
        else:
            draft.replace(finished)
        _to_disk(finished)
        finished.replace(path)
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror}); name another file") from None
    finally:
        draft.unlink(missing_ok=True)
        finished.unlink(missing_ok=True)
    return path


def _write(path: Path, *, verify: bool) -> None:
    with snapshot():
        before = fingerprints("default") if verify else {}
        _copy_database(path)
    seal(path)
    if not verify:
        return
    with checked_copy(path) as copy, file_database(copy) as alias:
        after = fingerprints(alias)
    if wrong := [name for name in before if before[name] != after.get(name)]:
        raise StudyError(f"the backup does not match the database ({wrong[0]}); no backup was written")


def _copy_database(path: Path) -> None:
    """Copy the database as the snapshot sees it."""
    if connection.vendor == "sqlite":
        with closing(sqlite3.connect(path)) as copy:
            connection.connection.backup(copy)
        return
    with file_database(path) as alias:
        call_command("migrate", database=alias, interactive=False, verbosity=0)
        copy_rows("default", alias)


def _to_disk(path: Path) -> None:
    """Wait until a file is on the disk, so that a power cut leaves either all of it or nothing."""
    with path.open("rb") as file:
        os.fsync(file.fileno())
