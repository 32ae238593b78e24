"""Pages about how far a study's result can be relied on, and what more answers would bring."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from judgemap.errors import StudyError
from judgemap.web.dashboard import actions
from judgemap.web.dashboard.judging import latest_fit
from judgemap.web.dashboard.models import Forecast
from judgemap.web.dashboard.reliability import figures, forecast_page, in_words, over_time
from judgemap.web.results.runs import found
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.models import Study


@require_safe
@study_page
def reliability(request: HttpRequest, study: Study) -> HttpResponse:
    """Show how far the result can be relied on, in words first."""
    fit = latest_fit(study)
    findings = found(fit, "reliability", "reliability_over_time") if fit else {}
    known = findings.get("reliability", {})
    context = {
        "study": study,
        "fit": fit,
        "words": in_words(known) if known else "",
        "known": known,
        "figures": figures(known) if known.get("bayes") is not None else [],
        "over_time": over_time(findings.get("reliability_over_time", [])),
    }
    return render(request, "dashboard/reliability.html", context | _forecast(study))


@require_safe
@study_page
def forecast_news(request: HttpRequest, study: Study) -> HttpResponse:
    """Hand out the part of the page that a forecast changes."""
    return render(request, "dashboard/forecast.html", {"study": study} | _forecast(study))


@require_POST
@study_page
def forecast(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for a forecast."""
    try:
        actions.ask_for_forecast(study, researcher_of(request))
    except StudyError as error:
        messages.error(request, sentence(error))
    return redirect("dashboard:reliability", study.slug)


def _forecast(study: Study) -> dict[str, object]:
    pilot = actions.pilot_of(study)
    asked = Forecast.objects.filter(fit__study=study).select_related("fit").order_by("-asked_at")
    latest = asked.defer("fit__rows", "fit__findings", "fit__log", "fit__info").first()
    own = latest if latest and pilot and latest.fit_id == pilot.pk else None
    return {
        "pilot": pilot,
        "forecast": latest.show_if_lost() if latest else None,
        "seen": forecast_page(latest) if latest else None,
        "may_ask": pilot is not None and actions.needs_asking(own),
        "here": "dashboard",
        "page": "reliability",
    }
