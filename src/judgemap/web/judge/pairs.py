"""The next pair: from the study's design, from the answers so far, or a planted repeat.

What a design needs depends on the study's version, which never changes, so each process caches it.

On a map that is too large for its design, each judge is asked about a part: the places that they know or, if these are
too many areas, a compact piece of them, and now and then about any two of them, so that the pieces stay joined. A part
is treated as a map of its own: its borders, and the answers about two of its areas.

The adaptive design's state depends only on the answers in the database. A process caches the last states and updates
them with the answers that have come in since, found by their keys; after a restart, a changed answer or a withdrawal
it starts again from all answers. Either way the state is the same.

If judges differ in the study's last fit, the adaptive design asks each judge the pair that would tell us most about the
population's map, based on what that fit stored about the population and on this judge's own answers so far. No fit is
made while a judge waits.

Whatever the design, an area that was shown comes up again only some pairs later and on the other side, where the map
has enough areas; and a judge of a small map is asked no pair twice.

A planted repeat is a pair that the judge answered before, shown again on purpose, with sides swapped. Repeats show how
much a judge's own answers vary, as opposed to how far judges differ.
"""

import io
import threading
import zlib
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from django.db.models import F, QuerySet
from django.utils import timezone

from judgemap.core.design import adaptive
from judgemap.core.design.adaptive import AdaptiveState, Known
from judgemap.core.design.designs import PairDesign, compact_pieces, on_a_larger_map, uniform
from judgemap.core.model.car import intrinsic_car
from judgemap.core.model.counts import count_pairs
from judgemap.core.model.prior import Covariance, FixedVariance, Model
from judgemap.core.types import FloatArray, IntArray
from judgemap.web.judge.fastpath import PreparedQuery
from judgemap.web.judge.models import COMMITTED_AFTER, Answer, Judge, Pair, PopulationMap, UnknownArea
from judgemap.web.judge.places import gazetteer, known_areas
from judgemap.web.studies.areas import JOINING, load_graph, make_design, part_size, prepare_design
from judgemap.web.studies.models import Area, StudyVersion

VARIANCE = FixedVariance(9.0)
MANY = 5_000
"""After more than this many new answers to a study, a part's state is recomputed: that reads fewer rows."""
REPEAT = "repeat"
"""The design of a planted repeat, as its pair records it."""
SPACING = 10
"""A pair is not repeated until this many pairs later."""
RECENT = 5
"""The areas of up to this many last pairs do not come up again in the next one, on a map with enough others."""
ROOM = 0.2
"""The share of a design that must be left when these areas are left out."""
ALL_PAIRS = 32
"""Up to this many areas, a judge is asked each pair once, and then there is none left."""
LOOKED_BACK = 50
"""On a larger map, how many of the judge's last pairs say which side an area had."""
KEPT = 4_000_000
"""How many numbers the cached states' covariances may have; a few more arrays of each size are kept with them."""
MOST_SHOWN = (50, 3)
"""A judge is shown at most this many pairs, plus this many times the maximum, however many have an unknown area."""


class NextPair(NamedTuple):
    """The pair to show: areas by position on their sides, how it was drawn, and how likely, on either side."""

    left: int
    right: int
    position: int
    design: str
    probability: float


class Shown(NamedTuple):
    """A pair that a judge was shown."""

    left: int
    right: int
    position: int
    design: str


