"""What the fit expects, beside what the judges said."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from judgemap.core.predictive import EXTREME
from judgemap.report.text import measured, percentage
from judgemap.web.results.models import FitRun
from judgemap.web.results.pages import fit_page, found, pictures_of, show_page
from judgemap.web.studies.models import Study


@require_safe
@fit_page
def checks(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Hold what the fit expects against what the judges said."""
    more = found(run, "check", "areas")
    check = more.get("check") or {}
    measures = [Measure.read(each) for each in check.get("checks", [])]
    outside = [
        (row["name"], place, percentage(each["win_rate"]), percentage(each["win_low"]), percentage(each["win_high"]),
         each["wins"] + each["losses"])
        for place, (row, each) in enumerate(zip(run.rows, more.get("areas", []), strict=False))
        if each.get("win_rate") is not None and not each["win_low"] <= each["win_rate"] <= each["win_high"]
    ]  # fmt: skip
    context = {
        "note": check.get("note", ""),
        "measures": measures,
        "fits": not any(each.unusual for each in measures),
        "outside": outside,
        "winner_is": run.record.winner_is,
        "pictures": pictures_of(run, "predictive", "variance"),
    }
    return show_page(request, "results/checks.html", study, run, context)


@dataclass(frozen=True, slots=True)
class Measure:
    """Something counted in the answers, and in answers simulated from the fit."""

    words: str
    observed: str
    expected: str
    low: str
    high: str
    p: str
    unusual: bool

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> "Measure":
        """Read one of the findings' checks."""
        words, p = str(found["words"]), found["p"]
        observed, expected, low, high = (figure(found[name]) for name in ("observed", "expected", "low", "high"))
        unusual = p is not None and not EXTREME <= p <= 1 - EXTREME
        return cls(words[:1].upper() + words[1:], observed, expected, low, high, chance(p), unusual)


def figure(value: float | None) -> str:
    """Write a measurement that may not be known.

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
