"""The addresses under /api/v1/, all of them read-only."""

import hashlib
import json
from collections.abc import Callable
from functools import cache
from typing import Any, Literal, TypeVar

from django.http import Http404, HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.http import condition, require_safe
from ninja import NinjaAPI, Query
from ninja.errors import AuthenticationError, ValidationError
from ninja.responses import codes_4xx

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import csv_text
from judgemap.study.data.definition import write_definition
from judgemap.web.api import schemas
from judgemap.web.api.access import SAID, ApiError, TokenAuth, in_json, problem, study_for, token_of
from judgemap.web.api.cursor import read_latest, read_page
from judgemap.web.api.tokens import studies_of_token
from judgemap.web.people.export import geojson, time
from judgemap.web.results.files import COLUMNS, kept_file
from judgemap.web.results.models import FitRun
from judgemap.web.server.forms import whole_number
from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.editing import definition_of
from judgemap.web.studies.models import Area, Study

TableFormat = Literal["json", "csv"]
MapFormat = Literal["json", "csv", "geojson"]
COMPARISON_COLUMNS = (
    "judge", "left", "right", "outcome", "seconds", "answered_at", "pair", "revision", "position", "version", "design",
    "probability",
)  # fmt: skip
NO_RESULTS = "This fit has no results: it is not done, or it failed."
View = TypeVar("View", bound=Callable[..., Any])

api = NinjaAPI(
    title="judgemap",
    version="1",
    description="Read a study's areas, answers and results from a program. Nothing can be changed.",
    urls_namespace="api-v1",
    docs_url=None,
    openapi_url=None,  # `openapi_json` answers there
    auth=TokenAuth(),
)


@api.exception_handler(ApiError)
def refused(request: HttpRequest, error: ApiError) -> HttpResponse:  # noqa: ARG001 - ninja's
    """Answer a request that we refuse."""
    return problem(error.status, error.sentence)


@api.exception_handler(AuthenticationError)
def no_token(request: HttpRequest, error: AuthenticationError) -> HttpResponse:  # noqa: ARG001 - ninja's
    """Answer a request without a token."""
    return problem(401, "Send a token in the header, as 'Authorization: Bearer jm_…'; the study's page makes one.")


@api.exception_handler(ValidationError)
def nonsense(request: HttpRequest, error: ValidationError) -> HttpResponse:  # noqa: ARG001 - ninja's
    """Answer a request with an invalid parameter."""
    first = error.errors[0]
    return problem(400, f"{first['loc'][-1]}: {first['msg']}.")


@api.exception_handler(Http404)
def nothing(request: HttpRequest, error: Http404) -> HttpResponse:  # noqa: ARG001 - ninja's
    """Answer a request for something that does not exist."""
    return problem(404, "This study has no such item.")


def _route(path: str, response: object, summary: str, *, exclude_unset: bool = False) -> Callable[[View], View]:
    """Add an address that is read with GET."""
    said = {200: response, codes_4xx: schemas.Problem}
    return api.get(path, response=said, summary=summary, exclude_unset=exclude_unset)


@_route("/studies", list[schemas.StudyLine], "The studies the token can read")
def studies(request: HttpRequest) -> list[dict[str, str]]:
    """Needs the scope `study:read`."""
    readable = studies_of_token(token_of(request, "study:read")).order_by("-created_at")
    return [{"slug": each.slug, "title": each.version.title, "status": each.status} for each in readable]


@_route("/studies/{slug:slug}", schemas.StudyOut, "A study's settings")
def study(request: HttpRequest, slug: str) -> dict[str, object]:
    """Needs the scope `study:read`."""
    opened = study_for(request, slug, "study:read")
    version = opened.version
    same = ("title", "question", "direction", "design", "recommended", "maximum", "ties", "skips", "languages")
    return {
        **{field: getattr(version, field) for field in same},
        **{field: getattr(opened, field) for field in ("slug", "status", "opened_at", "closed_at")},
        "version": version.number,
        "areas": opened.areas.count(),
        "toml": write_definition(definition_of(opened)),
    }


@_route("/studies/{slug:slug}/areas", list[schemas.AreaOut], "A study's areas")
def areas(request: HttpRequest, slug: str, format: MapFormat = "json") -> Any:  # noqa: A002, ANN401
    """Needs the scope `study:read`. With `format=geojson` the outlines too, in longitude and latitude."""
    rows = _areas(study_for(request, slug, "study:read"))
    if format == "csv":
        return _csv(("id", "name"), [[row.code, row.name] for row in rows])
    if format == "geojson":
        return _geojson(rows)
    return [{"id": row.code, "name": row.name} for row in rows]


@_route("/studies/{slug:slug}/edges", list[schemas.EdgeOut], "Which areas are neighbours")
def edges(request: HttpRequest, slug: str, format: TableFormat = "json") -> Any:  # noqa: A002, ANN401
    """Needs the scope `study:read`. As the version in force has it, edges by hand and bridges too."""
    opened = study_for(request, slug, "study:read")
    codes = [row.code for row in _areas(opened)]
    pairs = [(codes[a], codes[b]) for a, b in load_graph(opened.version).edges.tolist()]
    if format == "csv":
        return _csv(("area_a", "area_b"), pairs)
    return [{"area_a": a, "area_b": b} for a, b in pairs]


