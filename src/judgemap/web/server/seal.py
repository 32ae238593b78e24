"""A backup's seal: a digest of its content, so that we never restore one that was cut short or edited."""

import hashlib
import sqlite3
from contextlib import closing
from pathlib import Path

SEAL = "judgemap_seal"


def seal(path: Path) -> None:
    """Store a digest of a SQLite file in the file itself, and leave no log beside it."""
    with closing(sqlite3.connect(path)) as copy:
        copy.execute("PRAGMA journal_mode = DELETE")
        digest = content_digest(copy)
        copy.execute(f"CREATE TABLE {SEAL} (digest text NOT NULL)")
        copy.execute(f"INSERT INTO {SEAL} VALUES (?)", [digest])  # noqa: S608 - our own name
        copy.commit()


def read_seal(copy: sqlite3.Connection) -> str:
    """Return the digest that a backup was sealed with, or an empty string."""
    there = copy.execute("SELECT count(*) FROM sqlite_master WHERE name = ?", [SEAL]).fetchone()[0]
    return str(copy.execute(f"SELECT digest FROM {SEAL}").fetchone()[0]) if there else ""  # noqa: S608 - our own name


def content_digest(copy: sqlite3.Connection) -> str:
    """Return a digest of every table, index, trigger and row except the seal.

    >>> with closing(sqlite3.connect(":memory:")) as copy:
    ...     _ = copy.execute("CREATE TABLE answer (outcome text)")
    ...     before = content_digest(copy)
    ...     _ = copy.execute("INSERT INTO answer VALUES ('left')")
    ...     before == content_digest(copy)
    False
    """
    digest = hashlib.sha256()
    parts = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' AND name <> ? ORDER BY name, type"
    for kind, name, sql in copy.execute(parts, [SEAL]).fetchall():
        digest.update(repr((kind, name, sql)).encode())
        if kind == "table":
            for row in copy.execute(f'SELECT rowid, * FROM "{name}" ORDER BY rowid'):  # noqa: S608 - from the schema
                digest.update(repr(row).encode())
    return digest.hexdigest()
