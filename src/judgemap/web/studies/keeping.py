"""How long a study keeps its answers. Once a judge has agreed to a date, it can only be brought forward."""

from datetime import date, timedelta
from typing import Any

from django import forms
from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.database import delete_in_turns, erase_after_commit
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Act, Area, BaseMapTile, Edge, ExtractPart, Study, Tile

REMOVED = "answers removed"
"""The verb of the act that certifies the removal."""


class EndOfAnswersField(forms.DateField):
    """The last day on which answers are kept, as researchers fill it in."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(
            label=_("Keep answers until"),
            required=False,
            widget=forms.DateInput({"type": "date"}, format="%Y-%m-%d"),
            help_text=_(
                "Judges see this date before they agree. After it, the server deletes all answers, links and figures "
                "about individual judges. Once a judge has agreed, you can bring the date forward but not put it "
                "back. Leave it empty to keep answers indefinitely."
            ),
            **given,
        )


def held(study: Study) -> Study:
    """Lock a study's row and read it again; refuse one that is no longer there."""
    found = Study.objects.select_for_update(of=("self",)).select_related("current").filter(pk=study.pk).first()
    if found is None:
        raise StudyError(gettext("this study was deleted or made again meanwhile; reload the page"))
    return found


def set_end(study: Study, until: date | None, by: Researcher | None = None) -> Study:
    """Set the last day on which a study's answers are kept, even if the study is closed."""
    with transaction.atomic():
        study = held(study)
        change_end(study, until, by)
        study.save(update_fields=["answers_until"])
    return study


def change_end(study: Study, until: date | None, by: Researcher | None) -> None:
    """Change a study's last day; the caller has locked the study's row, and saves it."""
    if until == study.answers_until:
        return
    check_end(until)
    promised = study.answers_until
    if study.answers_removed_at is not None:
        raise StudyError(
            gettext("the answers in study %(slug)s have been deleted, so the date cannot be changed")
            % {"slug": f"{study.slug!r}"},
            "answers_until",
        )
    later = promised is not None and (until is None or until > promised)
    if later and study.judges.filter(consents__isnull=False).exists():
        text = (
            f"judges have agreed that their answers will be deleted after {promised}; you can only "
            f"bring the date forward"
        )
        raise StudyError(text, field="answers_until")
    study.answers_until = until
    record(study, by, "end of answers set", {"until": str(until or "no end")})


def check_end(until: date | None) -> None:
    """Refuse a last day in the past."""
    if until is not None and until < timezone.now().date():
        raise StudyError(
            gettext("answers_until is %(until)s, which is in the past; choose a date in the future") % {"until": until},
            field="answers_until",
        )


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
        study = held(study)
        if " ".join(typed.split()) not in (" ".join(study.version.title.split()), study.slug):
            raise StudyError(
                gettext("type the title of the study exactly: %(title)s") % {"title": study.version.title},
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
        study = held(study)
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
