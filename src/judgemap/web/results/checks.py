"""How far a result can be trusted: how well a fit was sampled, whether it explains the answers, how reliable it is."""

from collections.abc import Sequence

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from judgemap.core.samplers.diagnostics import GOOD_ESS, GOOD_RHAT
from judgemap.study.assess.findings import Reliability, RiskRow, SamplingFinding
from judgemap.study.assess.verdict import judge_checks, p_value, reliability_words
from judgemap.study.fit.record import GOOD_GAP
from judgemap.web.dashboard.charts import Chart, Course, line_chart
from judgemap.web.results.models import FitRun, latest_fit
from judgemap.web.results.pages import SeenMap, fit_page, pictures_of, read_findings, show_page
from judgemap.web.studies.access import study_page
from judgemap.web.studies.models import Study

SHOWN = 10
COLUMNS = ("Answers", "Measure", "Value", "95 % interval")


@fit_page
def convergence(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Say how well the fit was sampled, and show it."""
    findings = read_findings(run, "sampling", "parameters", "warnings")
    judged = run.record.diagnostics
    gap = None if judged.clusters is None else judged.clusters.together_gap
    context = {
        "warnings": findings.warnings,
        "notes": [note.text for note in run.record.notes],
        "judged": judged,
        "limits": {"rhat": GOOD_RHAT, "ess": GOOD_ESS, "gap": GOOD_GAP},
        "good": {
            "rhat": judged.rhat_max <= GOOD_RHAT,
            "bulk": judged.ess_bulk_min >= GOOD_ESS,
            "tail": judged.ess_tail_min >= GOOD_ESS,
            "gap": gap is not None and gap <= GOOD_GAP,
        },
        "parameters": findings.parameters,
        "worst": worst(SeenMap(run).rows, findings.sampling),
        "pictures": pictures_of(run, "traces", "ranks", "alpha"),
    }
    return show_page(request, "results/convergence.html", study, run, context)


def worst(
    rows: Sequence[RiskRow], sampling: SamplingFinding
) -> list[tuple[str, float | None, float | None, float | None]]:
    """Return the areas that were sampled worst: name, R-hat, effective draws, and those in the tails."""
    areas = zip((row["name"] for row in rows), sampling.rhat, sampling.ess_bulk, sampling.ess_tail, strict=False)
    return sorted(areas, key=lambda area: area[2] or -1.0)[:SHOWN]


@fit_page
def checks(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Compare what the fit expects with what the judges said."""
    findings = read_findings(run, "checks", "areas", "part_words")
    measured = [(each, p_value(each.p).removeprefix("p ").removeprefix("= ")) for each in findings.checks]
    context = {
        "note": judge_checks(findings.checks).text,
        "part": findings.part_words,
        "measures": measured,
        "fits": not any(each.unusual for each in findings.checks),
        "outside": [
            (run.rows[position]["name"], position, each)
            for position, each in enumerate(findings.areas)
            if each.unexpected
        ],
        "winner_is": run.record.winner_is,
        "pictures": pictures_of(run, "predictive", "variance"),
    }
    return show_page(request, "results/checks.html", study, run, context)


@study_page
def reliability(request: HttpRequest, study: Study) -> HttpResponse:
    """Show how reliable the last fit is, in words first."""
    fit = latest_fit(study)
    findings = read_findings(fit, "reliability", "reliability_over_time", "part_words")
    known = findings.reliability
    context = {
        "study": study,
        "fit": fit,
        "words": reliability_words(known) if known else "",
        "known": known,
        "part": findings.part_words,
        "over_time": over_time(findings.reliability_over_time),
    }
    return render(request, "results/reliability.html", context | {"here": "dashboard", "page": "reliability"})


def over_time(rows: Sequence[Reliability]) -> Chart | None:
    """Draw how the measures grew with the answers; those not known at some point are left out there."""
    halves = [(float(row.answers), row.split_half_full) for row in rows if row.split_half_full is not None]
    bayes = [(float(row.answers), row.bayes) for row in rows if row.bayes is not None]
    around = [row.bayes_interval for row in rows if row.bayes_interval]
    ssr = [(float(row.answers), row.ssr) for row in rows if row.ssr is not None]
    drawn = [
        Course("split halves", halves),
        Course("Bayesian", bayes, around if len(around) == len(bayes) else ()),
        Course("SSR", ssr),
    ]
    courses = [course for course in drawn if course.points]
    if not courses:
        return None
    ends = [f"{each.name} from {_written(each.points[0][1])} to {_written(each.points[-1][1])}" for each in courses]
    alt = _("From the first to the last: %(ends)s.") % {"ends": ", ".join(ends)}
    return line_chart(_("Reliability as answers came in"), alt, courses, COLUMNS, top=1.0)


def _written(value: float) -> str:
    return "below 0" if value < 0 else f"{value:.2f}"
