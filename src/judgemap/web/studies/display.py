"""What the pages draw areas from: outlines cut, simplified and rounded once, when the study is made.

A scene is one area among its neighbours, in a square of 1000 by 1000 whole units laid over Web Mercator, y downwards:
the same numbers make the SVG of a page without a script and, through the square's place, Leaflet's polygons.
"""

import json
import math
from dataclasses import dataclass
from operator import sub
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely
from numpy.typing import NDArray

from judgemap.geo.maps import Areas

if TYPE_CHECKING:
    import geopandas

UNITS = 1000
AROUND = 0.9
"""How much of the surroundings is in a scene, on each side, in widths of the area."""
LARGEST = 22_000
"""The most bytes of a scene; where there are more, lines are drawn more coarsely. A pair has two scenes."""
LABELLED = 0.012
"""The share of the scene that a neighbour must cover to be named."""

Shapes = NDArray[Any]
Rings = list[list[int]]


@dataclass(frozen=True, slots=True)
class Drawings:
    """What is stored for display: the whole map's outline, and each area's scene, rings, label and outline."""

    outline: str
    scenes: list[str]
    rings: list[str]
    labels: list[tuple[float, float]] | list[tuple[None, None]]
    geojson: list[str]


def draw_areas(areas: Areas) -> Drawings:
    """Make the drawings of every area; all are empty where there is no map."""
    if areas.geometry is None:
        empty = [""] * len(areas)
        return Drawings("", empty, empty, [(None, None)] * len(areas), empty)
    geographic = areas.geometry.to_crs("EPSG:4326")
    polygons = _mercator(geographic)
    frame = _Square.around(shapely.total_bounds(polygons), margin=0.02)
    rings = [frame.rings(polygon, simplify=1.0) for polygon in polygons]
    return Drawings(
        outline=_packed(_locator(polygons, frame)),
        scenes=_scenes(areas.names, polygons, frame),
        rings=[_packed(each) for each in rings],
        labels=[label_point(each) for each in rings],
        geojson=[shapely.to_geojson(polygon) for polygon in shapely.set_precision(geographic.to_numpy(), 1e-7)],
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


def label_point(rings: Rings) -> tuple[float, float]:
    """Return a point well inside the largest of an area's rings.

    >>> label_point([[0, 0, 100, 0, 100, 100, 0, 100]])
    (50.0, 50.0)
    """
    polygons = [shapely.Polygon(np.reshape(ring, (-1, 2))).buffer(0) for ring in rings]
    parts = [part for polygon in polygons for part in shapely.get_parts(polygon)]
    if parts:
        largest = max(parts, key=lambda part: float(part.area))
        middle = shapely.maximum_inscribed_circle(largest, tolerance=2.0)
        x, y = shapely.get_coordinates(middle)[0]
    else:
        x, y = np.reshape(rings[0], (-1, 2)).mean(axis=0)
    return round(float(x), 1), round(float(y), 1)


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

    def rings(self, polygon: shapely.Geometry, simplify: float = 0.0) -> Rings:
        """Round a polygon's rings to units, without the points that do not show and the rings that collapse."""
        simple = shapely.simplify(polygon, simplify * self.unit) if simplify else polygon
        rings = []
        for part in shapely.get_parts(simple):
            if part.geom_type != "Polygon":
                continue
            for ring in [part.exterior, *part.interiors]:
                points = (shapely.get_coordinates(ring)[:-1] - [self.west, self.north]) / [self.unit, -self.unit]
                whole = np.rint(points).astype(np.int64)
                whole = whole[np.any(whole != np.roll(whole, 1, axis=0), axis=1)]
                if len(whole) >= 3:
                    rings.append(whole.ravel().tolist())
        return rings or [self._dot(polygon)]

    def _dot(self, polygon: shapely.Geometry) -> list[int]:
        """Show an area too small to see as a diamond."""
        x, y = self.point(*shapely.get_coordinates(shapely.point_on_surface(polygon))[0])
        return [x, y - 2, x + 2, y, x, y + 2, x - 2, y]


class _Simplified:
    """Polygons simplified once for each level, for the many scenes that one is a neighbour in."""

    def __init__(self, polygons: Shapes) -> None:
        self._polygons = polygons
        self._done: dict[tuple[int, int], shapely.Geometry] = {}

    def at(self, place: int, tolerance: float) -> shapely.Geometry:
        """Return a polygon simplified by the greatest level, a power of the fourth root of 2, up to the tolerance."""
        level = math.floor(4 * math.log2(tolerance))
        if (place, level) not in self._done:
            self._done[place, level] = shapely.simplify(self._polygons[place], 2.0 ** (level / 4))
        return self._done[place, level]


def _mercator(geographic: "geopandas.GeoSeries") -> Shapes:
    projected = geographic.to_crs("EPSG:3857").to_numpy()
    return shapely.make_valid(projected)  # type: ignore[no-any-return]


def _locator(polygons: Shapes, frame: _Square) -> dict[str, object]:
    whole = shapely.union_all(shapely.buffer(shapely.simplify(polygons, frame.unit), frame.unit / 2))
    parts = shapely.get_parts(whole)
    big = parts[shapely.area(parts) >= (3 * frame.unit) ** 2]
    shown = shapely.MultiPolygon(list(big if len(big) else parts))
    return {"box": _place(frame), "rings": frame.rings(shown, 1.5)}


def _scenes(names: tuple[str, ...], polygons: Shapes, frame: _Square) -> list[str]:
    tree = shapely.STRtree(polygons)
    neighbours = _Simplified(polygons)
    scenes = []
    for own, polygon in enumerate(polygons):
        square = _Square.around(np.array(shapely.bounds(polygon)), AROUND)
        near = np.sort(tree.query(shapely.box(*square.box()), predicate="intersects"))
        west, south, east, north = shapely.bounds(polygon)
        # Judges wait for two scenes at each pair, some on a phone: a coast of many islands is drawn more coarsely.
        for coarseness in (1, 2, 4, 8, 16):
            others = [
                _neighbour(names[other], neighbours.at(other, 1.5 * coarseness * square.unit), square)
                for other in near.tolist()
                if other != own
            ]
            scene = {
                "box": _place(square),
                "own": square.rings(polygon, coarseness),
                "others": others,
                "where": [*frame.point(west, north), *frame.point(east, south)],
            }
            written = _packed(scene)
            if len(written.encode()) <= LARGEST:
                break
        scenes.append(written)
    return scenes


def _neighbour(name: str, polygon: shapely.Geometry, square: _Square) -> dict[str, object]:
    """Cut a neighbour to the scene, and name it where there is room."""
    piece = shapely.clip_by_rect(polygon, *square.box())
    neighbour: dict[str, object] = {"rings": square.rings(piece if not piece.is_empty else polygon)}
    if piece.area >= LABELLED * square.size**2:
        middle = shapely.maximum_inscribed_circle(piece, tolerance=square.unit * 10)  # type: ignore[call-overload]
        neighbour |= {"name": name, "at": square.point(*shapely.get_coordinates(middle)[0])}
    return neighbour


def _place(square: _Square) -> list[float]:
    return [round(square.west, 2), round(square.north, 2), round(square.size, 2)]
