"""The plan of a study: how many judges, how many answers each, and what more answers would bring. A worker makes it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
from django import forms
from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy as _

from judgemap.study.plan.schedules import DIFFER
from judgemap.web.judge.models import Judge
from judgemap.web.results import actions
from judgemap.web.results.models import FitRun, Plan
from judgemap.web.server.forms import StudyForm
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.models import Study

MOST_JUDGES, MOST_ANSWERS = 200, 500
MANY, FEW = 12, 6
"""Simulated studies; fewer if there are many areas."""
LARGE = 100
PLANNED_AS = {"adaptive": "optimal", "weights": "uniform"}
"""What stands in for designs that take too long to simulate, or that the planner does not know."""


class PlanForm(StudyForm):
    """The study in the middle of the grid, and a guess at how far judges differ if no fit estimates it."""

    judges = forms.IntegerField(label=_("Judges"), min_value=1, max_value=MOST_JUDGES)
    per_judge = forms.IntegerField(label=_("Answers each"), min_value=1, max_value=MOST_ANSWERS)
    differ = forms.FloatField(
        label=_("How far judges differ (a guess)"),
        min_value=0.01,
        max_value=10,
        help_text=_(
            "As a share of how far areas differ, σ/α. 0.5 is usual. If there is a fit with "
            "judges who differ, its estimate is used instead."
        ),
        widget=forms.NumberInput({"step": "any"}),
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - Django's
        super().__init__(*args, **kwargs)
        self.panel_fit = actions.panel_fit_of(study)
        if self.panel_fit is not None:
            del self.fields["differ"]
        self.initial = {**usual_study(study), "differ": DIFFER, **self.initial}


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a worker found out about studies like the planned one, in the report's words, pictures and table."""

    sentences: Sequence[str]
    pictures: Sequence[tuple[str, str, str]]
    """The address that has the picture in it, its text alternative, and its caption."""
    heads: Sequence[str]
    rows: Sequence[Sequence[tuple[str, str]]]
    """The grid as a table of cells: a text, and one beside it."""
    differ: float
    seconds_per_answer: float
    simulations: int


@study_page
def planning(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study's plan, before it opens or while it runs, and the form to ask for one."""
    return _show(request, study, PlanForm(study))


@study_page.act
def plan(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for a plan."""
    form = PlanForm(study, request.POST)
    if not form.is_valid():
        return _show(request, study, form)
    actions.ask_for_plan(study, form.cleaned_data, form.panel_fit, researcher_of(request))
    return redirect("fits:planning", study.slug)


@study_page
def plan_news(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the part of the page that a plan changes."""
    return _show(request, study, PlanForm(study), "results/plan.html")


def _show(request: HttpRequest, study: Study, form: PlanForm, template: str = "results/planning.html") -> HttpResponse:
    latest = Plan.objects.filter(study=study).select_related("fit").defer("fit__rows", "fit__findings").first()
    context = {
        "study": study,
        "here": "dashboard",
        "page": "planning",
        "plan": latest.show_if_lost() if latest else None,
        "planned": planned(latest) if latest else None,
        "plan_form": form,
    }
    return render(request, template, context, status=400 if form.errors else 200)


def usual_study(study: Study) -> dict[str, int]:
    """Return the number of judges who answered and their mean number of answers, or what the study asks for."""
    counted = Judge.objects.filter(study=study, judged__gt=0).aggregate(judges=Count("pk"), answers=Sum("judged"))
    judges = counted["judges"]
    each = round(counted["answers"] / judges) if judges else study.version.recommended
    return {"judges": min(judges or 10, MOST_JUDGES), "per_judge": min(max(each, 1), MOST_ANSWERS)}


def planned(plan: Plan) -> Planned | None:
    """Return what a plan found; None if it is not done."""
    return msgspec.convert(plan.result, Planned) if plan.status == Plan.Status.DONE and plan.result else None


def work_out(asked: Plan) -> Planned:
    """Simulate studies smaller and larger than the planned one, going by a fit if there is one."""
    from judgemap.report.pages.page import svg_address
    from judgemap.report.pages.planning import curves, grid_picture, grid_table, sentences
    from judgemap.study.plan.planning import SECONDS, plan
    from judgemap.web.judge.comparisons import load_comparisons
    from judgemap.web.results.files import open_fit
    from judgemap.web.studies.areas import load_areas

    version = asked.study.version
    design = PLANNED_AS.get(version.design, version.design)
    times = load_comparisons(asked.study).seconds
    done = asked.fit is not None and asked.fit.status == FitRun.Status.DONE
    pilot = open_fit(asked.fit) if asked.fit is not None and done else None
    areas = pilot.map if pilot is not None else load_areas(version)
    made = plan(
        areas, asked.judges, asked.per_judge, seed=asked.seed, judge_spread=asked.differ, pilot=pilot, designs=[design],
        answer_seconds=float(np.nanmedian(times)) if np.isfinite(times).any() else SECONDS,
        simulations=FEW if len(areas) > LARGE else MANY, watch=lambda done, of: asked.tell(done / of, ""),
    )  # fmt: skip
    table = grid_table(made)
    return Planned(
        sentences=sentences(made),
        pictures=[(svg_address(each), each.alt, each.caption) for each in (grid_picture(made), curves(made))],
        heads=[each.text for each in table.columns],
        rows=[[(cell.text, cell.beside) for cell in row] for row in table.rows],
        differ=made.record.differ,
        seconds_per_answer=made.record.seconds_per_answer,
        simulations=made.record.simulations,
    )
