"""Copies of the database from one moment, while the server runs: for export, backup and restore.

A backup is a SQLite file whatever the database is. One of PostgreSQL is copied row by row, and so is a restore to it:
that is also the way for a study that outgrows SQLite.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import connection, connections, models, transaction

from judgemap.errors import StudyError

BATCH = 500


@contextmanager
def snapshot(using: str = "default") -> Iterator[None]:
    """See the database as it is at this moment, whatever others write; nothing is to be written here."""
    database = connections[using]
    with _only_reading(database), transaction.atomic(using=using):
        if database.vendor == "postgresql":
            with database.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


@contextmanager
def _only_reading(database: Any) -> Iterator[None]:  # noqa: ANN401 - a connection of any kind
    """Begin transactions of SQLite without the lock for writing, for which every judge would wait."""
    if database.vendor != "sqlite":
        yield
        return
    database.ensure_connection()
    usual, database.transaction_mode = database.transaction_mode, "DEFERRED"
    try:
        yield
    finally:
        database.transaction_mode = usual


def back_up(path: Path) -> Path:
    """Write a consistent copy of the whole database into a new file that only its owner can read."""
    if path.exists():
        raise StudyError(f"{path} is there already; name a new file for the backup")
    draft = path.with_name(f".{path.name}.part")
    draft.unlink(missing_ok=True)
    try:
        draft.touch(mode=0o600)  # before anything is in it that others might read
        if connection.vendor == "sqlite":
            connection.ensure_connection()
            with closing(sqlite3.connect(draft)) as copy:
                connection.connection.backup(copy)
        else:
            with _file_database(draft) as alias, snapshot():
                call_command("migrate", database=alias, interactive=False, verbosity=0)
                _copy_rows("default", alias)
        draft.replace(path)
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror}); name another file") from None
    finally:
        draft.unlink(missing_ok=True)
    return path


def restore(path: Path) -> None:
    """Fill an empty database from a backup, made by this version or an earlier one."""
    _check_backup(path)
    call_command("migrate", interactive=False, verbosity=0)
    study = apps.get_model("studies", "Study")
    researcher = apps.get_model("accounts", "Researcher")
    if study._base_manager.exists() or researcher._base_manager.exists():  # noqa: SLF001 - Django's name
        raise StudyError("the database is not empty; restore into a new data folder or a new database")
    if connection.vendor == "sqlite":
        connection.ensure_connection()
        with closing(sqlite3.connect(path)) as copy:
            copy.backup(connection.connection)
        call_command("migrate", interactive=False, verbosity=0)
        return
    with tempfile.TemporaryDirectory() as folder:
        copy_path = Path(shutil.copy(path, folder))
        _fill_from_file(copy_path)


def _fill_from_file(path: Path) -> None:
    """Bring a copy of a backup up to date, and copy its rows into the database."""
    with _file_database(path) as alias:
        call_command("migrate", database=alias, interactive=False, verbosity=0)
        with transaction.atomic():
            _copy_rows(alias, "default")
            for statement in connection.ops.sequence_reset_sql(no_style(), _models()):
                with connection.cursor() as cursor:
                    cursor.execute(statement)


def _check_backup(path: Path) -> None:
    if not path.is_file():
        raise StudyError(f"{path}: there is no such file; check its name and folder")
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as copy:
            copy.execute("SELECT count(*) FROM studies_study").fetchone()
            sound = copy.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    except sqlite3.DatabaseError:
        sound = False
    if not sound:
        raise StudyError(f"{path} is no backup that 'judgemap study backup' wrote, or it is damaged")


@contextmanager
def _file_database(path: Path) -> Iterator[str]:
    """Give Django a SQLite file as one more database."""
    alias = f"file-{path.name}"
    settings = {**connections.databases["default"], "ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}
    settings |= {"OPTIONS": {}, "CONN_MAX_AGE": 0, "HOST": "", "PORT": "", "USER": "", "PASSWORD": ""}
    connections.databases[alias] = settings
    try:
        yield alias
    finally:
        connections[alias].close()
        del connections[alias]
        del connections.databases[alias]


def _models() -> list[type[models.Model]]:
    """Return every table's model; those that migrations fill are left out."""
    filled = {"contenttypes.ContentType", "auth.Permission"}
    return [each for each in apps.get_models(include_auto_created=True)
            if each._meta.label not in filled and each._meta.managed]  # fmt: skip  # noqa: SLF001


def _copy_rows(source: str, target: str) -> None:
    """Copy every row as it is; the database's own checks of what points where come at the end."""
    with transaction.atomic(using=target), connections[target].cursor() as cursor:
        for model in _models():
            meta = model._meta  # noqa: SLF001 - Django's name
            fields = meta.concrete_fields
            names = ", ".join(connections[target].ops.quote_name(field.column) for field in fields)
            places = ", ".join(["%s"] * len(fields))
            insert = f"INSERT INTO {connections[target].ops.quote_name(meta.db_table)} ({names}) VALUES ({places})"  # noqa: S608
            rows = model._base_manager.using(source).values_list(*(field.attname for field in fields))  # noqa: SLF001
            batch: list[list[Any]] = []
            for row in rows.iterator(chunk_size=BATCH):
                values = zip(fields, row, strict=True)
                batch.append([field.get_db_prep_save(value, connections[target]) for field, value in values])
                if len(batch) == BATCH:
                    cursor.executemany(insert, batch)
                    batch.clear()
            if batch:
                cursor.executemany(insert, batch)
