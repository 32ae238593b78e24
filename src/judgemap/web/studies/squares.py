"""Squares of the Web Mercator plane, in whole units, and what is drawn in them: rings, and points for labels."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

UNITS = 1000
EARTH = 6_378_137.0
"""Radius in metres, as Web Mercator has it."""
CENTRAL = 0.5
"""A centroid is well inside if it is this far from the border, in radii of a circle of the same surface."""

Shapes = NDArray[Any]
Points = NDArray[np.int64]
Rings = list[list[int]]


@dataclass(frozen=True, slots=True)
class Square:
    """A square of the Web Mercator plane, `UNITS` units wide."""

    west: float
    north: float
    size: float

    @classmethod
    def around(cls, bounds: NDArray[np.float64], margin: float) -> "Square":
        """Return the square around a box, with a margin on each side in widths of the box."""
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

    def rings(self, shapes: Shapes) -> list[Rings]:
        """Round the rings of each shape to units, without the points that do not show and the rings that collapse."""
        return rings_in([self] * len(shapes), shapes)


def rings_in(squares: list[Square], shapes: Shapes) -> list[Rings]:
    """Round the rings of each shape to the units of its own square; all at once, for each call costs a millisecond."""
    drawn: list[Rings] = [[] for _ in shapes]
    parts, shape_of = shapely.get_parts(shapes, return_index=True)
    polygons = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
    rings, part_of = shapely.get_rings(parts[polygons], return_index=True)
    points, ring_of = shapely.get_coordinates(rings, return_index=True)
    if len(points):
        owners = shape_of[polygons][part_of]
        frames = np.array([(each.west, each.north, each.unit) for each in squares])[owners[ring_of]]
        whole = np.rint((points - frames[:, :2]) / (frames[:, 2:] * [1, -1])).astype(np.int64)
        whole, counts = _without_repeats(whole, ring_of, len(rings))
        flat = whole.ravel().tolist()
        ends = (2 * np.cumsum(counts)).tolist()
        for owner, count, end in zip(owners.tolist(), (2 * counts).tolist(), ends, strict=True):
            if count >= 6:
                drawn[owner].append(flat[end - count : end])
    return [
        rings or [_dot(square, shape)] for rings, square, shape in zip(drawn, squares, shapes, strict=True)
    ]  # fmt: skip


def _dot(square: Square, polygon: shapely.Geometry) -> list[int]:
    """Show an area too small to see as a diamond."""
    x, y = square.point(*shapely.get_coordinates(shapely.point_on_surface(polygon))[0])
    return [x, y - 2, x + 2, y, x, y + 2, x - 2, y]


def _without_repeats(points: Points, ring_of: Points, n_rings: int) -> tuple[Points, Points]:
    """Leave out, of closed rings, the last point and those that repeat the one before; also count what is left."""
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
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def label_points(areas: list[Rings]) -> list[tuple[float, float]]:
    """Return a point well inside the largest of each area's rings.

    >>> label_points([[[0, 0, 100, 0, 100, 100, 0, 100]]])
    [(50.0, 50.0)]
    """
    lengths = [[len(ring) // 2 for ring in rings] for rings in areas]
    flat = np.array([number for rings in areas for ring in rings for number in ring], dtype=np.float64).reshape(-1, 2)
    counts = np.array([count for rings in lengths for count in rings])
    outlines = shapely.polygons(shapely.linearrings(flat, indices=np.repeat(np.arange(len(counts)), counts)))
    filled = np.asarray(shapely.buffer(outlines, 0))
    of = np.repeat(np.arange(len(areas)), [len(rings) for rings in areas])
    points = middles(np.asarray(shapely.geometrycollections(filled, indices=of)), tolerance=2.0)
    for place in np.flatnonzero(np.isnan(points[:, 0])):
        points[place] = np.reshape(areas[place][0], (-1, 2)).mean(axis=0)
    return [(x, y) for x, y in points.round(1).tolist()]


def middles(shapes: Shapes, tolerance: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a point well inside the largest polygon of each shape, a row each; NaN where none has a surface."""
    points = np.full((len(shapes), 2), np.nan)
    parts, of = shapely.get_parts(shapes, return_index=True)
    parts, inner = shapely.get_parts(parts, return_index=True)
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
    """Take the centroid where it is well inside, and otherwise look for the largest circle, which takes long."""
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
