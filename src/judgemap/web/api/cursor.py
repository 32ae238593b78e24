"""A running study's answers, page by page: none is missed or repeated, and a withdrawal cannot be overlooked.

Answers are handed out in the order of their keys; a changed mind is a new answer, with a higher key. A cursor is the
key of the last answer handed out, and how many judges had withdrawn by then: when another one withdraws, their answers
are deleted, every older cursor becomes invalid, and its holder has to start again.

PostgreSQL hands out keys before the answers that use them are committed, perhaps in another order. So no answer is
handed out until it is a few seconds old, nor any after it.
"""

import re
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from django.utils import timezone

from judgemap.web.api.access import ApiError
from judgemap.web.judge.comparisons import IN_TABLES, History, TableRow, area_ids
from judgemap.web.judge.models import COMMITTED_AFTER, Answer, Judge, Pair
from judgemap.web.studies.models import Study

ALL_GONE = 999_999_999
"""Instead of the number of withdrawals: all of the study's answers were removed."""


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
    new = Answer.objects.filter(pair__judge__study=study, pair__practice=False, pk__gt=last).order_by("pk")
    young = timezone.now() - COMMITTED_AFTER
    rows = new.values_list("pk", "answered_at")[: limit + 1]
    keys = [key for key, _ in takewhile(lambda row: row[1] <= young, rows)]
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
