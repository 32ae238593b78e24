"""How far a result can be trusted: how well a fit was sampled, whether it explains the answers, how reliable it is."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _

from judgemap.core.samplers.diagnostics import GOOD_ESS, GOOD_RHAT
from judgemap.study.assess.findings import ReliabilityFinding, RiskRow, SamplingFinding
from judgemap.study.assess.verdict import judge_checks, p_value, reliability_words
from judgemap.study.fit.record import GOOD_GAP
from judgemap.web.dashboard.charts import Chart, Course, line_chart
from judgemap.web.results.models import FitRun, latest_fit
from judgemap.web.results.pages import SeenMap, fit_page, pictures_of, read_findings, show_page
from judgemap.web.server.filters import fixed, whole
from judgemap.web.studies.access import study_page
from judgemap.web.studies.models import Study

SHOWN = 10
COLUMNS = ("Answers", "Measure", "Value", "95 % interval")


@fit_page
def convergence(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Say how well the fit was sampled, and show it."""
    findings = read_findings(run, "sampling", "parameters", "warnings")
    context = {
        "warnings": findings.warnings,
        "notes": [note.text for note in run.record.notes],
        "drawn": how_drawn(run),
        "figures": figures(run),
        "parameters": findings.parameters,
        "worst": worst(SeenMap(run).rows, findings.sampling),
        "pictures": pictures_of(run, "traces", "ranks", "alpha"),
    }
    return show_page(request, "results/convergence.html", study, run, context)


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure of a fit's sampling, what it should be, and what it means."""

    name: str
    value: str
    should: str
    good: bool
    means: str


def figures(run: FitRun) -> list[Figure]:
    """Return the figures of a fit's sampling."""
    judged = run.record.diagnostics
    most, least = _("at most %(limit)s"), _("at least %(limit)s") % {"limit": GOOD_ESS}
    found = [
        Figure(
            _("Largest R-hat"),
            fixed(judged.rhat_max, 3),
            most % {"limit": GOOD_RHAT},
            judged.rhat_max <= GOOD_RHAT,
            _("Several chains start from different points. If they all converge to the same place, R-hat is near 1."),
        ),
        Figure(
            _("Smallest effective sample size"),
            whole(judged.ess_bulk_min),
            least,
            judged.ess_bulk_min >= GOOD_ESS,
            _("Successive draws are correlated. Those of %(worst)s are worth this many independent draws.")
            % {"worst": judged.ess_bulk_min_of},
        ),
        Figure(
            _("Smallest effective sample size in the tails"),
            whole(judged.ess_tail_min),
            least,
            judged.ess_tail_min >= GOOD_ESS,
            _("The ends of the 95 % intervals depend on the tails."),
        ),
    ]
    if judged.clusters is not None:
        gap = judged.clusters.together_gap
        means = _("In the probability that two areas share a cluster, between chains with different starting clusters.")
        limit = most % {"limit": GOOD_GAP}
        found.append(Figure(_("Largest difference between chains"), fixed(gap, 3), limit, gap <= GOOD_GAP, means))
    return found


def worst(
    rows: Sequence[RiskRow], sampling: SamplingFinding
) -> list[tuple[str, float | None, float | None, float | None]]:
    """Return the areas that were sampled worst: name, R-hat, effective draws, and those in the tails."""
    areas = zip((row["name"] for row in rows), sampling.rhat, sampling.ess_bulk, sampling.ess_tail, strict=False)
    return sorted(areas, key=lambda area: area[2] or -1.0)[:SHOWN]


def how_drawn(run: FitRun) -> str:
    """Say how much was drawn, in a sentence."""
    plan = run.record.plan
    thin = f", one draw in {plan.thin} kept" if plan.thin > 1 else ""
    return _(
        "%(chains)s chains of %(draws)s draws, after %(warmup)s warm-up draws%(thin)s; %(seconds)s "
        "seconds; seed %(seed)s."
    ) % {
        "chains": plan.chains,
        "draws": f"{plan.draws:,}",
        "warmup": f"{plan.warmup:,}",
        "thin": thin,
        "seconds": f"{run.record.seconds:.1f}",
        "seed": run.record.seed,
    }


@fit_page
def checks(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Compare what the fit expects with what the judges said."""
    findings = read_findings(run, "check", "areas")
    measured = [(each, p_value(each.p).removeprefix("p ").removeprefix("= ")) for each in findings.checks]
    context = {
        "note": judge_checks(findings.checks).text,
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
    findings = read_findings(fit, "reliability", "reliability_over_time")
    known = findings.reliability
    context = {
        "study": study,
        "fit": fit,
        "words": reliability_words(known) if known else "",
        "known": known,
        "measures": measures(known) if known and known.bayes is not None else [],
        "over_time": over_time(findings.reliability_over_time),
    }
    return render(request, "results/reliability.html", context | {"here": "dashboard", "page": "reliability"})


def measures(known: ReliabilityFinding) -> list[tuple[str, float | None, tuple[float, float] | None, str]]:
    """List the measures of reliability, each with its interval and what it means.

    There are three and, if judges differ in the fit, what another panel would give.
    """
    listed = [
        (
            _("Another panel"),
            known.another_panel,
            None,
            _(
                "The squared correlation with the estimates of another panel with as many judges and answers, "
                "according to the fitted model, in which judges differ."
            ),
        ),
        (
            _("Split halves"),
            known.split_half_full,
            None,
            _(
                "The judges are split into halves (%(splits)s times), each half is fitted separately, and the two "
                "are correlated: %(correlation)s, scaled up to all answers. It reflects differences between judges."
            )
            % {"splits": known.splits, "correlation": fixed(known.split_half)},
        ),
        (
            "Bayesian",
            known.bayes,
            known.bayes_interval,
            _(
                "The squared correlation of estimate and truth, according to the fitted model, including "
                "what it borrows from neighbours."
            ),
        ),
        (
            _("Scale separation (SSR)"),
            known.ssr,
            None,
            _("The same, but estimating each area without its neighbours, as other comparative judgement tools do."),
        ),
    ]
    return listed if known.another_panel is not None else listed[1:]


def over_time(rows: Sequence[ReliabilityFinding]) -> Chart | None:
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
