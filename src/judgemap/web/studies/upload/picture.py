"""A picture of a map that was just uploaded, before anything else is known about it."""

from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from judgemap.geo.boundaries import in_one_piece, unwrapped
from judgemap.geo.drawing.outlines import svg_path

if TYPE_CHECKING:
    import geopandas

WIDE, HIGH = 900, 600
LARGEST = 150_000
"""The most characters in a picture; a longer one is drawn more coarsely."""


def sketch(geometry: "geopandas.GeoSeries", *, degrees: bool = False) -> dict[str, Any]:
    """Draw every outline that can be drawn as one SVG path, with its width and height; empty if there is none.

    >>> import geopandas
    >>> sketch(geopandas.GeoSeries([shapely.box(0, 0, 3, 2)]))
    {'path': 'M900 600l0 -600 -900 0 0 600z', 'width': 900, 'height': 600}
    """
    shapes = geometry.to_numpy()
    shapes = shapes[~(shapely.is_missing(shapes) | shapely.is_empty(shapes)) & (shapely.get_dimensions(shapes) == 2)]
    bounds = shapely.bounds(shapes).reshape(-1, 4)
    shapes = shapes[(np.abs(bounds) < 1e12).all(axis=1)]
    if not len(shapes):
        return {}
    if degrees:
        shapes = in_one_piece(unwrapped(shapes))
    west, south, east, north = shapely.total_bounds(shapes)
    # Degrees of longitude are narrower than those of latitude, by the cosine.
    narrow = max(0.1, float(np.cos(np.radians((south + north) / 2)))) if degrees else 1.0
    unit = max((east - west) * narrow / WIDE, (north - south) / HIGH) or 1.0
    rings = shapely.get_rings(_polygons(shapely.force_2d(shapes)))
    for coarseness in (0.5, 1.0, 2.0, 4.0, 8.0):
        lines = shapely.simplify(rings, coarseness * unit, preserve_topology=False)
        path = svg_path([each for each in _whole(lines, west, north, narrow, unit) if len(each) >= 6])
        if len(path) <= LARGEST:
            break
    width, height = round((east - west) * narrow / unit), round((north - south) / unit)
    return {"path": path, "width": max(width, 1), "height": max(height, 1)}


def _polygons(shapes: "np.ndarray") -> "np.ndarray":
    parts = shapely.get_parts(shapely.get_parts(shapes))
    polygons: np.ndarray = parts[shapely.get_type_id(parts) == shapely.GeometryType.POLYGON]
    return polygons


def _whole(rings: "np.ndarray", west: float, north: float, narrow: float, unit: float) -> list[list[int]]:
    points, of = shapely.get_coordinates(rings, return_index=True)
    whole = np.rint((points - [west, north]) * [narrow / unit, -1 / unit]).astype(np.int64)
    again = np.append(False, (whole[1:] == whole[:-1]).all(axis=1) & (of[1:] == of[:-1]))
    last = np.append(of[1:] != of[:-1], True)
    whole, of = whole[~again & ~last], of[~again & ~last]
    return [ring.ravel().tolist() for ring in np.split(whole, np.flatnonzero(of[1:] != of[:-1]) + 1)]
