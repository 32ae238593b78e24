"""Scenes: each area among its neighbours, cut, simplified and rounded once, when the study is made.

A scene is a square of 1000 by 1000 whole units laid over Web Mercator, y downwards: the same numbers give the SVG of a
page without scripts and, with the square's position, the map that judges can drag and zoom.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import shapely
from numpy.typing import NDArray

from judgemap.core.threads import available_cores
from judgemap.geo.drawing.squares import (
    UNITS,
    Frames,
    Points,
    Shapes,
    Square,
    clipped,
    middles,
    packed,
    packed_rings,
)
from judgemap.geo.maps import Areas

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
