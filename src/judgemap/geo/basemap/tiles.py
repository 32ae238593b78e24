"""Cutting a base map into tiles, which the judge's page draws and caches.

A tile is a square of the Web Mercator world, `UNITS` units wide, at one of the `2**level` by `2**level` places of its
level, and is drawn 512 to 1024 pixels wide. It holds compressed JSON: for each kind an SVG path, which browsers draw on
a canvas and a page without a script shows in a picture, and a list of names with their positions.
"""

import json
import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from gzip import compress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import shapely

from judgemap.errors import StudyError
from judgemap.geo.basemap.kinds import BY_NAME, KINDS, LEAST_TO_GIVE_UP, NAMED_FROM, PLACES, ROADS
from judgemap.geo.drawing import Shapes, clipped

if TYPE_CHECKING:
    from judgemap.geo.basemap.extract import Extract  # imports geopandas

Place = tuple[int, int, int]
"""A level, a column counted from the west, and a row counted from the north."""
UNITS = 1024
RIM = 12
"""How far the content of a tile extends beyond its edges, in units, so that lines do not end in a notch."""
FINEST = 14
WORLD = 40_075_016.685578488
"""The width of the Web Mercator world, in its metres."""
WHOLE, CLOSE = 250, 1700
"""Pixels across a scene at the furthest that judges zoom out, and across its area at the closest they zoom in."""
ALL = 900
"""Pixels across all scenes together, on a map of the whole study."""
AROUND = 2.8
"""The width of a scene, as a multiple of the width of its area."""
LARGEST = 10_000
"""The most bytes in a tile; a larger one drops what matters least."""
LARGEST_IN_ALL = 120_000_000
MOST_TILES = 30_000
SMALLEST_AREA = 150.0
"""Parks and ponds smaller than this, in square units, are not drawn."""
MOST_NAMES = 24
LETTER = 15.0
"""The length that each letter of a line's name takes, in units."""


class Tile(NamedTuple):
    """What a tile shows: an SVG path for each kind, and names, each with its kind, x, y, text and, on a line, angle."""

    paths: dict[str, str]
    names: list[list[Any]]


@dataclass(slots=True)
class Tiles:
    """The compressed tiles of a base map, and what had to be left out."""

    tiles: dict[Place, bytes] = field(default_factory=dict)
    lightened: int = 0
    """Tiles from which some kinds were dropped to make them light enough."""
    dropped: list[int] = field(default_factory=list)
    """Levels that were left out because there would have been too many tiles."""


def needed_tiles(boxes: Sequence[tuple[float, float, float]]) -> set[Place]:
    """Return the tiles that show the scenes of a study: boxes of west, north and width in Web Mercator metres."""
    places: set[Place] = set()
    for west, north, size in boxes:
        lowest = math.floor(math.log2(WHOLE / 256 * WORLD / size)) - 1
        highest = math.floor(math.log2(CLOSE / 256 * WORLD / (size / AROUND))) - 1
        for level in range(max(0, min(lowest, FINEST)), min(highest, FINEST) + 1):
            places |= tiles_over(level, west, north, size)
    if boxes:  # the few tiles that show all scenes at once, for maps of the whole study
        west, south = min(box[0] for box in boxes), min(box[1] - box[2] for box in boxes)
        east, north = max(box[0] + box[2] for box in boxes), max(box[1] for box in boxes)
        size = max(east - west, north - south)
        level = min(FINEST, max(0, math.floor(math.log2(ALL / 256 * WORLD / size)) - 1))
        places |= tiles_over(level, west, north, size)
    return places


def tiles_over(level: int, west: float, north: float, size: float) -> set[Place]:
    """Return the tiles of a level that a square touches; at the date line they continue on the other side.

    >>> sorted(tiles_over(1, -1000.0, 1000.0, 2000.0))
    [(1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)]
    """
    count = 2**level
    left, top = (west / WORLD + 0.5) * count, (0.5 - north / WORLD) * count
    columns = range(math.floor(left), math.floor(left + size / WORLD * count) + 1)
    rows = range(max(0, math.floor(top)), min(count - 1, math.floor(top + size / WORLD * count)) + 1)
    return {(level, column % count, row) for column in columns for row in rows}


