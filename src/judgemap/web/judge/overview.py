"""Studies at a glance: how many judges and answers each has."""

from django.db.models import Count, Sum
from django.db.models.functions import Coalesce

from judgemap.web.judge.models import Judge
from judgemap.web.studies.models import Area, Study


def studies_overview() -> list[dict[str, object]]:
    """Return one row a study, the newest first."""
    judges = Judge.objects.filter(withdrawn_at=None).order_by().values("study_id")
    counts = judges.annotate(judges=Count("pk"), judged=Coalesce(Sum("judged"), 0))
    answers = {row["study_id"]: row for row in counts}
    areas = dict(Area.objects.order_by().values_list("study_id").annotate(Count("pk")))
    return [
        {
            "study": study.slug,
            "status": study.status,
            "title": study.version.title,
            "areas": areas.get(study.pk, 0),
            "judges": answers.get(study.pk, {}).get("judges", 0),
            "judged": answers.get(study.pk, {}).get("judged", 0),
        }
        for study in Study.objects.select_related("current").order_by("-created_at")
    ]
