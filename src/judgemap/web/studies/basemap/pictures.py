"""A picture of a base map, as SVG: for pages without scripts, and for maps that are drawn as a whole.

It is assembled from the same tiles that the page's script draws; their paths are already SVG.
"""

import gzip
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse

from judgemap.geo.basemap.kinds import GROUND, GROWTH, KINDS, MIDDLE, NAMES, PLACES
from judgemap.geo.basemap.tiles import FINEST, UNITS, WORLD, Place, Tile, tiles_over, unpack
from judgemap.web.studies.models import BaseMapTile

PIXELS = 480
"""The width in pixels for which a picture's lines and letters are sized."""
WHOLE_PIXELS = 900
"""The same for a picture of a whole study."""
LINE_NAME = 11
SIZES = {kind.name: kind.size for kind in PLACES}
RANKS = {kind.name: rank for rank, kind in enumerate(PLACES)}
MOST_NAMES = 40
Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in the units of a drawing."""
Drawn = tuple[float, float, float, Tile]
"""A tile's corner and scale in a drawing, and its content."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A square of the Web Mercator plane, in metres, and its place in the units of a drawing."""

    west: float
    north: float
    size: float
    left: float = 0.0
    top: float = 0.0
    width: float = 1000.0

    @property
    def unit(self) -> float:
        """How many metres one of the drawing's units has."""
        return self.size / self.width

    def part(self, left: float, top: float, width: float) -> "Frame":
        """Return a square inside it, given in the drawing's units."""
        west = self.west + (left - self.left) * self.unit
        return Frame(west, self.north - (top - self.top) * self.unit, width * self.unit, left, top, width)


def level_for(base_map: int, size: float, pixels: int = PIXELS) -> int:
    """Return the existing level that best suits a square drawn ``pixels`` wide."""
    wanted = math.floor(math.log2(pixels / 256 * WORLD / size)) - 1
    there = BaseMapTile.objects.filter(base_map=base_map).order_by("level").values_list("level", flat=True).distinct()
    return min(there, key=lambda level: (abs(level - wanted), level), default=min(wanted, FINEST))


def picture(base_map: int, frame: Frame, *, names: bool = True, pixels: int = PIXELS) -> str:
    """Draw what lies in a frame."""
    under, over = layers(base_map, frame, pixels)
    box = " ".join(f"{each:g}" for each in (frame.left, frame.top, frame.width, frame.width))
    begin = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" preserveAspectRatio="xMidYMid slice">'
    return f"{begin}{under}{over if names else ''}</svg>"


def layers(base_map: int, frame: Frame, pixels: int, taken: Sequence[Box] = ()) -> tuple[str, str]:
    """Draw what lies in a frame as two parts of an SVG: the land, and the names, which stay clear of boxes ``taken``.

    Something else can be drawn between the two.
    """
    level = level_for(base_map, frame.size, pixels)
    drawn = list(_tiles(base_map, frame, level))
    pixel = frame.width / pixels
    wider = GROWTH ** (math.log2(pixels / 256 * WORLD / frame.size) - 1.5 - MIDDLE)
    x, y, width = (f"{each:g}" for each in (frame.left, frame.top, frame.width))
    parts = [f'<rect x="{x}" y="{y}" width="{width}" height="{width}" fill="{GROUND}"/>']
    for kind in KINDS:
        stroke = max(0.6, kind.width * wider) * pixel
        for left, top, scale, tile in drawn:
            if path := tile.paths.get(kind.name):
                colours = (
                    f'fill="none" stroke="{kind.colour}" stroke-width="{stroke / scale:.3g}" stroke-linejoin="round"'
                    if kind.width
                    else f'fill="{kind.colour}" fill-rule="evenodd"'
                )
                place = f"translate({left:.2f} {top:.2f}) scale({scale:.5g})"
                parts.append(f'<path transform="{place}" {colours} d="{path}"/>')
    return "".join(parts), "".join(_names(drawn, frame, pixel, taken))


def _tiles(base_map: int, frame: Frame, level: int) -> Iterator[Drawn]:
    """Yield the tiles in a frame, each with its corner and scale in the drawing."""
    count = 2**level
    side = WORLD / count / frame.unit
    places = tiles_over(level, frame.west, frame.north, frame.size)
    columns, rows = {column for _, column, _ in places}, {row for *_, row in places}
    rows_there = BaseMapTile.objects.filter(base_map=base_map, level=level, column__in=columns, row__in=rows)
    for column, row, content in rows_there.order_by("row", "column").values_list("column", "row", "content"):
        x = (column / count - 0.5) * WORLD
        x += WORLD * round((frame.west + frame.size / 2 - x) / WORLD)  # a map across the date line runs on beyond it
        y = (0.5 - row / count) * WORLD
        left, top = frame.left + (x - frame.west) / frame.unit, frame.top + (frame.north - y) / frame.unit
        yield left, top, side / UNITS, unpack(bytes(content))


def _names(drawn: list[Drawn], frame: Frame, pixel: float, obstacles: Sequence[Box]) -> Iterator[str]:
    """Write names, the most important first, where none covers another or an obstacle."""
    named = [
        (RANKS.get(kind, len(RANKS)), x + u * scale, y + v * scale, kind, text, turn)
        for x, y, scale, tile in drawn
        for kind, u, v, text, *turn in tile.names
    ]
    taken = list(obstacles)
    most = len(taken) + MOST_NAMES
    said: set[str] = set()
    for _, x, y, kind, text, turn in sorted(named, key=lambda each: each[:3]):
        size = SIZES.get(kind, LINE_NAME) * pixel
        angle = math.radians(turn[0]) if turn else 0.0
        half = 0.3 * size * len(text)
        across, down = abs(math.cos(angle)) * half + size / 2, abs(math.sin(angle)) * half + size / 2
        box = (x - across, y - down, x + across, y + down)
        inside = frame.left < box[0] and box[2] < frame.left + frame.width and box[1] > frame.top
        free = not any(box[0] < b[2] and b[0] < box[2] and box[1] < b[3] and b[1] < box[3] for b in taken)
        if not inside or not free or text in said or len(taken) >= most:
            continue
        taken.append(box)
        said.add(text)
        turned = f' transform="rotate({turn[0]} {x:.1f} {y:.1f})"' if turn else ""
        yield (
            f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:.1f}" fill="{NAMES}" stroke="{GROUND}" '
            f'stroke-width="{3 * pixel:.1f}" paint-order="stroke" text-anchor="middle" dominant-baseline="central" '
            f'font-family="system-ui, sans-serif"{turned}>{escape(text)}</text>'
        )


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
    response = HttpResponse(content, kind, headers={"Cache-Control": CACHED})
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        response.content = gzip.compress(content, QUICK, mtime=0)
        response["Content-Encoding"] = "gzip"
    return response
