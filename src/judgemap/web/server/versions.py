"""Which version wrote a database, judging by the migrations in it."""

from collections.abc import Iterable

from django.conf import settings
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from judgemap.errors import StudyError

GONE = {"django_tasks_database", "making"}
"""Apps that version 0.1.0 had and later versions do not."""


def later_migrations(done: Iterable[tuple[str, str]]) -> list[str]:
    """Return the migrations in a database that this version does not have, because a later one made them.

    >>> later_migrations([("judge", "0001_models"), ("judge", "9999_later")])
    ['judge.9999_later']
    """
    known = set(MigrationLoader(None).disk_migrations)
    return sorted(f"{app}.{name}" for app, name in done if (app, name) not in known and app not in GONE)


def check_version(*, create: bool = False, upgrading: bool = False) -> bool:
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
