"""PostgreSQL connections: a fixed number for each server process, shared by its threads."""

from django.conf import settings
from django.db import connection, connections

PATIENCE = 5.0
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
        "timeout": PATIENCE,
        "max_idle": SECONDS_IDLE,
        "name": "judgemap",
    }


def too_many_connections(workers: int, fitters: int) -> str:
    """Say what to do if PostgreSQL allows fewer connections than this server may open; empty if it allows enough."""
    if connection.vendor != "postgresql":
        return ""
    needed = workers * settings.DATABASE_CONNECTIONS + fitters * FOR_A_WORKER
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int"
        )
        allowed = cursor.fetchone()[0]
    if needed <= allowed:
        return ""
    return (
        f"This server may open {needed} connections and PostgreSQL allows {allowed}: lower --workers or "
        "JUDGEMAP_DATABASE_CONNECTIONS, or raise max_connections."
    )
