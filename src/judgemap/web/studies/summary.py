"""Where a study is, and what to do next."""

from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Q, Sum

from judgemap.web.studies.models import Study


@dataclass(frozen=True, slots=True)
class Summary:
    """How far a study is."""

    areas: int
    edges: int
    invited: int
    begun: int
    withdrawn: int
    judged: int
    last_answer: datetime | None
    next_step: str


def summarise(study: Study) -> Summary:
    """Count a study's areas, judges and answers, and say what comes next."""
    counts = study.judges.aggregate(
        invited=Count("pk"),
        begun=Count("pk", filter=Q(judged__gt=0)),
        withdrawn=Count("pk", filter=Q(withdrawn_at__isnull=False)),
        judged=Sum("judged"),
    )
    last = study.judges.aggregate(last=Max("pairs__answers__answered_at"))["last"]
    counts["judged"] = counts["judged"] or 0
    return Summary(
        areas=study.areas.count(),
        edges=study.edges.filter(removed_in=None).count(),
        last_answer=last,
        next_step=next_step(study, counts["invited"]),
        **counts,
    )


def next_step(study: Study, invited: int) -> str:
    """Name the step that most helps the study on: try, invite, share the link, wait, open or export."""
    if study.status == Study.Status.DRAFT:
        return "try"
    if study.status == Study.Status.PAUSED:
        return "open"
    if study.status == Study.Status.CLOSED:
        return "export"
    if study.join_code:
        return "link"
    return "wait" if invited else "invite"
