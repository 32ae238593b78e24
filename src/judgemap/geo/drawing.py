"""What pages draw areas from, made once with the study: the map's outline, each area's rings and scene, and tiles.

Everything is drawn in squares of the Web Mercator plane, in whole units. A scene is an area among its neighbours, cut,
simplified and rounded: a square of 1000 by 1000 units, y downwards. The same numbers give the SVG of a page without
scripts and, with the square's position, the map that judges can drag and zoom.
"""

import gzip
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import pairwise
from operator import sub
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from judgemap.core.threads import available_cores
from judgemap.geo.maps import Areas

if TYPE_CHECKING:
    import geopandas

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


AROUND = 1.3
"""How much of the surroundings is in a scene, on each side, as a multiple of the area's width."""
LARGEST = 22_000
"""The most bytes in a scene; a larger one is drawn more coarsely. A pair has two scenes."""
LARGEST_OF_ALL = 400_000_000
"""The most bytes in all scenes of a map, because they are stored in the database."""
COARSENESS = (1, 2, 4, 8, 16)
MOST_NEIGHBOURS = 12
"""The most neighbours that are named for people who use a screen reader."""
LABELLED = 0.012
"""The share of the scene that a neighbour must cover to be named."""
AT_ONCE = 200
"""How many scenes are drawn together."""


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


