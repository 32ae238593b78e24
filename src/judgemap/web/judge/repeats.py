"""Planted repeats: a pair that the judge answered before, shown again with sides swapped.

They tell how far a judge's answers vary by themselves, apart from how far judges differ.
"""

from collections import Counter
from collections.abc import Collection

import numpy as np
from django.db.models import Exists, OuterRef

from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.judge.scheduling import DrawnPair

REPEAT = "repeat"
"""What stands in a pair's design where it was planted."""
SPACING = 10
"""Other pairs between the two showings, at least."""


def draw_repeat(
    rng: np.random.Generator, judge: Judge, last_position: int, unknown: Collection[int]
) -> DrawnPair | None:
    """Draw a pair to show again, where one is due; None where not, or where none is old enough.

    Whether one is due is chance, so that nobody can foresee it, but the study's share is kept to: the more are missing,
    the likelier. A pair comes again once, if it was decided or tied and both areas are still known.
    """
    share = judge.study.version.repeats
    if not share:
        return None
    passed_over = Exists(Answer.objects.filter(pair=OuterRef("pk"), outcome__in=("skipped", "unknown")))
    shown = list(
        Pair.objects.filter(judge=judge, practice=False)
        .annotate(passed_over=passed_over)
        .values_list("left__position", "right__position", "position", "design", "passed_over")
    )
    missing = share * (last_position + 1) - sum(design == REPEAT for *_, design, _ in shown)
    if rng.random() >= min(missing, 0.5):
        return None
    times = Counter(frozenset((left, right)) for left, right, *_ in shown)
    old_enough = [
        (left, right)
        for left, right, position, _, passed in shown
        if last_position - position >= SPACING
        and not passed
        and times[frozenset((left, right))] == 1
        and left not in unknown
        and right not in unknown
    ]
    if not old_enough:
        return None
    left, right = old_enough[rng.integers(len(old_enough))]
    return DrawnPair(right, left, 1 / len(old_enough))
