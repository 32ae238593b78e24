"""Whose a study is, and with which colleagues it is shared."""

from django.db import transaction

from judgemap.errors import StudyError
from judgemap.web.accounts.actions import find_researcher
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.actions import record
from judgemap.web.studies.models import Study


def share_study(study: Study, email: str, by: Researcher) -> Researcher:
    """Share a study with the researcher who has an address."""
    colleague = Researcher.objects.filter(email=email.strip().lower(), is_active=True).first()
    if colleague is None:
        raise StudyError("no researcher here has this address; invite them under Researchers first")
    if colleague == study.owner:
        raise StudyError("this is the study's owner")
    with transaction.atomic():
        study.colleagues.add(colleague)
        record(study, by, "shared", {"with": colleague.email})
    return colleague


def unshare_study(study: Study, colleague_id: str, by: Researcher) -> None:
    """Stop sharing a study with a colleague; nothing happens where it was not shared."""
    with transaction.atomic():
        known = colleague_id.isdecimal() and len(colleague_id) < 19
        for colleague in study.colleagues.filter(pk=colleague_id if known else -1):
            study.colleagues.remove(colleague)
            record(study, by, "unshared", {"with": colleague.email})


def give_study(study: Study, email: str) -> Researcher:
    """Make a researcher the owner of a study; who owned it before keeps it as a colleague."""
    owner = find_researcher(email)
    with transaction.atomic():
        if study.owner is not None and study.owner != owner:
            study.colleagues.add(study.owner)
        study.colleagues.remove(owner)
        study.owner = owner
        study.save(update_fields=["owner"])
        record(study, None, "given", {"to": owner.email})
    return owner