def make_scenes(areas: Areas, polygons: Shapes, frame: Square, tell: Callable[[float], None]) -> list[str]:
    """Draw the scene of every area, as JSON; ``tell`` is called with the share done."""
    maker = _SceneMaker(areas, polygons, frame)
    batches = np.array_split(np.arange(len(polygons)), max(1, len(polygons) // AT_ONCE))
    scenes: list[str] = []
    with ThreadPoolExecutor(available_cores()) as threads:  # GEOS lets other threads run while it works
        for made in threads.map(maker.make, batches):  # which cancels what has not started if the caller gives up
            scenes += made
            tell(len(scenes) / len(polygons))
    return scenes


class _Batch(NamedTuple):
    """Scenes that are drawn together: the areas they are of, their boxes, and which other areas are in which scene."""

    owns: Points
    bounds: NDArray[np.float64]
    squares: list[Square]
    scene_of: Points
    others: Points

    def some(self, places: Points) -> "_Batch":
        """Keep only the scenes at some places."""
        there = np.isin(self.scene_of, places)
        squares = [self.squares[place] for place in places.tolist()]
        scene_of = np.searchsorted(places, self.scene_of[there])
        return _Batch(self.owns[places], self.bounds[places], squares, scene_of, self.others[there])


class _SceneMaker:
    def __init__(self, areas: Areas, polygons: Shapes, frame: Square) -> None:
        self._polygons, self._frame = polygons, frame
        self._names = [packed(name) for name in areas.names]
        self._near = neighbours_of(areas.names, areas.graph.edges)
        self._tree = shapely.STRtree(polygons)
        self._simplified = Simplified(polygons)
        self._largest = min(LARGEST, LARGEST_OF_ALL // len(polygons))

    def make(self, owns: Points) -> list[str]:
        """Draw some scenes, and draw those that are too large again, more coarsely: a coast with many islands, say."""
        batch = self._batch(owns)
        written = [""] * len(owns)
        left = np.arange(len(owns))
        for coarseness in COARSENESS:
            most = self._largest if coarseness < COARSENESS[-1] else sys.maxsize
            for place, scene in zip(left.tolist(), self._drawn(batch.some(left), coarseness, most), strict=True):
                written[place] = scene
            left = np.array([place for place in left.tolist() if not written[place]], dtype=np.int64)
            if not len(left):
                break
        return written

    def _batch(self, owns: Points) -> _Batch:
        bounds = shapely.bounds(self._polygons[owns])
        squares = [Square.around(each, AROUND) for each in bounds]
        boxes = shapely.box(*np.array([square.box() for square in squares]).T)
        scene_of, near = self._tree.query(boxes, predicate="intersects")
        order = np.lexsort([near, scene_of])
        scene_of, near = scene_of[order], near[order]
        others = near != owns[scene_of]
        return _Batch(owns, bounds, squares, scene_of[others], near[others])

    def _drawn(self, batch: _Batch, coarseness: int, most: int) -> Iterator[str]:
        """Draw scenes; an empty string stands for one with more than ``most`` bytes."""
        frames = np.array([square.frame() for square in batch.squares])
        around = frames[batch.scene_of]
        own = packed_rings(frames, simplify(self._polygons[batch.owns], coarseness * frames[:, 2]))
        pieces = _cut(self._simplified.at(batch.others, 1.5 * coarseness * around[:, 2]), batch)
        rings = packed_rings(around, pieces)
        lengths = np.bincount(batch.scene_of, [len(each) for each in rings], len(own)) + [len(each) for each in own]
        small = lengths <= most  # not counting labels, which take long to place
        labels = self._labels(pieces, batch.others, around, small[batch.scene_of])
        others = [f'{{"rings":{ring}{label}}}' for ring, label in zip(rings, labels, strict=True)]
        ends = np.searchsorted(batch.scene_of, np.arange(len(own) + 1)).tolist()
        for place, own_rings in enumerate(own):
            scene = self._scene(batch, place, own_rings, others[ends[place] : ends[place + 1]]) if small[place] else ""
            yield scene if len(scene.encode()) <= most else ""

    def _scene(self, batch: _Batch, place: int, own: str, others: list[str]) -> str:
        west, south, east, north = batch.bounds[place].tolist()
        where = [*self._frame.point(west, north), *self._frame.point(east, south)]
        near = self._near[int(batch.owns[place])][:MOST_NEIGHBOURS]
        return (
            f'{{"box":{packed(batch.squares[place].place())},"own":{own},"others":[{",".join(others)}],'
            f'"where":{packed(where)},"near":{packed(near)}}}'
        )

    def _labels(self, pieces: Shapes, others: Points, frames: Frames, wanted: NDArray[np.bool_]) -> list[str]:
        """Name the neighbours that have room for it in the scene, and say where their names stand."""
        units = frames[:, 2]
        roomy = np.flatnonzero(wanted & (shapely.area(pieces) >= LABELLED * (UNITS * units) ** 2))
        points = middles(pieces[roomy], 10 * units[roomy])
        at = np.rint((points - frames[roomy, :2]) / (units[roomy, None] * [1, -1])).astype(np.int64)
        labels = [""] * len(pieces)
        for place, (x, y) in zip(roomy.tolist(), at.tolist(), strict=True):
            labels[place] = f',"name":{self._names[others[place]]},"at":[{x},{y}]'
        return labels


class Simplified:
    """Polygons simplified once per level, for the many scenes in which each is a neighbour."""

    def __init__(self, polygons: Shapes) -> None:
        self._polygons = polygons
        self._done: dict[int, Shapes] = {}

    def at(self, places: Points, tolerances: NDArray[np.float64]) -> Shapes:
        """Return polygons simplified by the largest power of the square root of 2 within their tolerance."""
        levels = np.floor(2 * np.log2(tolerances)).astype(np.int64)
        simple = np.empty(len(places), dtype=object)
        for level in np.unique(levels).tolist():
            here = levels == level
            simple[here] = self._level(places[here], level)
        return simple

    def _level(self, places: Points, level: int) -> Shapes:
        if level not in self._done:
            self._done[level] = np.full(len(self._polygons), None, dtype=object)
        done = self._done[level]
        new = np.unique(places[shapely.is_missing(done[places])])
        done[new] = simplify(self._polygons[new], 2.0 ** (level / 2))
        return done[places]


def simplify(shapes: Shapes, tolerance: float | NDArray[np.float64]) -> Shapes:
    """Simplify each shape, the quick way unless that leaves nothing of it."""
    simple: Shapes = shapely.simplify(shapes, tolerance, preserve_topology=False)
    gone = shapely.is_empty(simple)
    simple[gone] = shapely.simplify(shapes[gone], np.broadcast_to(tolerance, len(shapes))[gone])
    return simple


def _cut(shapes: Shapes, batch: _Batch) -> Shapes:
    """Cut shapes to their scenes; what lies inside or only touches stays whole."""
    sides = np.array([square.box() for square in batch.squares])[batch.scene_of]
    bounds = shapely.bounds(shapes)
    over = np.flatnonzero((bounds[:, :2] < sides[:, :2]).any(axis=1) | (bounds[:, 2:] > sides[:, 2:]).any(axis=1))
    ends = np.searchsorted(batch.scene_of[over], np.arange(len(batch.squares) + 1)).tolist()
    pieces = shapes.copy()
    for square, (first, last) in zip(batch.squares, pairwise(ends), strict=True):
        here = over[first:last]
        cut = clipped(shapes[here], square.box())
        pieces[here] = np.where(shapely.is_empty(cut), shapes[here], cut)
    return pieces


SCENES = 0.8
"""About how much of drawing a large map is its scenes, as a share; the rest is tiles."""
NORTHERNMOST = 85.0
"""Where Web Mercator ends, in degrees."""


@dataclass(frozen=True, slots=True)
class Drawings:
    """What is stored for display: the whole map's outline, and each area's scene, rings, label and outline."""

    outline: str
    scenes: list[str]
    rings: list[str]
    labels: list[tuple[float, float]] | list[tuple[None, None]]
    geojson: list[str]
    tiles: list[MadeTile] = field(default_factory=list)
    """Only for a large map."""


def draw_areas(areas: Areas, tell: Callable[[float], None] = lambda share: None) -> Drawings:  # noqa: ARG005
    """Make the drawings of every area; all are empty if there is no map. ``tell`` is called with the share done."""
    if areas.geometry is None:
        empty = [""] * len(areas)
        return Drawings("", empty, empty, [(None, None)] * len(areas), empty)
    geographic = areas.geometry.to_crs("EPSG:4326")
    polygons = _mercator(geographic)
    frame = Square.around(shapely.total_bounds(polygons), margin=0.02)
    simple = simplify(polygons, frame.unit)
    large = len(areas) > LARGE
    return Drawings(
        outline=_locator(simple, frame),
        scenes=make_scenes(areas, polygons, frame, lambda share: tell((SCENES if large else 1.0) * share)),
        rings=packed_rings(frame.repeated(len(simple)), simple),
        labels=label_points(frame, _valid(simple)),
        geojson=list(shapely.to_geojson(_rounded(_valid(geographic.to_numpy())))),
        tiles=list(make_tiles(polygons, frame)) if large else [],
    )


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
    """Write an area's stored rings as an SVG path; empty if there is no map."""
    return svg_path(json.loads(rings)) if rings else ""


def _mercator(geographic: "geopandas.GeoSeries") -> Shapes:
    """Lay areas out in Web Mercator, in one piece if the map crosses the date line, and cut off at the poles."""
    from judgemap.geo.boundaries import in_one_piece  # brings geopandas, which pages do without

    shapes = in_one_piece(geographic.to_numpy())
    beyond = np.abs(shapely.bounds(shapes)[:, [1, 3]]).max(axis=1) > NORTHERNMOST
    shapes[beyond] = shapely.intersection(shapes[beyond], shapely.box(-540, -NORTHERNMOST, 540, NORTHERNMOST))
    return _valid(shapely.transform(shapes, _project))


def _valid(shapes: Shapes) -> Shapes:
    broken = ~shapely.is_valid(shapes)
    valid = shapes.copy()
    valid[broken] = shapely.make_valid(shapes[broken])
    return valid


def _rounded(shapes: Shapes) -> Shapes:
    """Round degrees to about a centimetre, and repair outlines that then cross themselves."""
    rounded = shapely.transform(shapes, lambda degrees: degrees.round(7))
    broken = ~shapely.is_valid(rounded)
    rounded[broken] = shapely.set_precision(shapes[broken], 1e-7)
    return rounded


def _project(degrees: NDArray[np.float64]) -> NDArray[np.float64]:
    longitude, latitude = np.radians(degrees).T
    return EARTH * np.column_stack([longitude, np.arctanh(np.sin(latitude))])


def _locator(polygons: Shapes, frame: Square) -> str:
    whole = shapely.union_all(shapely.buffer(polygons, frame.unit / 2, quad_segs=1))
    parts = shapely.get_parts(whole)
    big = parts[shapely.area(parts) >= (3 * frame.unit) ** 2]
    shown = shapely.MultiPolygon(list(big if len(big) else parts))
    rings = packed_rings(frame.repeated(1), np.array([shapely.simplify(shown, 1.5 * frame.unit)]))[0]
    return f'{{"box":{packed(frame.place())},"rings":{rings}}}'


WIDE, HIGH = 900, 600
LARGEST_OUTLINE = 150_000
"""The most characters in a picture; a longer one is drawn more coarsely."""


def sketch(geometry: "geopandas.GeoSeries", *, degrees: bool = False) -> dict[str, str | int]:
    """Draw every outline that can be drawn as one SVG path, with its width and height; empty if there is none.

    >>> import geopandas
    >>> sketch(geopandas.GeoSeries([shapely.box(0, 0, 3, 2)]))
    {'path': 'M900 600l0 -600 -900 0 0 600z', 'width': 900, 'height': 600}
    """
    shapes = geometry.to_numpy()
    shapes = shapes[~(shapely.is_missing(shapes) | shapely.is_empty(shapes)) & (shapely.get_dimensions(shapes) == 2)]
    bounds = shapely.bounds(shapes).reshape(-1, 4)
    shapes = shapely.force_2d(shapes[(np.abs(bounds) < 1e12).all(axis=1)])
    if not len(shapes):
        return {}
    if degrees:
        from judgemap.geo.boundaries import in_one_piece, unwrapped

        shapes = in_one_piece(unwrapped(shapes))
        # Degrees of longitude are narrower than those of latitude, by the cosine.
        narrow = max(0.1, float(np.cos(np.radians(shapely.total_bounds(shapes)[1::2].mean()))))
        shapes = shapely.transform(shapes, lambda at: at * [narrow, 1.0])
    west, south, east, north = shapely.total_bounds(shapes)
    unit = max((east - west) / WIDE, (north - south) / HIGH) or 1.0
    frames = np.tile([west, north, unit], (len(shapes) + 1, 1))
    for coarseness in (0.5, 1.0, 2.0, 4.0, 8.0):
        simple = shapely.simplify(shapes, coarseness * unit, preserve_topology=False)
        small = _ground(shapes[shapely.is_empty(simple)], max(2.0, coarseness) * unit)
        simple = np.concatenate([simple, [small]])
        points, counts, _ = rounded_rings(frames, simple)
        path = svg_path([ring.ravel().tolist() for ring in np.split(points, np.cumsum(counts)[:-1]) if len(ring)])
        if len(path) <= LARGEST_OUTLINE:
            break
    width, height = round((east - west) / unit), round((north - south) / unit)
    return {"path": path, "width": max(width, 1), "height": max(height, 1)}


def _ground(shapes: Shapes, side: float) -> shapely.Geometry:
    """Return the squares in which there are outlines too small to draw, joined: a city is no hole in its country."""
    middles = shapely.bounds(shapes).reshape(-1, 2, 2).mean(axis=1)
    at = np.unique(np.floor(middles / side), axis=0)  # whole numbers, so that squares side by side touch
    return shapely.transform(shapely.union_all(shapely.box(*at.T, *(at + 1).T)), lambda corners: corners * side)