def box_of(places: Iterable[Place]) -> tuple[float, float, float, float]:
    """Return the smallest box in longitude and latitude around some tiles."""
    corners = [(x / 2**n, y / 2**n, (x + 1) / 2**n, (y + 1) / 2**n) for n, x, y in places]
    west, north = min(each[0] for each in corners), min(each[1] for each in corners)
    east, south = max(each[2] for each in corners), max(each[3] for each in corners)
    return west * 360 - 180, _latitude(south), east * 360 - 180, _latitude(north)


def _latitude(y: float) -> float:
    return math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * y))))


def cut_tiles(extract: "Extract", places: set[Place], tell: Callable[[float, str], None]) -> Tiles:
    """Cut what was read into tiles, the coarsest level first, as far as there is room."""
    made = Tiles()
    levels = sorted({place[0] for place in places})
    size = 0
    for number, level in enumerate(levels):
        tell(number / len(levels), f"Drawing level {number + 1} of {len(levels)}.")
        wanted = sorted(place for place in places if place[0] == level)
        if len(made.tiles) + len(wanted) > MOST_TILES or size > LARGEST_IN_ALL:
            made.dropped.append(level)
            continue
        content = _Level(extract, level)
        for place in wanted:
            tile, lightened = _light(content.tile(place))
            if tile:
                made.tiles[place] = tile
                made.lightened += lightened
                size += len(tile)
    return made


def _light(tile: Tile) -> tuple[bytes, bool]:
    """Pack a tile, dropping what matters least if it would be too heavy; return nothing if it is empty."""
    if not any(tile):
        return b"", False
    packed, lightened = _pack(tile), False
    for kind in LEAST_TO_GIVE_UP:
        if len(packed) <= LARGEST:
            break
        if tile.paths.pop(kind, None) is not None:
            packed, lightened = _pack(tile), True
    return packed, lightened


def _pack(tile: Tile) -> bytes:
    content = tile.paths | ({"names": tile.names} if tile.names else {})
    text = json.dumps(content, separators=(",", ":"), ensure_ascii=False)
    # Without a time stamp, the same map always gives the same bytes.
    return compress(text.encode(), 9, mtime=0)


def unpack(tile: bytes) -> Tile:
    """Return the content of a tile."""
    content = json.loads(zlib.decompress(tile, 31))
    names = content.pop("names", [])
    return Tile(content, names)


