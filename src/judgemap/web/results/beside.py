"""A fit beside other figures and by other boundaries: what was uploaded, results by group, each figure's scatter."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import msgspec
import numpy as np
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.geo.figures import REGION, Figures
from judgemap.report.figures.colours import round_step
from judgemap.report.words.text import measured, number
from judgemap.study.assess import findings
from judgemap.study.assess.findings import EQUAL, Follows, RateOptions, Rates, RiskRow
from judgemap.web.results import actions
from judgemap.web.results.models import Beside, FitRun
from judgemap.web.results.pages import fit_page, kept_rows, show_page
from judgemap.web.server.forms import StudyForm, sentence
from judgemap.web.studies.access import researcher_of
from judgemap.web.studies.areas import figures_of, load_areas
from judgemap.web.studies.maps import has_tiles
from judgemap.web.studies.models import Study, StudyFigures

WIDE, HIGH = 640.0, 400.0
"""Width and height of a scatter, in its own units."""
ENDS: tuple[Literal["risk_median", "risk_low", "risk_high"], ...] = ("risk_median", "risk_low", "risk_high")
MOST_RATES = 20
"""How many areas' rates the page lists; the files have all."""
TICKS = (1.0, 2.0, 5.0, 10.0)


class AddForm(StudyForm):
    """A table of figures, or boundaries of larger places."""

    file = forms.FileField(
        label=_("Table or boundaries"),
        help_text=_(
            "CSV or Excel (.xlsx) with a column of the areas’ codes or names; or boundaries of districts, as "
            "GeoPackage or GeoJSON."
        ),
        widget=forms.FileInput({"accept": ".csv,.tsv,.txt,.xlsx,.geojson,.json,.topojson,.gpkg,.kml,.kmz,.zip"}),
    )


class ChooseForm(StudyForm):
    """How areas count in their group, what briefings show, and which columns go."""

    weighted_by = forms.ChoiceField(label=_("Areas count in their group"))
    in_briefing = forms.MultipleChoiceField(
        label=_("In the briefing"), required=False, widget=forms.CheckboxSelectMultiple
    )
    counts = forms.ChoiceField(
        label=_("Recorded cases, for rates"),
        required=False,
        help_text=_("A column with counts of at least eight areas, empty where nothing is known."),
    )
    expected = forms.ChoiceField(label=_("Population, for rates"), required=False)
    missed_low = forms.FloatField(
        label=_("Cases that are not recorded: at least (per cent)"), required=False, min_value=0, max_value=99
    )
    missed_high = forms.FloatField(label=_("At most (per cent)"), required=False, min_value=0, max_value=99)
    by = forms.ChoiceField(label=_("Districts with known totals of cases"), required=False)
    totals = forms.ChoiceField(
        label=_("Total of each area’s district"),
        required=False,
        help_text=_("The same number in the row of each area of a district."),
    )
    remove = forms.MultipleChoiceField(label=_("Remove"), required=False, widget=forms.CheckboxSelectMultiple)

    def __init__(self, study: Study, shown: Figures, data: QueryDict | None = None) -> None:
        kept = StudyFigures.objects.filter(study=study).first() or StudyFigures(study=study)
        low, high = kept.rates.get("missed", (0, 0))
        missed = {"missed_low": 100 * low, "missed_high": 100 * high}
        given = {"weighted_by": kept.weighted_by, "in_briefing": kept.in_briefing, **kept.rates, **missed}
        super().__init__(data, initial=given)
        columns, groups = [("", _("none")), *shown.numeric], [("", _("none")), *shown.groupings]
        rates = (("counts", columns), ("expected", columns), ("by", groups), ("totals", columns))
        weights = [(EQUAL, _("all alike")), ("area", _("by surface")), *((each, each) for each in shown.numeric)]
        can_show = [*shown.groupings, *shown.numeric]
        for name, choices in (("weighted_by", weights), ("in_briefing", can_show), ("remove", kept.cells), *rates):
            self.fields[name].choices = [each if isinstance(each, tuple) else (each, each) for each in choices]  # type: ignore[attr-defined]

    def clean(self) -> dict[str, Any]:
        """Put what is said about counts into one value."""
        given: dict[str, Any] = super().clean() or self.cleaned_data
        low, high = (given.get(f"missed_{end}") or 0.0 for end in ("low", "high"))
        names = {name: given.get(name, "") for name in ("counts", "expected", "by", "totals")}
        given["rates"] = None
        if names["counts"] and not set(names.values()) & set(given.get("remove", ())):
            try:
                if not names["expected"]:
                    raise StudyError(gettext("choose the column with the population too"), "expected")
                given["rates"] = RateOptions(**names, missed=(low / 100, max(low, high) / 100))
            except StudyError as error:
                self.add_study_error(error)
        return given


