"""A large map as one picture, with an SVG path for each colour; closer views come from tiles."""

import json
from collections.abc import Sequence
from functools import lru_cache

from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from judgemap.geo.drawing.outlines import svg_path
from judgemap.web.studies.access import study_page
from judgemap.web.studies.models import Area, Study, Tile

SPECK = 4
"""An area no larger than this, in units of the whole map, is drawn as a small square."""
PLAIN = "#dde5dc"
KEPT = "private, max-age=604800, immutable"
"""Shapes of a study never change, so a browser asks for them once."""
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


def has_tiles(study: Study) -> bool:
    """Say whether a study's map is so large that pages show a picture and tiles, not a shape for each area."""
    return Tile.objects.filter(study=study).exists()


@require_safe
@study_page
def tile(request: HttpRequest, study: Study, level: int, x: int, y: int) -> HttpResponse:  # noqa: ARG001 - a page
    """Serve a tile, compressed as it is stored; an empty one if it has no areas."""
    if level > 9 or max(x, y) >= 2**level:
        raise Http404
    kept = Tile.objects.filter(study=study, level=level, x=x, y=y).values_list("content", flat=True).first()
    headers = {"Cache-Control": KEPT}
    if kept is None:
        return HttpResponse("[]", "application/json", headers=headers)
    return HttpResponse(bytes(kept), "application/json", headers=headers | {"Content-Encoding": "gzip"})


@require_safe
@study_page
def plain_picture(request: HttpRequest, study: Study) -> HttpResponse:  # noqa: ARG001 - a page
    """Serve the whole map in one colour."""
    rings = stored_rings(study.pk)
    response = picture_response(picture(rings, [0] * len(rings), [PLAIN]))
    response["Cache-Control"] = KEPT
    return response


def picture_response(svg: str) -> HttpResponse:
    """Return a picture that may neither run nor load anything."""
    headers = {"Content-Security-Policy": PICTURE_POLICY, "X-Content-Type-Options": "nosniff"}
    return HttpResponse(svg, "image/svg+xml", headers=headers)


@lru_cache(maxsize=4)
def stored_rings(study_id: int) -> tuple[str, ...]:
    """Return the outlines of a study's areas on the whole map, as SVG paths by position; they never change."""
    rows = Area.objects.filter(study_id=study_id).order_by("position").values_list("rings", flat=True)
    return tuple(outline(json.loads(rings)) for rings in rows)


def picture(paths: Sequence[str], classes: Sequence[int], colours: Sequence[str], defined: str = "") -> str:
    """Draw all areas as SVG, one path per colour; ``defined`` has patterns that colours refer to.

    >>> drawn = picture(["M0 0l90 0 0 50z", "M4 6h2v2h-2z"], [0, 1], ["#fff", "#a00"])
    >>> drawn.partition(">")[2]
    '<path d="M0 0l90 0 0 50z" fill="#fff"/><path d="M4 6h2v2h-2z" fill="#a00"/></svg>'
    """
    parts: list[list[str]] = [[] for _ in colours]
    for path, shade in zip(paths, classes, strict=True):
        parts[shade].append(path)
    drawn = "".join(
        f'<path d="{"".join(each)}" fill="{colour}"/>' for each, colour in zip(parts, colours, strict=True) if each
    )
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 1000" shape-rendering="crispEdges">'
    return f"{head}{defined}{drawn}</svg>"


def outline(rings: list[list[int]]) -> str:
    """Write an area's rings as an SVG path; one that is too small to see, as a small square.

    >>> outline([[0, 0, 90, 0, 90, 50]]), outline([[5, 5, 7, 7, 5, 9, 3, 7]])
    ('M0 0l90 0 0 50z', 'M4 6h2v2h-2z')
    """
    if len(rings) == 1 and len(rings[0]) == 8:
        xs, ys = rings[0][::2], rings[0][1::2]
        if max(xs) - min(xs) <= SPECK and max(ys) - min(ys) <= SPECK:
            return f"M{sum(xs) // 4 - 1} {sum(ys) // 4 - 1}h2v2h-2z"
    return svg_path(rings)
