"""Outages: a database that does not respond or cannot store anything, as opposed to a bug in the program."""

from django.db import DatabaseError, InterfaceError, OperationalError

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
