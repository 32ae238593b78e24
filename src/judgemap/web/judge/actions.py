"""Everything that changes a judge's data. Each action is one transaction that locks the judge's row, so limits hold."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge import fastpath, queries
from judgemap.web.judge.fastpath import in_one_commit
from judgemap.web.judge.models import Answer, Consent, Judge, JudgeGroup, Pair, UnknownArea, judge_withdraws
from judgemap.web.judge.places import gazetteer, known_areas
from judgemap.web.judge.refusals import Refused
from judgemap.web.judge.scheduling import REPEAT, draw_pair, draw_repeat
from judgemap.web.server.database import erase_after_commit
from judgemap.web.server.limits import Brake
from judgemap.web.server.tokens import hashed, make_name, make_token, tidy_code, withdrawal_code
from judgemap.web.studies.editing import locked
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Area, Study, StudyVersion

BURST = timedelta(seconds=10)
"""How far ahead of the permitted pace a judge may run."""
JOINS_A_MINUTE = 600
JOINS = Brake("joins", most=60, seconds=60.0)
"""How many may join per minute from one place, such as a school, so that one client cannot keep all others out."""
LONGEST_MS = 24 * 3600 * 1000


@dataclass(frozen=True, slots=True)
class Invited:
    """A new judge: the random name, and the token of the link, which is not stored."""

    name: str
    token: str


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
    """Find the judge by the token of their link, with the study and its version."""
    return queries.judges().filter(token_hash=hashed(token)).first()


def has_consented(judge: Judge) -> bool:
    """Say whether the judge agreed to the current consent text; the queries that find a judge read this too."""
    return bool(getattr(judge, "consented", False))


def invite(study: Study, count: int, by: Researcher | None = None, group: JudgeGroup | None = None) -> list[Invited]:
    """Make personal links for a number of judges, and record who asked for them."""
    invited = [Invited(make_name(), make_token()) for _ in range(count)]
    with transaction.atomic():
        study = locked(study)
        if group is not None:
            _check_room(group, count)
        Judge.objects.bulk_create([_new_judge(study, each, group) for each in invited])
        record(study, by, "invited", {"judges": count} | ({"group": group.name} if group else {}))
    return invited


def join(study: Study, group: JudgeGroup | None = None, place: str = "") -> Invited:
    """Make a judge for somebody with the open link of a study or group; ``place`` is a hash of where they come from."""
    if study.status != Study.Status.OPEN or study.join_code is None:
        raise Refused("not open")
    last_minute = timezone.now() - timedelta(minutes=1)
    if Judge.objects.filter(study=study, created_at__gt=last_minute).count() >= JOINS_A_MINUTE:
        raise Refused("too many")
    if not JOINS.allows(f"{study.pk}:{place}"):
        raise Refused("too many")
    invited = Invited(make_name(), make_token())
    with transaction.atomic():
        if group is not None:
            try:
                _check_room(group, 1)
            except StudyError:
                raise Refused("full") from None
        _new_judge(study, invited, group).save(force_insert=True)
    return invited


def give_consent(token: str, language: str, practice: int) -> None:
    """Record that the judge agreed to the current consent text, and how many practice pairs they want."""
    with transaction.atomic():
        judge = _held(token)
        version = judge.study.version
        if not has_consented(judge):
            Consent.objects.create(judge=judge, version=version, language=language, text_digest=version.consent_digest)
            judge.language = language
            judge.practice_left = min(practice, version.practice) if judge.judged == 0 else 0
            judge.save(update_fields=["language", "practice_left"])


def choose_language(token: str, language: str) -> None:
    """Remember the language that the judge chose, if the study offers it."""
    with transaction.atomic():
        judge = _held(token)
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
    judge = _held(token)
    return _open_pair(judge) or _next_pair(judge, _last_position(judge))


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
    pair = queries.find_pair(judge, given.pair)
    if pair is None:
        raise Refused("not shown")
    _check_outcome(_version_of(judge, pair), given)
    before = None if pair.open else _latest(pair)
    if before is not None and _same(before, given):
        return _open_pair(judge) or _next_pair(judge, _last_position(judge))
    # A second window, or a request sent twice, must not change an answer that it has not seen.
    if given.follows != (before.revision if before else 0):
        raise Refused("answered")
    if before is not None and not _is_last(judge, pair):
        raise Refused("not last")
    now = timezone.now()
    judge.busy_until = _paced(judge, now)
    _store(judge, pair, before, given, now)
    if before is None:
        goes_on = pair.practice == (judge.practice_left > 0)  # after practice, positions start again at 1
        return _next_pair(judge, pair.position if goes_on else _last_position(judge))
    _save(judge)
    return _open_pair(judge) or _next_pair(judge, _last_position(judge))


def _is_last(judge: Judge, pair: Pair) -> bool:
    """Say whether a pair is the one that `last_answered` shows."""
    later = Pair.objects.filter(judge=judge, open=False, practice=pair.practice, position__gt=pair.position)
    return pair.practice == (judge.practice_left > 0) and not later.exists()


def mark_unknown(token: str, positions: Collection[int], listed: Collection[int]) -> None:
    """Mark the areas that the judge does not know; an open pair with one of them is left unanswered.

    Of the marks that the judge made before, only those on areas that the page ``listed`` are taken back.
    """
    with transaction.atomic():
        judge = _held(token)
        if not has_consented(judge):
            raise Refused("no consent")
        areas = dict(Area.objects.filter(study_id=judge.study_id, position__in=positions).values_list("pk", "position"))
        marks = UnknownArea.objects.filter(judge=judge)
        taken_back = set(listed) - set(positions)
        gone = [key for key, position in marks.values_list("pk", "area__position") if position in taken_back]
        marks.filter(pk__in=gone).delete()
        UnknownArea.objects.bulk_create(
            [UnknownArea(judge=judge, area_id=each) for each in areas], ignore_conflicts=True
        )
        pair = Pair.objects.filter(judge=judge, open=True).first()
        if pair is not None and (pair.left_id in areas or pair.right_id in areas):
            side = "left" if pair.left_id in areas else "right"
            _store(judge, pair, None, GivenAnswer(pair.token, "unknown", side), timezone.now())
            _save(judge)


def choose_places(token: str, chosen: Collection[str]) -> None:
    """Store which places of a large map the judge knows; an open pair with an area elsewhere is left unanswered."""
    with transaction.atomic():
        judge = _held(token)
        if not has_consented(judge):
            raise Refused("no consent")
        judge.places = gazetteer(judge.study_id).check(chosen)
        judge.save(update_fields=["places"])
        known = known_areas(judge.study_id, tuple(judge.places))
        pair = _pairs().filter(judge=judge, open=True).first()
        if pair is None or known is None:
            return
        sides = [side for side, area in (("left", pair.left), ("right", pair.right)) if area.position not in known]
        if sides:
            _store(judge, pair, None, GivenAnswer(pair.token, "unknown", sides[0]), timezone.now())
            _save(judge)


def withdraw(code: str) -> Study:
    """Remove everything that a judge gave us; the empty row stays, so that link and code cannot be used again."""
    with transaction.atomic():
        judge = queries.judges().select_for_update(of=("self",)).filter(withdrawal_hash=hashed(tidy_code(code))).first()
        if judge is None:
            raise Refused("no code")
        take_out(judge)
        return judge.study


def take_out(judge: Judge) -> None:
    """Remove everything that a judge gave us; the caller has begun a transaction."""
    judge_withdraws.send(Judge, judge=judge)
    for rows in (judge.pairs, judge.unknown, judge.consents):
        rows.all().delete()
    erase_after_commit()
    if judge.withdrawn_at is None:
        judge.withdrawn_at = timezone.now()
        judge.judged = judge.practice_left = 0
        judge.language, judge.places, judge.busy_until = "", [], None
        judge.save()


def _held(token: str) -> Judge:
    """Lock a judge's row, and check that the judge may act."""
    judge = queries.hold_judge(token)
    if judge is None:
        raise Refused("no link")
    if judge.withdrawn_at is not None:
        raise Refused("withdrawn")
    if judge.study.status != Study.Status.OPEN:
        raise Refused("not open")
    return judge


