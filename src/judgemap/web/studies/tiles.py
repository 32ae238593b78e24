"""Tiles of large maps, with finer outlines than the whole map, for zooming in.

A tile is a square of the map with the outlines of all areas in it, in its own thousandths, as JSON:
[[position, ring, ring, …], …]. Tiles are made once, with the study. Borders that two areas share are simplified alike,
so that no gaps open between them.
"""

import gzip
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import shapely

from judgemap.web.studies.squares import Points, Shapes, Square, packed_rings

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
            drawn = packed_rings(np.tile(tile.frame(), (len(places), 1)), simple[places])
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
