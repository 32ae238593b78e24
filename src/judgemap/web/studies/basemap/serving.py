"""Tiles and pictures as browsers get them: compressed, and cached only by the browser."""

import gzip
import zlib
from collections.abc import Iterable, Sequence

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from judgemap.geo.basemap.tiles import Place
from judgemap.web.studies.models import BaseMapTile

MOST_TILES = 16
"""The most tiles in one response."""
CACHED = "private, max-age=2592000, immutable"
"""A base map never changes: another one has another key, and so other addresses. Shared caches keep nothing."""
LARGEST_NUMBER = 2**31 - 1
QUICK = 1
"""How hard to compress, from 1 to 9."""


class PlacesConverter:
    """The places of tiles in an address.

    >>> PlacesConverter().to_python("14/8563/5462,14/8564/5462")
    [(14, 8563, 5462), (14, 8564, 5462)]
    """

    _place = r"\d{1,2}/\d{1,9}/\d{1,9}"
    regex = rf"{_place}(?:,{_place}){{0,{MOST_TILES - 1}}}"

    def to_python(self, text: str) -> list[Place]:
        """Read places from an address."""
        numbers = [list(map(int, place.split("/"))) for place in text.split(",")]
        return [(level, column, row) for level, column, row in numbers]

    def to_url(self, places: Sequence[Place]) -> str:
        """Write places for an address."""
        return ",".join("/".join(map(str, place)) for place in places)


def find_tiles(key: int, places: Sequence[Place]) -> "QuerySet[BaseMapTile]":
    """Find tiles of a base map."""
    wanted = Q()
    for level, column, row in places:
        wanted |= Q(base_map=key, level=level, column=column, row=row)  # base map in each: uses the index
    return BaseMapTile.objects.filter(wanted).defer("base_map")


def tiles_response(request: HttpRequest, places: Sequence[Place], found: Iterable[BaseMapTile]) -> HttpResponse:
    """Return tiles by their places; a place without anything gets an empty one."""
    there = {(tile.level, tile.column, tile.row): zlib.decompress(tile.content, 31) for tile in found}
    parts = [b'"%d/%d/%d":%b' % (*place, there.get(place, b"{}")) for place in dict.fromkeys(places)]
    return kept_by_browser(request, b"{%b}" % b",".join(parts), "application/json")


def kept_by_browser(request: HttpRequest, content: bytes, kind: str) -> HttpResponse:
    """Let the browser, and no shared cache, keep the content; compress it for browsers that accept that, as all do."""
    response = HttpResponse(content, kind, headers={"Cache-Control": CACHED, "X-Robots-Tag": "noindex, nofollow"})
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response.content = gzip.compress(content, QUICK, mtime=0)
        response["Content-Encoding"] = "gzip"
    return response
