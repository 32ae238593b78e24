"""Two pages of checks: how well a fit was sampled, and whether it explains the answers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from judgemap.core.samplers.diagnostics import GOOD_ESS, GOOD_RHAT
from judgemap.report.words.text import measured, percentage, signed
from judgemap.study.assess.findings import Measure, RiskRow, SamplingFinding
from judgemap.study.assess.verdict import judge_checks
from judgemap.study.fit.record import GOOD_GAP
from judgemap.web.results.models import FitRun
from judgemap.web.results.pages import SeenMap, fit_page, pictures_of, read_findings, show_page
from judgemap.web.studies.models import Study

SHOWN = 10


@require_safe
@fit_page
def convergence(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Say how well the fit was sampled, and show it."""
    findings = read_findings(run, "sampling", "parameters", "warnings")
    context = {
        "warnings": findings.warnings,
        "notes": [note.text for note in run.record.notes],
        "drawn": how_drawn(run),
        "figures": figures(run),
        "parameters": [
            (each.symbol, signed(each.median), f"{signed(each.low)} to {signed(each.high)}", each.words)
            for each in findings.parameters
        ],
        "worst": worst(SeenMap(run).rows, findings.sampling),
        "pictures": pictures_of(run, "traces", "ranks", "alpha"),
    }
    return show_page(request, "results/convergence.html", study, run, context)


@dataclass(frozen=True, slots=True)
class Fact:
    """A figure, what it should be, and what it means."""

    name: str
    value: str
    should: str
    good: bool
    means: str


@dataclass(frozen=True, slots=True)
class Mixed:
    """How well one area's risk was sampled."""

    name: str
    rhat: str
    ess_bulk: str
    ess_tail: str


def figures(run: FitRun) -> list[Fact]:
    """Return the figures of a fit's sampling, each with what it should be and what it means."""
    judged = run.record.diagnostics
    enough = _("at least %(limit)s") % {"limit": GOOD_ESS}
    facts = [
        Fact(
            _("Largest R-hat"),
            _decimals(judged.rhat_max),
            _("at most %(limit)s") % {"limit": GOOD_RHAT},
            judged.rhat_max <= GOOD_RHAT,
            _("Several chains start from different points. If they all converge to the same place, R-hat is near 1."),
        ),
        Fact(
            _("Smallest effective sample size"),
            _count(judged.ess_bulk_min),
            enough,
            judged.ess_bulk_min >= GOOD_ESS,
            _("Successive draws are correlated. Those of %(worst)s are worth this many independent draws.")
            % {"worst": judged.ess_bulk_min_of},
        ),
        Fact(
            _("Smallest effective sample size in the tails"),
            _count(judged.ess_tail_min),
            enough,
            judged.ess_tail_min >= GOOD_ESS,
            _("The ends of the 95 % intervals depend on the tails."),
        ),
    ]
    if judged.clusters is not None:
        gap = judged.clusters.together_gap
        facts.append(
            Fact(
                _("Largest difference between chains"),
                _decimals(gap),
                _("at most %(limit)s") % {"limit": GOOD_GAP},
                gap <= GOOD_GAP,
                _(
                    "In the probability that two areas share a cluster, between chains with different starting "
                    "clusters."
                ),
            )
        )
    return facts


def worst(rows: Sequence[RiskRow], sampling: SamplingFinding) -> list[Mixed]:
    """Return the areas that were sampled worst, by effective sample size."""
    bulk = sampling.ess_bulk
    if not bulk:
        return []
    order = sorted(range(len(bulk)), key=lambda area: -1.0 if (size := bulk[area]) is None else size)
    return [
        Mixed(
            rows[area]["name"],
            _decimals(sampling.rhat[area]),
            _count(bulk[area]),
            _count(sampling.ess_tail[area]),
        )
        for area in order[:SHOWN]
    ]


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


def _decimals(value: float | None) -> str:
    return "not known" if value is None or math.isnan(value) else f"{value:.3f}"


def _count(value: float | None) -> str:
    return "not known" if value is None or math.isnan(value) else f"{value:,.0f}"


@require_safe
@fit_page
def checks(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Compare what the fit expects with what the judges said."""
    findings = read_findings(run, "check", "areas")
    outside = [
        (run.rows[position]["name"], position, *map(percentage, each.unexpected), each.wins + each.losses)
        for position, each in enumerate(findings.areas)
        if each.unexpected
    ]
    context = {
        "note": judge_checks(findings.checks).text,
        "measures": [ShownMeasure.of(each) for each in findings.checks],
        "fits": not any(each.unusual for each in findings.checks),
        "outside": outside,
        "winner_is": run.record.winner_is,
        "pictures": pictures_of(run, "predictive", "variance"),
    }
    return show_page(request, "results/checks.html", study, run, context)


@dataclass(frozen=True, slots=True)
class ShownMeasure:
    """A measure by which the fit is checked, as the page shows it."""

    words: str
    observed: str
    expected: str
    low: str
    high: str
    p: str
    unusual: bool

    @classmethod
    def of(cls, measure: Measure) -> "ShownMeasure":
        """Write a measure's numbers."""
        words = measure.words[:1].upper() + measure.words[1:]
        observed, expected = figure(measure.observed), figure(measure.expected)
        low, high = figure(measure.low), figure(measure.high)
        return cls(words, observed, expected, low, high, chance(measure.p), measure.unusual)


def figure(value: float | None) -> str:
    """Write a measurement, which may be unknown.

    >>> figure(76.42), figure(None)
    ('76.4', 'not known')
    """
    return "not known" if value is None else measured(value)


def chance(p: float | None) -> str:
    """Write a p-value.

    >>> chance(0.503), chance(0.0004), chance(0.9999)
    ('0.50', '< 0.01', '> 0.99')
    """
    if p is None:
        return "not known"
    return "< 0.01" if p < 0.01 else "> 0.99" if p > 0.99 else f"{p:.2f}"
