"""Squares of the Web Mercator plane, in whole units, and what is drawn in them: rings, and points for labels."""

import gzip
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

UNITS = 1000
EARTH = 6_378_137.0
"""The Earth's radius in Web Mercator, in metres."""
CENTRAL = 0.5
"""A centroid is well inside if it is this far from the border, in radii of a circle of the same area."""

MOST_WORDS = 10_000
"""If numbers span more than this, only those that occur are written, not all from the least to the greatest."""

Shapes = NDArray[Any]
Points = NDArray[np.int64]
Frames = NDArray[np.float64]
"""West, north and the width of a unit, one row per shape: the square in which it is drawn."""
Rings = list[list[int]]
_COMPACT = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Square:
    """A square of the Web Mercator plane, `UNITS` units wide."""

    west: float
    north: float
    size: float

    @classmethod
    def around(cls, bounds: NDArray[np.float64], margin: float) -> "Square":
        """Return the square around a box, with a margin on each side as a multiple of the box's size."""
        west, south, east, north = (float(each) for each in bounds)
        size = max(east - west, north - south, 1.0) * (1 + 2 * margin)
        return cls((west + east - size) / 2, (south + north + size) / 2, size)

    @property
    def unit(self) -> float:
        """How wide a unit is, in metres of the projection."""
        return self.size / UNITS

    def box(self) -> tuple[float, float, float, float]:
        """Return west, south, east and north."""
        return self.west, self.north - self.size, self.west + self.size, self.north

    def point(self, x: float, y: float) -> list[int]:
        """Return a point in units."""
        return [round((x - self.west) / self.unit), round((self.north - y) / self.unit)]

    def place(self) -> list[float]:
        """Return west, north and size as they are stored."""
        return [round(self.west, 2), round(self.north, 2), round(self.size, 2)]

    def frame(self) -> tuple[float, float, float]:
        """Return west, north and the width of a unit."""
        return self.west, self.north, self.unit

    def repeated(self, count: int) -> Frames:
        """Return the frame of ``count`` shapes that are drawn in this square."""
        return np.tile(self.frame(), (count, 1))


def packed_rings(frames: Frames, shapes: Shapes) -> list[str]:
    """Write the rings of each shape in the units of its own frame, as JSON; all at once, because each call is slow.

    >>> packed_rings(np.array([[0, 10, 1]]), np.array([shapely.box(0, 0, 5, 10)]))
    ['[[5,10,5,0,0,0,0,10]]']
    """
    points, counts, owners = rounded_rings(frames, shapes)
    text, ends = _written(points)
    stops = ends[np.cumsum(counts) - 1].tolist()
    rings = [text[start : stop - 1] for start, stop in zip([0, *stops], stops, strict=False)]
    firsts = np.searchsorted(owners, np.arange(len(shapes) + 1)).tolist()
    return [
        f"[[{'],['.join(rings[first:last])}]]" if last > first else packed([_dot(frames[place], shapes[place])])
        for place, (first, last) in enumerate(pairwise(firsts))
    ]


def _written(points: Points) -> tuple[str, Points]:
    """Write numbers with a comma after each, and say where each point ends."""
    numbers = points.ravel()
    low, high = (int(numbers.min()), int(numbers.max())) if len(numbers) else (0, 0)
    if high - low <= MOST_WORDS:
        known, places = np.arange(low, high + 1), numbers - low
    else:
        known, places = np.unique(numbers, return_inverse=True)
    words = np.array([b"%d," % number for number in known.tolist()])
    letters = words[places].view(np.uint8)
    text = letters[letters != 0].tobytes().decode("ascii")  # numpy pads short words with zeros
    return text, np.cumsum(np.strings.str_len(words)[places])[1::2]


