"""What can be downloaded from a fit: the briefing, its pictures, and files for other programs."""

import io
import tempfile
import zipfile
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from django import forms
from django.contrib import messages
from django.forms.models import model_to_dict
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.html import escape
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import csv_text
from judgemap.report.pages.finish import before_annex, fill_in
from judgemap.study.assess.findings import EQUAL
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.data.definition import write_definition
from judgemap.study.fit.settings import FitSettings, View
from judgemap.web.judge.comparisons import History, area_ids, direction
from judgemap.web.judge.models import Pair
from judgemap.web.results.models import Beside, FitFiles, FitRun, FitView
from judgemap.web.results.pages import SeenMap, add_verdicts, fit_page, show_page, wanted_map
from judgemap.web.results.risk_map import with_streets
from judgemap.web.server.errors import kind_page
from judgemap.web.server.forms import StudyForm, sentence
from judgemap.web.studies.access import researcher_of
from judgemap.web.studies.areas import load_areas
from judgemap.web.studies.editing import definition_of, set_imprint
from judgemap.web.studies.maps import picture_response
from judgemap.web.studies.models import Study, StudyFigures, imprint_of

if TYPE_CHECKING:
    from judgemap.study.export import By
    from judgemap.study.fit.result import Fit

BRIEFING_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'; sandbox allow-popups allow-popups-to-escape-sandbox"
)
"""A briefing brings all that it shows."""
COLUMNS = (
    "id", "name", "risk_median", "risk_mean", "risk_sd", "risk_low", "risk_high", "rank", "rank_low",
    "rank_high", "p_top10", "cluster", "probability",
)  # fmt: skip
"""Columns of the table of areas, in the order of areas.csv; a database may store them in another order."""
PARQUET = "application/vnd.apache.parquet"
KINDS = {
    "csv": (".csv", "text/csv"),
    "xlsx": (".xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    "geojson": (".geojson", "application/geo+json"),
    "gpkg": (".gpkg", "application/geopackage+sqlite3"),
    "parquet": (".parquet", PARQUET),
    "draws": (".draws.parquet", PARQUET),
    "draws-csv": (".draws.csv", "text/csv"),
    "netcdf": (".nc", "application/netcdf"),
    "replication": ("-replication.zip", "application/zip"),
    "pdf": ("-briefing.pdf", "application/pdf"),
    "annex": ("-annex.pdf", "application/pdf"),
}
"""The kinds of downloads, with endings and media types: those of `study.downloads`, and two more."""
OF_A_VIEW = ("csv", "xlsx", "geojson", "gpkg", "parquet", "draws")
"""What can be downloaded of the panel's map too; of a judge's map, only the CSV."""
ANSWERS_CHANGED = _(
    "some answers in this fit have gone because a judge withdrew; make a new fit and download its archive"
)


class WordsForm(StudyForm):
    """What a briefing says in the researcher's own words."""

    author = forms.CharField(required=False, max_length=200, help_text=_("Who wrote it: names, team, organisation."))
    next_steps = forms.CharField(
        label=_("What to do next"),
        required=False,
        max_length=1500,
        widget=forms.Textarea({"rows": 5}),
        help_text=_("In your own words, on the second page. Leave an empty line to start a new paragraph."),
    )


@fit_page
def show_files(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """List what can be downloaded."""
    return _show(request, study, run, WordsForm(initial=model_to_dict(imprint_of(study))))


@fit_page.act
def words(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Store what the study's briefings say in the researcher's own words."""
    form = WordsForm(request.POST)
    if not form.is_valid():
        return _show(request, study, run, form)
    set_imprint(study, form.cleaned_data, researcher_of(request))
    messages.success(request, _("Saved: every briefing of this study will show it from now on."))
    return redirect("results:files", study.slug, run.number)


def _show(request: HttpRequest, study: Study, run: FitRun, form: WordsForm) -> HttpResponse:
    from judgemap.report.pages.finish import find_renderer

    views = [("The population’s map", ""), ("The panel’s map", "?view=panel")]
    context = {
        "form": form,
        "has_briefing": has_briefing(run),
        "imprint_address": reverse("studies:imprint", args=[study.slug]),
        "what_follows": imprint_of(study).next_steps.strip(),
        "prints": find_renderer() is not None,
        "has_map": bool(study.outline),
        "views": views if FitView.objects.filter(fit=run).exists() else [("", "")],
        "command": FitSettings.from_dict(run.settings).command(
            "comparisons.csv", "areas.geojson" if study.outline else "edges.csv", run.record.winner_is
        ),
    }
    return show_page(request, "results/files.html", study, run, context, 400 if form.errors else 200)


@fit_page
def briefing(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the briefing as it is, in a sandbox: it brings its own styles, and no script may run in it."""
    try:
        text = briefing_text(run)
    except StudyError as error:
        return kind_page(request, 409, gettext("There is no briefing yet"), sentence(error))
    if not text:
        raise Http404
    response = HttpResponse(text, headers={"Content-Security-Policy": BRIEFING_POLICY})
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{_name(study, run)}-briefing.html"'
    return response


@fit_page
def picture(request: HttpRequest, study: Study, run: FitRun, name: str) -> HttpResponse:  # noqa: ARG001
    """Return a picture that the worker drew."""
    drawn = get_object_or_404(run.pictures, name=name)
    return picture_response(drawn.svg)


@fit_page
def download(request: HttpRequest, study: Study, run: FitRun, kind: str) -> HttpResponseBase:
    """Send a fit as a file of one kind, or say in a sentence why there is none."""
    if kind not in KINDS:
        raise Http404
    ending, media_type = KINDS[kind]
    seen = wanted_map(run, request.GET.dict())
    if seen.kept is not None and (kind not in OF_A_VIEW or (seen.kept.judge and kind != "csv")):
        raise Http404
    by, rates = request.GET.get("by", ""), "rates" in request.GET
    about = [seen.view] * (seen.kept is not None) + ["groups"] * bool(by) + ["rates"] * rates
    name = "-".join([_name(study, run), *about])
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        path = Path(folder, f"{name}{ending}")
        try:
            if by or rates:
                _write_beside(seen, kind, path, by)
            else:
                _write(study, seen, kind, path)
            if kind == "gpkg":
                from judgemap.report.figures.qgis import add_style

                add_style(path)
        except StudyError as error:
            return kind_page(request, 409, gettext("This file is not available"), sentence(error))
        return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type=media_type)


def _write(study: Study, seen: SeenMap, kind: str, path: Path) -> None:
    """Write a file: CSV and NetCDF from what is stored, the others with libraries that are slow to load."""
    run = seen.run
    if kind == "csv":
        text = areas_csv(seen)
        path.write_text(text, encoding="utf-8" if text.isascii() else "utf-8-sig")  # the mark is for Excel
    elif kind == "netcdf":
        path.write_bytes(kept_file(run, "posterior.nc"))
    elif kind in ("pdf", "annex"):
        from judgemap.report.pages.finish import annex_alone, two_pages, write_pdf

        text = briefing_text(run)
        if not text:
            text = gettext("the briefing of this fit is not ready yet; come back in a minute, or make a new fit")
            raise StudyError(text)
        write_pdf(two_pages(text) if kind == "pdf" else annex_alone(text), path)
    elif kind == "replication":
        from judgemap.study.export import replication

        definition = write_definition(replace(definition_of(study, run.version), briefing=imprint_of(study).words))
        replication(open_fit(run), answers_of(run), definition, path, areas=load_areas(run.version))
    else:
        from judgemap.study.export import write_download

        write_download(open_fit(run).seen_by(seen.view), kind, path)


def _write_beside(seen: SeenMap, kind: str, path: Path, by: str) -> None:
    """Write results by a column of the study's figures, or else its rates, as the page of figures shows them."""
    from judgemap.study.assess.beside import group_areas
    from judgemap.study.export import write_download

    run = seen.run
    kept = StudyFigures.objects.filter(study=run.study).first()
    job = Beside.objects.filter(fit=run).first()
    told = job.told if job else None
    if by:
        shown: By = group_areas(load_areas(run.version), by, weights=kept.weighted_by if kept else EQUAL)
    elif told is None or told.rates is None:
        raise StudyError(gettext("this fit has no rates; choose a column of counts under “Districts and figures”"))
    else:
        shown = told.rates
    write_download(open_fit(run).seen_by(seen.view), kind, path, shown)


def areas_csv(seen: SeenMap) -> str:
    """Write the table of areas; if judges differ, with a column that says whose view it is."""
    columns = [name for name in COLUMNS if name in seen.rows[0]]
    rows = ([row[name] for name in columns] for row in seen.rows)  # type: ignore[literal-required]
    if seen.run.record.view is View.POOLED:
        return csv_text(columns, rows)
    return csv_text([*columns, "view"], ([*row, seen.view] for row in rows))


def has_briefing(run: FitRun) -> bool:
    """Whether the worker has written the briefing yet."""
    return FitFiles.objects.filter(fit=run).exclude(briefing="").exists()


def briefing_text(run: FitRun) -> str:
    """Return the briefing with the researcher's current words, and with streets if they are switched on now.

    Until the researcher has written what follows, a `StudyError` says that there is none.
    """
    if not (imprint := imprint_of(run.study)).next_steps.strip():
        raise StudyError(gettext("the briefing says what follows from the map, which only you know; write that first"))
    text = FitFiles.objects.filter(fit=run).values_list("briefing", flat=True).first() or ""
    text = before_annex(
        with_streets(text, run), Beside.objects.filter(fit=run).values_list("section", flat=True).first() or ""
    )
    if run.withdrawn:
        said = gettext("Some judges whose answers this briefing counts have withdrawn since it was made.")
        text = text.replace("<!--byline-->", f"<p><strong>{escape(said)}</strong></p><!--byline-->", 1)
    made = run.finished_at and timezone.localtime(run.finished_at).date()
    return fill_in(text, imprint.words, made, imprint.logo_address)


def kept_file(run: FitRun, name: str) -> bytes:
    """Return one file of a fit's folder."""
    with _archive(run.pk) as packed:
        return packed.read(name)


def _archive(key: int) -> zipfile.ZipFile:
    archive = FitFiles.objects.filter(fit=key).values_list("archive", flat=True).first()
    if archive is None:
        raise StudyError(gettext("this fit has no results; make a new one"))
    return zipfile.ZipFile(io.BytesIO(archive))


def _name(study: Study, run: FitRun) -> str:
    return f"{study.slug}-fit-{run.number}"


def pack(fit: "Fit") -> bytes:
    """Zip a fit's folder."""
    packed = io.BytesIO()
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        saved = fit.save(Path(folder, "results"))
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            for path in sorted(saved.iterdir()):
                archive.write(path, path.name)
    return packed.getvalue()


def open_fit(run: FitRun) -> "Fit":
    """Return a finished fit, number for number as it was made, with its verdict. The last few stay in memory."""
    # When a judge withdraws, the notes change and the archive with them; a fit opened before then is no longer used.
    fit = _open_fit(run.pk, tuple(run.info.get("notes", [])))
    add_verdicts([run])
    return fit if run.verdict is None else fit.judged(run.verdict)


@lru_cache(maxsize=4)
def _open_fit(key: int, notes: tuple[str, ...]) -> "Fit":
    del notes
    from judgemap.study.fit.result import load_fit

    with _archive(key) as archive, tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        archive.extractall(folder)
        return load_fit(folder)


def answers_of(run: FitRun) -> Comparisons:
    """Return exactly the comparisons that a fit used, as its hash of the data confirms.

    Pairs and answers are only ever added, so the answers at a moment are those given by then, unless a judge withdrew.
    """
    shown = Pair.objects.filter(judge__study=run.study).exclude(judge__in=run.left_out)
    history = History.read(run.study, shown.filter(judge__in=run.only) if run.only else shown)
    data = history.last(run.read_at).comparisons(area_ids(run.study), direction(run.version.direction))
    if data.digest() != run.data_sha256:
        raise StudyError(str(ANSWERS_CHANGED))
    return data
