"""Copying rows between databases of any kind, and fingerprints to compare the two."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from django.apps import apps
from django.db import connections, models, transaction

BATCH = 500
Row = tuple[Any, ...]


@contextmanager
def file_database(path: Path) -> Iterator[str]:
    """Give Django a SQLite file as an extra database, which does not have to survive a crash of the machine."""
    alias = f"file-{path.name}"
    settings = {**connections.databases["default"], "ENGINE": "django.db.backends.sqlite3", "NAME": str(path)}
    settings |= {
        "OPTIONS": {"init_command": "PRAGMA synchronous=OFF;"},
        "CONN_MAX_AGE": 0,
        "HOST": "",
        "PORT": "",
        "USER": "",
        "PASSWORD": "",
    }
    connections.databases[alias] = settings
    try:
        yield alias
    finally:
        connections[alias].close()
        del connections[alias]
        del connections.databases[alias]


def all_models() -> list[type[models.Model]]:
    """Return every table's model, except those that migrations fill."""
    filled = {"contenttypes.ContentType", "auth.Permission"}
    return [each for each in apps.get_models(include_auto_created=True)
            if each._meta.label not in filled and each._meta.managed]  # fmt: skip  # noqa: SLF001


def copy_rows(source: str, target: str) -> None:
    """Copy every row as it is into a database that holds only what its migrations put there.

    The database checks foreign keys at the end.
    """
    quote = connections[target].ops.quote_name
    with transaction.atomic(using=target), connections[target].cursor() as cursor:
        for model in all_models():
            meta = model._meta  # noqa: SLF001 - Django's name
            fields = meta.concrete_fields
            names = ", ".join(quote(field.column) for field in fields)
            places = ", ".join(["%s"] * len(fields))
            insert = f"INSERT INTO {quote(meta.db_table)} ({names}) VALUES ({places})"  # noqa: S608
            rows = (
                [field.get_db_prep_save(value, connections[target]) for field, value in zip(fields, row, strict=True)]
                for row in _rows(model, source)
            )
            cursor.execute(f"DELETE FROM {quote(meta.db_table)}")  # noqa: S608 - rows of migrations, such as the log's head
            while batch := list(islice(rows, BATCH)):
                cursor.executemany(insert, batch)


def fingerprints(using: str) -> dict[str, str]:
    """Return the count and a digest of each table's rows, the same on every kind of database."""
    return {model._meta.label: _fingerprint(model, using) for model in all_models()}  # noqa: SLF001 - Django's name


def _fingerprint(model: type[models.Model], using: str) -> str:
    digest, count = hashlib.sha256(), 0
    for row in _rows(model, using):
        # PostgreSQL sorts the keys of JSON in its own way, and returns bytes as a memoryview.
        text = json.dumps(
            row, sort_keys=True, default=lambda value: value.hex() if hasattr(value, "hex") else str(value)
        )
        digest.update(text.encode() + b"\n")
        count += 1
    return f"{count} {digest.hexdigest()}"


def _rows(model: type[models.Model], using: str) -> Iterator[Row]:
    names = [field.attname for field in model._meta.concrete_fields]  # noqa: SLF001 - Django's name
    rows = model._base_manager.using(using).order_by("pk").values_list(*names)  # noqa: SLF001
    return rows.iterator(chunk_size=BATCH)
