"""The state of the database: its tables are of this version, and what was deleted is gone from its files too.

One server at a time makes or changes the tables; others that start at the same moment wait for it.
"""

import fcntl
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection, connections, transaction
from django.db.migrations.loader import MigrationLoader

from judgemap.errors import StudyError
from judgemap.web.server.outages import BROKEN

logger = logging.getLogger(__name__)
LOCK = 0x6A6D6170
"""Our advisory lock's number in PostgreSQL: "jmap"."""
PATIENCE_MS = 200
"""How long a checkpoint may hold up judges while it waits for readers, before it gives up and tries again later."""
SECONDS_BETWEEN_TRIES = 1.0


def migrate(*, create: bool = False, upgrading: bool = False) -> None:
    """Make the tables of an empty database, or change those of an earlier version; refuse what was not asked for."""
    try:
        if not missing_migrations():
            _check_version()
            return
        with _alone():  # another server may be making the tables: half of them look like an earlier version
            if not _check_version(create=create, upgrading=upgrading):
                call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        raise StudyError(_sentence(error)) from None


def later_migrations(done: Iterable[tuple[str, str]]) -> list[str]:
    """Return the migrations in a database that this version does not have, because a later one made them.

    >>> later_migrations([("judge", "0001_initial"), ("judge", "9999_later")])
    ['judge.9999_later']
    """
    known = MigrationLoader(None).disk_migrations
    return sorted(f"{app}.{name}" for app, name in done if (app, name) not in known)


def missing_migrations(using: str = "default") -> bool:
    """Say whether a database lacks migrations of this version."""
    loader = MigrationLoader(connections[using])
    return bool(set(loader.graph.nodes) - set(loader.applied_migrations or ()))


def _check_version(*, create: bool = False, upgrading: bool = False) -> bool:
    """Say whether the database is up to date; raise a `StudyError` for an empty one or another version's.

    With ``create``, False also means an empty one, and with ``upgrading`` one of an earlier version.
    """
    loader = MigrationLoader(connection)
    done = set(loader.applied_migrations or ())
    if later := later_migrations(done):
        raise StudyError(f"the database was written by a later version of judgemap ({later[0]}); install that version")
    if not done and not create:
        raise StudyError(
            f"the database of {settings.DATA} is empty; check --data, or start a server there: "
            f"judgemap serve --data {settings.DATA}"
        )
    missing = set(loader.graph.nodes) - done
    if missing and done and not upgrading:
        raise StudyError(
            "the database was written by an earlier version of judgemap; stop every server that uses it and run: "
            f"judgemap study upgrade --data {settings.DATA}"
        )
    return not missing


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock that all servers on this database share: one of PostgreSQL's, or a file beside SQLite's."""
    if connection.vendor == "sqlite":
        with (settings.DATA / "migrating").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        return
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(%s)", [LOCK])
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCK])


def _sentence(error: DatabaseError) -> str:
    first = (str(error).strip().splitlines() or [type(error).__name__])[0]
    if connection.vendor != "sqlite":
        return f"the database cannot be used ({first}); check DATABASE_URL"
    path = connection.settings_dict["NAME"]
    if str(getattr(error.__cause__, "sqlite_errorname", "")).startswith(BROKEN):
        return f"the database {path} is damaged ({first}); move it away, and restore a backup: judgemap study restore"
    return f"the database {path} cannot be used ({first}); check the disk and who may write there"


def erase_after_commit() -> None:
    """Empty SQLite's write-ahead log after this transaction commits, as soon as nobody is reading the database.

    The log keeps a deleted row's bytes until it is overwritten. PostgreSQL keeps them until its own vacuum runs.
    """
    if connection.vendor == "sqlite":
        transaction.on_commit(_erase)


def empty_log(using: str = "default") -> bool:
    """Write SQLite's log into its database and truncate it; False if somebody is still reading from it."""
    with connections[using].cursor() as cursor:
        before = cursor.execute("PRAGMA busy_timeout").fetchone()[0]
        cursor.execute(f"PRAGMA busy_timeout = {PATIENCE_MS}")
        try:
            busy = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
        finally:
            cursor.execute(f"PRAGMA busy_timeout = {before}")
    return not busy


def _erase() -> None:
    if not empty_log():
        threading.Thread(target=_erase_later, daemon=True).start()


def _erase_later() -> None:
    """Try until it works; if this process ends first, the last process to close the database does it."""
    try:
        while not empty_log():
            time.sleep(SECONDS_BETWEEN_TRIES)
    except DatabaseError:
        logger.exception("the database's log was not emptied after a removal")
    finally:
        connection.close()
