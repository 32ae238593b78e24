"""Limits on how often something is done: guessing links and codes, joining, asking the API.

A link has 128 random bits and a code 80, so the limit on guessing only saves work and does not need anyone's address.
Correct links are never slowed down.
"""

import threading
import time
from datetime import UTC, datetime

from django.conf import settings
from django.db import connection


class Brake:
    """At most ``most`` acts in ``seconds`` seconds, counted in the database, so that all processes share the count.

    An act costs one statement of some tenths of a millisecond, and nothing once the limit is reached: a process that
    knows of this does not ask again before the time is up.
    """

    def __init__(self, name: str, most: int, seconds: float) -> None:
        self._name, self._most, self._seconds = name, most, seconds
        self._refused: dict[str, int] = {}
        self._lock = threading.Lock()

    def allows(self, who: str = "") -> bool:
        """Count an act, separately for each ``who`` if given; False if there were too many."""
        window = int(time.time() // self._seconds)
        with self._lock:
            if self._refused.get(who) == window:
                return False
        if self._count(f"brake:{self._name}:{who}:{window}", (window + 1) * self._seconds) <= self._most:
            return True
        with self._lock:
            self._refused = {each: at for each, at in self._refused.items() if at == window} | {who: window}
        return False

    def forget(self) -> None:
        """Forget what this process has refused."""
        self._refused.clear()

    @staticmethod
    def _count(key: str, until: float) -> int:
        """Add one to a count, in one statement, and return it."""
        table = connection.ops.quote_name(str(settings.CACHES["default"]["LOCATION"]))
        expires = connection.ops.adapt_datetimefield_value(datetime.fromtimestamp(until, UTC))
        with connection.cursor() as cursor:
            cursor.execute(
                f"INSERT INTO {table} (cache_key, value, expires) VALUES (%s, '1', %s) "  # noqa: S608 - our own table
                f"ON CONFLICT (cache_key) DO UPDATE SET value = CAST(CAST({table}.value AS integer) + 1 AS text) "
                "RETURNING value",
                [key, expires],
            )
            return int(cursor.fetchone()[0])


WRONG_GUESSES = Brake("guesses", most=50, seconds=5.0)
