"""How reliable a study's result is, in words first, and a forecast of what more answers would bring."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from judgemap.errors import StudyError
from judgemap.report.words.text import plain
from judgemap.study.assess.findings import ForecastFinding, ReliabilityFinding
from judgemap.study.assess.verdict import reliability_words
from judgemap.web.dashboard import actions
from judgemap.web.dashboard.charts import Chart, Course, line_chart
from judgemap.web.dashboard.models import Forecast
from judgemap.web.results.pages import latest_fit, read_findings
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.models import Study

if TYPE_CHECKING:
    from judgemap.study.plan.planning import StudyPlan

COLUMNS = ("Answers", "Measure", "Value", "95 % interval")
TIMES = 2
"""The planned study has this many times the present answers; others have a quarter to one and a half of that."""
SIMULATIONS = 24
LARGE = 100
"""With more areas than this, the adaptive design is too slow to simulate here."""


@require_safe
@study_page
def reliability(request: HttpRequest, study: Study) -> HttpResponse:
    """Show how reliable the result is, in words first."""
    fit = latest_fit(study)
    findings = read_findings(fit, "reliability", "reliability_over_time")
    known = findings.reliability
    shown: dict[str, object] = {
        "study": study,
        "fit": fit,
        "words": reliability_words(known) if known else "",
        "known": known,
        "figures": figures(known) if known and known.bayes is not None else [],
        "over_time": over_time(findings.reliability_over_time),
    }
    return render(request, "dashboard/reliability.html", {**shown, **_forecast(study)})


@require_safe
@study_page
def forecast_news(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the part of the page that a forecast changes."""
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


@dataclass(frozen=True, slots=True)
class Figure:
    """One measure of reliability, with an explanation."""

    name: str
    value: float | None
    interval: tuple[float, float] | None
    words: str


@dataclass(frozen=True, slots=True)
class ForecastPage:
    """A forecast's sentences and charts."""

    sentences: list[str]
    charts: list[Chart]


def figures(known: ReliabilityFinding) -> list[Figure]:
    """List the three measures and, if judges differ in the fit, what another panel would give."""
    another = Figure(
        _("Another panel"),
        known.another_panel,
        None,
        _(
            "The squared correlation with the estimates of another panel with as many judges and answers, according "
            "to the fitted model, in which judges differ."
        ),
    )
    return [
        *([another] if known.another_panel is not None else []),
        Figure(
            _("Split halves"),
            known.split_half_full,
            None,
            _(
                "The judges are split into halves (%(splits)s times), each half is fitted separately, and the two "
                "are correlated: %(correlation)s, scaled up to all answers. It reflects differences between judges."
            )
            % {"splits": known.splits, "correlation": _or_dash(known.split_half)},
        ),
        Figure(
            "Bayesian",
            known.bayes,
            known.bayes_interval,
            _(
                "The squared correlation of estimate and truth, according to the fitted model, including "
                "what it borrows from neighbours."
            ),
        ),
        Figure(
            _("Scale separation (SSR)"),
            known.ssr,
            None,
            _("The same, but estimating each area without its neighbours, as other comparative judgement tools do."),
        ),
    ]


def over_time(rows: Sequence[ReliabilityFinding]) -> Chart | None:
    """Draw how the measures grew with the answers."""
    courses = [
        _course("split halves", [(row.answers, row.split_half_full, None) for row in rows]),
        _course("Bayesian", [(row.answers, row.bayes, row.bayes_interval) for row in rows]),
        _course("SSR", [(row.answers, row.ssr, None) for row in rows]),
    ]
    courses = [course for course in courses if course.points]
    if not courses:
        return None
    ends = [
        f"{course.name} from {_written(course.points[0][1])} to {_written(course.points[-1][1])}" for course in courses
    ]
    alt = _("From the first to the last: %(ends)s.") % {"ends": ", ".join(ends)}
    return line_chart(_("Reliability as answers came in"), alt, courses, COLUMNS, top=1.0)


