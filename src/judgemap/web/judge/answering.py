"""All that a judge changes by judging. Each act is one transaction that locks the judge's row, so that limits hold."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache, partial

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Coalesce
from django.utils import timezone

from judgemap.web.judge.fastpath import PreparedQuery, in_one_commit
from judgemap.web.judge.models import OUTCOMES, Answer, Consent, Judge, Pair, UnknownArea
from judgemap.web.judge.pairs import next_pair
from judgemap.web.judge.place import BEFORE_PAIRS, Place, Refused, place_of
from judgemap.web.judge.places import gazetteer, known_areas
from judgemap.web.server.tokens import hashed, make_token
from judgemap.web.studies.models import Area, Study, StudyVersion

BURST = timedelta(seconds=10)
"""How far ahead of the permitted pace a judge may run."""
LONGEST_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """What a judge's browser sent: the pair, the answer, and the revision that this answer replaces."""

    pair: str
    outcome: str
    unknown_side: str = ""
    follows: int = 0
    reason: str = ""
    seen_ms: int | None = None


def find_judge(token: str) -> Judge | None:
    """Find the judge by the token of their link, with the study, its version, and whether they agreed to its text."""
    return _found(_SEEN(token_hash=hashed(token)))


def give_consent(token: str, language: str, practice: int) -> None:
    """Record that the judge agreed to the current consent text, and how many practice pairs they want."""
    with transaction.atomic():
        judge = _held(token, agreed=False)
        version = judge.study.version
        if not judge.consented:
            Consent.objects.create(judge=judge, version=version, language=language, text_digest=version.consent_digest)
            judge.language = language
            judge.practice_left = min(practice, version.practice) if judge.judged == 0 else 0
            judge.save(update_fields=["language", "practice_left"])


def choose_language(token: str, language: str) -> None:
    """Remember the language that the judge chose, if the study offers it."""
    with transaction.atomic():
        judge = _held(token, agreed=False)
        if language in judge.study.version.offered:
            judge.language = language
            judge.save(update_fields=["language"])


def end_practice(token: str) -> None:
    """Skip the rest of the practice."""
    with transaction.atomic():
        judge = _held(token)
        Pair.objects.filter(judge=judge, open=True, practice=True).delete()
        judge.practice_left = 0
        judge.save(update_fields=["practice_left"])


def go_on(token: str) -> None:
    """Carry on after the recommended number."""
    with transaction.atomic():
        judge = _held(token)
        judge.went_on = True
        judge.save(update_fields=["went_on"])


@in_one_commit
def current_pair(token: str) -> Pair | None:
    """Return the judge's open pair, with the current judge, or draw one; None if there is nothing left to judge."""
    return _current_pair(_held(token))


def last_answered(judge: Judge) -> tuple[Pair, Answer] | None:
    """Return the pair that the judge answered last, with the answer, so that it can be changed."""
    pairs = _pairs().filter(judge=judge, open=False, practice=judge.practice_left > 0)
    if (pair := pairs.order_by("-position").first()) is None:
        return None
    return pair, _latest(pair)


@in_one_commit
def answer(token: str, given: GivenAnswer) -> Pair | None:
    """Store an answer, or a changed one as a new revision, and return the pair to judge next.

    Sending the same answer again changes nothing, and only the last answer can be changed. Raises `Refused`, and stores
    nothing, if the pair is not the judge's or was answered differently meanwhile, if the study does not allow the
    outcome, or if the judge is past the maximum.
    """
    judge = _held(token)
    found = _PAIR(judge_name=judge.name, token=given.pair)
    if not found:
        raise Refused("not shown")
    (pair,) = found
    _check_outcome(_version(pair.version_id), given)
    before = None if pair.open else _latest(pair)
    if before is not None and (before.outcome, before.unknown_side) == (given.outcome, given.unknown_side):
        return _current_pair(judge)
    # A second window, or a request sent twice, must not change an answer that it has not seen.
    if given.follows != (before.revision if before else 0):
        raise Refused("answered")
    if before is not None and not _is_last(judge, pair):
        raise Refused("not last")
    now = timezone.now()
    judge.busy_until = _paced(judge, now)
    _store(judge, pair, before, given, now)
    return _next_pair(judge) if before is None else _current_pair(judge)


