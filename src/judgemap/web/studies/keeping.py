"""How long a study and its answers are kept: the days left, deleting a study, and removing it for good."""

from datetime import timedelta

from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.database import delete_in_turns, erase_after_commit
from judgemap.web.studies.editing import locked
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Act, Area, BaseMapTile, Edge, ExtractPart, Study, Tile

REMOVED = "answers removed"
"""The verb of the act that certifies the removal."""


def days_left(study: Study) -> int | None:
    """Count the days after today on which answers are kept; None if there is no end, or they are gone."""
    if study.answers_until is None or study.answers_removed_at is not None:
        return None
    return (study.answers_until - timezone.now().date()).days


def certificate_of(study: Study) -> Act | None:
    """Return what the log says about the removal of a study's answers; None if they are still kept."""
    return study.acts.filter(verb=REMOVED).order_by("-pk").first()


GRACE = timedelta(days=7)
"""How long a deleted study can be brought back."""
study_goes = Signal()
"""Sent with ``study`` before its rows are removed, so that other apps remove what points at them."""


def delete_study(study: Study, typed: str, by: Researcher | None = None) -> Study:
    """Hide a study, if somebody typed its title or its name in addresses; judges find it paused."""
    with transaction.atomic():
        study = locked(study, deleted=True)
        if " ".join(typed.split()) not in (" ".join(study.version.title.split()), study.slug):
            text = gettext("type the title of the study exactly: %(title)s")
            raise StudyError(text, "title", title=study.version.title)
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
        study = locked(study, deleted=True)
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
            record(None, None, "removed", {"study": study.slug, "title": title, **counts})


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
