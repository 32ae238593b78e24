"""A running study's answers, page by page: none is missed or repeated, and a withdrawal cannot be overlooked.

Answers are handed out in the order of their keys; a changed mind is a new answer, with a higher key. A cursor is the
key of the last answer handed out, and how many judges had withdrawn by then: when another one withdraws, their answers
are deleted, every older cursor becomes invalid, and its holder has to start again.
"""

import re
import time
from dataclasses import dataclass

import numpy as np
from django.db import connection
from django.db.models import Max

from judgemap.web.api.access import ApiError
from judgemap.web.judge.comparisons import IN_TABLES, History, TableRow, area_ids
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.studies.models import Study

PATIENCE = 2.0
"""How many seconds to wait for transactions that are writing answers."""
ALL_GONE = 999_999_999
"""Instead of the number of withdrawals: all of the study's answers were removed."""
_WRITERS = """
    SELECT virtualtransaction FROM pg_locks
    WHERE relation = 'judge_answer'::regclass AND mode = 'RowExclusiveLock' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True, slots=True)
class Page:
    """Some answers, the cursor after them, and whether there are more now."""

    answers: list[TableRow]
    cursor: str
    more: bool


def read_page(study: Study, after: str, limit: int) -> Page:
    """Return the answers after a cursor; an empty one starts at the beginning."""
    generation = _generation(study)
    last = _read_cursor(after, generation)
    new = Answer.objects.filter(pair__judge__study=study, pair__practice=False, pk__gt=last, pk__lte=settled())
    keys = list(new.order_by("pk").values_list("pk", flat=True)[: limit + 1])
    if not keys:
        return Page([], f"{generation}.{last}", more=False)
    reached = keys[:limit][-1]
    shown = Pair.objects.filter(judge__study=study, answers__pk__gt=last, answers__pk__lte=reached)
    history = History.read(study, shown, IN_TABLES)
    return Page(_in_order(study, history), f"{generation}.{reached}", len(keys) > limit)


def read_latest(study: Study) -> list[TableRow]:
    """Return the last answer to every pair."""
    last = History.read(study, more=IN_TABLES).last()
    return _in_order(study, last.where(last.answer >= 0))


def _in_order(study: Study, answers: History) -> list[TableRow]:
    """Return answers in the order in which they were stored."""
    return list(answers.where(np.argsort(answers.answer)).rows(area_ids(study)))


def settled() -> int:
    """Return a key up to which no further answer can appear.

    SQLite has one writer at a time. PostgreSQL hands out keys before the answers that use them are committed, perhaps
    in another order: so note the last key, then wait for every transaction that is writing at that moment.
    """
    if connection.vendor != "postgresql":
        return Answer.objects.aggregate(last=Max("pk"))["last"] or 0
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sequence_last_value(pg_get_serial_sequence('judge_answer', 'id')::regclass)")
        last = int((cursor.fetchone() or [0])[0] or 0)
        cursor.execute(_WRITERS)
        writing = {row[0] for row in cursor.fetchall()}
        until = time.monotonic() + PATIENCE
        while writing:
            if time.monotonic() > until:
                raise ApiError(503, "Answers are being written at this moment; try again in a second.")
            time.sleep(0.005)
            cursor.execute(_WRITERS)
            writing &= {row[0] for row in cursor.fetchall()}
    return last


def _generation(study: Study) -> int:
    """Count the judges who withdrew; read before the answers, so a withdrawal in between shows on the next page."""
    if study.answers_removed_at is not None:
        return ALL_GONE
    return Judge.objects.filter(study=study, withdrawn_at__isnull=False).count()


def _read_cursor(after: str, generation: int) -> int:
    if not after:
        return 0
    read = re.fullmatch(r"([0-9]{1,9})\.([0-9]{1,18})", after, re.ASCII)
    if read is None:
        raise ApiError(400, "This is not a cursor: set 'after' to the 'next' of an earlier page, or leave it out.")
    if int(read[1]) != generation:
        raise ApiError(
            410,
            "Answers were withdrawn or removed since this cursor was issued: delete your copy, start without 'after'.",
        )
    return int(read[2])
