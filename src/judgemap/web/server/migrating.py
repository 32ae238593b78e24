"""Bringing the database up to date, by one server at a time: others that start at the same moment wait for it."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, connection
from django.db.migrations.executor import MigrationExecutor

from judgemap.errors import StudyError
from judgemap.web.server.outages import BROKEN
from judgemap.web.server.versions import check_version

LOCK = 0x6A6D6170
"""Our advisory lock's number in PostgreSQL: "jmap"."""


def migrate(*, create: bool = False, upgrading: bool = False) -> None:
    """Make the tables of an empty database, or change those of an earlier version; refuse what was not asked for."""
    try:
        if not _is_due():
            check_version()
            return
        with _alone():  # another server may be making the tables: half of them look like an earlier version
            if not check_version(create=create, upgrading=upgrading):
                call_command("migrate", interactive=False, verbosity=0)
    except DatabaseError as error:
        raise StudyError(_sentence(error)) from None


def _is_due() -> bool:
    executor = MigrationExecutor(connection)
    return bool(executor.migration_plan(executor.loader.graph.leaf_nodes()))


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