def _new_judge(study: Study, invited: Invited, group: JudgeGroup | None) -> Judge:
    return Judge(
        name=invited.name,
        study=study,
        group=group,
        token_hash=hashed(invited.token),
        withdrawal_hash=hashed(withdrawal_code(invited.token)),
        maximum=study.version.maximum,
    )


def _pairs() -> QuerySet[Pair]:
    return Pair.objects.select_related("left", "right").defer(
        "left__outline", "right__outline", "left__rings", "right__rings"
    )


def _open_pair(judge: Judge) -> Pair | None:
    if not has_consented(judge):
        raise Refused("no consent")
    pair = _pairs().filter(judge=judge, open=True).first()
    if pair is not None:
        pair.judge = judge
    return pair


def _last_position(judge: Judge) -> int:
    pairs = Pair.objects.filter(judge=judge, practice=judge.practice_left > 0)
    return pairs.order_by("-position").values_list("position", flat=True).first() or 0


def _next_pair(judge: Judge, last_position: int) -> Pair | None:
    """Draw the next pair and save the judge; None at the pause, at the maximum, or if they know too few areas."""
    if not has_consented(judge):
        raise Refused("no consent")
    version = judge.study.version
    practice = judge.practice_left > 0
    # An edit may lower the maximum below what this judge has already given, and those answers stay.
    judge.maximum = max(version.maximum, judge.judged)
    pause = judge.judged >= version.recommended and not judge.went_on
    _save(judge)
    if not practice and (judge.judged >= version.maximum or pause):
        return None
    rng, unknown = np.random.default_rng(), queries.unknown_positions(judge)
    again = None if practice else draw_repeat(rng, judge, last_position, unknown)
    drawn = again or draw_pair(rng, version.pk, version.design, unknown, judge, judge.places)
    if drawn is None:
        return None
    left, right = queries.two_areas(judge.study_id, drawn.left, drawn.right)
    pair = Pair(
        judge=judge,
        version=version,
        token=make_token(),
        left=left,
        right=right,
        position=last_position + 1,
        practice=practice,
        design=REPEAT if again else version.design,
        probability=drawn.probability,
        issued_at=timezone.now(),
    )
    fastpath.insert(pair)
    return pair