def rounded_rings(frames: Frames, shapes: Shapes) -> tuple[Points, Points, Points]:
    """Return the points of all rings in units, how many each ring has, and its shape; tiny shapes have none."""
    parts, shape_of = parts_of(shapes)
    polygons = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
    rings, part_of = _rings_of(parts[polygons])
    points, ring_of = shapely.get_coordinates(rings, return_index=True)
    owners = shape_of[polygons][part_of]
    if not len(points):
        return np.empty((0, 2), dtype=np.int64), owners[:0], owners[:0]
    mine = frames[owners[ring_of]]
    whole = np.rint((points - mine[:, :2]) / (mine[:, 2:] * [1, -1])).astype(np.int64)
    whole, counts = _without_repeats(whole, ring_of, len(rings))
    seen = counts >= 3
    return whole[np.repeat(seen, counts)], counts[seen], owners[seen]


def clipped(shapes: Shapes, box: tuple[float, float, float, float]) -> Shapes:
    """Cut shapes to a box."""
    try:
        pieces: Shapes = shapely.clip_by_rect(shapes, *box)
    except shapely.errors.GEOSException:  # the quick way fails if simplified outlines cross themselves
        pieces = shapely.intersection(shapely.make_valid(shapes), shapely.box(*box))
    return pieces


def parts_of(shapes: Shapes) -> tuple[Shapes, Points]:
    """Return the parts of each shape, and which shape each belongs to."""
    several = shapely.get_type_id(shapes) > shapely.GeometryType.POLYGON
    counts = np.where(several, shapely.get_num_geometries(shapes), 1)
    return _expanded(shapes, several, counts, shapely.get_parts)


def _rings_of(polygons: Shapes) -> tuple[Shapes, Points]:
    """Return the rings of each polygon, and which polygon each belongs to; one without holes stands for its ring."""
    holes = shapely.get_num_interior_rings(polygons)
    return _expanded(polygons, holes > 0, holes + 1, shapely.get_rings)


def _expanded(
    shapes: Shapes, several: NDArray[np.bool_], counts: NDArray[np.integer[Any]], take: Callable[[Shapes], Shapes]
) -> tuple[Shapes, Points]:
    """Replace some shapes with what ``take`` returns; leaving the others alone saves making them again."""
    of = np.repeat(np.arange(len(shapes)), counts)
    expanded = shapes[of]
    expanded[several[of]] = take(shapes[several])
    return expanded, of


def _dot(frame: Frames, polygon: shapely.Geometry) -> list[int]:
    """Show an area too small to see as a diamond."""
    west, north, unit = frame.tolist()
    middle_x, middle_y = shapely.get_coordinates(shapely.point_on_surface(polygon))[0].tolist()
    x, y = round((middle_x - west) / unit), round((north - middle_y) / unit)
    return [x, y - 2, x + 2, y, x, y + 2, x - 2, y]


def _without_repeats(points: Points, ring_of: Points, n_rings: int) -> tuple[Points, Points]:
    """Drop the last point of closed rings, and points that repeat the one before; also count what is left."""
    last = np.append(ring_of[1:] != ring_of[:-1], True)
    points, ring_of = points[~last], ring_of[~last]
    first = np.append(True, ring_of[1:] != ring_of[:-1])
    ends = np.append(np.flatnonzero(first)[1:], len(points)) - 1
    before = np.arange(len(points)) - 1
    before[first] = ends
    moved = (points != points[before]).any(axis=1)
    return points[moved], np.bincount(ring_of[moved], minlength=n_rings)


def packed(value: object) -> str:
    """Write JSON without spaces."""
    return _COMPACT.encode(value)


def label_points(square: Square, shapes: Shapes) -> list[tuple[float, float]]:
    """Return a point well inside the largest part of each shape, in the square's units.

    >>> label_points(Square(0.0, 1000.0, 1000.0), np.array([shapely.box(0, 0, 100, 100)]))
    [(50.0, 950.0)]
    """
    points = middles(shapes, 2 * square.unit)
    flat = np.isnan(points[:, 0])
    points[flat] = shapely.get_coordinates(shapely.point_on_surface(shapes[flat]))
    at = (points - [square.west, square.north]) / [square.unit, -square.unit]
    return [(x, y) for x, y in at.round(1).tolist()]


