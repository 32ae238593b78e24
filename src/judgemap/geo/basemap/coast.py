"""The sea, of which OpenStreetMap draws only the coast: lines with land on their left and water on their right."""

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

Shapes = NDArray[Any]
Box = tuple[float, float, float, float]
Step = tuple[float, float, float, float]


def sea(coast: Shapes, box: Box) -> Shapes:
    """Return the water in a box, as polygons.

    A coastline that ends in the middle of the box, as at the edge of an extract, bounds nothing there, so the box is
    first cut down to the reach of the coastline.

    >>> water = sea(np.array([shapely.LineString([(2, -1), (2, 5)])]), (0, 0, 4, 4))
    >>> [shapely.bounds(each).tolist() for each in water]
    [[2.0, 0.0, 4.0, 4.0]]
    """
    lines = shapely.line_merge(shapely.multilinestrings(_lines(coast)), directed=True)
    lines = shapely.get_parts(lines)
    frame = _cut_down(box, lines)
    cut = shapely.get_parts(shapely.clip_by_rect(lines, *frame))
    cut = cut[shapely.length(cut) > 0]
    if not len(cut):
        return np.array([], dtype=object)
    edges = shapely.union_all([*cut, shapely.box(*frame).boundary])
    faces = shapely.get_parts(shapely.polygonize(shapely.get_parts(edges)))
    steps = {step for line in cut for step in _steps(line)}
    return faces[[_is_water(face, steps) for face in faces]]


def _lines(coast: Shapes) -> Shapes:
    parts = shapely.get_parts(coast)
    rings = shapely.get_type_id(parts) == shapely.GeometryType.POLYGON
    return np.concatenate([parts[~rings], shapely.boundary(parts[rings])])


def _cut_down(box: Box, lines: Shapes) -> Box:
    """Shrink a box until no loose end of the coastline is inside; each end moves the side it was heading for."""
    for line in lines[~shapely.is_closed(lines)]:
        points = shapely.get_coordinates(line).tolist()
        for (u, v), (x, y) in ((points[1], points[0]), (points[-2], points[-1])):
            west, south, east, north = box
            if not (west < x < east and south < y < north):
                continue
            right, up = x - u, y - v
            # How far it is to each side if the coastline continues as it ends; the first side it would reach moves in.
            until_x = (east - x if right > 0 else west - x) / right if right else math.inf
            until_y = (north - y if up > 0 else south - y) / up if up else math.inf
            if until_x <= until_y:
                box = (west, south, x, north) if right > 0 else (x, south, east, north)
            else:
                box = (west, south, east, y) if up > 0 else (west, y, east, north)
    return box


def _is_water(face: shapely.Geometry, coast: set[Step]) -> bool:
    """Decide which side of the coastline a face is on, by the direction of most of the coastline along its rim.

    The rim runs anticlockwise, with the face on its left, so a coastline running the same way makes the face land.
    """
    land = 0.0
    for ring in shapely.get_rings(shapely.orient_polygons(face)):
        for step in _steps(ring):
            x, y, u, v = step
            if step in coast:
                land += math.hypot(u - x, v - y)
            elif (u, v, x, y) in coast:
                land -= math.hypot(u - x, v - y)
    return land < 0


def _steps(line: shapely.Geometry) -> Iterator[Step]:
    points = shapely.get_coordinates(line).tolist()
    return ((x, y, u, v) for (x, y), (u, v) in pairwise(points))
