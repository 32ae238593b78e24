"""A study's answers as the statistics know them: the same pairs in the same order as in the export."""

from datetime import datetime

import numpy as np
from django.db.models import F

from judgemap.study.comparisons import Comparisons
from judgemap.web.judge.models import Answer, Pair
from judgemap.web.studies.models import Area, Study


def load_comparisons(study: Study) -> Comparisons:
    """Return every pair that was shown, with what was last said of it, as `jm.read_comparisons` reads the export."""
    codes = Area.objects.filter(study=study).order_by("position").values_list("code", flat=True)
    counted = Pair.objects.filter(judge__study=study, practice=False)
    said = {
        pair: (outcome, seen_ms, answered_at)
        for pair, outcome, seen_ms, answered_at in Answer.objects.filter(pair__in=counted)
        .order_by("revision")
        .values_list("pair_id", "outcome", "seen_ms", "answered_at")
    }
    rows = list(
        counted.order_by("judge_id", "position").values_list(
            "pk", "judge_id", F("left__position"), F("right__position"), "issued_at"
        )
    )
    last = [said.get(row[0]) for row in rows]
    return Comparisons.from_words(
        ids=tuple(codes),
        judge=[row[1] for row in rows],
        left=np.array([row[2] for row in rows], dtype=np.int64),
        right=np.array([row[3] for row in rows], dtype=np.int64),
        outcome=[answer[0] if answer else "open" for answer in last],
        seconds=np.array(
            [seconds_in_view(row[4], *answer[1:]) if answer else np.nan for row, answer in zip(rows, last, strict=True)]
        ),
        winner_is="lower" if study.version.direction == "lower" else "higher",
    )


def seconds_in_view(issued_at: datetime, seen_ms: int | None, answered_at: datetime) -> float:
    """Return how long a pair was in view, by the browser's clock, or by the server's where there was no script."""
    if seen_ms is not None:
        return seen_ms / 1000
    return round(max((answered_at - issued_at).total_seconds(), 0.0), 3)