def middles(shapes: Shapes, tolerance: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a point well inside the largest polygon of each shape, one row each; NaN if none has an area."""
    points = np.full((len(shapes), 2), np.nan)
    parts, of = parts_of(shapes)
    parts, inner = parts_of(parts)
    surfaces = shapely.area(parts)
    order = np.lexsort([-surfaces, of[inner]])
    owners, first = np.unique(of[inner][order], return_index=True)
    largest = order[first]
    solid = surfaces[largest] > 0
    if solid.any():
        near = np.broadcast_to(np.asarray(tolerance, dtype=np.float64), len(shapes))[owners[solid]]
        points[owners[solid]] = _middles(parts[largest[solid]], surfaces[largest[solid]], near)
    return points


def _middles(polygons: Shapes, surfaces: NDArray[np.float64], tolerances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Take the centroid if it is well inside; otherwise find the largest inscribed circle, which takes long."""
    centroids = shapely.centroid(polygons)
    points = shapely.get_coordinates(centroids)
    room = shapely.distance(centroids, shapely.boundary(polygons))
    inside = shapely.contains_xy(polygons, points)
    small = ~inside & (surfaces < tolerances**2)
    points[small] = shapely.get_coordinates(shapely.point_on_surface(polygons[small]))
    outside = ~(inside & (room >= np.minimum(CENTRAL * np.sqrt(surfaces / np.pi), tolerances))) & ~small
    for place in np.flatnonzero(outside).tolist():
        points[place] = _middle(polygons[place], float(tolerances[place]))
    return points


def _middle(polygon: shapely.Geometry, tolerance: float) -> list[float]:
    try:
        middle = shapely.maximum_inscribed_circle(polygon, tolerance=tolerance)  # type: ignore[call-overload]
    except shapely.errors.GEOSException:
        middle = shapely.point_on_surface(polygon)
    return shapely.get_coordinates(middle)[0].tolist()  # type: ignore[no-any-return]


LARGE = 3_000
"""With more areas than this, pages show a picture and tiles instead of one shape per area."""
LEVELS = (3, 6)
"""Tiles of level 3 are an eighth of the map wide, those of level 6 a sixty-fourth."""


class MadeTile(NamedTuple):
    """A tile: its level, its column and row from the north-west, and its compressed JSON."""

    level: int
    x: int
    y: int
    content: bytes


def make_tiles(polygons: Shapes, frame: Square) -> Iterator[MadeTile]:
    """Make the tiles of all levels for areas in Web Mercator; empty ones are left out."""
    for level in LEVELS:
        size = frame.size / 2**level
        simple = _simplified(polygons, size / 1000)
        for (x, y), places in _tiles_of(simple, frame, level):
            tile = Square(frame.west + x * size, frame.north - y * size, size)
            drawn = packed_rings(tile.repeated(len(places)), simple[places])
            rows = ",".join(f"[{place},{rings[1:]}" for place, rings in zip(places.tolist(), drawn, strict=True))
            yield MadeTile(level, x, y, gzip.compress(f"[{rows}]".encode(), 6, mtime=0))


def _simplified(polygons: Shapes, tolerance: float) -> Shapes:
    try:
        simple: Shapes = shapely.coverage_simplify(polygons, tolerance)
    except shapely.errors.GEOSException:  # overlapping areas are not a coverage: simplify each by itself
        simple = shapely.simplify(polygons, tolerance)
    gone = shapely.is_empty(simple)
    simple[gone] = polygons[gone]
    return simple


def _tiles_of(shapes: Shapes, frame: Square, level: int) -> Iterator[tuple[tuple[int, int], Points]]:
    """Yield each tile of a level with the areas that its square touches."""
    size = frame.size / 2**level
    west, south, east, north = shapely.bounds(shapes).T
    first = np.floor(np.column_stack([west - frame.west, frame.north - north]) / size).astype(np.int64)
    last = np.floor(np.column_stack([east - frame.west, frame.north - south]) / size).astype(np.int64)
    held: dict[tuple[int, int], list[int]] = {}
    for place, ((x0, y0), (x1, y1)) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
        for x in range(max(x0, 0), min(x1, 2**level - 1) + 1):
            for y in range(max(y0, 0), min(y1, 2**level - 1) + 1):
                held.setdefault((x, y), []).append(place)
    for key, places in sorted(held.items()):
        yield key, np.array(places)
