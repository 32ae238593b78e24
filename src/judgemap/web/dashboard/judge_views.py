"""Pages about judges, who are random names, and what can be done about them."""

from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.views.decorators.http import require_POST, require_safe

from judgemap.errors import StudyError
from judgemap.web.dashboard import actions
from judgemap.web.dashboard.counting import count
from judgemap.web.dashboard.judging import judge_rows, latest_fit, notes, time_chart
from judgemap.web.judge.models import UnknownArea
from judgemap.web.results.models import FitRun
from judgemap.web.results.runs import found
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.models import Study

ON_A_PAGE = 100


@require_safe
@study_page
def judges(request: HttpRequest, study: Study) -> HttpResponse:
    """Show how each judge judges, and let some be chosen."""
    fit = latest_fit(study)
    findings = found(fit, "judges", "judges_note", "surprises") if fit else {}
    rows = judge_rows(study, count(study), findings.get("judges", []))
    context = {
        "study": study,
        "fit": fit,
        "shown": Paginator(rows, ON_A_PAGE).get_page(request.GET.get("page")),
        "surprises": findings.get("surprises", []),
        "fit_note": findings.get("judges_note", ""),
        "notes": notes(rows, fit),
        "outstanding": [row for row in rows if row.found.get("stands_out")],
    }
    return render(request, "dashboard/judges.html", context | {"here": "dashboard", "page": "judges"})


@require_safe
@study_page
def judge(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    """Show one judge: times, habits, decisions that surprise, and areas not known."""
    fit = latest_fit(study)
    findings = found(fit, "judges", "surprises") if fit else {}
    counted = count(study)
    row = next((each for each in judge_rows(study, counted, findings.get("judges", [])) if each.name == name), None)
    if row is None:
        raise Http404
    unknown = UnknownArea.objects.filter(judge_id=name, judge__study=study).order_by("area__name")
    context = {
        "study": study,
        "fit": fit,
        "row": row,
        "chart": time_chart(counted.data.only([name])),
        "surprises": [each for each in findings.get("surprises", []) if each["judge"] == name],
        "unknown": unknown.values_list("area__name", flat=True),
    }
    return render(request, "dashboard/judge.html", context | {"here": "dashboard", "page": "judges"})


@require_POST
@study_page
def act(request: HttpRequest, study: Study) -> HttpResponse:
    """Do with the chosen judges what the button says."""
    names, by = request.POST.getlist("judge"), researcher_of(request)
    what, reason = request.POST.get("act", ""), request.POST.get("reason", "")
    refits = {"without": actions.refit_without, "only": actions.refit_with_only}
    try:
        if what in refits:
            return _compare(request, study, *refits[what](study, names, by, reason))
        if what == "leave out":
            done = actions.leave_out(study, names, reason, by)
            messages.success(request, f"Left out of fits from now on: {', '.join(done)}. Their answers are kept.")
        elif what == "take back":
            done = actions.take_back(study, names, by)
            messages.success(request, f"Included in fits again from now on: {', '.join(done)}.")
    except StudyError as error:
        messages.error(request, sentence(error))
    return redirect("dashboard:judges", study.slug)


def _compare(request: HttpRequest, study: Study, base: FitRun, new: FitRun) -> HttpResponse:
    """Lead to where the two fits are held side by side, or will be when both are there."""
    address = f"{reverse('results:compare', args=[study.slug, base.number])}?{urlencode({'with': new.number})}"
    if base.status == FitRun.Status.DONE:
        return redirect(address)
    said = "Fit {} of all judges and fit {} are being made. When both are ready, <a href='{}'>compare them</a>."
    messages.success(request, format_html(said, base.number, new.number, address))
    return redirect("fits:list", study.slug)
