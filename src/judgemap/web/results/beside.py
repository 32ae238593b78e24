"""A fit beside other figures and by other boundaries: what was uploaded, results by group, each figure's scatter."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import msgspec
from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.geo.figures import REGION, Figures
from judgemap.study.assess import findings
from judgemap.study.assess.findings import EQUAL, RateOptions, Rates
from judgemap.web.results import actions
from judgemap.web.results.models import Beside, FitPicture, FitRun
from judgemap.web.results.pages import fit_page, pictures_of, show_page
from judgemap.web.server.forms import StudyForm, sentence
from judgemap.web.server.jobs import outlast
from judgemap.web.studies.access import researcher_of
from judgemap.web.studies.areas import figures_of, load_areas
from judgemap.web.studies.maps import has_tiles
from judgemap.web.studies.models import Study, StudyFigures

MOST_RATES = 20
"""How many areas' rates the page lists; the files have all."""
DRAWN = "figure-{}"
"""The name of the picture of the map against a figure, by the figure's place in the alphabet of those that it is held
against: PostgreSQL keeps them in an order of its own."""


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
        "pictures": pictures_of(run, DRAWN.format(sorted(told.follows).index(column))) if told and column else [],
        "out": [(each.area, each.words(column)) for each in held.out] if held else [],
        "not_cause": findings.NOT_CAUSE,
        "rates": _highest_rates(told.rates) if told and told.rates else [],
    }
    wrong = form.errors or (chosen and chosen.errors)
    return show_page(request, "results/figures.html", study, run, context, 400 if wrong else 200)


def _highest_rates(told: Rates) -> list[tuple[int, str, float | None, Sequence[float], Sequence[float] | None]]:
    """Return the areas with the highest rates: position, name, what was recorded, rate and cases with intervals."""
    order = sorted(range(len(told.rates)), key=lambda at: -told.rates[at][0])[:MOST_RATES]
    return [(at, told.names[at], told.recorded[at], told.rates[at], told.cases[at]) for at in order]


def _wanted(asked: str, there: Sequence[str]) -> str:
    return asked if asked in there else next(iter(there), "")


def work_out(job: Beside) -> None:
    """Hold a fit against its study's figures, and write what its briefing shows of it; a worker does this."""
    from judgemap.report.figures.fit import against_figure
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
    pictures = [against_figure(fit, column, told.follows[column]) for column in sorted(told.follows)]
    drawn = [
        FitPicture(fit=job.fit, name=DRAWN.format(place), svg=each.svg(), alt=each.alt)
        for place, each in enumerate(pictures)
    ]
    groups = [group_areas(fit.map, each, weights=weights) for each in shown.groupings if each in kept.in_briefing]
    columns = [each for each in shown.numeric if each in kept.in_briefing]
    job.section = sections_beside(fit, groups, columns) if groups or columns else ""

    def store() -> None:
        with transaction.atomic():
            FitPicture.objects.filter(fit=job.fit, name__startswith=DRAWN.format("")).delete()
            FitPicture.objects.bulk_create(drawn)
            job.finish("result", "section")

    outlast(store)