def mark_unknown(token: str, positions: Collection[int], listed: Collection[int]) -> None:
    """Mark the areas that the judge does not know; an open pair with one of them is left unanswered.

    Of the marks that the judge made before, only those on areas that the page ``listed`` are taken back.
    """
    with transaction.atomic():
        judge = _held(token)
        areas = dict(Area.objects.filter(study=judge.study, position__in=positions).values_list("pk", "position"))
        marks = UnknownArea.objects.filter(judge=judge)
        taken_back = set(listed) - set(positions)
        gone = [key for key, position in marks.values_list("pk", "area__position") if position in taken_back]
        marks.filter(pk__in=gone).delete()
        UnknownArea.objects.bulk_create(
            [UnknownArea(judge=judge, area_id=each) for each in areas], ignore_conflicts=True
        )
        _leave_open_pair(judge, areas.values())


def choose_places(token: str, chosen: Collection[str]) -> None:
    """Store which places of a large map the judge knows; an open pair with an area elsewhere is left unanswered."""
    with transaction.atomic():
        judge = _held(token)
        judge.places = gazetteer(judge.study.pk).check(chosen)
        judge.save(update_fields=["places"])
        known = known_areas(judge.study.pk, tuple(judge.places))
        pair = _pairs().filter(judge=judge, open=True).first()
        if known is not None and pair is not None:
            _leave_open_pair(judge, {pair.left.position, pair.right.position} - set(known.tolist()))


def jump(token: str, judged: int) -> None:
    """Let a preview go on as if so many pairs were judged."""
    with transaction.atomic():
        judge = _held(token)
        if judge.is_preview:
            Pair.objects.filter(judge=judge, open=True).delete()
            judge.practice_left, judge.judged, judge.went_on = 0, judged, False
            judge.maximum = max(judged, judge.study.version.maximum)
            judge.save(update_fields=["practice_left", "judged", "went_on", "maximum"])


STUDY = ("id", "slug", "status", "current_id", "asks_places", "base_map_id", "deleted_at")
"""What a judgement needs of a study; the long texts are read only if a page asks for them."""


def _judges(token_hash: str, *, hold: bool) -> QuerySet[Judge]:
    """Find a link's judge, with some facts of the study and whether they agreed to the current consent text."""
    facts = {f"study_{name}": Coalesce(f"study__{name}", f"preview_of__{name}") for name in STUDY if name != "id"}
    digest = Coalesce("study__current__consent_digest", "preview_of__current__consent_digest")
    agreed = Consent.objects.filter(judge=OuterRef("pk"), text_digest=OuterRef("digest"))
    judges = Judge.objects.filter(token_hash=token_hash).annotate(**facts, digest=digest, consented=Exists(agreed))
    return judges.select_for_update(of=("self",)) if hold else judges


_SEEN = PreparedQuery(Judge, partial(_judges, hold=False), token_hash="hash")  # noqa: S106 - an example
_HELD = PreparedQuery(Judge, partial(_judges, hold=True), token_hash="hash")  # noqa: S106
_PAIR = PreparedQuery(
    Pair,
    lambda judge_name, token: Pair.objects.filter(judge_id=judge_name, token=token),
    judge_name="judge",
    token="token",  # noqa: S106
)
_AREAS = PreparedQuery(
    Area,
    lambda study_id, left, right: Area.objects.filter(study_id=study_id, position__in=(left, right)).only(
        "study", "position", "name", "scene"
    ),
    study_id=101,
    left=102,
    right=103,
)


def _found(judges: list[Judge]) -> Judge | None:
    if not judges:
        return None
    (judge,) = judges
    key = judge.preview_of_id or judge.study_id
    judge.study = Study.from_db(None, STUDY, [key, *(getattr(judge, f"study_{name}") for name in STUDY[1:])])
    judge.study.current = _version(judge.study.current_id)
    return judge


def _held(token: str, *, agreed: bool = True) -> Judge:
    """Lock a judge's row, and check that the judge may act; most acts need a judge who agreed."""
    judge = _found(_HELD(token_hash=hashed(token)))
    if judge is None:
        raise Refused("no link")
    place = place_of(judge)
    if place in BEFORE_PAIRS and (agreed or place != Place.CONSENT):
        raise Refused(BEFORE_PAIRS[place])
    return judge


@lru_cache(maxsize=256)
def _version(version_id: int) -> StudyVersion:
    """Cache versions, which never change once they are made."""
    return StudyVersion.objects.defer("packed_design").get(pk=version_id)


def _pairs() -> QuerySet[Pair]:
    return Pair.objects.select_related("left", "right").defer(
        "left__outline", "right__outline", "left__rings", "right__rings"
    )


def _current_pair(judge: Judge) -> Pair | None:
    pair = _pairs().filter(judge=judge, open=True).first()
    if pair is None:
        return _next_pair(judge)
    pair.judge = judge
    return pair


