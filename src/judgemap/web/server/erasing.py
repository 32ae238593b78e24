"""Making sure that deleted data is gone from the database file too, not just from the tables.

SQLite keeps a deleted row's bytes in its write-ahead log until that is overwritten. PostgreSQL keeps them until its own
vacuum runs, which needs no help.
"""

import logging
import threading
import time

from django.db import DatabaseError, connection, connections, transaction

logger = logging.getLogger(__name__)
PATIENCE_MS = 200
"""How long a checkpoint may hold up judges while it waits for readers, before it gives up and tries again later."""
SECONDS_BETWEEN_TRIES = 1.0


def erase_after_commit() -> None:
    """Empty SQLite's write-ahead log after this transaction commits, as soon as nobody is reading the database."""
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