class Scatter(NamedTuple):
    """Risk against a figure, as paths for all areas at once, so that thousands are drawn quickly."""

    dots: str
    intervals: str
    line: str
    """What the figure suggests."""
    out: list[tuple[float, float, float, float, str]]
    """The areas that stand out: x, y, the ends of the interval, and the name."""
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]


@fit_page
def figures(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show a fit by group and beside figures."""
    return _show(request, study, run, AddForm())


@fit_page.act
def add(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Take a table of figures, or boundaries of larger places."""
    from judgemap.web.studies.upload.drafts import read_figures

    form = AddForm(request.POST, request.FILES)
    if form.is_valid():
        file = form.cleaned_data["file"]
        try:
            read = read_figures(file, load_areas(run.version))
            actions.keep_figures(study, read, file.name, researcher_of(request))
        except StudyError as error:
            form.add_error("file", str(error))
        else:
            said = gettext("Added: %(columns)s.") % {"columns": ", ".join(read.cells)}
            messages.success(request, " ".join([said, *read.notes]))
            return redirect("results:figures", study.slug, run.number)
    return _show(request, study, run, form)


@fit_page.act
def choose(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Store what was chosen about the figures, and hold this fit against them."""
    shown = _figures(study)
    if shown is None:
        return redirect("results:figures", study.slug, run.number)
    form = ChooseForm(study, shown, request.POST)
    if not form.is_valid():
        return _show(request, study, run, AddForm(), form)
    given = form.cleaned_data
    by = researcher_of(request)
    actions.choose_figures(run, given["weighted_by"], given["in_briefing"], given["remove"], by, given["rates"])
    return redirect("results:figures", study.slug, run.number)


def _figures(study: Study) -> Figures | None:
    rows = study.areas.order_by("position").values_list("code", "region")
    return figures_of(study.pk, *zip(*rows, strict=True))


def _show(
    request: HttpRequest, study: Study, run: FitRun, form: AddForm, chosen: ChooseForm | None = None
) -> HttpResponse:
    shown = _figures(study)
    job = Beside.objects.filter(fit=run).first()
    told = job.told if job else None
    by = _wanted(request.GET.get("by", ""), list(told.groups)) if told else ""
    column = _wanted(request.GET.get("column", ""), list(told.follows)) if told else ""
    held = told.follows[column] if told and column else None
    rows = told.groups[by] if told and by else []
    context = {
        "form": form,
        "choose_form": (chosen or ChooseForm(study, shown)) if shown else None,
        "job": job.show_if_lost() if job else None,
        "waiting": job is not None and not job.over,
        "told": told,
        "by": by,
        "lists_regions": by == REGION and has_tiles(study),
        "groups": [(row, next(value for name, value in row.items() if name.startswith("p_top"))) for row in rows],
        "top": next((name.removeprefix("p_top") for name in (rows[0] if rows else {}) if name.startswith("p_top")), ""),
        "held": held,
        "scatter": draw_scatter(shown.numbers(column), kept_rows(run.pk, run.finished_at), held)
        if shown and held and column in shown.cells
        else None,
        "out": [(each.area, each.words(column)) for each in held.out] if held else [],
        "not_cause": findings.NOT_CAUSE,
        "rates": _highest_rates(told.rates) if told and told.rates else [],
    }
    page = show_page(request, "results/figures.html", study, run, context)
    page.status_code = 400 if form.errors or (chosen and chosen.errors) else 200
    return page


def _highest_rates(told: Rates) -> list[tuple[int, str, str, str, str]]:
    """Return the areas with the highest rates: position, name, what was recorded, rate and cases with intervals."""

    def words(triple: Sequence[float] | None) -> str:
        return "" if triple is None else "{} ({} – {})".format(*map(measured, triple))

    order = sorted(range(len(told.rates)), key=lambda at: -told.rates[at][0])[:MOST_RATES]
    recorded = ["" if each is None else f"{each:,.0f}" for each in told.recorded]
    return [(at, told.names[at], recorded[at], words(told.rates[at]), words(told.cases[at])) for at in order]


def _wanted(asked: str, there: Sequence[str]) -> str:
    return asked if asked in there else next(iter(there), "")


def draw_scatter(values: FloatArray, rows: Sequence[RiskRow], held: Follows) -> Scatter:
    """Draw the risk of each area, with its interval, against a figure."""
    known = np.flatnonzero(np.isfinite(values)).tolist()
    lowest, highest = min(rows[at]["risk_low"] for at in known), max(rows[at]["risk_high"] for at in known)
    least, most = float(values[known].min()), float(values[known].max())

    def x(value: float) -> float:
        return round(WIDE * (value - least) / (most - least), 1)

    def y(risk: float) -> float:
        return round(HIGH * (highest - risk) / (highest - lowest), 1)

    def at_area(at: int) -> tuple[float, float, float, float]:
        middle, low, high = (y(rows[at][end]) for end in ENDS)
        return x(float(values[at])), middle, low, high

    places = {at: at_area(at) for at in known}
    return Scatter(
        "".join(f"M{across} {middle}h0" for across, middle, _, _ in places.values()),
        "".join(f"M{across} {low}V{high}" for across, _, low, high in places.values()),
        " ".join(f"{x(value)},{y(risk)}" for value, risk in held.line),
        [(*places[each.area], each.name) for each in held.out if each.area in places],
        [(x(each), number(each)) for each in _ticks(least, most)],
        [(y(each), number(each)) for each in _ticks(lowest, highest)],
    )


def _ticks(low: float, high: float) -> list[float]:
    step = round_step((high - low) / 5, TICKS)
    first, last = int(np.ceil(low / step)), int(np.floor(high / step))
    return [round(step * each, 9) for each in range(first, last + 1)]


def work_out(job: Beside) -> None:
    """Hold a fit against its study's figures, and write what its briefing shows of it; a worker does this."""
    from judgemap.report.pages.briefing.document import sections_beside
    from judgemap.study.assess.beside import beside, group_areas
    from judgemap.study.assess.rates import rates_of
    from judgemap.study.fit.record import json_value
    from judgemap.web.results.files import open_fit

    study = job.fit.study
    fit, shown = open_fit(job.fit), _figures(study)
    kept = StudyFigures.objects.filter(study=study).first() or StudyFigures(study=study)
    if shown is None:
        raise StudyError("there are no figures; upload a table")
    weights = kept.weighted_by if kept.weighted_by in (EQUAL, "area", *shown.numeric) else EQUAL
    told = beside(fit, shown, weights)
    if kept.rates:
        try:
            told = replace(told, rates=rates_of(fit, shown, msgspec.convert(kept.rates, RateOptions)))
        except StudyError as error:
            told = replace(told, no_rates=sentence(error))
    job.result = json_value(msgspec.to_builtins(told))
    fit = replace(fit, map=replace(fit.map, figures=shown))
    groups = [group_areas(fit.map, each, weights=weights) for each in shown.groupings if each in kept.in_briefing]
    columns = [each for each in shown.numeric if each in kept.in_briefing]
    job.section = sections_beside(fit, groups, columns) if groups or columns else ""
    job.finish("result", "section")
