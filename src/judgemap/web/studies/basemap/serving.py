"""Tiles and pictures as browsers get them: compressed once, and kept by the browser alone."""

import gzip

from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse

from judgemap.geo.basemap.tiles import Place
from judgemap.web.studies.models import BaseMapTile

EMPTY = b"{}"
CACHED = "private, max-age=2592000, immutable"
"""A base map never changes: another one has another key, and so other addresses. Shared caches keep nothing."""
LARGEST_NUMBER = 2**31 - 1


def find_tile(key: int, level: int, column: int, row: int) -> "QuerySet[BaseMapTile]":
    """Find a tile of a base map."""
    return BaseMapTile.objects.filter(base_map=key, level=level, column=column, row=row).only("content")


def tile_response(current: int | None, key: int, place: Place) -> HttpResponse:
    """Answer with a tile of the base map that a study uses; a place where nothing is has an empty one."""
    if current is None or current != key or max(place) > LARGEST_NUMBER:
        raise Http404
    for tile in find_tile(key, *place):
        return content_response(tile)
    return kept_by_browser(EMPTY, "application/json")


def content_response(tile: BaseMapTile) -> HttpResponse:
    """Answer with what a tile holds, as it was compressed."""
    response = kept_by_browser(bytes(tile.content), "application/json")
    response["Content-Encoding"] = "gzip"
    return response


def picture_response(request: HttpRequest, drawn: str) -> HttpResponse:
    """Answer with a picture, compressed for browsers that take it so, as all do."""
    if "gzip" not in request.headers.get("Accept-Encoding", ""):
        return kept_by_browser(drawn.encode(), "image/svg+xml")
    response = kept_by_browser(gzip.compress(drawn.encode(), 5), "image/svg+xml")
    response["Content-Encoding"] = "gzip"
    return response


def kept_by_browser(content: bytes, kind: str) -> HttpResponse:
    """Let a browser keep what it got, and nobody else."""
    return HttpResponse(content, kind, headers={"Cache-Control": CACHED, "X-Robots-Tag": "noindex, nofollow"})
