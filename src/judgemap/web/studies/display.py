"""What the pages draw areas from: outlines cut, simplified and rounded once, when the study is made.

A scene is one area among its neighbours, in a square of 1000 by 1000 whole units laid over Web Mercator, y downwards:
the same numbers make the SVG of a page without a script and, through the square's place, Leaflet's polygons.
"""

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import sub
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from judgemap.geo.dateline import in_one_piece
from judgemap.geo.maps import Areas

if TYPE_CHECKING:
    import geopandas

UNITS = 1000
AROUND = 0.9
"""How much of the surroundings is in a scene, on each side, in widths of the area."""
LARGEST = 22_000
"""The most bytes of a scene; where there are more, lines are drawn more coarsely. A pair has two scenes."""
EARTH = 6_378_137.0
"""Radius in metres, as Web Mercator has it."""
NORTHERNMOST = 85.0
"""Where Web Mercator ends, in degrees."""
MOST_NEIGHBOURS = 12
"""The most neighbours that are named to people who hear the page."""
LABELLED = 0.012
"""The share of the scene that a neighbour must cover to be named."""

Shapes = NDArray[Any]
Points = NDArray[np.int64]
Rings = list[list[int]]


@dataclass(frozen=True, slots=True)
class Drawings:
    """What is stored for display: the whole map's outline, and each area's scene, rings, label and outline."""

    outline: str
    scenes: list[str]
    rings: list[str]
    labels: list[tuple[float, float]] | list[tuple[None, None]]
    geojson: list[str]


def draw_areas(areas: Areas, tell: Callable[[float], None] = lambda share: None) -> Drawings:  # noqa: ARG005
    """Make the drawings of every area; all are empty where there is no map. ``tell`` hears which share is done."""
    if areas.geometry is None:
        empty = [""] * len(areas)
        return Drawings("", empty, empty, [(None, None)] * len(areas), empty)
    geographic = areas.geometry.to_crs("EPSG:4326")
    polygons = _mercator(geographic)
    frame = _Square.around(shapely.total_bounds(polygons), margin=0.02)
    rings = frame.rings(shapely.simplify(polygons, frame.unit))
    return Drawings(
        outline=_packed(_locator(polygons, frame)),
        scenes=_scenes(areas, polygons, frame, tell),
        rings=[_packed(each) for each in rings],
        labels=label_points(rings),
        geojson=list(shapely.to_geojson(shapely.set_precision(_valid(geographic.to_numpy()), 1e-7))),
    )


