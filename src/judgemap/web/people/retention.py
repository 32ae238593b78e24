"""Answers disappear on the promised day: reminders before it, removal after it, and a certificate that stays.

A worker checks every few seconds whether a day has passed; `judgemap study retain` does too.
"""

import fcntl
import logging
import os
from collections.abc import Iterable, Iterator
from smtplib import SMTPException
from typing import Any

from django.conf import settings
from django.core.mail import send_mail
from django.db import transaction
from django.db.models import QuerySet, Value
from django.db.models.functions import Concat
from django.utils import timezone

from judgemap.web.judge.joining import take_out
from judgemap.web.judge.models import Answer, Consent, Judge, Pair, PopulationMap, UnknownArea, answers_go
from judgemap.web.server.backup import Seal
from judgemap.web.server.database import delete_in_turns, erase_after_commit
from judgemap.web.studies.backups import DELETED, ERASED, delete_stale, stale_backups
from judgemap.web.studies.keeping import REMOVED, certificate_of, days_left
from judgemap.web.studies.log import log_head, record
from judgemap.web.studies.models import Act, Study

logger = logging.getLogger(__name__)
WITHDRAWALS = "withdrawals"
HIDDEN = "hidden:"
"""How the name of a study begins that holds answers until they are deleted, before the number of their certificate."""
REMINDERS = (30, 7, 1)
"""How many days before the end the owner is reminded, by email if the server sends any."""


def keep_promises(**_: object) -> None:
    """Remove answers whose last day is over, with the backups that hold them, and remind owners of upcoming days."""
    remove_due()
    erase_hidden()
    delete_stale()
    note_withdrawals()
    remind_due()


def remove_due() -> list[Act]:
    """Hide the answers of every study whose last day is over, for `erase_hidden`; return the certificates."""
    due = Study.objects.filter(answers_until__lt=timezone.now().date(), answers_removed_at=None)
    return [certificate for study in due if (certificate := _remove_if_due(study.pk)) is not None]


def hide_answers(study: Study) -> Act:
    """Hide everything about a study's judges, and certify the removal; the caller has locked the study's row.

    Deleting many answers takes long, and nobody else could write meanwhile. So the judges move, under no link that
    anybody has, to a study that has no version and is deleted: no page, export, fit or count has such a study.
    """
    judges = Judge.objects.filter(study=study)
    detail: dict[str, object] = {
        "kept until": str(study.answers_until),
        "judges and links": judges.count(),
        **{name: rows.count() for name, rows in _given_in(study).items()},
    }
    for _, changed in answers_go.send(Study, study=study, judges=list(judges.values_list("name", flat=True))):
        detail |= changed if isinstance(changed, dict) else {}
    if elsewhere := [f"{each}" for each in stale_backups(study, log_head().number + 1) if not each.is_here]:
        detail["backups on other machines, which delete them when a worker runs there"] = elsewhere
    PopulationMap.objects.filter(study=study).delete()
    study.status, study.join_code = Study.Status.CLOSED, None
    study.answers_removed_at = timezone.now()
    study.closed_at = study.closed_at or study.answers_removed_at
    study.save(update_fields=["status", "join_code", "answers_removed_at", "closed_at"])
    certificate = record(study, None, REMOVED, detail)
    hidden = Study.objects.create(
        slug=f"{HIDDEN}{certificate.number}", status=Study.Status.CLOSED, deleted_at=timezone.now()
    )
    nobody = Concat(Value("hidden "), "name")
    judges.update(study=hidden, group=None, token_hash=nobody, withdrawal_hash=nobody)
    return certificate


def erase_hidden() -> None:
    """Delete hidden answers in short turns, whichever process hid them, and log when the last are gone."""
    for hidden in Study.objects.filter(slug__startswith=HIDDEN, current=None):
        remove_judges(hidden)
        with transaction.atomic():
            left = Study.objects.select_for_update().filter(pk=hidden.pk).first()
            if left is None:  # another process deleted the last
                continue
            certificate = Act.objects.select_related("study").get(number=left.slug.removeprefix(HIDDEN))
            left.delete()
            record(certificate.study, None, ERASED, {})
            erase_after_commit()


