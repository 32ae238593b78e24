"""Who shares a study: its owner, colleagues who edit it, and readers."""

from typing import TYPE_CHECKING

from django.db import transaction
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.web.accounts.actions import find_researcher
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.editing import locked
from judgemap.web.studies.log import record
from judgemap.web.studies.models import (
    Study,
)

if TYPE_CHECKING:
    pass


def share_study(study: Study, email: str, by: Researcher, *, to_read: bool = False) -> Researcher:
    """Share a study with the researcher at an email address, or change what they may do."""
    colleague = Researcher.objects.filter(email=email.strip().lower(), is_active=True).first()
    if colleague is None:
        raise StudyError(_("no researcher here has this address; invite them under Researchers first"))
    with transaction.atomic():
        study = locked(study)
        if colleague == study.owner:
            raise StudyError(_("this is the study's owner"))
        now, before = (study.readers, study.colleagues) if to_read else (study.colleagues, study.readers)
        before.remove(colleague)
        now.add(colleague)
        record(study, by, "shared", {"with": colleague.email} | ({"to": "read"} if to_read else {}))
    return colleague


def unshare_study(study: Study, colleague_id: str, by: Researcher) -> None:
    """Stop sharing a study with a colleague; nothing happens if it was not shared."""
    with transaction.atomic():
        study = locked(study)
        known = colleague_id.isdecimal() and len(colleague_id) < 19
        for shared in (study.colleagues, study.readers):
            for colleague in shared.filter(pk=colleague_id if known else -1):
                shared.remove(colleague)
                record(study, by, "unshared", {"with": colleague.email})


def give_study(study: Study, email: str) -> Researcher:
    """Make a researcher the owner of a study; the previous owner stays on as a colleague."""
    owner = find_researcher(email)
    with transaction.atomic():
        study = locked(study)
        if study.owner is not None and study.owner != owner:
            study.colleagues.add(study.owner)
        study.colleagues.remove(owner)
        study.readers.remove(owner)
        study.owner = owner
        study.save(update_fields=["owner"])
        record(study, None, "given", {"to": owner.email})
    return owner