def _packed(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def svg_path(rings: Rings) -> str:
    """Write rings, each a flat list x, y, x, y, …, as an SVG path with relative steps.

    >>> svg_path([[0, 0, 10, 0, 10, 5]])
    'M0 0l10 0 0 5z'
    """
    parts = []
    for ring in rings:
        steps = " ".join(map(str, map(sub, ring[2:], ring)))
        parts.append(f"M{ring[0]} {ring[1]}l{steps}z")
    return "".join(parts)


def stored_path(rings: str) -> str:
    """Write rings as they are stored with an area as an SVG path; the empty text where there is no map."""
    return svg_path(json.loads(rings)) if rings else ""


def label_points(areas: list[Rings]) -> list[tuple[float, float]]:
    """Return a point well inside the largest of each area's rings.

    >>> label_points([[[0, 0, 100, 0, 100, 100, 0, 100]]])
    [(50.0, 50.0)]
    """
    filled = [shapely.GeometryCollection([_filled(ring) for ring in rings]) for rings in areas]
    points = middles(np.array(filled, dtype=object), tolerance=2.0)
    for place in np.flatnonzero(np.isnan(points[:, 0])):
        points[place] = np.reshape(areas[place][0], (-1, 2)).mean(axis=0)
    return [(x, y) for x, y in points.round(1).tolist()]


def _filled(ring: list[int]) -> shapely.Geometry:
    return shapely.Polygon(np.reshape(ring, (-1, 2))).buffer(0)


def middles(shapes: Shapes, tolerance: float) -> NDArray[np.float64]:
    """Return a point well inside the largest polygon of each shape, a row each; NaN where none has a surface."""
    points = np.full((len(shapes), 2), np.nan)
    parts, of = shapely.get_parts(shapes, return_index=True)
    parts, inner = shapely.get_parts(parts, return_index=True)
    surfaces = shapely.area(parts)
    order = np.lexsort([-surfaces, of[inner]])
    owners, first = np.unique(of[inner][order], return_index=True)
    largest = order[first]
    solid = surfaces[largest] > 0
    points[owners[solid]] = [_middle(part, tolerance) for part in parts[largest[solid]]] if solid.any() else 0.0
    return points


def _middle(polygon: shapely.Geometry, tolerance: float) -> list[float]:
    try:
        middle = shapely.maximum_inscribed_circle(polygon, tolerance=tolerance)  # type: ignore[call-overload]
    except shapely.errors.GEOSException:
        middle = shapely.point_on_surface(polygon)
    return shapely.get_coordinates(middle)[0].tolist()  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Square:
    """A square of the Web Mercator plane, `UNITS` units wide."""

    west: float
    north: float
    size: float

    @classmethod
    def around(cls, bounds: NDArray[np.float64], margin: float) -> "_Square":
        west, south, east, north = (float(each) for each in bounds)
        size = max(east - west, north - south, 1.0) * (1 + 2 * margin)
        return cls((west + east - size) / 2, (south + north + size) / 2, size)

    @property
    def unit(self) -> float:
        return self.size / UNITS

    def box(self) -> tuple[float, float, float, float]:
        return self.west, self.north - self.size, self.west + self.size, self.north

    def point(self, x: float, y: float) -> list[int]:
        return [round((x - self.west) / self.unit), round((self.north - y) / self.unit)]

    def rings(self, shapes: Shapes) -> list[Rings]:
        """Round the rings of each shape to units, without the points that do not show and the rings that collapse."""
        drawn: list[Rings] = [[] for _ in shapes]
        parts, shape_of = shapely.get_parts(shapes, return_index=True)
        polygons = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
        rings, part_of = shapely.get_rings(parts[polygons], return_index=True)
        points, ring_of = shapely.get_coordinates(rings, return_index=True)
        if len(points):
            whole = np.rint((points - [self.west, self.north]) / [self.unit, -self.unit]).astype(np.int64)
            whole, counts = _without_repeats(whole, ring_of, len(rings))
            owners = shape_of[polygons][part_of].tolist()
            for owner, ring in zip(owners, np.split(whole, np.cumsum(counts)[:-1]), strict=True):
                if len(ring) >= 3:
                    drawn[owner].append(ring.ravel().tolist())
        return [rings or [self._dot(shape)] for rings, shape in zip(drawn, shapes, strict=True)]

    def _dot(self, polygon: shapely.Geometry) -> list[int]:
        """Show an area too small to see as a diamond."""
        x, y = self.point(*shapely.get_coordinates(shapely.point_on_surface(polygon))[0])
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


class _Simplified:
    """Polygons simplified once for each level, for the many scenes that one is a neighbour in."""

    def __init__(self, polygons: Shapes) -> None:
        self._polygons = polygons
        self._done: dict[int, Shapes] = {}

    def at(self, places: Points, tolerance: float) -> Shapes:
        """Return polygons simplified by the greatest level, a power of the fourth root of 2, up to the tolerance."""
        level = math.floor(4 * math.log2(tolerance))
        done = self._done.setdefault(level, np.full(len(self._polygons), None, dtype=object))
        new = places[shapely.is_missing(done[places])]
        done[new] = shapely.simplify(self._polygons[new], 2.0 ** (level / 4))
        return done[places]


def _mercator(geographic: "geopandas.GeoSeries") -> Shapes:
    """Lay areas out in Web Mercator, in one piece where the map crosses the date line, and cut off at the poles."""
    shapes = in_one_piece(geographic.to_numpy())
    beyond = np.abs(shapely.bounds(shapes)[:, [1, 3]]).max(axis=1) > NORTHERNMOST
    shapes[beyond] = shapely.intersection(shapes[beyond], shapely.box(-540, -NORTHERNMOST, 540, NORTHERNMOST))
    return _valid(shapely.transform(shapes, _project))


def _valid(shapes: Shapes) -> Shapes:
    broken = ~shapely.is_valid(shapes)
    valid = shapes.copy()
    valid[broken] = shapely.make_valid(shapes[broken])
    return valid


def _project(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    longitude, latitude = np.radians(degrees).T
    return EARTH * np.column_stack([longitude, np.arctanh(np.sin(latitude))])


def _locator(polygons: Shapes, frame: _Square) -> dict[str, object]:
    whole = shapely.union_all(shapely.buffer(shapely.simplify(polygons, frame.unit), frame.unit / 2))
    parts = shapely.get_parts(whole)
    big = parts[shapely.area(parts) >= (3 * frame.unit) ** 2]
    shown = shapely.MultiPolygon(list(big if len(big) else parts))
    rings = frame.rings(np.array([shapely.simplify(shown, 1.5 * frame.unit)]))[0]
    return {"box": _place(frame), "rings": rings}


def neighbours_of(names: Sequence[str], edges: NDArray[np.int64]) -> list[list[str]]:
    """Name the neighbours of each area, in the order of their names.

    >>> neighbours_of(["Castle", "Trent", "Arnold"], np.array([[0, 1], [0, 2]]))
    [['Arnold', 'Trent'], ['Castle'], ['Castle']]
    """
    near: list[list[str]] = [[] for _ in names]
    for a, b in edges.tolist():
        near[a].append(names[b])
        near[b].append(names[a])
    return [sorted(each) for each in near]


def _scenes(areas: Areas, polygons: Shapes, frame: _Square, tell: Callable[[float], None]) -> list[str]:
    names, near_by = areas.names, neighbours_of(areas.names, areas.graph.edges)
    tree = shapely.STRtree(polygons)
    simplified = _Simplified(polygons)
    scenes = []
    for own, polygon in enumerate(polygons):
        tell(own / len(polygons))
        square = _Square.around(np.array(shapely.bounds(polygon)), AROUND)
        near = np.sort(tree.query(shapely.box(*square.box()), predicate="intersects"))
        west, south, east, north = shapely.bounds(polygon)
        # Judges wait for two scenes at each pair, some on a phone: a coast of many islands is drawn more coarsely.
        others = near[near != own]
        labels = _labels(names, simplified, others, square)
        for coarseness in (1, 2, 4, 8, 16):
            around = _cut(simplified.at(others, 1.5 * coarseness * square.unit), square)
            mine = np.array([shapely.simplify(polygon, coarseness * square.unit)])
            drawn = [{"rings": rings} | label for rings, label in zip(square.rings(around), labels, strict=True)]
            scene = {
                "box": _place(square),
                "own": square.rings(mine)[0],
                "others": drawn,
                "where": [*frame.point(west, north), *frame.point(east, south)],
                "near": near_by[own][:MOST_NEIGHBOURS],
            }
            written = _packed(scene)
            if len(written.encode()) <= LARGEST:
                break
        scenes.append(written)
    return scenes


def _labels(
    names: tuple[str, ...], simplified: "_Simplified", others: Points, square: _Square
) -> list[dict[str, object]]:
    """Name the neighbours that have room for it in the scene, and say where their names stand."""
    pieces = _cut(simplified.at(others, 3 * square.unit), square)
    roomy = shapely.area(pieces) >= LABELLED * square.size**2
    points = middles(pieces[roomy], 10 * square.unit)
    labels: list[dict[str, object]] = [{} for _ in others]
    for place, (x, y) in zip(np.flatnonzero(roomy).tolist(), points.tolist(), strict=True):
        labels[place] = {"name": names[others[place]], "at": square.point(x, y)}
    return labels


def _cut(shapes: Shapes, square: _Square) -> Shapes:
    """Cut shapes to a scene; what only touches it stays whole."""
    try:
        pieces = shapely.clip_by_rect(shapes, *square.box())
    except shapely.errors.GEOSException:  # quick, but it stumbles over outlines that simplifying made cross themselves
        pieces = shapely.intersection(shapely.make_valid(shapes), shapely.box(*square.box()))
    empty = shapely.is_empty(pieces)
    pieces[empty] = shapes[empty]
    return pieces


def _place(square: _Square) -> list[float]:
    return [round(square.west, 2), round(square.north, 2), round(square.size, 2)]