def next_pair(rng: np.random.Generator, judge: Judge) -> NextPair | None:
    """Draw the pair to show next, from the areas that the judge knows; None if no pair is left.

    The time is the same for any number of areas, except for the first pair after the judge's unknown areas change, and
    for the adaptive design.
    """
    version, practice = judge.study.version, judge.practice_left > 0
    unknown = frozenset(row.at for row in _UNKNOWN(judge_name=judge.name))  # type: ignore[attr-defined]
    tries = []
    for name, part in _designs(rng, version, judge):
        within = None if name == "adaptive" else _design_within(version.pk, name, part, tuple(judge.places), unknown)
        if within is not None or name == "adaptive":
            tries.append((name, part, within))
    if not tries:
        return None
    everything = any(within is None or within.few for *_, within in tries) or version.repeats > 0
    shown = _shown(judge, everything=everything)
    position = shown[0].position + 1 if shown else 1
    if position > MOST_SHOWN[0] + MOST_SHOWN[1] * version.maximum:
        return None
    if not practice and (again := _draw_repeat(rng, judge, shown, unknown)) is not None:
        return NextPair(*again[:2], position, REPEAT, again.probability)
    for name, part, within in tries:
        if within is None:
            drawn = _draw_from_table(rng, *_gains(version, part, unknown, judge), shown)
        elif within.few:
            areas = within.design.areas
            table = within.design.weight(areas[:, None], areas)
            np.fill_diagonal(table, 0.0)
            drawn = _draw_from_table(rng, areas, table, shown)
        else:
            drawn = _draw_apart(rng, within, shown)
        if drawn is not None:
            left, right = _on_sides(drawn, shown)
            return NextPair(left, right, position, name, min(1.0, drawn.probability))
    return None


def _designs(rng: np.random.Generator, version: StudyVersion, judge: Judge) -> list[tuple[str, "_Part | None"]]:
    """Return the designs to draw from, the second if the first has no pair left, and the parts that they work in."""
    part = _part(version, judge)
    designs: list[tuple[str, _Part | None]] = [(version.design, part)]
    if part is not None and part.joined:
        designs.append(("uniform", None))
        if rng.random() < JOINING:
            designs.reverse()
    return designs


def _shown(judge: Judge, *, everything: bool) -> list[Shown]:
    """Return the pairs that a judge was shown, in practice or after it, the last first; all, or some of the last."""
    rows: list[Any] = _SHOWN[judge.practice_left > 0, everything](judge_name=judge.name)
    return [Shown(row.left_at, row.right_at, row.position, row.design) for row in rows]


def _shown_query(judge_name: str, practice: bool, everything: bool) -> QuerySet[Pair]:  # noqa: FBT001 - of _SHOWN
    shown = Pair.objects.filter(judge_id=judge_name, practice=practice).order_by("-position")
    rows = shown.annotate(left_at=F("left__position"), right_at=F("right__position")).only("position", "design")
    return rows if everything else rows[:LOOKED_BACK]


_SHOWN = {
    (practice, everything): PreparedQuery(
        Pair, partial(_shown_query, practice=practice, everything=everything), judge_name="judge"
    )
    for practice, everything in product((False, True), repeat=2)
}
_UNKNOWN = PreparedQuery(
    UnknownArea,
    lambda judge_name: UnknownArea.objects.filter(judge_id=judge_name).annotate(at=F("area__position")).only("judge"),
    judge_name="judge",
)


