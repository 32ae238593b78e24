"""The fits of a study: list them, watch one, stop it, start it again, have them made automatically."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from judgemap.errors import StudyError
from judgemap.study.data.comparisons import Direction
from judgemap.study.fit.settings import FitSettings
from judgemap.web.results import actions
from judgemap.web.results.models import AutoFit, Exclusion, FitRun
from judgemap.web.results.pages import find_run
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.models import Study

MOST_SHOWN = 200
PATIENCE = timedelta(seconds=20)
"""If a fit waits longer than this while none runs, there is no worker."""


class AutoFitForm(forms.Form):
    """How often a study is fitted automatically."""

    every = forms.IntegerField(
        label=_("New answers"),
        required=False,
        min_value=actions.LEAST_EVERY,
        max_value=10**6,
        help_text=_("How many new answers trigger a fit (%(least)s or more). Leave empty for no automatic fits.")
        % {"least": actions.LEAST_EVERY},
    )
    model = forms.ChoiceField(choices=[(each, each) for each in ("spatial", "clusters", "standard")])


@require_safe
@study_page
def list_fits(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the fits of a study, the latest first, and the button that asks for one."""
    return _list(request, study, _auto_form(study))


def _list(request: HttpRequest, study: Study, auto_form: AutoFitForm) -> HttpResponse:
    runs = [run.show_if_lost() for run in _runs(study)[:MOST_SHOWN]]
    context = {"study": study, "runs": runs, "under_way": any(not run.over for run in runs), "here": "results"}
    if _is_live(request):
        return render(request, "fits/runs.html", context)
    context |= {
        "auto_form": auto_form,
        "auto": AutoFit.objects.filter(study=study).first(),
        "answers": actions.answered(study),
        "decided": actions.has_decided(study),
        "excluded": Exclusion.objects.filter(judge__study=study).order_by("judge_id"),
    }
    return render(request, "fits/list.html", context, status=400 if auto_form.errors else 200)


def _runs(study: Study) -> QuerySet[FitRun]:
    runs = FitRun.objects.filter(study=study).order_by("-number")
    return runs.select_related("asked_by").defer("rows", "findings", "log")


@require_safe
@study_page
def progress(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show how far a fit is; redirect to its map as soon as that is ready."""
    run = _seen(study, number)
    if run.status == FitRun.Status.DONE:
        return _lead_on(request, reverse("results:map", args=[study.slug, number]))
    if run.over and _is_live(request):
        return _lead_on(request, reverse("fits:progress", args=[study.slug, number]))
    context = {"study": study, "run": run, "here": "results"} | _waiting(run)
    return render(request, "fits/news.html" if _is_live(request) else "fits/progress.html", context)


@require_safe
@study_page
def explained(request: HttpRequest, study: Study, number: int) -> HttpResponse:  # noqa: ARG001 - all views have it
    """Tell a page that waits for a fit's explanation to reload as soon as it is ready."""
    run = find_run(study, number)
    if run is None:
        raise Http404
    return HttpResponse(headers={"HX-Refresh": "true"} if run.explained_at else None)


def _waiting(run: FitRun) -> dict[str, Any]:
    """Count the fits ahead of a waiting one, and say whether a worker is missing."""
    if run.status != FitRun.Status.WAITING:
        return {}
    before = FitRun.objects.filter(pk__lt=run.pk, status__in=FitRun.UNDER_WAY)
    running = FitRun.objects.filter(status=FitRun.Status.RUNNING).exists()
    # A worker looks several times a second: nothing running, and still waiting, means that there is no worker.
    alone = not running and run.asked_at < timezone.now() - PATIENCE
    return {"before": before.count(), "no_worker": alone}


@require_safe
@study_page
def log(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Show how a fit was made: its settings, its log, and the command that does the same."""
    run = _seen(study, number)
    settings = FitSettings.from_dict(run.settings)
    direction: Direction = "lower" if run.version.direction == "lower" else "higher"
    context = {
        "study": study,
        "run": run,
        "command": settings.command("comparisons.csv", "edges.csv", direction),
        "settings": {name: str(value) for name, value in settings.to_dict().items() if value is not None},
        "here": "results",
    }
    return render(request, "fits/log.html", context)


@require_POST
@study_page
def cancel(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Stop a fit."""
    run = actions.cancel_fit(_seen(study, number), researcher_of(request))
    if run.status == FitRun.Status.CANCELLED:
        messages.success(request, gettext("Fit %(number)s is cancelled.") % {"number": number})
        return redirect("fits:list", study.slug)
    return redirect("fits:progress", study.slug, number)


@require_POST
@study_page
def again(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Ask for the same fit once more."""
    try:
        run = actions.again(_seen(study, number), researcher_of(request))
    except StudyError as error:
        messages.error(request, sentence(error))
        return redirect("fits:list", study.slug)
    return redirect("fits:progress", study.slug, run.number)


@require_POST
@study_page
def differ(request: HttpRequest, study: Study, number: int) -> HttpResponse:
    """Ask for the same fit with judges who differ."""
    run = _seen(study, number)
    try:
        made = actions.let_judges_differ(run, researcher_of(request))
    except StudyError as error:
        messages.error(request, sentence(error))
        return redirect("fits:list", study.slug)
    return redirect("fits:progress", study.slug, made.number)


@require_POST
@study_page
def auto(request: HttpRequest, study: Study) -> HttpResponse:
    """Turn automatic fits on or off."""
    form = AutoFitForm(request.POST)
    if not form.is_valid():
        return _list(request, study, form)
    every = form.cleaned_data["every"]
    actions.set_auto_fit(study, every, FitSettings(model=form.cleaned_data["model"]), researcher_of(request))
    news = (
        (gettext("A fit is made after every %(every)s new answers.") % {"every": every})
        if every
        else gettext("Automatic fits are off.")
    )
    messages.success(request, news)
    return redirect("fits:list", study.slug)


def _auto_form(study: Study) -> AutoFitForm:
    auto = AutoFit.objects.filter(study=study).first()
    return AutoFitForm(initial={"every": auto.every, "model": auto.settings.get("model")} if auto else {})


def _seen(study: Study, number: int) -> FitRun:
    """Find a fit, and show it as lost if its worker is gone."""
    run = find_run(study, number)
    if run is None:
        raise Http404
    return run.show_if_lost()


def _is_live(request: HttpRequest) -> bool:
    return request.headers.get("HX-Request") == "true"


def _lead_on(request: HttpRequest, address: str) -> HttpResponse:
    """Redirect the browser, even if htmx made the request."""
    return HttpResponse(headers={"HX-Redirect": address}) if _is_live(request) else redirect(address)
