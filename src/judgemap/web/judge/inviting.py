"""Judges' links and the export: researchers' pages about those who answer, and studies at a glance."""

import tempfile
from pathlib import Path

import segno
from django.db.models import Count, Sum
from django.db.models.functions import Coalesce
from django.http import FileResponse, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from judgemap.web.judge.actions import Invited, invite
from judgemap.web.judge.export import export_study, table
from judgemap.web.judge.forms import TOKEN
from judgemap.web.judge.models import Judge
from judgemap.web.server.public_address import check_address
from judgemap.web.server.tokens import hashed, whole_address
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.forms import InviteForm
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Area, Study

MOST_LINKS = 200


@require_http_methods(["GET", "HEAD", "POST"])
@study_page
def judges(request: HttpRequest, study: Study) -> HttpResponse:
    """Make links for judges, and show them this once."""
    rows = Judge.objects.filter(study=study).order_by("-judged", "name")
    problem = (
        None if rows.exists() or study.status == Study.Status.CLOSED else check_address(whole_address(request, "/"))
    )
    form = InviteForm(request.POST or None, ask=problem is not None)
    if form.is_valid() and study.status != Study.Status.CLOSED:
        # Links are shown this once and only their hashes are kept, so that nobody who reads the database can judge.
        invited = invite(study, form.cleaned_data["judges"], researcher_of(request))
        return render(request, "judge/invited.html", {"study": study, "links": _links(request, invited)})
    context = {"study": study, "form": form, "judges": rows, "here": "judges", "problem": problem}
    if study.join_code:
        context |= _shown(whole_address(request, reverse("judge:join", args=[study.join_code])))
    return render(request, "judge/invite.html", context, status=400 if form.errors else 200)


def _links(request: HttpRequest, invited: list[Invited]) -> list[dict[str, str]]:
    return [
        {"judge": each.name, "token": each.token}
        | _shown(whole_address(request, reverse("judge:home", args=[each.token])))
        for each in invited
    ]


def _shown(address: str) -> dict[str, str]:
    return {"address": address, "qr_code": segno.make(address, error="m").svg_data_uri(scale=3, border=2)}


@require_POST
@study_page
def links_csv(request: HttpRequest, study: Study) -> HttpResponse:
    """Write the links that the page shows as a table; they come back from the page, for they are kept nowhere."""
    tokens = [each for each in request.POST.getlist("token")[:MOST_LINKS] if TOKEN.fullmatch(each)]
    names = dict(
        Judge.objects.filter(study=study, token_hash__in=[hashed(each) for each in tokens]).values_list(
            "token_hash", "name"
        )
    )
    rows = [
        (names[hashed(each)], whole_address(request, reverse("judge:home", args=[each])))
        for each in tokens
        if hashed(each) in names
    ]
    name = f'attachment; filename="{study.slug}-links.csv"'
    return HttpResponse(table(("judge", "link"), rows), "text/csv", headers={"Content-Disposition": name})


@require_POST
@study_page
def export(request: HttpRequest, study: Study) -> HttpResponseBase:
    """Hand out every pair and answer of a study as a zip file."""
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        path = export_study(study, Path(folder, f"{study.slug}.zip"))
        record(study, researcher_of(request), "exported", {})
        return FileResponse(path.open("rb"), as_attachment=True, filename=path.name)


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
        for study in Study.objects.exclude(current=None).select_related("current").order_by("-created_at")
    ]
