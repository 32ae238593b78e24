"""The next pair: from the study's design, from the answers so far, or a planted repeat.

What a design needs depends on the study's version, which never changes, so each process caches it.

The adaptive design's state depends only on the answers in the database. A process caches the last state and updates it
with the answers that have come in since; after a restart, a changed answer or a withdrawal it starts again from all
answers. Either way the state is the same.

If judges differ in the study's last fit, the adaptive design asks each judge the pair that would tell us most about the
population's map, based on what that fit stored about the population and on this judge's own answers so far. No fit is
made while a judge waits.

A planted repeat is a pair that the judge answered before, shown again with sides swapped. Repeats show how much a
judge's own answers vary, as opposed to how far judges differ.
"""

import io
import threading
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

import numpy as np
from django.db.models import Count, Exists, Max, OuterRef, QuerySet

from judgemap.core.design import adaptive
from judgemap.core.design.adaptive import AdaptiveState, Known, NextPair
from judgemap.core.design.designs import PairDesign, uniform
from judgemap.core.model.prior import (
    Covariance,
    FixedVariance,
    Model,
    communicability,
)
from judgemap.core.types import IntArray
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Answer, Judge, Pair, PopulationMap
from judgemap.web.judge.places import known_areas
from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.designs import make_design
from judgemap.web.studies.models import Area, StudyVersion

VARIANCE = FixedVariance(9.0)
TEMPERATURE = 1.0
FEW = 20
"""Up to this many new answers are added one by one; for more, the state is recomputed."""
REPEAT = "repeat"
"""The design of a planted repeat, as its pair records it."""
SPACING = 10
"""A pair is not repeated until this many pairs later."""


@dataclass(frozen=True, slots=True)
class DrawnPair:
    """Two areas by position, on their sides, and the probability with which the design draws them on either side."""

    left: int
    right: int
    probability: float


def draw_pair(
    rng: np.random.Generator,
    version_id: int,
    design_name: str,
    unknown: Collection[int],
    judge: Judge | None = None,
    places: Sequence[str] = (),
) -> DrawnPair | None:
    """Draw a pair from the areas that a judge knows, with sides at random; None if no pair is left.

    The adaptive design tailors the pair to ``judge``, or to nobody in particular if that is None. ``places`` are those
    of a large map that the judge knows. This takes constant time for any number of areas, except for the first pair
    after the judge's unknown areas change, and for the adaptive design.
    """
    if design_name == "adaptive":
        pair = draw_adaptive(rng, version_id, frozenset(unknown), judge)
        return pair and DrawnPair(pair.left, pair.right, min(1.0, pair.probability))
    restricted = _design_within(version_id, tuple(places), frozenset(unknown))
    if restricted is None:
        return None
    design, total = restricted
    left, right = design.draw(rng, 1)[0].tolist()
    return DrawnPair(left, right, min(1.0, float(design.weight(left, right)) / total))


@lru_cache(maxsize=64)
def _design(version_id: int) -> PairDesign:
    version = StudyVersion.objects.get(pk=version_id)
    if version.design == "uniform":  # a national map's edges take a second to read, and this design needs none
        return uniform(Area.objects.filter(study_id=version.study_id).count())
    return make_design(version.design, load_graph(version), bytes(version.packed_design or b""))


@lru_cache(maxsize=512)
def _design_within(
    version_id: int, places: tuple[str, ...], unknown: frozenset[int]
) -> tuple[PairDesign, float] | None:
    """Restrict a design to the known areas, with the sum of its weights; None if no pair has any weight."""
    design = _design(version_id)
    if places or unknown:
        known = _known_of(version_id, places, unknown, design.n_areas)
        if len(known) < 2:
            return None
        design = design.restricted(known)
    try:
        return design, design.total()
    except ValueError:
        return None


