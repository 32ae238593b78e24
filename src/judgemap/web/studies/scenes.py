"""Scenes: each area among its neighbours, cut, simplified and rounded once, when the study is made.

A scene is a square of 1000 by 1000 whole units laid over Web Mercator, y downwards: the same numbers make the SVG of a
page without a script and, through the square's place, the map that one can drag and zoom.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import shapely
from numpy.typing import NDArray

from judgemap.geo.maps import Areas
from judgemap.study.run import available_cores
from judgemap.web.studies.squares import Points, Rings, Shapes, Square, middles, packed, rings_in

AROUND = 0.9
"""How much of the surroundings is in a scene, on each side, in widths of the area."""
LARGEST = 22_000
"""The most bytes of a scene; where there are more, lines are drawn more coarsely. A pair has two scenes."""
LARGEST_OF_ALL = 400_000_000
"""The most bytes of all scenes of a map, for they are kept in the database."""
COARSENESS = (1, 2, 4, 8, 16)
MOST_NEIGHBOURS = 12
"""The most neighbours that are named to people who hear the page."""
LABELLED = 0.012
"""The share of the scene that a neighbour must cover to be named."""
AT_ONCE = 200
"""Scenes that are drawn together."""


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
    """Draw the scene of every area, as JSON; ``tell`` hears which share is done."""
    maker = _SceneMaker(areas, polygons, frame)
    batches = np.array_split(np.arange(len(polygons)), max(1, len(polygons) // AT_ONCE))
    scenes: list[str] = []
    with ThreadPoolExecutor(available_cores()) as threads:  # GEOS lets other threads run while it works
        for made in _in_order(threads, maker.make, batches):
            scenes += made
            tell(len(scenes) / len(polygons))
    return scenes


def _in_order(
    threads: ThreadPoolExecutor, make: Callable[[Points], list[str]], batches: list[Points]
) -> Iterator[list[str]]:
    """Yield what each batch makes; where the caller gives up, those that have not begun are left."""
    waiting = [threads.submit(make, batch) for batch in batches]
    try:
        for each in waiting:
            yield each.result()
    finally:
        for each in waiting:
            each.cancel()


class _SceneMaker:
    def __init__(self, areas: Areas, polygons: Shapes, frame: Square) -> None:
        self._names, self._polygons, self._frame = areas.names, polygons, frame
        self._near = neighbours_of(areas.names, areas.graph.edges)
        self._tree = shapely.STRtree(polygons)
        self._simplified = Simplified(polygons)
        self._largest = min(LARGEST, LARGEST_OF_ALL // len(polygons))

    def make(self, owns: Points) -> list[str]:
        """Draw some scenes; those that come out too large again, more coarsely: a coast of many islands, say."""
        written: dict[int, str] = {}
        for coarseness in COARSENESS:
            again = [own for own in owns.tolist() if len(written.get(own, "").encode()) > self._largest]
            left = again if written else owns.tolist()
            if not left:
                break
            written |= zip(left, self._drawn(np.array(left), coarseness), strict=True)
        return [written[own] for own in owns.tolist()]

    def _drawn(self, owns: Points, coarseness: int) -> Iterator[str]:
        bounds = shapely.bounds(self._polygons[owns])
        squares = [Square.around(each, AROUND) for each in bounds]
        scene_of, others = self._neighbours(owns, squares)
        pieces = np.concatenate([
            _cut(self._simplified.at(others[scene_of == place], 1.5 * coarseness * square.unit), square)
            for place, square in enumerate(squares)
        ])  # fmt: skip
        units = np.array([square.unit for square in squares])
        mine = simplify(self._polygons[owns], coarseness * units)
        around = rings_in([squares[place] for place in scene_of.tolist()], pieces)
        own_rings = rings_in(squares, mine)
        labels = self._labels(pieces, others, [squares[place] for place in scene_of.tolist()])
        ends = np.searchsorted(scene_of, np.arange(len(owns) + 1)).tolist()
        for place, (west, south, east, north) in enumerate(bounds.tolist()):
            here = slice(ends[place], ends[place + 1])
            yield packed({
                "box": squares[place].place(),
                "own": own_rings[place],
                "others": [_other(rings, label) for rings, label in zip(around[here], labels[here], strict=True)],
                "where": [*self._frame.point(west, north), *self._frame.point(east, south)],
                "near": self._near[int(owns[place])][:MOST_NEIGHBOURS],
            })  # fmt: skip

    def _neighbours(self, owns: Points, squares: list[Square]) -> tuple[Points, Points]:
        """Return which areas are in which scene, by scene and then by area."""
        boxes = shapely.box(*np.array([square.box() for square in squares]).T)
        scene_of, near = self._tree.query(boxes, predicate="intersects")
        order = np.lexsort([near, scene_of])
        scene_of, near = scene_of[order], near[order]
        others = near != owns[scene_of]
        return scene_of[others], near[others]

    def _labels(self, pieces: Shapes, others: Points, squares: list[Square]) -> list[dict[str, object]]:
        """Name the neighbours that have room for it in the scene, and say where their names stand."""
        sizes = np.array([square.size for square in squares])
        roomy = np.flatnonzero(shapely.area(pieces) >= LABELLED * sizes**2)
        labels: list[dict[str, object]] = [{} for _ in squares]
        points = middles(pieces[roomy], 10 * sizes[roomy] / 1000)
        for place, (x, y) in zip(roomy.tolist(), points.tolist(), strict=True):
            labels[place] = {"name": self._names[others[place]], "at": squares[place].point(x, y)}
        return labels


def _other(rings: Rings, label: dict[str, object]) -> dict[str, object]:
    return {"rings": rings} | label


class Simplified:
    """Polygons simplified once for each level, for the many scenes that one is a neighbour in."""

    def __init__(self, polygons: Shapes) -> None:
        self._polygons = polygons
        self._done: dict[int, Shapes] = {}

    def at(self, places: Points, tolerance: float) -> Shapes:
        """Return polygons simplified by the greatest level, a power of the square root of 2, up to the tolerance."""
        level = math.floor(2 * math.log2(tolerance))
        done = self._done.setdefault(level, np.full(len(self._polygons), None, dtype=object))
        new = places[shapely.is_missing(done[places])]
        done[new] = simplify(self._polygons[new], 2.0 ** (level / 2))
        return done[places]


def simplify(shapes: Shapes, tolerance: float | NDArray[np.float64]) -> Shapes:
    """Simplify each shape, in the quick way where that leaves something of it."""
    simple: Shapes = shapely.simplify(shapes, tolerance, preserve_topology=False)
    gone = shapely.is_empty(simple)
    simple[gone] = shapely.simplify(shapes[gone], np.broadcast_to(tolerance, len(shapes))[gone])
    return simple


def _cut(shapes: Shapes, square: Square) -> Shapes:
    """Cut shapes to a scene; what only touches it stays whole."""
    try:
        pieces = shapely.clip_by_rect(shapes, *square.box())
    except shapely.errors.GEOSException:  # quick, but it stumbles over outlines that simplifying made cross themselves
        pieces = shapely.intersection(shapely.make_valid(shapes), shapely.box(*square.box()))
    empty = shapely.is_empty(pieces)
    pieces[empty] = shapes[empty]
    return pieces
