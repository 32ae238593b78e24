"""Groups of judges: named by the researcher, joined by link, with an optional quota."""

from dataclasses import dataclass

from django.db import transaction
from django.db.models import Count, Q, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge.models import JudgeGroup
from judgemap.web.studies.editing import locked
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Study

MOST_GROUPS = 50
LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class GroupRow:
    """A group and how far its judges have got."""

    group: JudgeGroup
    invited: int
    begun: int
    judged: int


def keep_group(study: Study, name: str, quota: int | None, by: Researcher | None = None) -> JudgeGroup:
    """Make a group, or change the quota of the existing one with that name."""
    with transaction.atomic():
        study = locked(study)
        group = JudgeGroup.objects.filter(study=study, name=name).first()
        if group is None and JudgeGroup.objects.filter(study=study).count() >= MOST_GROUPS:
            raise StudyError(
                _("a study has at most %(most)s groups; use an existing one") % {"most": MOST_GROUPS}, field="name"
            )
        if group is not None and group.quota == quota:
            return group
        group = group or JudgeGroup(study=study, name=name)
        group.quota = quota
        group.save()
        record(study, by, "group kept", {"group": name, "quota": quota or "none"})
    return group


def group_named(study: Study, name: str) -> JudgeGroup:
    """Return the group with a name; if there is none yet, make it, without a quota."""
    if not name.strip() or len(name.strip()) > LONGEST_NAME:
        raise StudyError(_("the name of a group has 1 to %(most)s characters") % {"most": LONGEST_NAME})
    return JudgeGroup.objects.filter(study=study, name=name.strip()).first() or keep_group(study, name.strip(), None)


def groups_of(study: Study) -> list[GroupRow]:
    """Return a study's groups by name, with how far each has got."""
    here = Q(judges__withdrawn_at=None)
    groups = JudgeGroup.objects.filter(study=study).order_by("name")
    counted = groups.annotate(
        invited=Count("judges", filter=here),
        begun=Count("judges", filter=here & Q(judges__judged__gt=0)),
        n_judged=Coalesce(Sum("judges__judged", filter=here), 0),
    )
    return [GroupRow(each, each.invited, each.begun, each.n_judged) for each in counted]
