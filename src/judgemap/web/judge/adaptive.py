"""The adaptive design on a server: its state follows from the answers in the database alone.

A process keeps the last state that it derived, and brings it up to date with the answers that came since; after a
restart, a changed answer or a withdrawal it starts from all answers anew. Either way the state is the same.
"""

import threading
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np
from django.db.models import Count, Max, QuerySet

from judgemap.core import adaptive
from judgemap.core.adaptive import AdaptiveState, NextPair
from judgemap.core.prior import Covariance, FixedVariance, Model, communicability
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Answer
from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.models import StudyVersion

VARIANCE = FixedVariance(9.0)
TEMPERATURE = 1.0
FEW = 20
"""Answers that are added one by one; for more, the state is computed again."""


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A state, and which answers it knows: how many there are in the study, the last, and when that was given."""

    count: int
    last: int
    at: datetime | None
    state: AdaptiveState


_LOCK = threading.Lock()
_STATES: dict[int, _Known] = {}


def draw_adaptive(rng: np.random.Generator, version_id: int, unknown: frozenset[int]) -> NextPair | None:
    """Draw the pair to ask next, in the light of all answers to the study; None where fewer than two are known."""
    version = StudyVersion.objects.only("pk", "study", "number").get(pk=version_id)
    with _LOCK:
        state = _state(version)
    known = np.setdiff1d(np.arange(state.model.counts.n_areas), np.fromiter(unknown, dtype=np.int64))
    if len(known) < 2:
        return None
    return adaptive.next_pair(rng, state, TEMPERATURE, known)


def _state(version: StudyVersion) -> AdaptiveState:
    answers = Answer.objects.filter(pair__judge__study_id=version.study_id, pair__practice=False)
    found = answers.aggregate(count=Count("pk"), last=Max("pk"), at=Max("answered_at"))
    count, last, at = found["count"], found["last"] or 0, found["at"]
    known = _STATES.get(version.pk)
    if known is None or (known.count, known.last, known.at) != (count, last, at):
        state = known and _brought_forward(known, answers, count)
        known = _Known(count, last, at, state or _from_all(version))
        _STATES[version.pk] = known
    return known.state


def _brought_forward(known: _Known, answers: QuerySet[Answer], count: int) -> AdaptiveState | None:
    """Add the answers that came since; None where there are many, or an earlier one was changed or removed."""
    new = list(answers.filter(pk__gt=known.last).order_by("pk").values_list(
        "outcome", "revision", "pair__left__position", "pair__right__position"
    ))  # fmt: skip
    if not new or known.count + len(new) != count or len(new) > FEW or any(revision > 1 for _, revision, *_ in new):
        return None
    state = known.state
    for outcome, _, left, right in new:
        if outcome == "left":
            state = adaptive.update(state, left, right)
        elif outcome == "right":
            state = adaptive.update(state, right, left)
    return state


def _from_all(version: StudyVersion) -> AdaptiveState:
    data, prior = load_comparisons(version.study), _prior(version.pk)
    return adaptive.init(Model(data.counts_of(data.decided), prior, VARIANCE))


@lru_cache(maxsize=16)
def _prior(version_id: int) -> Covariance:
    return communicability(load_graph(StudyVersion.objects.get(pk=version_id)))
