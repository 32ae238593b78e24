"""Answers disappear on the promised day: reminders before it, removal after it, and a certificate that stays.

A worker checks every few seconds whether a day has passed; `judgemap study retain` does too.
"""

import logging
from collections.abc import Iterator
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.utils import timezone

from judgemap.web.judge.models import Answer, Consent, Judge, Pair, PopulationMap, UnknownArea, answers_go
from judgemap.web.server.erasing import erase_after_commit
from judgemap.web.server.turns import delete_in_turns
from judgemap.web.studies.backups import DELETED, delete_stale, stale_backups
from judgemap.web.studies.keeping import REMOVED, certificate_of, days_left
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Act, Study

logger = logging.getLogger(__name__)
REMINDERS = (30, 7, 1)
"""How many days before the end the owner is reminded, by email if the server sends any."""


def keep_promises(**_: object) -> None:
    """Remove answers whose last day is over, with the backups that hold them, and remind owners of upcoming days."""
    for certificate in remove_due():
        if certificate.study is not None:
            delete_stale(certificate.study)
    remind_due()


def remove_due() -> list[Act]:
    """Remove the answers of every study whose last day is over; return the certificates."""
    due = Study.objects.filter(answers_until__lt=timezone.now().date(), answers_removed_at=None)
    return [certificate for study in due for certificate in _remove_if_due(study.pk)]


def remove_answers(study: Study) -> Act:
    """Remove everything about a study's judges, and log what was removed; the caller has locked the study's row."""
    answers = Answer.objects.filter(pair__judge__study=study)
    pairs = Pair.objects.filter(judge__study=study)
    consents = Consent.objects.filter(judge__study=study)
    unknown = UnknownArea.objects.filter(judge__study=study)
    judges = Judge.objects.filter(study=study)
    detail: dict[str, Any] = {
        "kept until": str(study.answers_until),
        "judges and links": judges.count(),
        "answers": answers.count(),
        "pairs": pairs.count(),
        "consents": consents.count(),
        "unknown areas": unknown.count(),
    }
    for _, changed in answers_go.send(Study, study=study, judges=list(judges.values_list("name", flat=True))):
        detail |= changed if isinstance(changed, dict) else {}
    for rows in (answers, pairs, consents, unknown):
        rows._raw_delete(using=rows.db)  # noqa: SLF001 - in this order, nothing points at what is deleted
    judges.delete()
    PopulationMap.objects.filter(study=study).delete()
    study.status, study.join_code = Study.Status.CLOSED, None
    study.answers_removed_at = timezone.now()
    study.closed_at = study.closed_at or study.answers_removed_at
    study.save(update_fields=["status", "join_code", "answers_removed_at", "closed_at"])
    erase_after_commit()
    return record(study, None, REMOVED, detail)


def remove_judges(study: Study, **_: object) -> None:
    """Remove the judges of a study that is being deleted, with their pairs and answers, in short turns."""
    for rows in (
        Answer.objects.filter(pair__judge__study=study),
        Pair.objects.filter(judge__study=study),
        Consent.objects.filter(judge__study=study),
        UnknownArea.objects.filter(judge__study=study),
        Judge.objects.filter(study=study),
    ):
        delete_in_turns(rows)


def remind_due() -> None:
    """Remind the owners of studies whose answers will soon be removed, once for each of `REMINDERS`."""
    if not settings.MAIL_IS_SENT:
        return
    for study in Study.objects.filter(answers_until__isnull=False, answers_removed_at=None, owner__is_active=True):
        left = days_left(study)
        passed = [days for days in REMINDERS if left is not None and left <= days]
        if passed and not study.acts.filter(verb="reminded", detail__days=passed[-1]).exists():
            _remind(study.pk, passed[-1])


def _remove_if_due(key: int) -> Iterator[Act]:
    """Remove a study's answers, unless another worker has just done so."""
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).select_related("current").get(pk=key)
        left = days_left(study)
        if left is not None and left < 0:
            yield remove_answers(study)


def _remind(key: int, days: int) -> None:
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).select_related("current", "owner").get(pk=key)
        if study.owner is None or study.acts.filter(verb="reminded", detail__days=days).exists():
            return
        record(study, None, "reminded", {"days": days, "to": study.owner.email})
        until, title, address = study.answers_until, study.version.title, study.owner.email
    text = (
        f"The answers of the study “{title}” are kept until {until}. After that day the server removes all answers, "
        "links and figures of single judges, and nobody can bring them back.\n\n"
        f"Download what you may keep: {settings.PUBLIC_URL}/studies/{study.slug}/\n"
    )
    try:
        send_mail(f"{title}: answers are removed after {until}", text, None, [address])
    except (OSError, SMTPException):
        logger.exception("a reminder was not sent")


def retention_lines(study: Study | None) -> Iterator[str]:
    """Say until when answers are kept, or what was removed, in one study or all, for the command line."""
    chosen = Study.objects.filter(pk=study.pk) if study else Study.objects.exclude(current=None).order_by("slug")
    for each in chosen:
        certificate = certificate_of(each)
        if certificate is not None:
            yield f"{each.slug}: answers were removed at {certificate.at:%Y-%m-%d %H:%M} UTC."
            yield from (f"  {name}: {value}" for name, value in certificate.detail.items() if value)
            for act in each.acts.filter(verb=DELETED).order_by("pk"):
                yield from (f"  {path} had them, and was deleted" for path in act.detail["files"])
            for path in stale_backups(each):
                yield f"  {path} still has them: delete it"
        elif each.answers_until is None:
            yield f"{each.slug}: answers are kept indefinitely; see: judgemap study retain {each.slug} --until DAY"
        else:
            yield f"{each.slug}: answers are kept until {each.answers_until}, {days_left(each)} days from today."
