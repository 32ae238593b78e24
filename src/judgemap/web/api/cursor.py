"""A running study's answers in pieces: no answer is missed, none comes twice, and a withdrawal cannot be overlooked.

Answers are handed out in the order of their keys; a changed mind is a new answer, with a higher key. A cursor is the
key of the last answer handed out, and how many judges had withdrawn by then: when another one withdraws, their answers
are deleted, every older cursor becomes invalid, and its holder has to start again.
"""

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import connection
from django.db.models import F, Max, OuterRef, QuerySet, Subquery

from judgemap.web.api.access import ApiError
from judgemap.web.judge.comparisons import seconds_in_view
from judgemap.web.judge.models import Answer, Judge
from judgemap.web.studies.models import Study

PATIENCE = 2.0
"""How many seconds to wait for those who are writing."""
_WRITERS = """
    SELECT virtualtransaction FROM pg_locks
    WHERE relation = 'judge_answer'::regclass AND mode = 'RowExclusiveLock' AND granted
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()
"""


@dataclass(frozen=True, slots=True)
class Handed:
    """An answer as it is handed out."""

    pair: int
    judge: str
    left: str
    right: str
    outcome: str
    seconds: float
    answered_at: datetime
    revision: int
    position: int
    version: int
    design: str
    probability: float


@dataclass(frozen=True, slots=True)
class Page:
    """Some answers, the cursor after them, and whether there are more already."""

    answers: list[Handed]
    cursor: str
    more: bool


def read_page(study: Study, after: str, limit: int) -> Page:
    """Return the answers after a cursor; an empty one begins at the beginning."""
    generation = _generation(study)
    last = _read_cursor(after, generation)
    up_to = settled()
    found = list(_handed(_answers(study).filter(pk__gt=last, pk__lte=up_to).order_by("pk")[: limit + 1]))
    kept = found[:limit]
    reached = kept[-1][0] if kept else last
    return Page([answer for _, answer in kept], f"{generation}.{reached}", len(found) > limit)


def read_latest(study: Study) -> list[Handed]:
    """Return the last answer to every pair."""
    last = Answer.objects.filter(pair=OuterRef("pair")).order_by("-revision").values("pk")[:1]
    return [answer for _, answer in _handed(_answers(study).filter(pk=Subquery(last)).order_by("pk"))]


def settled() -> int:
    """Return a key such that no answer up to it can still appear.

    SQLite has one writer at a time. On PostgreSQL keys are given out before the answers that bear them are committed,
    in another order perhaps: so note the last key, and wait for those who are writing at this moment.
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
    """Count the judges who withdrew. Asked before the answers: a withdrawal in between shows at the next page."""
    return Judge.objects.filter(study=study, withdrawn_at__isnull=False).count()


def _read_cursor(after: str, generation: int) -> int:
    if not after:
        return 0
    read = re.fullmatch(r"([0-9]{1,9})\.([0-9]{1,18})", after, re.ASCII)
    if read is None:
        raise ApiError(400, "This is not a cursor: set 'after' to the 'next' of an earlier page, or leave it out.")
    if int(read[1]) != generation:
        raise ApiError(
            410, "A judge has withdrawn since this cursor was issued: delete your copy and start without 'after'."
        )
    return int(read[2])


def _answers(study: Study) -> QuerySet[Answer]:
    return Answer.objects.filter(pair__judge__study=study, pair__practice=False)


def _handed(answers: QuerySet[Answer]) -> Iterator[tuple[int, Handed]]:
    rows = answers.values_list(
        "pk", "pair_id", "pair__judge_id", F("pair__left__code"), F("pair__right__code"), "outcome", "seen_ms",
        "answered_at", "revision", "pair__issued_at", "pair__position", F("pair__version__number"), "pair__design",
        "pair__probability",
    )  # fmt: skip
    for key, pair, judge, left, right, outcome, seen_ms, answered_at, revision, issued_at, *drawn in rows:
        seconds = seconds_in_view(issued_at, seen_ms, answered_at)
        yield key, Handed(pair, judge, left, right, outcome, seconds, answered_at, revision, *drawn)
