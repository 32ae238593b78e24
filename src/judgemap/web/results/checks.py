"""What the fit expects, compared with what the judges answered."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from judgemap.report.words.text import measured, percentage
from judgemap.study.assess.findings import Measure
from judgemap.study.assess.verdict import judge_checks
from judgemap.web.results.models import FitRun
from judgemap.web.results.pages import fit_page, pictures_of, read_findings, show_page
from judgemap.web.studies.models import Study


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