class _Level:
    """Everything that one level shows, simplified for that level."""

    def __init__(self, extract: "Extract", level: int) -> None:
        self.unit = 1 / 2**level / UNITS
        self.shapes: dict[str, tuple[Shapes, shapely.STRtree]] = {}
        for kind in KINDS:
            if kind.level <= level and len(shapes := extract.of(kind.name)):
                thinned = self._thinned(shapes, kind.shape)
                self.shapes[kind.name] = (thinned, shapely.STRtree(thinned))
        self.lines = [self._named_lines(extract, kind) for kind, first in NAMED_FROM.items() if first <= level]
        self.places = [
            (kind.name, shapely.get_coordinates(extract.of(kind.name)), extract.names_of(kind.name))
            for kind in PLACES
            if kind.level <= level and extract.count(kind.name)
        ]

    def _thinned(self, shapes: Shapes, shape: str) -> Shapes:
        if shape == "line":
            merged = shapely.get_parts(shapely.line_merge(shapely.multilinestrings(_lines(shapes))))
            return shapely.simplify(merged, self.unit)
        large = shapes[shapely.area(shapes) >= SMALLEST_AREA * self.unit**2]
        return shapely.get_parts(shapely.simplify(large, 1.5 * self.unit))

    def _named_lines(self, extract: "Extract", kind: str) -> tuple[Shapes, Shapes, shapely.STRtree]:
        """Join the lines that share a name, so that the name fits on them."""
        lines, names = extract.of(kind), extract.names_of(kind)
        joined, said = [], []
        for name in sorted(set(names.tolist()) - {""}):
            merged = shapely.line_merge(shapely.multilinestrings(_lines(lines[names == name])))
            parts = shapely.get_parts(merged)
            long = parts[shapely.length(parts) >= LETTER * len(name) * self.unit]
            joined += list(long)
            said += [name] * len(long)
        shapes = np.array(joined, dtype=object)
        return shapes, np.array(said, dtype=object), shapely.STRtree(shapes)

    def tile(self, place: Place) -> Tile:
        """Return the content of a tile: paths by kind, and names."""
        level, column, row = place
        west, north = column / 2**level, row / 2**level
        size, rim = UNITS * self.unit, RIM * self.unit
        around = (west - rim, north - rim, west + size + rim, north + size + rim)
        paths = {}
        for kind, (shapes, tree) in self.shapes.items():
            near = shapes[np.sort(tree.query(shapely.box(*around)))]
            if len(near) and (path := self._path(clipped(near, around), (west, north), BY_NAME[kind].shape)):
                paths[kind] = path
        return Tile(paths, [*self._place_names((west, north)), *self._line_names((west, north))])

    def _path(self, pieces: Shapes, corner: tuple[float, float], shape: str) -> str:
        parts = shapely.get_parts(shapely.get_parts(pieces))
        wanted = shapely.GeometryType.POLYGON if shape == "area" else shapely.GeometryType.LINESTRING
        parts = parts[shapely.get_type_id(parts) == wanted]
        lines = shapely.get_rings(parts) if shape == "area" else parts
        points, of = shapely.get_coordinates(lines, return_index=True)
        if not len(points):
            return ""
        whole = np.rint((points - corner) / self.unit).astype(np.int64)
        moved = np.append(True, (whole[1:] != whole[:-1]).any(axis=1) | (of[1:] != of[:-1]))
        whole, of = whole[moved], of[moved]
        starts = np.append(True, of[1:] != of[:-1])
        steps = np.where(starts[:, None], whole, np.diff(whole, axis=0, prepend=0))
        return _written(steps.tolist(), np.flatnonzero(starts).tolist(), closed=shape == "area")

    def _place_names(self, corner: tuple[float, float]) -> Iterator[list[object]]:
        for kind, points, names in self.places:
            at = (points - corner) / self.unit
            for place in np.flatnonzero(((at >= 0) & (at < UNITS)).all(axis=1)):
                x, y = np.rint(at[place]).astype(int).tolist()
                yield [kind, x, y, names[place]]

    def _line_names(self, corner: tuple[float, float]) -> list[list[object]]:
        """Name the roads and rivers that run straight enough and far enough through a tile, the longest first."""
        box = (*corner, corner[0] + UNITS * self.unit, corner[1] + UNITS * self.unit)
        found: dict[str, tuple[float, list[object]]] = {}
        for lines, names, tree in self.lines:
            for place in np.sort(tree.query(shapely.box(*box))).tolist():
                parts = shapely.get_parts(shapely.clip_by_rect(lines[place], *box))
                for part in parts[shapely.length(parts) >= 1.3 * LETTER * len(names[place]) * self.unit]:
                    label = self._label(part, names[place], corner)
                    if label and found.get(names[place], (0.0,))[0] < part.length:
                        found[names[place]] = (part.length, label)
        return [label for _, label in sorted(found.values(), key=lambda each: -each[0])[:MOST_NAMES]]

    def _label(self, line: shapely.LineString, name: str, corner: tuple[float, float]) -> list[object] | None:
        """Place a name along the middle of a line, or nearby, if the line is straight there."""
        half = LETTER * len(name) * self.unit / 2
        for share in (0.5, 0.3, 0.7):
            middle = share * line.length
            if middle - half < 0 or middle + half > line.length:
                continue
            ends = shapely.get_coordinates(shapely.line_interpolate_point(line, [middle - half, middle + half]))
            (x, y), (u, v) = ((ends - corner) / self.unit).tolist()
            # Straight enough: the ends of the name are at least 97 % of its length apart.
            if math.hypot(u - x, v - y) * self.unit >= 1.94 * half:
                angle = math.degrees(math.atan2(v - y, u - x))
                upright = angle - 180 if angle > 90 else angle + 180 if angle < -90 else angle
                return ["line", round((x + u) / 2), round((y + v) / 2), name, round(upright)]
        return None


