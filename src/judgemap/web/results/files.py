"""What can be taken away from a fit: the briefing, its pictures, and files for other programs."""

import io
import tempfile
import zipfile
from pathlib import Path

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from judgemap.errors import StudyError
from judgemap.study.definition import write_definition
from judgemap.web.judge.export import table
from judgemap.web.results.fits.files import open_fit
from judgemap.web.results.models import FitFiles, FitRun
from judgemap.web.results.replay import answers_of
from judgemap.web.results.runs import fit_page
from judgemap.web.server.errors import kind_page
from judgemap.web.server.forms import sentence
from judgemap.web.studies.actions import definition_of
from judgemap.web.studies.areas import load_areas
from judgemap.web.studies.models import Study

ALONE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
"""A page that may show itself and nothing else."""
BRIEFING_POLICY = ALONE + "frame-ancestors 'none'; sandbox allow-popups allow-popups-to-escape-sandbox"
PICTURE_POLICY = ALONE + "frame-ancestors 'self'; sandbox"
COLUMNS = (
    "id", "name", "risk_median", "risk_mean", "risk_sd", "risk_low", "risk_high", "rank_median", "rank_low",
    "rank_high", "p_top10", "cluster", "probability",
)  # fmt: skip
"""Of the table of areas, in the order of areas.csv; a database may keep them in another."""
PARQUET = "application/vnd.apache.parquet"
KINDS = {
    "csv": (".csv", "text/csv"),
    "geojson": (".geojson", "application/geo+json"),
    "gpkg": (".gpkg", "application/geopackage+sqlite3"),
    "parquet": (".parquet", PARQUET),
    "draws": (".draws.parquet", PARQUET),
    "netcdf": (".nc", "application/netcdf"),
    "replication": ("-replication.zip", "application/zip"),
    "pdf": ("-briefing.pdf", "application/pdf"),
}
"""What there is to download, with its ending and media type; the kinds of `study.downloads`, and two more."""


@require_safe
@fit_page
def briefing(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the briefing as it is, in a sandbox: it brings its own styles, and no script may run in it."""
    text = _briefing(run)
    if not text:
        raise Http404
    response = HttpResponse(text, headers={"Content-Security-Policy": BRIEFING_POLICY})
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{_name(study, run)}-briefing.html"'
    return response


@require_safe
@fit_page
def picture(request: HttpRequest, study: Study, run: FitRun, name: str) -> HttpResponse:  # noqa: ARG001
    """Return a picture that the worker drew."""
    found = get_object_or_404(run.pictures, name=name)
    headers = {"Content-Security-Policy": PICTURE_POLICY, "X-Content-Type-Options": "nosniff"}
    return HttpResponse(found.svg, "image/svg+xml", headers=headers)


@require_safe
@fit_page
def download(request: HttpRequest, study: Study, run: FitRun, kind: str) -> HttpResponseBase:
    """Hand out a fit as a file of one kind, or say in a sentence why there is none."""
    if kind not in KINDS:
        raise Http404
    ending, media_type = KINDS[kind]
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        path = Path(folder, f"{_name(study, run)}{ending}")
        try:
            _write(study, run, kind, path)
        except StudyError as error:
            return kind_page(request, 409, "This file is not available", sentence(error))
        return FileResponse(path.open("rb"), as_attachment=True, filename=path.name, content_type=media_type)


def _write(study: Study, run: FitRun, kind: str, path: Path) -> None:
    """Write a file. Tables and draws come out of what is kept; libraries that are slow to load write the others."""
    if kind == "csv":
        columns = [name for name in COLUMNS if name in run.rows[0]]
        cells = ([row[name] for name in columns] for row in run.rows)
        path.write_text(table(columns, cells), encoding="utf-8")
    elif kind == "netcdf":
        path.write_bytes(_kept(run, "posterior.nc"))
    elif kind == "pdf":
        from judgemap.report.pdf import write_pdf

        text = _briefing(run)
        if not text:
            raise StudyError("the briefing of this fit is not ready yet; come back in a minute, or make a new fit")
        write_pdf(text, path)
    elif kind == "replication":
        from judgemap.study.replication import replication

        definition = write_definition(definition_of(study, run.version))
        replication(open_fit(run), answers_of(run), definition, path, areas=load_areas(run.version))
    else:
        from judgemap.study.downloads import write_download

        write_download(open_fit(run), kind, path)


def has_briefing(run: FitRun) -> bool:
    """Whether the worker has written the briefing yet."""
    return FitFiles.objects.filter(fit=run).exclude(briefing="").exists()


def _briefing(run: FitRun) -> str:
    return FitFiles.objects.filter(fit=run).values_list("briefing", flat=True).first() or ""


def _kept(run: FitRun, name: str) -> bytes:
    archive = FitFiles.objects.filter(fit=run).values_list("archive", flat=True).first()
    if archive is None:
        raise StudyError("this fit has no results; make a new one")
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        return packed.read(name)


def _name(study: Study, run: FitRun) -> str:
    return f"{study.slug}-fit-{run.number}"
