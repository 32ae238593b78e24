"""Long writes in short turns: SQLite allows one writer at a time, and judges must not wait for a large study."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from django.db import connection
from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)
BYTES = 250_000
"""About how much is written in one turn: a few milliseconds' work."""
ROWS = 500
SECONDS = 0.03
"""After a turn that took less, the next one deletes twice as much, up to `MOST_TIMES` as much as the first."""
MOST_TIMES = 8
REST = 2.0
"""Rests, as multiples of the turn before: SQLite has no queue, and whoever waits for it only tries now and then."""


def insert_in_turns(rows: Iterable[Row], size: Callable[[Row], int]) -> None:
    """Insert rows in short transactions; ``size`` returns roughly how many bytes a row has.

    Rows are visible before the last turn, and stay if the process ends in between.
    """
    for batch in _batches(rows, size):
        began = time.monotonic()
        type(batch[0])._base_manager.bulk_create(batch)  # noqa: SLF001 - Django's
        _rest(time.monotonic() - began)


def delete_in_turns(rows: QuerySet[Row], at_once: int = ROWS, *, alone: bool = False) -> None:
    """Delete rows in short transactions; give a smaller ``at_once`` if rows are large.

    ``alone`` says that no rows refer to them any more, so that Django need not load them to look for such rows. Keys
    are looked up once: in every turn, the database would pass over all the parents whose rows are gone.
    """
    while keys := sorted(rows.values_list("pk", flat=True)):
        first, size = 0, at_once
        while first < len(keys):
            began = time.monotonic()
            turn = rows.model._base_manager.filter(pk__in=keys[first : first + size])  # noqa: SLF001 - Django's
            turn._raw_delete(turn.db) if alone else turn.delete()  # noqa: SLF001 - Django's
            taken = time.monotonic() - began
            _rest(taken)
            first += size
            size = min(2 * size, MOST_TIMES * at_once) if taken < SECONDS else at_once


def _batches(rows: Iterable[Row], size: Callable[[Row], int]) -> Iterator[list[Row]]:
    batch: list[Row] = []
    total = 0
    for row in rows:
        batch.append(row)
        total += size(row)
        if total >= BYTES or len(batch) == ROWS:
            yield batch
            batch, total = [], 0
    if batch:
        yield batch


def _rest(seconds: float) -> None:
    if connection.vendor == "sqlite" and not connection.in_atomic_block:
        time.sleep(REST * seconds)