def _known_of(version_id: int, places: tuple[str, ...], unknown: frozenset[int], n_areas: int) -> IntArray:
    """Return the positions of the areas in a judge's places, except those that the judge does not know."""
    study_id = StudyVersion.objects.values_list("study_id", flat=True).get(pk=version_id)
    within = known_areas(study_id, places) if places else None
    everywhere = np.arange(n_areas) if within is None else within
    return np.setdiff1d(everywhere, np.fromiter(unknown, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A state, and the answers it includes: how many, the key of the last, and when the latest was given."""

    count: int
    last: int
    at: datetime | None
    state: AdaptiveState


_LOCK = threading.Lock()
_STATES: dict[int, _Known] = {}


def draw_adaptive(
    rng: np.random.Generator, version_id: int, unknown: frozenset[int], judge: Judge | None = None
) -> NextPair | None:
    """Draw the pair to ask next, given all answers in the study; None if the judge knows fewer than two areas."""
    version = StudyVersion.objects.only("pk", "study", "number").get(pk=version_id)
    population = _population(version.study_id) if judge is not None else None
    if judge is not None and population is not None:
        known = _without(unknown, len(population.mean))
        if len(known) < 2:
            return None
        own = adaptive.state_among(population, *_own_answers(judge))
        return adaptive.next_pair(rng, own, TEMPERATURE, known)
    with _LOCK:
        state = _state(version)
    known = _without(unknown, state.model.counts.n_areas)
    return adaptive.next_pair(rng, state, TEMPERATURE, known) if len(known) > 1 else None


def _without(unknown: frozenset[int], n_areas: int) -> IntArray:
    """Return the positions of the areas that a judge knows."""
    return np.setdiff1d(np.arange(n_areas), np.fromiter(unknown, dtype=np.int64))


def pack_population(known: Known) -> bytes:
    """Pack what a fit says about the population of judges, for `PopulationMap`."""
    packed = io.BytesIO()
    np.savez(packed, **{name: each.astype(np.float32) for name, each in known._asdict().items()})
    return packed.getvalue()


def _population(study_id: int) -> Known | None:
    number = PopulationMap.objects.filter(study=study_id).values_list("fit_number", flat=True).first()
    return None if number is None else _unpacked(study_id, number)


@lru_cache(maxsize=16)
def _unpacked(study_id: int, fit_number: int) -> Known | None:
    kept = PopulationMap.objects.filter(study=study_id, fit_number=fit_number).first()
    if kept is None:  # removed or replaced just now
        return None
    with np.load(io.BytesIO(bytes(kept.packed))) as arrays:
        return Known(**{name: arrays[name].astype(np.float64) for name in Known._fields})


def _own_answers(judge: Judge) -> tuple[IntArray, IntArray]:
    """Return the winners and losers of the pairs that a judge has decided, by the last answer to each."""
    given = Answer.objects.filter(pair__judge=judge, pair__practice=False).order_by("pk")
    last = {
        pair: (outcome, left, right)
        for pair, outcome, left, right in given.values_list(
            "pair_id", "outcome", "pair__left__position", "pair__right__position"
        )
    }
    chosen = [
        (left, right) if outcome == "left" else (right, left)
        for outcome, left, right in last.values()
        if outcome in ("left", "right")
    ]
    winners, losers = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    return winners, losers


def _state(version: StudyVersion) -> AdaptiveState:
    answers = Answer.objects.filter(pair__judge__study_id=version.study_id, pair__practice=False)
    newest = answers.aggregate(count=Count("pk"), last=Max("pk"), at=Max("answered_at"))
    count, last, at = newest["count"], newest["last"] or 0, newest["at"]
    known = _STATES.get(version.pk)
    if known is None or (known.count, known.last, known.at) != (count, last, at):
        state = known and _brought_forward(known, answers, count)
        known = _Known(count, last, at, state or _from_all(version))
        _STATES[version.pk] = known
    return known.state


def _brought_forward(known: _Known, answers: QuerySet[Answer], count: int) -> AdaptiveState | None:
    """Add the answers that have come in since; None if there are many, or if an earlier one was changed or removed."""
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


def draw_repeat(
    rng: np.random.Generator, judge: Judge, last_position: int, unknown: Collection[int]
) -> DrawnPair | None:
    """Draw a pair to show again if a repeat is due; None if not, or if no pair is old enough.

    Chance decides whether a repeat is due, so that nobody can foresee it; but the more repeats are missing from the
    study's share, the likelier one becomes. A pair is repeated once at most, if it was decided or tied and the judge
    still knows both areas.
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