@_route("/studies/{slug:slug}/comparisons", schemas.ComparisonsOut, "Judges' answers")
def comparisons(request: HttpRequest, slug: str, asked: Query[schemas.ComparisonsAsked]) -> Any:  # noqa: ANN401
    """Needs the scope `comparisons:read`. Practice, and pairs that nobody answered, are left out.

    Answers come in the order in which they were stored. Begin without `after`; go on with `next` of the last page, at
    once while `more` is true, and at any later time for what came since. An answer that a judge changed comes again as
    a new one with the same `pair` and a higher `revision`.

    When a judge withdraws, their answers are deleted, and every older cursor is answered with status 410: delete your
    copy, and read again without `after`.

    `format=csv` takes no cursor: it is the table as it is now, which `jm.read_comparisons` reads.
    """
    opened = study_for(request, slug, "comparisons:read")
    if asked.format == "csv":
        if asked.after:
            raise ApiError(400, "A CSV table always holds everything: leave out 'after', or the format.")
        return _csv(COMPARISON_COLUMNS, [_row(each) for each in read_latest(opened)])
    page = read_page(opened, asked.after, asked.limit)
    return {"comparisons": page.answers, "next": page.cursor, "more": page.more}


@_route("/studies/{slug:slug}/fits", list[schemas.FitLine], "Fits of a study, the latest first")
def fits(request: HttpRequest, slug: str) -> list[dict[str, object]]:
    """Needs the scope `results:read`."""
    runs = FitRun.objects.filter(study=study_for(request, slug, "results:read")).order_by("-number")
    return [_line(run) for run in runs.defer("info", "rows", "findings", "log")]


@_route("/studies/{slug:slug}/fits/{number}", schemas.FitOut, "A fit", exclude_unset=True)
def fit(request: HttpRequest, slug: str, number: str) -> dict[str, object]:
    """Needs the scope `results:read`. `number` may be `latest`: the last that is done."""
    run = _run(study_for(request, slug, "results:read"), number)
    more = {field: getattr(run, field) for field in ("settings", "left_out", "only", "info")}
    return _line(run) | more


@_route("/studies/{slug:slug}/fits/{number}/areas", list[dict[str, str | int | float | None]], "A fit's table of areas")
def fit_areas(request: HttpRequest, slug: str, number: str, format: TableFormat = "json") -> Any:  # noqa: A002, ANN401
    """Needs the scope `results:read`. The columns are those of areas.csv."""
    run = _run(study_for(request, slug, "results:read"), number)
    if not run.rows:
        raise ApiError(404, NO_RESULTS)
    if format == "csv":
        columns = tuple(name for name in COLUMNS if name in run.rows[0])
        return _csv(columns, [[row[name] for name in columns] for row in run.rows])
    return run.rows


@api.get(
    "/studies/{slug:slug}/fits/{number}/posterior.nc",
    response={codes_4xx: schemas.Problem},
    summary="A fit's draws, as NetCDF",
)
def posterior(request: HttpRequest, slug: str, number: str) -> HttpResponse:
    """Needs the scope `results:read`. `arviz.from_netcdf` reads it."""
    run = _run(study_for(request, slug, "results:read"), number)
    try:
        return HttpResponse(kept_file(run, "posterior.nc"), "application/netcdf")
    except StudyError:
        raise ApiError(404, NO_RESULTS) from None


def _areas(opened: Study) -> list[Area]:
    return list(opened.areas.order_by("position").only("code", "name", "outline", "study"))


def _geojson(rows: list[Area]) -> HttpResponse:
    if not all(row.outline for row in rows):
        raise ApiError(404, "This study has no map; ask for its areas and edges instead.")
    return HttpResponse(geojson(rows), "application/geo+json")


def _csv(columns: tuple[str, ...], rows: Any) -> HttpResponse:  # noqa: ANN401 - cells of any kind
    return HttpResponse(csv_text(columns, rows), "text/csv; charset=utf-8")


def _row(answer: Any) -> list[Any]:  # noqa: ANN401 - an answer from the cursor
    cells = {name: getattr(answer, name) for name in COMPARISON_COLUMNS}
    return list((cells | {"answered_at": time(answer.answered_at), "seconds": f"{answer.seconds:.3f}"}).values())


def _run(opened: Study, number: str) -> FitRun:
    runs = FitRun.objects.filter(study=opened).defer("findings", "log")
    if number == "latest":
        run = runs.filter(status=FitRun.Status.DONE).order_by("-number").first()
    else:
        run = runs.filter(number=whole_number(number) or 0).first()
    if run is None:
        raise ApiError(404, "This study has no such fit.")
    return run


def _line(run: FitRun) -> dict[str, object]:
    same = ("number", "status", "asked_at", "finished_at", "answers", "data_sha256", "note", "withdrawn")
    return {field: getattr(run, field) for field in same} | {"model": str(run.settings.get("model", "spatial"))}


def nothing_here(request: HttpRequest, rest: str) -> HttpResponse:  # noqa: ARG001 - Django's
    """Answer any other address with 404, in JSON like the rest."""
    return problem(404, SAID[404])


@cache
def _description() -> tuple[bytes, str]:
    """Return the interface's description and its ETag, made once per process: making it takes a fifth of a second."""
    text = json.dumps(api.get_openapi_schema(path_prefix="/api/v1/"), ensure_ascii=False).encode()
    return text, f'"{hashlib.sha256(text).hexdigest()[:32]}"'


@require_safe
@condition(etag_func=lambda _: _description()[1])
def openapi_json(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's
    """Describe the interface to programs; the same for everybody, until the server is updated."""
    return HttpResponse(_description()[0], "application/json", headers={"Cache-Control": "public, max-age=3600"})


patterns, _, namespace = api.urls
for each in patterns:
    if each.callback is not None:
        each.callback = in_json(each.callback)

description = path("openapi.json", openapi_json, name="openapi-json")
interface = [
    path("api/v1/", include(([description, *patterns], "ninja"), namespace=namespace)),
    path("api/<path:rest>", in_json(nothing_here)),
]