def _next_pair(judge: Judge) -> Pair | None:
    """Draw and store the next pair; None where the judge is not among pairs, or no pair is left."""
    if place_of(judge) != Place.PAIR or (drawn := next_pair(np.random.default_rng(), judge)) is None:
        return None
    areas = _AREAS(study_id=judge.study.pk, left=drawn.left, right=drawn.right)
    at = {area.position: area for area in areas}
    pair = Pair(
        judge=judge,
        version=judge.study.version,
        token=make_token(),
        left=at[drawn.left],
        right=at[drawn.right],
        position=drawn.position,
        practice=judge.practice_left > 0,
        design=drawn.design,
        probability=drawn.probability,
        issued_at=timezone.now(),
    )
    pair.save(force_insert=True)
    return pair


def _leave_open_pair(judge: Judge, unknown: Collection[int]) -> None:
    """Answer the judge's open pair with unknown, if one of its areas is."""
    pair = _pairs().filter(judge=judge, open=True).first()
    sides = [] if pair is None else [("left", pair.left.position), ("right", pair.right.position)]
    for side, position in sides:
        if pair is not None and pair.open and position in unknown:
            _store(judge, pair, None, GivenAnswer(pair.token, "unknown", side), timezone.now())


def _check_outcome(version: StudyVersion, given: GivenAnswer) -> None:
    if given.outcome == "tie" and not version.ties:
        raise Refused("no ties")
    if given.outcome == "skipped" and not version.skips:
        raise Refused("no skips")
    sides = ("left", "right") if given.outcome == "unknown" else ("",)
    if given.outcome not in OUTCOMES or given.unknown_side not in sides:
        raise Refused("no answer")


def _latest(pair: Pair) -> Answer:
    return pair.answers.order_by("-revision")[0]


def _is_last(judge: Judge, pair: Pair) -> bool:
    """Say whether a pair is the one that `last_answered` shows."""
    later = Pair.objects.filter(judge=judge, open=False, practice=pair.practice, position__gt=pair.position)
    return pair.practice == (judge.practice_left > 0) and not later.exists()


def _paced(judge: Judge, now: datetime) -> datetime:
    """Return until when this answer keeps the judge busy at the permitted pace, or refuse if they are too far ahead."""
    one_answer = timedelta(seconds=1 / settings.ANSWERS_PER_SECOND)
    start = max(judge.busy_until or now, now)
    if start - now > BURST + one_answer:
        # Nobody gets this far ahead: the server's clock was set back, and the judge should not have to wait for it.
        start = now
    elif start - now > BURST:
        raise Refused("too fast")
    return start + one_answer


def _in_view(pair: Pair, before: Answer | None, given: GivenAnswer, now: datetime) -> int | None:
    """Return how long the pair was in view according to the browser, capped at what the server knows is possible."""
    if given.seen_ms is None:
        return None
    possible = (now - (before.answered_at if before else pair.issued_at)) // timedelta(milliseconds=1)
    # If the clock was set back in the meantime, the difference tells us nothing.
    longest = min(possible, LONGEST_MS) if possible >= 0 else LONGEST_MS
    return min(max(given.seen_ms, 0), longest)


def _store(judge: Judge, pair: Pair, before: Answer | None, given: GivenAnswer, now: datetime) -> None:
    """Add the answer, close the pair, and update the judge's counts."""
    row = Answer(
        pair=pair,
        revision=(before.revision if before else 0) + 1,
        outcome=given.outcome,
        unknown_side=given.unknown_side,
        reason=given.reason[:200] if given.outcome in ("tie", "skipped") else "",
        answered_at=now,
        seen_ms=_in_view(pair, before, given, now),
    )
    row.save(force_insert=True)
    if before is None:
        pair.open = False
        pair.save(update_fields=["open"])
    elif before.outcome == "unknown":
        area = pair.left_id if before.unknown_side == "left" else pair.right_id
        UnknownArea.objects.filter(judge=judge, area_id=area).delete()
    if given.outcome == "unknown":
        area = pair.left_id if given.unknown_side == "left" else pair.right_id
        UnknownArea.objects.get_or_create(judge=judge, area_id=area)
    if pair.practice:
        judge.practice_left -= 1 if before is None else 0
    else:
        counted = judge.judged
        judge.judged += int(given.outcome != "unknown") - int(before is not None and before.outcome != "unknown")
        if judge.judged > max(judge.study.version.maximum, counted):
            raise Refused("maximum")
    # An edit may lower the maximum below what this judge has already given, and those answers stay.
    judge.maximum = max(judge.study.version.maximum, judge.judged)
    judge.busy_until = max(judge.busy_until or now, now)
    judge.save(update_fields=["judged", "maximum", "busy_until", "practice_left"])
