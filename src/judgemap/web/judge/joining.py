"""How judges come and go: by a personal link, by an open one, as a researcher's preview, and by withdrawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge.models import Judge, JudgeGroup, judge_withdraws
from judgemap.web.judge.place import Refused
from judgemap.web.server.database import erase_after_commit
from judgemap.web.server.limits import Brake
from judgemap.web.server.tokens import hashed, make_name, make_token, tidy_code, withdrawal_code
from judgemap.web.studies.editing import locked
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Study

JOINS_A_MINUTE = 600
JOINS = (Brake("joins", most=60, seconds=60.0), Brake("joins near", most=120, seconds=60.0))
"""How many may join per minute from one place, such as a school, and from all places near it.

One client, or one network of many addresses, cannot use up what a study takes from everybody."""
PREVIEW_HOURS = 6


@dataclass(frozen=True, slots=True)
class Invited:
    """A new judge: the random name, and the token of the link, which is not stored."""

    name: str
    token: str


def invite(study: Study, count: int, by: Researcher | None = None, group: JudgeGroup | None = None) -> list[Invited]:
    """Make personal links for a number of judges, and record who asked for them."""
    invited = [Invited(make_name(), make_token()) for _ in range(count)]
    with transaction.atomic():
        study = locked(study)
        _check_room(group, count)
        Judge.objects.bulk_create([_new_judge(study, each, group) for each in invited])
        record(study, by, "invited", {"judges": count} | ({"group": group.name} if group else {}))
    return invited


def join(study: Study, group: JudgeGroup | None = None, places: Sequence[str] = ("", "")) -> Invited:
    """Make a judge for somebody with the open link of a study or group.

    ``places`` are hashes of where they come from: the address, and the network around it.
    """
    if not all(brake.allows(f"{study.pk}:{place}") for brake, place in zip(JOINS, places, strict=True)):
        raise Refused("too many")
    invited = Invited(make_name(), make_token())
    with transaction.atomic():
        try:
            study = locked(study)
        except StudyError:  # deleted meanwhile
            raise Refused("not open") from None
        if study.status != Study.Status.OPEN or study.join_code is None:
            raise Refused("not open")
        last_minute = timezone.now() - timedelta(minutes=1)
        if Judge.objects.filter(study=study, created_at__gt=last_minute).count() >= JOINS_A_MINUTE:
            raise Refused("too many")
        try:
            _check_room(group, 1)
        except StudyError:
            raise Refused("full") from None
        _new_judge(study, invited, group).save(force_insert=True)
    return invited


def preview(study: Study) -> str:
    """Make a judge for a researcher who tries the study, and return the token of the link.

    The judge is in no study: whatever counts, exports or fits a study's judges and answers cannot meet this one.
    """
    with transaction.atomic():
        old = timezone.now() - timedelta(hours=PREVIEW_HOURS)
        Judge.objects.filter(preview_of=study, created_at__lt=old).delete()
        invited = Invited(make_name(), make_token())
        judge = _new_judge(study, invited, None)
        judge.study, judge.preview_of = None, study
        judge.save(force_insert=True)
    return invited.token


def withdraw(code: str) -> None:
    """Remove everything that a judge gave us; the empty row stays, so that link and code cannot be used again."""
    with transaction.atomic():
        held = Judge.objects.select_for_update().filter(withdrawal_hash=hashed(tidy_code(code))).first()
        if held is None:
            raise Refused("no code")
        if held.is_preview:
            held.delete()
        else:
            take_out(held)


def take_out(judge: Judge) -> None:
    """Remove everything that a judge gave us; the caller has begun a transaction."""
    judge_withdraws.send(Judge, judge=judge)
    for rows in (judge.pairs, judge.unknown, judge.consents):
        rows.all().delete()
    erase_after_commit()
    if judge.withdrawn_at is None:
        judge.withdrawn_at = timezone.now()
        judge.judged = judge.practice_left = 0
        judge.group, judge.language, judge.places, judge.busy_until, judge.went_on = None, "", [], None, False
        judge.save()


def _new_judge(study: Study, invited: Invited, group: JudgeGroup | None) -> Judge:
    return Judge(
        name=invited.name,
        study=study,
        group=group,
        token_hash=hashed(invited.token),
        withdrawal_hash=hashed(withdrawal_code(invited.token)),
        maximum=study.version.maximum,
    )


def _check_room(group: JudgeGroup | None, count: int) -> None:
    """Refuse more judges than a group's quota; call it in the transaction that adds them."""
    if group is None:
        return
    quota = JudgeGroup.objects.select_for_update().values_list("quota", flat=True).get(pk=group.pk)
    if quota is None:
        return
    # Somebody who withdrew is in no group, and leaves room for another judge.
    room = max(quota - Judge.objects.filter(group=group).count(), 0)
    if count > room:
        text = _(
            "the group %(group)s takes %(quota)s judges and has room for %(room)s; ask for fewer, or raise its quota"
        )
        facts = {"group": group.name, "quota": f"{quota:,}", "room": f"{room:,}"}
        raise StudyError(text % facts, field="group")
