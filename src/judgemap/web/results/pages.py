"""What the pages of a fit share: which fit it is, whose map of it, what to call it, and its findings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, wraps
from urllib.parse import urlencode

import msgspec
from django.db.models import TextField
from django.db.models.fields.json import KeyTransform
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext_lazy as _lazy

from judgemap.study.assess.findings import DIFFER, AreaFinding, AreaFindings, Findings, Remedy, RiskRow
from judgemap.study.assess.verdict import Evidence, Verdict, judge_fit
from judgemap.study.fit.settings import DEFAULTS, SETTINGS, FitSettings
from judgemap.study.fit.settings import View as MapView
from judgemap.web.results.models import FitArea, FitPicture, FitRun, FitView
from judgemap.web.studies.access import Page, View, study_page
from judgemap.web.studies.models import Study

VERDICT_TABS = ("results/map.html", "results/large_map.html")
"""The page that says whether a fit can be used, and why; the others link to it."""
REMEDIES = {
    DIFFER: _lazy("Refit, letting judges differ"),
    Remedy("prior", "car"): _lazy("Refit with the prior car"),
    Remedy("smoothness", "infer"): _lazy("Refit, inferring how smooth the map is"),
    Remedy("lapses", value=True): _lazy("Refit, allowing for answers given without looking"),
    Remedy("side", value=True): _lazy("Refit, allowing for judges who favour a side"),
    Remedy("reach", value=True): _lazy("Refit, finding the part that each judge knows"),
    Remedy("model", "clusters"): _lazy("Refit with clusters"),
}
"""What the buttons say that change what a verdict advises to change."""
MODELS = {"spatial": "spatial model", "standard": "model without neighbours", "clusters": "cluster model"}


@Page
def fit_page(view: View) -> View:
    """Find a finished fit of the study; for any other, redirect to the page of its progress."""

    @wraps(view)
    def page(request: HttpRequest, study: Study, number: int, **more: object) -> HttpResponseBase:
        runs = FitRun.objects.select_related("version").defer("rows", "findings", "log")
        run = get_object_or_404(runs, study=study, number=number)
        if run.status != FitRun.Status.DONE:
            return redirect("fits:progress", study.slug, number)
        return view(request, study, run, **more)

    return study_page.admit(page)


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


def _values(run: FitRun, keys: Mapping[str, KeyTransform]) -> dict[str, object]:
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
    parts += settings.titles
    changed = {name: getattr(settings, name) for name, each in SETTINGS.items() if each.symbol}
    parts += [
        f"{SETTINGS[name].symbol} = {value:g}" for name, value in changed.items() if value not in (None, DEFAULTS[name])
    ]
    return f"Fit {run.number}: {', '.join(parts)}"


def _listed(names: Iterable[str], most: int = 3) -> str:
    some = list(names)
    return ", ".join(some[:most]) + (f" and {len(some) - most:,} more" if len(some) > most else "")


def find_run(study: Study, number: int) -> FitRun:
    """Find a fit of a study by its number, whatever its status; there is no page for any other."""
    runs = FitRun.objects.select_related("asked_by", "version", "study").defer("rows", "findings")
    return get_object_or_404(runs, study=study, number=number)


def pictures_of(run: FitRun, *names: str) -> list[FitPicture]:
    """Find pictures by name, in this order, without the drawings themselves."""
    there = {each.name: each for each in run.pictures.filter(name__in=names).defer("svg")}
    return [there[name] for name in names if name in there]


def show_page(
    request: HttpRequest, template: str, study: Study, run: FitRun, context: Mapping[str, object], status: int = 200
) -> HttpResponse:
    """Render a page of a fit, with what all such pages show."""
    add_verdicts([run])
    shared = {
        "study": study, "run": run, "title": title_of(run), "here": "results",
        "tab": template, "whose": run.record.made_by, "differs": run.record.view is not MapView.POOLED,
        "verdict": run.verdict, "verdict_tabs": VERDICT_TABS,
        "remedies": [(each.option, REMEDIES[each]) for each in run.verdict.remedies] if run.verdict else [],
    }  # fmt: skip
    return render(request, template, {**shared, **context}, status=status)


def add_verdicts(runs: Iterable[FitRun]) -> None:
    """Set ``verdict`` and ``warnings`` of fits: the verdict is None until a worker has checked."""
    parts = {"told": KeyTransform("verdict", "findings"), "warned": KeyTransform("warnings", "findings")}
    there = {run.pk: run for run in runs if run.status == FitRun.Status.DONE}
    rows = FitRun.objects.filter(pk__in=list(there)).annotate(**parts).values_list("pk", *parts)
    for key, told, warned in rows:
        run = there[key]
        run.warnings = warned or ()
        if told:
            run.verdict = Verdict.from_dict(told)
        elif run.explained_at is not None:  # the worker tried, and could not tell
            run.verdict = judge_fit(Evidence(warnings=run.warnings, differ=run.doubts_judges))


@dataclass(frozen=True, slots=True)
class SeenMap:
    """A fit's map as somebody sees it; ``kept`` is None for the fit's own."""

    run: FitRun
    kept: FitView | None = None

    @property
    def words(self) -> str:
        """Whose view the map shows and which model made it, in a sentence."""
        record = self.run.record
        if self.kept is None:
            return record.made_by
        judge = self.kept.judge
        shows = f"the view of judge {judge} alone, as far as the answers show it" if judge else MapView.PANEL.shows
        return record.made_by.replace(record.view.shows, shows)

    @property
    def query(self) -> dict[str, str]:
        """The parameters with which an address asks for it."""
        if self.kept is None:
            return {}
        return {"judge": self.kept.judge} if self.kept.judge else {"view": MapView.PANEL.value}

    @property
    def view(self) -> str:
        """Whose view it is, in one word, for files."""
        return next(iter(self.query.values()), self.run.record.view.value)

    @property
    def address(self) -> str:
        """The query, encoded for an address."""
        return urlencode(self.query)

    @property
    def rows(self) -> Sequence[RiskRow]:
        """The table of areas."""
        return kept_rows(self.run.pk, self.run.finished_at) if self.kept is None else self.kept.rows

    def top(self, own: Findings) -> Mapping[int, Sequence[float]]:
        """P(among the k highest) by k, as far as it was worked out; ``own`` has those of the fit's own map."""
        if self.kept is None:
            return own.top
        return {int(k): chances for k, chances in self.kept.findings.get("top", {}).items()}

    def density(self, position: int, own: AreaFinding) -> tuple[Sequence[float], Sequence[float]]:
        """Return the draws of an area's risk in bins, and the bins' edges; ``own`` has those of the fit's own map."""
        if self.kept is None:
            return own.density, read_findings(self.run, "risk_edges").risk_edges
        densities, edges = (self.kept.findings.get(part, ()) for part in ("density", "risk_edges"))
        return (densities[position], edges) if densities else ((), ())


@lru_cache(maxsize=2)
def kept_rows(fit_id: int, finished_at: datetime | None) -> Sequence[RiskRow]:  # noqa: ARG001 - tells fits apart
    """Return the table of a fit that is done, which never changes; that of a nation is megabytes of JSON to read."""
    text = FitRun.objects.filter(pk=fit_id).values_list(Cast("rows", TextField()), flat=True).get()
    return tuple(msgspec.json.decode(text))


def seen_map(run: FitRun, given: Mapping[str, str]) -> SeenMap:
    """Read from an address whose map is wanted; the fit's own if that makes no sense."""
    judge, view = given.get("judge", ""), given.get("view", "")
    wanted = (judge and judge.isalnum()) or view == MapView.PANEL
    return SeenMap(run, FitView.objects.filter(fit=run, judge=judge).first() if wanted else None)


def wanted_map(run: FitRun, given: Mapping[str, str]) -> SeenMap:
    """Do the same for a file, but answer 404 for a map that does not exist instead of showing another."""
    seen = seen_map(run, given)
    asked = {name: given[name] for name in ("judge", "view") if given.get(name)}
    if asked not in (seen.query, {"view": run.record.view.value}):
        raise Http404
    return seen