def _recent(shown: Sequence[Shown], n_areas: int) -> Iterator[set[int]]:
    """Yield the areas of the last pairs, which the next leaves out: of as many as a map has room for, then of fewer."""
    for count in range(min(RECENT, (n_areas - 2) // 4), -1, -1):
        yield {area for pair in shown[:count] for area in pair[:2]}


def _draw_from_table(
    rng: np.random.Generator, areas: IntArray, weights: FloatArray, shown: Sequence[Shown]
) -> adaptive.NextPair | None:
    """Draw a pair of ``areas`` by its weight, but none that was shown before, and apart from the last ones."""
    place = {area: number for number, area in enumerate(areas.tolist())}
    for each in shown:
        if each.left in place and each.right in place:
            pair = (place[each.left], place[each.right])
            weights[pair] = weights[pair[::-1]] = 0.0
    for recent in _recent(shown, len(areas)):
        allowed = np.flatnonzero(~np.isin(areas, list(recent)))
        left = weights[np.ix_(allowed, allowed)]
        if len(allowed) > 1 and left.max() > 0:
            return adaptive.draw_by_weight(rng, areas[allowed], left)
    return None


def _draw_apart(rng: np.random.Generator, within: "_Within", shown: Sequence[Shown]) -> adaptive.NextPair | None:
    """Draw a pair from a design, apart from the last ones: pairs that are not are drawn again."""
    for recent in _recent(shown, len(within.design.areas)):
        near = np.intersect1d(np.array(sorted(recent), dtype=np.int64), within.design.areas)
        share = within.share_without(near)
        for _ in range(100 if share > ROOM else 0):
            for left, right in within.design.draw(rng, 4).tolist():
                if left not in recent and right not in recent:
                    weight = float(within.design.weight(left, right))
                    return adaptive.NextPair(left, right, weight / (within.total * share))
    return None


def _on_sides(drawn: adaptive.NextPair, shown: Sequence[Shown]) -> tuple[int, int]:
    """Give each area the side that it did not have the last time; if both want one, who lacked it more."""
    lean: dict[int, float] = {}
    for each in reversed(shown):
        lean[each.left] = lean.get(each.left, 0.0) / 2 + 1
        lean[each.right] = lean.get(each.right, 0.0) / 2 - 1
    swapped = lean.get(drawn.left, 0.0) > lean.get(drawn.right, 0.0)
    return (drawn.right, drawn.left) if swapped else (drawn.left, drawn.right)


@dataclass(frozen=True, slots=True, eq=False)
class _Within:
    """A design among the areas that a judge knows, the sum of its weights, and how often each area comes up."""

    design: PairDesign
    total: float
    exposure: FloatArray

    @property
    def few(self) -> bool:
        """Whether its pairs are so few that each is asked only once."""
        return len(self.design.areas) <= ALL_PAIRS

    def share_without(self, areas: IntArray) -> float:
        """Return the probability of a pair with none of these areas."""
        first, second = np.triu_indices(len(areas), 1)
        both = self.design.weight(areas[first], areas[second]).sum() / self.total if len(first) else 0.0
        return float(1 - self.exposure[areas].sum() + both)


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a large map: the positions of its areas, packed, and whether it is one piece of what a judge knows."""

    packed: bytes
    joined: bool

    @property
    def areas(self) -> IntArray:
        """The positions of its areas, in order."""
        return np.frombuffer(self.packed, dtype=np.int64)

    def known(self, unknown: Collection[int]) -> IntArray:
        """Return its areas without those that a judge does not know."""
        return np.setdiff1d(self.areas, np.fromiter(unknown, dtype=np.int64))


def _part(version: StudyVersion, judge: Judge) -> _Part | None:
    """Return the part that a judge's pairs are drawn from; None for a map whose design can take it whole."""
    pieces = _pieces(version.study_id, version.design, tuple(judge.places))
    return pieces[zlib.crc32(judge.name.encode()) % len(pieces)] if pieces else None


@lru_cache(maxsize=512)
def _pieces(study_id: int, design: str, places: tuple[str, ...]) -> tuple[_Part, ...]:
    n_areas = Area.objects.filter(study_id=study_id).count()
    most = part_size(design, n_areas)
    if most is None:
        return ()
    known = _known_of(study_id, places, frozenset(), n_areas)
    pieces = compact_pieces(gazetteer(study_id).points[known], most)
    return tuple(_Part(known[each].tobytes(), len(pieces) > 1) for each in pieces)


@lru_cache(maxsize=64)
def _design(version_id: int, name: str, part: _Part | None) -> PairDesign:
    version = StudyVersion.objects.get(pk=version_id)
    n_areas = Area.objects.filter(study_id=version.study_id).count()
    if name == "uniform":  # a national map's edges take a second to read, and this design needs none
        return uniform(n_areas)
    graph = load_graph(version, None if part is None else part.areas)
    if part is None:
        return make_design(name, graph, bytes(version.packed_design or b""))
    made = make_design(name, graph, prepare_design(name, graph, version.recommended))
    return on_a_larger_map(made, part.areas, n_areas)


@lru_cache(maxsize=512)
def _design_within(
    version_id: int, name: str, part: _Part | None, places: tuple[str, ...], unknown: frozenset[int]
) -> _Within | None:
    """Restrict a design to the known areas; None if no pair of them has any weight."""
    design = _design(version_id, name, part)
    if places or unknown:
        study_id = StudyVersion.objects.values_list("study_id", flat=True).get(pk=version_id)
        known = part.known(unknown) if part else _known_of(study_id, places, unknown, design.n_areas)
        if len(known) < 2:
            return None
        design = design.restricted(known)
    try:
        return _Within(design, design.total(), design.exposure())
    except ValueError:
        return None


def _known_of(study_id: int, places: tuple[str, ...], unknown: frozenset[int], n_areas: int) -> IntArray:
    """Return the positions of the areas in a judge's places, except those that the judge does not know."""
    within = known_areas(study_id, places)
    everywhere = np.arange(n_areas) if within is None else within
    return np.setdiff1d(everywhere, np.fromiter(unknown, dtype=np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class _Known:
    """A state, and the answers it includes: all up to a key, and later ones, which may still be undone.

    PostgreSQL hands out keys before the answers that use them are committed, perhaps in another order.
    """

    settled: int
    later: frozenset["_Row"]
    withdrawn: int
    """How many judges had withdrawn: when another one does, answers are gone."""
    state: AdaptiveState


_LOCK = threading.Lock()
_STATES: OrderedDict[tuple[int, _Part | None], _Known] = OrderedDict()


def _gains(
    version: StudyVersion, part: _Part | None, unknown: frozenset[int], judge: Judge
) -> tuple[IntArray, FloatArray]:
    """Return the areas that the judge knows, and how much each pair of them would tell, given all answers so far."""
    population = _population(version.study_id) if part is None else None
    if population is not None:
        gain = adaptive.gains(adaptive.state_among(population, *_own_answers(judge)))
    else:
        with _LOCK:
            state = _state(version, part)
        gain = adaptive.gains(state)
    if part is not None:
        known = part.known(unknown)
        places = np.searchsorted(part.areas, known)
        return known, gain[np.ix_(places, places)]
    known = _known_of(version.study_id, tuple(judge.places), unknown, len(gain))
    return known, gain[np.ix_(known, known)]


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
    """Return the winners and losers of the pairs that a judge has decided."""
    answers = Answer.objects.filter(pair__judge=judge, pair__practice=False)
    return _decided(_rows(answers), _places(judge.study_id, None))


class _Row(NamedTuple):
    """An answer, with its pair and the keys of the areas."""

    key: int
    revision: int
    pair: int
    outcome: str
    left: int
    right: int


def _rows(answers: QuerySet[Answer], most: int | None = None) -> list[_Row]:
    """Return answers in the order of their keys, the first ``most`` or all."""
    columns = ("pk", "revision", "pair_id", "outcome", "pair__left_id", "pair__right_id")
    return [_Row(*each) for each in answers.order_by("pk").values_list(*columns)[:most]]


def _decided(rows: Sequence[_Row], place: dict[int, int]) -> tuple[IntArray, IntArray]:
    """Return the winners and losers of decided pairs, by the last answer to each; ``place`` maps areas' keys."""
    last = {row.pair: row for row in rows}.values()
    chosen = [
        (place[row.left], place[row.right]) if row.outcome == "left" else (place[row.right], place[row.left])
        for row in last
        if row.outcome in ("left", "right")
    ]
    winners, losers = np.array(chosen, dtype=np.int64).reshape(-1, 2).T
    return winners, losers


@lru_cache(maxsize=512)
def _places(study_id: int, part: _Part | None) -> dict[int, int]:
    """Map the key of each area of a part, or of the whole map, to its place there."""
    areas = Area.objects.filter(study_id=study_id).order_by("position")
    wanted = areas if part is None else areas.filter(position__in=part.areas.tolist())
    return {key: place for place, key in enumerate(wanted.values_list("pk", flat=True))}


def _state(version: StudyVersion, part: _Part | None = None) -> AdaptiveState:
    known, place = _STATES.get((version.pk, part)), _places(version.study_id, part)
    # Read before the answers: what happens in between is noticed the next time.
    withdrawn = Judge.objects.filter(study_id=version.study_id, withdrawn_at__isnull=False).count()
    committed = Answer.objects.filter(answered_at__lte=timezone.now() - COMMITTED_AFTER)
    settled = committed.order_by("-pk").values_list("pk", flat=True).first() or 0
    answers = Answer.objects.filter(pair__judge__study_id=version.study_id, pair__practice=False)
    new = _new_rows(known, answers, place) if known is not None and known.withdrawn == withdrawn else None
    if known is None or new is None:
        if part is not None:
            answers = answers.filter(pair__left__in=list(place), pair__right__in=list(place))
        rows = _rows(answers)
        later = frozenset(rows)
        counts = count_pairs(*_decided(rows, place), len(place))
        state = adaptive.init(Model(counts, _prior(version.pk, part), VARIANCE))
    else:
        settled, later = max(settled, known.settled), known.later.union(new)
        winners, losers = _decided(new, place)
        state = adaptive.update(known.state, winners, losers) if len(winners) else known.state
    later = frozenset(row for row in later if row.key > settled)
    _STATES[version.pk, part] = _Known(settled, later, withdrawn, state)
    _STATES.move_to_end((version.pk, part))
    while len(_STATES) > 1 and sum(each.state.covariance.size for each in _STATES.values()) > KEPT:
        _STATES.popitem(last=False)
    return state


def _new_rows(known: _Known, answers: QuerySet[Answer], place: dict[int, int]) -> list[_Row] | None:
    """Return the answers that a state lacks; None if there may be many, or if one was changed or undone."""
    rows = _rows(answers.filter(pk__gt=known.settled), MANY + 1)
    here = {row for row in rows if row.left in place and row.right in place}
    new = sorted(here - known.later)
    return None if len(rows) > MANY or known.later - here or any(row.revision > 1 for row in new) else new


@lru_cache(maxsize=16)
def _prior(version_id: int, part: _Part | None) -> Covariance:
    version = StudyVersion.objects.get(pk=version_id)
    return intrinsic_car(load_graph(version, None if part is None else part.areas))


def _draw_repeat(
    rng: np.random.Generator, judge: Judge, shown: Sequence[Shown], unknown: Collection[int]
) -> adaptive.NextPair | None:
    """Draw a pair to show again, sides swapped, if a repeat is due; None if not, or if no pair is old enough.

    Chance decides whether a repeat is due, so that nobody can foresee it; but the more repeats are missing from the
    study's share, the likelier one becomes. A pair is repeated once at most, if it was decided or tied and the judge
    still knows both areas.
    """
    share, last_position = judge.study.version.repeats, shown[0].position if shown else 0
    missing = share * (last_position + 1) - sum(each.design == REPEAT for each in shown)
    if not share or rng.random() >= min(missing, 0.5):
        return None
    times = Counter(frozenset(each[:2]) for each in shown)
    near = {area for each in shown[:RECENT] for area in each[:2]}.union(unknown)
    passed_over = set(
        Pair.objects.filter(judge=judge, practice=False, answers__outcome__in=("skipped", "unknown")).values_list(
            "position", flat=True
        )
    )
    old_enough = [
        each
        for each in shown
        if last_position - each.position >= SPACING
        and each.position not in passed_over
        and times[frozenset(each[:2])] == 1
        and near.isdisjoint(each[:2])
    ]
    if not old_enough:
        return None
    chosen = old_enough[rng.integers(len(old_enough))]
    return adaptive.NextPair(chosen.right, chosen.left, 1 / len(old_enough))