def remove_judges(study: Study, **_: object) -> None:
    """Remove the judges of a study that is being deleted, with their pairs and answers, in short turns."""
    Judge.objects.filter(preview_of=study).delete()
    for rows in _given_in(study).values():
        delete_in_turns(rows, alone=True)
    delete_in_turns(Judge.objects.filter(study=study))


def _given_in(study: Study) -> "dict[str, QuerySet[Any]]":
    """Return the rows of all that a study's judges gave us; no row refers to one that comes before it."""
    return {
        "answers": Answer.objects.filter(pair__judge__study=study),
        "pairs": Pair.objects.filter(judge__study=study),
        "consents": Consent.objects.filter(judge__study=study),
        "unknown areas": UnknownArea.objects.filter(judge__study=study),
    }


def note_withdrawals(hashes: Iterable[str] | None = None) -> None:
    """Keep the codes of judges who withdrew, as hashes, in a file that outlives the database; by default all of them.

    Its first line says since when it is complete.
    """
    if hashes is None:
        gone = Judge.objects.filter(withdrawn_at__isnull=False).exclude(study__slug__startswith=HIDDEN)
        hashes = gone.values_list("withdrawal_hash", flat=True)
    path = settings.DATA / WITHDRAWALS
    path.touch(mode=0o600)
    with path.open("r+", encoding="ascii") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        known = file.read().split()
        new = [] if known else [timezone.now().isoformat()]
        new += sorted(set(hashes).difference(known))
        if new:
            file.write("".join(f"{each}\n" for each in new))
            file.flush()
            os.fsync(file.fileno())


def noted_withdrawals() -> tuple[str, list[str]]:
    """Return since when the list of withdrawals is complete, and the hashes in it; empty if there is none."""
    path = settings.DATA / WITHDRAWALS
    since, *hashes = (path.read_text(encoding="ascii") if path.is_file() else "").split() or [""]
    return since, hashes


def note_withdrawal(judge: Judge, **_: object) -> None:
    """Add a judge to the list of withdrawals when the withdrawal is stored."""
    transaction.on_commit(lambda: note_withdrawals([judge.withdrawal_hash]))


def withdraw_again() -> int:
    """Withdraw the judges on the list of withdrawals who are in the database again, from a backup; return how many."""
    listed = set(noted_withdrawals()[1])
    there = Judge.objects.filter(withdrawn_at=None)
    names = [name for name, code in there.values_list("name", "withdrawal_hash") if code in listed]
    for name in names:
        take_out(there.get(name=name))
    return len(names)


def missing_withdrawals(seal: Seal) -> str:
    """Say that this machine cannot know who withdrew after a backup was written; nothing if it can."""
    since, _ = noted_withdrawals()
    if since and since <= seal.began:
        return ""
    return (
        f"The backup is of {seal.began[:16].replace('T', ' ')} UTC, and {settings.DATA} has no list of the judges who "
        f"withdrew since then: their answers come back. If the former server's data folder still exists, stop, copy "
        f"its file {WITHDRAWALS!r} into {settings.DATA}, and restore into that."
    )


def remind_due() -> None:
    """Remind the owners of studies whose answers will soon be removed, once for each of `REMINDERS`."""
    if not settings.MAIL_IS_SENT:
        return
    for study in Study.objects.filter(answers_until__isnull=False, answers_removed_at=None, owner__is_active=True):
        left = days_left(study)
        passed = [days for days in REMINDERS if left is not None and left <= days]
        if passed and not study.acts.filter(verb="reminded", detail__days=passed[-1]).exists():
            _remind(study.pk, passed[-1])


def _remove_if_due(key: int) -> Act | None:
    """Remove a study's answers, unless another worker has just done so."""
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).select_related("current").get(pk=key)
        left = days_left(study)
        return hide_answers(study) if left is not None and left < 0 else None


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
                yield from (f"  {path} had them, and was deleted" for path in act.detail["deleted"])
            yield from (f"  {backup} still has them: delete it" for backup in stale_backups(each))
        elif each.answers_until is None:
            yield f"{each.slug}: answers are kept indefinitely; see: judgemap study retain {each.slug} --until DAY"
        else:
            yield f"{each.slug}: answers are kept until {each.answers_until}, {days_left(each)} days from today."
