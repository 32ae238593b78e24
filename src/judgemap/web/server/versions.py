"""Which version wrote a database, told by the migrations in it."""

from collections.abc import Iterable

from django.db.migrations.loader import MigrationLoader

GONE = {"django_tasks_database", "making"}
"""Apps that version 0.1.0 had and later ones do not."""


def later_migrations(done: Iterable[tuple[str, str]]) -> list[str]:
    """Return the migrations in a database that this version does not have: a later one made them.

    >>> later_migrations([("judge", "0001_models"), ("judge", "9999_later")])
    ['judge.9999_later']
    """
    known = set(MigrationLoader(None).disk_migrations)
    return sorted(f"{app}.{name}" for app, name in done if (app, name) not in known and app not in GONE)