def _lines(shapes: Shapes) -> Shapes:
    parts: Shapes = shapely.get_parts(shapes)
    lines: Shapes = parts[shapely.get_type_id(parts) == shapely.GeometryType.LINESTRING]
    return lines


def _written(steps: list[list[int]], starts: list[int], *, closed: bool) -> str:
    """Write lines as an SVG path with relative steps; a minus sign is enough to separate two numbers.

    >>> _written([[0, 0], [10, -2], [5, 5]], [0], closed=True)
    'M0 0l10-2 5 5z'
    """
    parts = []
    for first, after in zip(starts, [*starts[1:], len(steps)], strict=True):
        if after - first < (3 if closed else 2):
            continue
        x, y = steps[first]
        rest = "".join(_number(each) for step in steps[first + 1 : after] for each in step)
        parts.append(f"M{x}{_number(y)}l{rest.removeprefix(' ')}{'z' if closed else ''}")
    return "".join(parts)


def _number(value: int) -> str:
    return str(value) if value < 0 else f" {value}"


NOTHING = "the extract has no roads around the study's areas; choose another that covers them"


def describe(extract: "Extract", tiles: Tiles, boxes: Sequence[tuple[float, float, float]]) -> str:
    """Say what was found around the areas; refuse an extract without roads."""
    roads = np.concatenate([extract.of(kind) for kind in ROADS])
    if not len(roads):
        raise StudyError(NOTHING)
    found = [
        _counted(len(roads), "road"),
        _counted(extract.count("rail"), "railway line"),
        _counted(extract.count("river", "stream", "water"), "water"),
        _counted(extract.count("green"), "park and wood", "parks and woods"),
        _counted(extract.count(*(kind.name for kind in PLACES)), "named place"),
    ]
    sentences = [f"Found {_listed(filter(None, found))}.", "Footpaths, service roads and buildings are never drawn."]
    if bare := _without_roads(roads, boxes):
        sentences.append(
            f"The extract has no roads in {bare:,} of the {len(boxes):,} areas: check that it covers them all."
        )
    if tiles.lightened:
        sentences.append(f"Small streets were left out where streets are dense ({_counted(tiles.lightened, 'tile')}).")
    if tiles.dropped:
        sentences.append("The most detailed zoom levels were left out, because the map would have been too large.")
    return " ".join(sentences)


def _without_roads(roads: Shapes, boxes: Sequence[tuple[float, float, float]]) -> int:
    """Count the areas that have no road nearby."""
    world = np.array(boxes) / WORLD
    inner = world[:, 2] / AROUND
    west, north = world[:, 0] + 0.5 + (world[:, 2] - inner) / 2, 0.5 - world[:, 1] + (world[:, 2] - inner) / 2
    squares = shapely.box(west, north, west + inner, north + inner)
    near = np.unique(shapely.STRtree(roads).query(squares, predicate="intersects")[0])
    return len(boxes) - len(near)


def _counted(number: int, one: str, many: str = "") -> str:
    if not number:
        return ""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def _listed(parts: Iterable[str]) -> str:
    """List with commas and an "and".

    >>> _listed(["1 road", "2 waters", "3 named places"])
    '1 road, 2 waters and 3 named places'
    """
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last
