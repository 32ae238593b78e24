"""What the pages of a fit share: which fit a page is about, what to call it, and its findings."""

from collections.abc import Iterable, Mapping
from functools import wraps
from typing import Any

from django.db.models import Q, QuerySet
from django.db.models.fields.json import KeyTransform
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render

from judgemap.study.assess.findings import AreaFindings, Findings
from judgemap.study.assess.verdict import Verdict, judge_fit
from judgemap.study.fit.record import DataFacts
from judgemap.study.fit.settings import DEFAULTS, SETTINGS, FitSettings
from judgemap.study.fit.settings import View as MapView
from judgemap.web.results.models import FitArea, FitPicture, FitRun, excluded_from
from judgemap.web.studies.access import View, study_page
from judgemap.web.studies.models import Study

MODELS = {"spatial": "spatial model", "standard": "model without neighbours", "clusters": "cluster model"}


def fit_page(view: View) -> View:
    """Find a finished fit of the study; for any other, redirect to the page of its progress."""

    @wraps(view)
    def page(request: HttpRequest, study: Study, number: int, **more: object) -> HttpResponseBase:
        run = (
            FitRun.objects.select_related("version")
            .defer("rows", "findings", "log")
            .filter(study=study, number=number)
            .first()
        )
        if run is None:
            raise Http404
        if run.status != FitRun.Status.DONE:
            return redirect("fits:progress", study.slug, number)
        return view(request, study, run, **more)

    return study_page(page)


def read_findings(run: FitRun | None, *parts: str) -> Findings:
    """Read some parts of a fit's findings; the others, which are large, stay in the database."""
    keys = {part: KeyTransform(part, "findings") for part in parts}
    return Findings.from_dict(_values(run, keys) if run else {})


def read_area_findings(run: FitRun, position: int) -> AreaFindings:
    """Read a fit's findings about one area."""
    parts = ("areas", "met", "between")
    keys = {part: KeyTransform(position, KeyTransform(part, "findings")) for part in parts}
    alone = FitArea.objects.filter(fit=run, position=position).values("met").first()
    return AreaFindings.from_dict(_values(run, keys) | (alone or {}))


def _values(run: FitRun, keys: Mapping[str, KeyTransform]) -> dict[str, Any]:
    """Return the values in the database's JSON, without those that are missing."""
    wanted = {f"part_{part}": key for part, key in keys.items()}
    row = FitRun.objects.filter(pk=run.pk).annotate(**wanted).values_list(*wanted).first() or ()
    return {part: value for part, value in zip(keys, row, strict=False) if value is not None}


def title_of(run: FitRun) -> str:
    """Name a fit by what sets it apart: its model, the judges it uses, and its unusual assumptions.

    >>> title_of(FitRun(number=2, settings={"model": "spatial", "chi": 1.0}, left_out=["ann"]))
    'Fit 2: spatial model, without ann, χ = 1'
    >>> title_of(FitRun(number=3, settings={"judges": "differ"}))
    'Fit 3: spatial model, judges differ'
    """
    settings = FitSettings.from_dict(run.settings)
    parts = [MODELS[settings.model]]
    if run.left_out:
        parts.append(f"without {_listed(run.left_out)}")
    if run.only:
        parts.append(f"only {_listed(run.only)}")
    parts += settings.panel.titles
    changed = {name: getattr(settings, name) for name, each in SETTINGS.items() if each.symbol}
    parts += [
        f"{SETTINGS[name].symbol} = {value:g}" for name, value in changed.items() if value not in (None, DEFAULTS[name])
    ]
    return f"Fit {run.number}: {', '.join(parts)}"


def facts_of(data: DataFacts) -> list[str]:
    """Say what a fit was made from.

    >>> facts_of(DataFacts(sha256="", areas=76, shown=1900, comparisons=1848, pairs=900, judges=12))
    ['1,848 comparisons', '12 judges', '76 areas']
    """
    counted = [(data.comparisons, "comparison"), (data.judges, "judge"), (data.areas, "area")]
    return [f"{count:,} {name}{'' if count == 1 else 's'}" for count, name in counted]


def _listed(names: Iterable[str], most: int = 3) -> str:
    some = list(names)
    return ", ".join(some[:most]) + (f" and {len(some) - most:,} more" if len(some) > most else "")


def find_run(study: Study, number: int) -> FitRun | None:
    """Find a fit of a study by its number, whatever its status."""
    runs = FitRun.objects.select_related("asked_by", "version", "study").defer("rows", "findings")
    return runs.filter(study=study, number=number).first()


def pictures_of(run: FitRun, *names: str) -> list[FitPicture]:
    """Find pictures by name, in this order, without the drawings themselves."""
    there = {each.name: each for each in run.pictures.filter(name__in=names).defer("svg")}
    return [there[name] for name in names if name in there]


def show_page(
    request: HttpRequest, template: str, study: Study, run: FitRun, context: Mapping[str, object]
) -> HttpResponse:
    """Render a page of a fit, with what all such pages show."""
    shared = {
        "study": study, "run": run, "title": title_of(run), "facts": facts_of(run.record.data), "here": "results",
        "tab": template, "whose": run.record.view.words, "differs": run.record.view is not MapView.POOLED,
        "doubted": run.doubts_judges, "verdict": verdict_of(run),
    }  # fmt: skip
    return render(request, template, {**shared, **context})


def verdict_of(run: FitRun) -> Verdict | None:
    """Return whether a fit can be used; None until a worker has checked."""
    kept = read_findings(run, "verdict").verdict
    if kept is not None:
        return Verdict.from_dict(kept)
    if run.explained_at is None:
        return None
    found = read_findings(run, "warnings", "check", "reliability", "judges")  # of a fit by an earlier version
    judges = found.judges or None  # every answer on a server has a judge: none here means that nobody looked
    return judge_fit(found.warnings, found.checks, found.reliability, judges, differ=run.doubts_judges)


def whole_fits(study: Study) -> QuerySet[FitRun]:
    """Return the fits of all judges, or of all but those left out of the study, without their large fields."""
    without = Q(left_out=[]) | Q(left_out=excluded_from(study))
    runs = FitRun.objects.filter(without, study=study, only=[])
    return runs.defer("rows", "findings", "log").order_by("-number")


def latest_fit(study: Study) -> FitRun | None:
    """Return the last fit of all judges that was explained."""
    return whole_fits(study).filter(status=FitRun.Status.DONE, explained_at__isnull=False).first()
