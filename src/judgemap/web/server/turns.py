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


def delete_in_turns(rows: QuerySet[Row], at_once: int = ROWS) -> None:
    """Delete rows in short transactions; give a smaller ``at_once`` if rows are large."""
    while keys := list(rows.values_list("pk", flat=True)[:at_once]):
        began = time.monotonic()
        rows.model._base_manager.filter(pk__in=keys).delete()  # noqa: SLF001 - Django's
        _rest(time.monotonic() - began)


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
