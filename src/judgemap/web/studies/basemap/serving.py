"""Tiles and pictures as browsers get them: compressed once, and kept by the browser alone."""

from django.http import Http404, HttpResponse

from judgemap.geo.basemap.tiles import Place
from judgemap.web.studies.models import BaseMapTile

EMPTY = b"{}"
CACHED = "private, max-age=2592000, immutable"
"""A base map never changes: another one has another key, and so other addresses. Shared caches keep nothing."""
LARGEST_NUMBER = 2**31 - 1


def tile_response(current: int | None, key: int, place: Place) -> HttpResponse:
    """Answer with a tile of the base map that a study uses; a place where nothing is has an empty one."""
    if current is None or current != key or max(place) > LARGEST_NUMBER:
        raise Http404
    level, column, row = place
    tiles = BaseMapTile.objects.filter(base_map=key, level=level, column=column, row=row)
    content = tiles.values_list("content", flat=True).first()
    response = kept_by_browser(EMPTY if content is None else bytes(content), "application/json")
    if content is not None:
        response["Content-Encoding"] = "gzip"
    return response


def kept_by_browser(content: bytes, kind: str) -> HttpResponse:
    """Let a browser keep what it got, and nobody else."""
    return HttpResponse(content, kind, headers={"Cache-Control": CACHED, "X-Robots-Tag": "noindex, nofollow"})