def _save(judge: Judge) -> None:
    fastpath.update(judge, "judged", "maximum", "busy_until", "practice_left")


def _version_of(judge: Judge, pair: Pair) -> StudyVersion:
    """Return the version that a pair was shown under, most often the one in force."""
    current = judge.study.version
    return current if pair.version_id == current.pk else pair.version


def _check_outcome(version: StudyVersion, given: GivenAnswer) -> None:
    if given.outcome == "tie" and not version.ties:
        raise Refused("no ties")
    if given.outcome == "skipped" and not version.skips:
        raise Refused("no skips")
    if given.outcome not in ("left", "right", "tie", "skipped", "unknown"):
        raise Refused("no answer")
    if (given.outcome == "unknown") != (given.unknown_side in ("left", "right")):
        raise Refused("no answer")


def _latest(pair: Pair) -> Answer:
    return pair.answers.order_by("-revision")[0]


def _same(before: Answer, given: GivenAnswer) -> bool:
    return (before.outcome, before.unknown_side) == (given.outcome, given.unknown_side)


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
    """Add the answer, close the pair, and update the judge's counts; the caller saves the judge."""
    if not has_consented(judge):
        raise Refused("no consent")
    answer_row = Answer(
        pair=pair,
        revision=(before.revision if before else 0) + 1,
        outcome=given.outcome,
        unknown_side=given.unknown_side,
        reason=given.reason[:200] if given.outcome in ("tie", "skipped") else "",
        answered_at=now,
        seen_ms=_in_view(pair, before, given, now),
    )
    fastpath.insert(answer_row)
    if before is None:
        pair.open = False
        fastpath.update(pair, "open")
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


def _check_room(group: JudgeGroup, count: int) -> None:
    """Refuse more judges than a group's quota; call it in the transaction that adds them."""
    quota = JudgeGroup.objects.select_for_update().values_list("quota", flat=True).get(pk=group.pk)
    if quota is None:
        return
    # Somebody who withdrew leaves room for another judge.
    room = max(quota - Judge.objects.filter(group=group, withdrawn_at=None).count(), 0)
    if count > room:
        text = (
            f"the group {group.name} takes {quota:,} judges and has room for {room:,}; ask for fewer or raise its quota"
        )
        raise StudyError(text, field="group")
