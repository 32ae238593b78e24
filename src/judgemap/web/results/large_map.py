"""The risk map of a large study: a picture of the whole, tiles for a closer look, and the table one page at a time."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from judgemap.study.assess.findings import RiskRow
from judgemap.web.results.area import describe_area, highest
from judgemap.web.results.layers import Layer, by_risk, layer_makers, top_chances
from judgemap.web.results.models import FitRun
from judgemap.web.results.pages import fit_page, read_findings, show_page
from judgemap.web.results.risk_map import Asked, Line, headings, make_line, matches, show_small
from judgemap.web.results.whose import SeenMap, seen_map, view_links
from judgemap.web.studies.models import Study
from judgemap.web.studies.whole_map import has_tiles, picture, picture_response, stored_rings

A_PAGE = 100
"""How many rows of the table a page shows."""
LABELS = {
    "risk": "Risk", "sd": "Uncertainty", "rank": "Rank", "width": "Rank interval", "cluster": "Cluster",
    "membership": "Cluster certainty",
}  # fmt: skip


@require_safe
@fit_page
def show_map(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the risk map with the table of areas and what is known about the area that was chosen."""
    return (show_large if has_tiles(study) else show_small)(request, study, run)


def show_large(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the risk map of a study with very many areas."""
    given = request.GET.dict()
    seen = seen_map(run, given)
    rows, top = seen.rows, seen.top
    makers = layer_makers(rows, top, read_findings(run, "between", "grouping"))
    asked = replace(Asked.read(given, makers, len(rows)), view=seen.address)
    chances = top_chances(rows, top)[int(asked.top.removeprefix("top"))]
    wanted = chosen_positions(rows, chances, asked)
    pages = max(1, -(-len(wanted) // A_PAGE))
    page = min(_whole(given.get("page", "")) or 1, pages)
    context = {
        "layers": [(name, LABELS[name]) for name in makers if name in LABELS],
        "tops": [name.removeprefix("top") for name in makers if name.startswith("top")],
        "layer": makers[asked.layer](),
        "asked": asked,
        "k": asked.top.removeprefix("top"),
        "keep": asked.keep("area"),
        "headings": [each for each in headings(asked, clusters=False) if each.column != "cluster"],
        "lines": table_page(rows, chances, wanted[A_PAGE * (page - 1) : A_PAGE * page]),
        "n_found": len(wanted),
        "n_areas": len(rows),
        "page": page,
        "pages": pages,
        "earlier": page - 1 if page > 1 else None,
        "later": page + 1 if page < pages else None,
        "highest": highest(rows),
        "sure": sum(row["p_top10"] > 0.95 for row in rows),
        "ten": min(10, len(rows)),
        "detail": describe_area(seen, asked.area) if asked.area is not None else None,
        "seen": seen,
        "whose": seen.words,
        "view_links": view_links(study, run, seen),
        "address": "".join(f"&{each}" for each in [seen.address] if each),
    }
    return show_page(request, "results/large_map.html", study, run, context)


def chosen_positions(rows: Sequence[RiskRow], chances: Sequence[float], asked: Asked) -> list[int]:
    """Return the positions of the areas that the table shows, in its order."""
    column = asked.sort.removeprefix("-")
    order = by_risk(rows)
    keys: Mapping[str, Callable[[int], str | float]] = {
        "name": lambda position: rows[position]["name"].casefold(),
        "risk": lambda position: rows[position]["risk_median"],
        "sd": lambda position: rows[position]["risk_sd"],
        "chance": chances.__getitem__,
    }
    if column in keys:
        order = sorted(order, key=keys[column])
    if asked.sort.startswith("-"):
        order = order[::-1]
    if not asked.words:
        return order
    return [place for place in order if matches(asked.words, rows[place]["name"], rows[place]["id"])]


def table_page(rows: Sequence[RiskRow], chances: Sequence[float], positions: Sequence[int]) -> list[Line]:
    """Write some rows of the table."""
    place = {position: number for number, position in enumerate(by_risk(rows), start=1)}
    return [make_line(each, rows[each], place[each], chances[each]) for each in positions]


@require_safe
@fit_page
def map_picture(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Draw the whole map, coloured by one layer."""
    layer = _layer(run, request)
    return picture_response(picture(stored_rings(study.pk), layer.classes, layer.colours))


@require_safe
@fit_page
def map_colours(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:  # noqa: ARG001 - a page
    """Return the colour of each area in one layer, for the tiles."""
    layer = _layer(run, request)
    return JsonResponse({"colours": layer.colours, "classes": layer.classes})


def _layer(run: FitRun, request: HttpRequest) -> Layer:
    seen: SeenMap = seen_map(run, request.GET.dict())
    makers = layer_makers(seen.rows, seen.top, read_findings(run, "between", "grouping"))
    name = request.GET.get("layer", "risk")
    if name not in makers:
        raise Http404
    return makers[name]()


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0
