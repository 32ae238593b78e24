"""Deleting a study: hidden at once, and removed for good after a grace period. The log records both."""

from datetime import timedelta

from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.database import erase_after_commit
from judgemap.web.server.turns import delete_in_turns
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Area, BaseMapTile, Edge, ExtractPart, Study, Tile

GRACE = timedelta(days=7)
"""How long a deleted study can be brought back."""
study_goes = Signal()
"""Sent with ``study`` before its rows are removed, so that other apps remove what points at them."""


def delete_study(study: Study, typed: str, by: Researcher | None = None) -> Study:
    """Hide a study, if somebody typed its title or its name in addresses; judges find it paused."""
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).select_related("current").get(pk=study.pk)
        if " ".join(typed.split()) not in (" ".join(study.version.title.split()), study.slug):
            raise StudyError(
                _("type the title of the study exactly: %(title)s") % {"title": study.version.title},
                field="title",
            )
        if study.deleted_at is None:
            was = study.status
            study.deleted_at = timezone.now()
            study.status = Study.Status.PAUSED if was == Study.Status.OPEN else was
            study.save(update_fields=["deleted_at", "status"])
            record(study, by, "deleted", {"until": f"{study.deleted_at + GRACE:%Y-%m-%d}", "status": was})
    return study


def bring_back(study: Study, by: Researcher | None = None) -> Study:
    """Bring a deleted study back; one that was open is paused."""
    with transaction.atomic():
        study = Study.objects.select_for_update(of=("self",)).select_related("current").get(pk=study.pk)
        if study.deleted_at is not None:
            study.deleted_at = None
            study.save(update_fields=["deleted_at"])
            record(study, by, "brought back", {})
    return study


def remove_due(**_: object) -> None:
    """Remove the studies whose grace period is over."""
    due = Study.objects.filter(deleted_at__lt=timezone.now() - GRACE).exclude(current=None).select_related("current")
    for study in due:
        title = study.version.title
        counts = {"areas": study.areas.count(), "judges": study.judges.count()}
        if remove_study(study):
            record(None, None, "removed", {"study": study.slug, "title": title} | counts)


def remove_study(study: Study) -> bool:
    """Remove a study with everything in it, in short turns; False if another process finished that first."""
    Study.objects.filter(pk=study.pk, deleted_at=None).update(deleted_at=timezone.now())
    study_goes.send(Study, study=study)
    delete_in_turns(BaseMapTile.objects.filter(base_map__study=study))
    delete_in_turns(ExtractPart.objects.filter(extract__study=study), at_once=1)
    delete_in_turns(Edge.objects.filter(study=study))
    delete_in_turns(Tile.objects.filter(study=study))
    delete_in_turns(Area.objects.filter(study=study))
    with transaction.atomic():
        left = Study.objects.select_for_update().filter(pk=study.pk).first()
        if left is not None:
            Study.objects.filter(pk=study.pk).update(current=None)  # the current version cannot be deleted
            left.delete()
        erase_after_commit()
    return left is not None
