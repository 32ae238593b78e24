"""The database: whether its tables are of this version, whether it answers, its connections, long writes, triggers.

One server at a time makes or changes the tables; others that start at the same moment wait for it. SQLite allows one
writer at a time, and judges must not wait for a large study: long writes are made in short turns. What was deleted is
gone from SQLite's files too.

Triggers keep true what must never be false, whoever writes. They are made again after every migration, because SQLite
loses the triggers of a table that a migration makes anew.
"""

import fcntl
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.db import DatabaseError, InterfaceError, OperationalError, connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.db.models import Model, QuerySet
from django.db.models.signals import post_migrate

from judgemap.errors import StudyError

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


MISTAKES = ("SQLITE_ERROR", "SQLITE_MISUSE", "SQLITE_RANGE")
"""What SQLite calls errors in a statement, such as a table that does not exist."""
BROKEN = ("SQLITE_CORRUPT", "SQLITE_NOTADB")


def is_outage(error: BaseException) -> bool:
    """Say whether an error means that the database is away, full, locked or damaged.

    >>> is_outage(OperationalError("the connection was lost")), is_outage(ValueError("no number"))
    (True, False)
    """
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    name = str(getattr(error.__cause__, "sqlite_errorname", ""))
    if isinstance(error, OperationalError | InterfaceError):
        return name not in MISTAKES
    return name.startswith(BROKEN)


SECONDS_FOR_A_CONNECTION = 5.0
"""How many seconds a request waits for a connection before it gets status 503."""
SECONDS_IDLE = 300.0
FOR_A_WORKER = 4
"""How many connections a worker needs: for a job of each lane, its pulse, and its rounds."""


def use_pool() -> None:
    """Let the threads of this process share connections; called before they start."""
    if connection.vendor != "postgresql":
        return
    database = connections.settings["default"]
    database["CONN_MAX_AGE"] = 0  # a request gives its connection back to the pool
    database["OPTIONS"]["pool"] = {
        "min_size": 1,
        "max_size": settings.DATABASE_CONNECTIONS,
        "timeout": SECONDS_FOR_A_CONNECTION,
        "max_idle": SECONDS_IDLE,
        "name": "judgemap",
    }


def too_many_connections(processes: int, workers: int) -> str:
    """Say what to do if PostgreSQL allows fewer connections than this server may open; empty if it allows enough."""
    if connection.vendor != "postgresql":
        return ""
    needed = processes * settings.DATABASE_CONNECTIONS + workers * FOR_A_WORKER
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        )
        allowed = cursor.fetchone()[0]
    if needed <= allowed:
        return ""
    return (
        f"This server may open {needed} connections and PostgreSQL allows {allowed}: lower --processes or "
        "JUDGEMAP_DATABASE_CONNECTIONS, or raise max_connections."
    )


Row = TypeVar("Row", bound=Model)
BYTES_OF_A_TURN = 250_000
"""About how much is written in one turn: a few milliseconds' work."""
ROWS_OF_A_TURN = 500
SECONDS_OF_A_TURN = 0.03
"""After a turn that took less, the next one deletes twice as much, up to `MOST_TIMES` as much as the first."""
MOST_TIMES = 8
REST = 2.0
"""Rests, as multiples of the turn before: SQLite has no queue, and whoever waits for it only tries now and then."""


def insert_in_turns(rows: Iterable[Row], size: Callable[[Row], int]) -> None:
    """Insert rows in short transactions; ``size`` returns roughly how many bytes a row has.

    Rows are visible before the last turn, and stay if the process ends in between.
    """
    for batch in _batches(rows, size):
        began = time.monotonic()
        type(batch[0])._base_manager.bulk_create(batch)  # noqa: SLF001 - Django's
        _rest(time.monotonic() - began)


def delete_in_turns(rows: QuerySet[Row], at_once: int = ROWS_OF_A_TURN, *, alone: bool = False) -> None:
    """Delete rows in short transactions; give a smaller ``at_once`` if rows are large.

    ``alone`` says that no rows refer to them any more, so that Django need not load them to look for such rows. Keys
    are looked up once: in every turn, the database would pass over all the parents whose rows are gone.
    """
    while keys := sorted(rows.values_list("pk", flat=True)):
        first, size = 0, at_once
        while first < len(keys):
            began = time.monotonic()
            turn = rows.model._base_manager.filter(pk__in=keys[first : first + size])  # noqa: SLF001 - Django's
            turn._raw_delete(turn.db) if alone else turn.delete()  # noqa: SLF001 - Django's
            taken = time.monotonic() - began
            _rest(taken)
            first += size
            size = min(2 * size, MOST_TIMES * at_once) if taken < SECONDS_OF_A_TURN else at_once


def _batches(rows: Iterable[Row], size: Callable[[Row], int]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    total = 0
    for row in rows:
        batch.append(row)
        total += size(row)
        if total >= BYTES_OF_A_TURN or len(batch) == ROWS_OF_A_TURN:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def _rest(seconds: float) -> None:
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(REST * seconds)


@dataclass(frozen=True, slots=True)
class Trigger:
    """A trigger: ``event`` in a model's rows where ``when`` is refused with a message, or followed by ``then``."""

    name: str
    model: type[Model]
    event: str
    when: str = "TRUE"
    refuse: str = ""
    then: str = ""

    def statements(self, vendor: str) -> list[str]:
        """Return the SQL that makes the trigger, replacing one of the same name."""
        table = self.model._meta.db_table  # noqa: SLF001 - Django's
        moment = "BEFORE" if self.refuse else "AFTER"
        if vendor == "sqlite":
            when = self.when.replace("IS DISTINCT FROM", "IS NOT")
            act = f"SELECT RAISE(ABORT, '{self.refuse}')" if self.refuse else self.then
            made = f"CREATE TRIGGER {self.name} {moment} {self.event} ON {table} WHEN {when} BEGIN {act}; END"
            return [f"DROP TRIGGER IF EXISTS {self.name}", made]
        act = f"RAISE EXCEPTION '{self.refuse}'" if self.refuse else self.then
        fires = f"{moment} {self.event} ON {table} FOR EACH ROW WHEN ({self.when})"
        body = f"$$ BEGIN {act}; RETURN NULL; END $$"
        return [
            f"CREATE OR REPLACE FUNCTION {self.name}() RETURNS trigger LANGUAGE plpgsql AS {body}",
            f"DROP TRIGGER IF EXISTS {self.name} ON {table}",
            f"CREATE TRIGGER {self.name} {fires} EXECUTE FUNCTION {self.name}()",
        ]


def keep_trigger(trigger: Trigger) -> None:
    """Make the trigger after every migration of its table; called beside the model."""

    def make(using: str, **_: object) -> None:
        with connections[using].cursor() as cursor:
            for statement in trigger.statements(connections[using].vendor):
                cursor.execute(statement)

    app = apps.get_app_config(trigger.model._meta.app_label)  # noqa: SLF001 - Django's
    post_migrate.connect(make, sender=app, weak=False, dispatch_uid=trigger.name)
