"""How many judges to ask, and for how many answers each: a grid of both, for the running study."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from django import forms
from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST, require_safe

from judgemap.report.words.text import plain
from judgemap.study.fit.record import json_value
from judgemap.study.plan.schedules import DIFFER
from judgemap.web.dashboard import actions
from judgemap.web.dashboard.charts import Chart, Course, line_chart
from judgemap.web.dashboard.models import PanelPlan
from judgemap.web.judge.models import Judge
from judgemap.web.results.models import FitRun
from judgemap.web.server.forms import StudyForm
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.models import Study

if TYPE_CHECKING:
    from judgemap.study.plan.planning import StudyPlan

MOST_JUDGES, MOST_ANSWERS = 200, 500
MANY, FEW = 12, 6
"""Simulated maps; fewer if there are many areas."""
LARGE = 100
PLANNED_DESIGNS = ("uniform", "naive", "principal", "optimal")
COLUMNS = ("Answers each", "Judges", "Uncertainty (sd)")


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


@dataclass(frozen=True, slots=True)
class PlanPage:
    """A plan as the page shows it: sentences, a table of cells (text, text beside it), a chart."""

    sentences: list[str]
    heads: list[str]
    rows: list[list[tuple[str, str]]]
    chart: Chart


@require_safe
@study_page
def planning(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study's plan, before it opens or while it runs, and the form to ask for one."""
    return _show(request, study, PlanForm(study))


@require_POST
@study_page
def plan(request: HttpRequest, study: Study) -> HttpResponse:
    """Ask for a plan."""
    form = PlanForm(study, request.POST)
    if not form.is_valid():
        return _show(request, study, form)
    actions.ask_for_plan(study, form.cleaned_data, form.panel_fit, researcher_of(request))
    return redirect("dashboard:planning", study.slug)


def _show(request: HttpRequest, study: Study, form: PlanForm) -> HttpResponse:
    context = {"study": study, "here": "dashboard", "page": "planning", **plan_context(study, form)}
    return render(request, "dashboard/planning.html", context, status=400 if form.errors else 200)


@require_safe
@study_page
def plan_news(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the part of the page that a plan changes."""
    return render(request, "dashboard/plan.html", {"study": study} | plan_context(study, PlanForm(study)))


def plan_context(study: Study, form: PlanForm) -> dict[str, object]:
    """Return what the page shows about the study's plan."""
    latest = PanelPlan.objects.filter(study=study).select_related("fit").defer("fit__rows", "fit__findings").first()
    return {
        "plan": latest.show_if_lost() if latest else None,
        "plan_form": form,
        "planned": plan_page(latest) if latest else None,
    }


def usual_study(study: Study) -> dict[str, int]:
    """Return the number of judges who answered and their mean number of answers, or what the study asks for."""
    counted = Judge.objects.filter(study=study, judged__gt=0).aggregate(judges=Count("pk"), answers=Sum("judged"))
    judges = counted["judges"]
    each = round(counted["answers"] / judges) if judges else study.version.recommended
    return {"judges": min(judges or 10, MOST_JUDGES), "per_judge": min(max(each, 1), MOST_ANSWERS)}


def work_out(asked: PanelPlan) -> dict[str, Any]:
    """Work out the grid."""
    from judgemap.study.plan.planning import SECONDS, plan
    from judgemap.web.judge.comparisons import load_comparisons
    from judgemap.web.results.files import open_fit
    from judgemap.web.studies.areas import load_areas

    version = asked.study.version
    design = {"adaptive": "optimal"}.get(version.design, version.design)
    times = load_comparisons(asked.study).seconds
    seconds = float(np.nanmedian(times)) if np.isfinite(times).any() else SECONDS
    done = asked.fit is not None and asked.fit.status == FitRun.Status.DONE
    pilot = open_fit(asked.fit) if asked.fit is not None and done else None
    areas = pilot.map if pilot is not None else load_areas(version)
    made = plan(
        areas, asked.judges, asked.per_judge, seed=asked.seed, differ=asked.differ, pilot=pilot, seconds=seconds,
        designs=[design if design in PLANNED_DESIGNS else "uniform"], simulations=FEW if len(areas) > LARGE else MANY,
    )  # fmt: skip
    return result_of(made)


def result_of(made: "StudyPlan") -> dict[str, Any]:
    """Return what the page shows of a plan, ready for JSON."""
    from judgemap.report.pages.planning import grid_table, sentences

    table = grid_table(made)
    kept: dict[str, Any] = json_value(made.to_dict())
    return kept | {
        "sentences": sentences(made),
        "heads": [each.heading.text for each in table.columns],
        "rows": [[[cell.text, cell.beside] for cell in row] for row in table.rows],
    }


def plan_page(plan: PanelPlan) -> PlanPage | None:
    """Say what a plan found; None if it is not done."""
    result = plan.result
    if plan.status != PanelPlan.Status.DONE or not result:
        return None
    grid = result["grid"]
    answers, sd = [float(each) for each in grid["per_judge"]], grid["sd"]
    middle = grid["judges"].index(result["judges"])
    courses = [
        Course(f"{grid['judges'][column]:,} judges", [(x, row[column]) for x, row in zip(answers, sd, strict=False)])
        for column in range(max(middle - 1, 0), min(middle + 2, len(grid["judges"])))
    ]
    ends = [f"{course.name} from {plain(course.points[0][1])} to {plain(course.points[-1][1])}" for course in courses]
    alt = gettext("As answers per judge go from %(fewest)s to %(most)s: %(ends)s.") % {
        "fewest": plain(answers[0]),
        "most": plain(answers[-1]),
        "ends": "; ".join(ends),
    }
    chart = line_chart(gettext("Uncertainty of the population's map"), alt, courses, COLUMNS)
    rows = [[(text, beside) for text, beside in row] for row in result["rows"]]
    return PlanPage(result["sentences"], result["heads"], rows, chart)
