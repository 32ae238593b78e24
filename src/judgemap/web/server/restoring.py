"""Filling an empty database from a backup, once everything in the backup has been checked.

A backup is checked, brought up to date and copied into a scratch database made by our own migrations, whose constraints
every row must satisfy. Only then is anything else touched. Rows are copied to PostgreSQL one by one, which is also how
to move a study that outgrows SQLite.
"""

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from django.apps import apps
from django.conf import settings
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import DatabaseError, connection, transaction

from judgemap.errors import StudyError
from judgemap.web.server.copying import all_models, copy_rows, file_database
from judgemap.web.server.encryption import NO_KEY, Key
from judgemap.web.server.seal import content_digest, read_seal
from judgemap.web.server.versions import later_migrations

FIRST_SEALED = ("accounts", "0003_second_step_is_encrypted")
"""A backup with this migration has a seal; one without it comes from version 0.1.0, and has none."""


def restore(path: Path, key: Key = NO_KEY) -> None:
    """Fill an empty database from a backup that this version or an earlier one made."""
    if not _is_empty():
        raise StudyError("the database is not empty; restore into a new data folder or a new database")
    with checked_copy(path, key) as copy:
        if connection.vendor == "sqlite":
            connection.ensure_connection()
            with closing(sqlite3.connect(copy)) as source:
                source.backup(connection.connection)
            return
        with file_database(copy) as alias, transaction.atomic():
            copy_rows(alias, "default")
            with connection.cursor() as cursor:
                for statement in connection.ops.sequence_reset_sql(no_style(), all_models()):
                    cursor.execute(statement)


@contextmanager
def checked_copy(path: Path, key: Key = NO_KEY) -> Iterator[Path]:
    """Check all of a backup, and yield an up-to-date copy of it, with our own tables, constraints and triggers."""
    if not path.is_file():
        raise StudyError(f"{path}: there is no such file; check its name and folder")
    with tempfile.TemporaryDirectory(dir=settings.DATA) as folder:
        draft, fresh = Path(folder, "draft.sqlite3"), Path(folder, "fresh.sqlite3")
        try:
            key.open(path, draft)
            _check_file(path, draft)
            _bring_up_to_date(draft)
            _make_empty(fresh)
            _fill(path, fresh, draft)
        except StudyError:
            raise
        except (sqlite3.DatabaseError, DatabaseError, LookupError, ValueError) as error:
            raise _damaged(path, str(error).partition("\n")[0]) from None
        yield fresh


def _is_empty() -> bool:
    names = (("studies", "Study"), ("accounts", "Researcher"), ("studies", "Act"))
    return not any(apps.get_model(*name)._base_manager.exists() for name in names)  # noqa: SLF001 - Django's name


def _check_file(path: Path, draft: Path) -> None:
    """Check what the file says about itself, before any of our code runs on it."""
    with closing(sqlite3.connect(draft)) as copy:
        if copy.execute("PRAGMA integrity_check").fetchone()[0] != "ok":
            raise _damaged(path, "its pages are inconsistent")
        done = set(copy.execute("SELECT app, name FROM django_migrations"))
        if later := later_migrations(done):
            raise StudyError(f"{path} was written by a later version of judgemap ({later[0]}); install that version")
        digest = read_seal(copy)
        if digest != content_digest(copy) and (digest or FIRST_SEALED in done):
            raise _damaged(path, "its content does not match its seal")
        if copy.execute("PRAGMA foreign_key_check").fetchone():
            raise _damaged(path, "it has orphaned rows")


def _bring_up_to_date(path: Path) -> None:
    with file_database(path) as alias:
        call_command("migrate", database=alias, interactive=False, verbosity=0)


def _make_empty(path: Path) -> None:
    """Make a database with our own tables: copying an empty one takes a moment, all the migrations take seconds."""
    if connection.vendor == "sqlite" and _is_empty():
        with closing(sqlite3.connect(path)) as copy:
            connection.connection.backup(copy)
    else:
        _bring_up_to_date(path)


def _fill(path: Path, fresh: Path, draft: Path) -> None:
    """Copy every row into a database with our own constraints; a row that breaks one raises SQLite's error."""
    with closing(sqlite3.connect(fresh)) as database:
        database.execute("ATTACH ? AS draft", [str(draft)])
        # Older migrations may have given indexes other names; the copy has ours in any case.
        parts = "SELECT type, name FROM {}.sqlite_master WHERE type IN ('table', 'trigger')"
        ours, theirs = (set(database.execute(parts.format(each))) for each in ("main", "draft"))
        if missing := sorted(ours - theirs):
            raise _damaged(path, f"its {' '.join(missing[0])} is missing")
        for name in sorted(name for kind, name in ours if kind == "table" and name != "django_migrations"):
            columns = ", ".join(f'"{row[1]}"' for row in database.execute(f'PRAGMA main.table_info("{name}")'))
            database.execute(f'DELETE FROM main."{name}"')  # noqa: S608 - from our own schema
            database.execute(f'INSERT INTO main."{name}" ({columns}) SELECT {columns} FROM draft."{name}"')  # noqa: S608
        database.commit()
        if database.execute("PRAGMA main.foreign_key_check").fetchone():
            raise _damaged(path, "it has orphaned rows")


def _damaged(path: Path, why: str) -> StudyError:
    return StudyError(
        f"{path} is not a backup that 'judgemap study backup' wrote, or it is damaged ({why}); use another one"
    )