def forecast_page(forecast: Forecast) -> ForecastPage | None:
    """Say what a forecast found; None if it is not done."""
    if forecast.status != Forecast.Status.DONE or not forecast.result:
        return None
    result = ForecastFinding.from_dict(forecast.result)
    top = result.top
    measures = {
        "rank_error": ("Places off", "How many places out of order the average area is"),
        "found": (f"Of the top {top} found", f"The share of the {top} areas of highest risk that are found"),
        "sd": ("Uncertainty of an area", "Standard deviation of an area's risk, on the scale of the map"),
    }
    charts = []
    for name, (title, words) in measures.items():
        rows = [(x, each) for x, each in zip(result.comparisons, result.expected[name], strict=True) if each]
        course = Course(title, [(x, each.mean) for x, each in rows], [(each.low, each.high) for x, each in rows])
        (few, at_first), (many, at_last) = rows[0], rows[-1]
        alt = _("%(words)s: %(first)s with %(few)s answers, %(last)s with %(many)s.") % {
            "words": words,
            "first": plain(at_first.mean),
            "few": plain(few),
            "last": plain(at_last.mean),
            "many": plain(many),
        }
        charts.append(line_chart(title, alt, [course], COLUMNS, top=1.0 if name == "found" else None))
    return ForecastPage(_sentences(result), charts)


def _sentences(result: ForecastFinding) -> list[str]:
    """Say what twice the answers would change."""
    now, later = result.at(result.answers), result.at(2 * result.answers)
    if now is None or later is None:
        return []
    off, off_later = now["rank_error"].mean, later["rank_error"].mean
    hits, hits_later = result.top * now["found"].mean, result.top * later["found"].mean
    return [
        _(
            "With the %(answers)s answers so far, we expect the average area to be %(off)s places out of order; with "
            "twice as many, %(off_later)s."
        )
        % {"answers": plain(result.answers), "off": f"{off:.1f}", "off_later": f"{off_later:.1f}"},
        _(
            "Of the %(top)s areas of highest risk, we expect to find %(hits)s now, and %(hits_later)s with twice as "
            "many answers."
        )
        % {"top": result.top, "hits": f"{hits:.1f}", "hits_later": f"{hits_later:.1f}"},
    ]


def _course(name: str, rows: Sequence[tuple[int, float | None, tuple[float, float] | None]]) -> Course:
    """Make the course of a measure, with intervals if every value has one; unknown values are left out."""
    known = [(float(answers), value, interval) for answers, value, interval in rows if value is not None]
    intervals = [interval for *_, interval in known if interval]
    points = [(answers, value) for answers, value, _ in known]
    return Course(name, points, intervals if len(intervals) == len(points) else [])


def _written(value: float) -> str:
    return "below 0" if value < 0 else f"{value:.2f}"


def _or_dash(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def simulate(forecast: Forecast) -> dict[str, Any]:
    """Simulate studies shorter and longer than the one that was fitted."""
    from judgemap.study.plan.planning import plan
    from judgemap.web.results.files import open_fit

    pilot = open_fit(forecast.fit)
    facts = pilot.record.data
    judges = max(facts.judges, 1)
    per_judge = max(round(facts.comparisons / judges), -(-len(pilot.map) // judges))
    design = forecast.fit.version.design
    if design == "adaptive" and len(pilot.map) > LARGE:
        design = "optimal"
    made = plan(
        pilot.map, TIMES * judges, per_judge, seed=forecast.seed, pilot=pilot, designs=[design], grid=False,
        differ=None if pilot.settings.differ else 0.0, simulations=SIMULATIONS, watch=partial(_watch, forecast),
    )  # fmt: skip
    return result_of(made, facts.comparisons)


def result_of(made: "StudyPlan", answers: int) -> dict[str, Any]:
    """Return what pages show of a plan, ready for JSON."""
    told = made.to_dict()
    design = made.designs[0]
    now = made.planned / TIMES
    return {
        "answers": answers,
        "design": design,
        # Judges who gave the mean number of answers stand for those of the fit, who gave unequal ones.
        "comparisons": [round(answers * length / now) for length in made.lengths],
        "top": told["top"],
        "simulations": told["simulations"],
        "seconds": told["seconds"],
        "expected": {name: told["expected"][design][name] for name in ("sd", "rank_error", "found")},
    }


def _watch(forecast: Forecast, done: int, of: int) -> None:
    if forecast.news_due():
        forecast.tell(done / of, "")
