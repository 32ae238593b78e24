"""Maps that cross the date line, where longitudes jump from 180 to −180 degrees."""

from typing import Any

import numpy as np
import shapely
from numpy.typing import NDArray

Shapes = NDArray[Any]


def unwrapped(shapes: Shapes) -> Shapes:
    """Let outlines in degrees that jump across the date line continue beyond it.

    The middle of a ring stays within 180 degrees east and west. A ring around a pole, which does not come back to where
    it began, is left alone.

    >>> fiji = shapely.Polygon([(179, -17), (-179, -17), (-179, -16), (179, -16)])
    >>> shapely.bounds(unwrapped(np.array([fiji], dtype=object)))[0].tolist()
    [179.0, -17.0, 181.0, -16.0]
    """
    west, _, east, _ = np.asarray(shapely.bounds(shapes)).T
    wide = np.flatnonzero(east - west > 180)
    shapes = shapes.copy()
    for place in wide[[_jumps(shapes[each]) for each in wide]] if len(wide) else wide:
        parts = [_run_on(part) for part in shapely.get_parts(shapes[place])]
        shapes[place] = parts[0] if len(parts) == 1 else shapely.union_all(shapely.make_valid(np.array(parts)))
    return shapes


def in_one_piece(shapes: Shapes) -> Shapes:
    """Move what lies across the date line next to the rest, so that the map is cut where it is empty instead.

    >>> coasts = np.array([shapely.box(178, 0, 180, 1), shapely.box(-180, 0, -179, 1)], dtype=object)
    >>> shapely.total_bounds(in_one_piece(coasts)).tolist()
    [-182.0, 0.0, -179.0, 1.0]
    """
    parts, of = shapely.get_parts(shapes, return_index=True)
    west, _, east, _ = shapely.bounds(parts).reshape(-1, 4).T
    if not len(parts) or east.max() - west.min() <= 180:
        return shapes.copy()
    order = np.argsort(west)
    reach = np.maximum.accumulate(east[order])
    gaps = west[order][1:] - reach[:-1]
    if not len(gaps) or gaps.max() <= 360 - (east.max() - west.min()):
        return shapes.copy()
    eastern = west > reach[int(np.argmax(gaps))]
    # Move whichever side has fewer areas.
    fewer_east = np.unique(of[eastern]).size <= np.unique(of[~eastern]).size
    moved, by = (eastern, -360.0) if fewer_east else (~eastern, 360.0)
    parts[moved] = shapely.transform(parts[moved], lambda at: at + np.array([by, 0.0]))
    whole = shapes.copy()
    for place in np.unique(of[moved]):
        own = parts[of == place]
        whole[place] = shapely.union_all(own) if len(own) > 1 else own[0]
    return whole


def _jumps(shape: shapely.Geometry) -> bool:
    """Whether a ring of the shape jumps across the date line."""
    longitude, of = shapely.get_coordinates(shapely.get_rings(shapely.get_parts(shape)), return_index=True)
    far = np.abs(np.diff(longitude[:, 0])) > 180
    return bool((far & (of[1:] == of[:-1])).any())


def _run_on(polygon: shapely.Geometry) -> shapely.Geometry:
    if not isinstance(polygon, shapely.Polygon):
        return polygon
    rings = [_run_ring_on(shapely.get_coordinates(ring)) for ring in shapely.get_rings(polygon)]
    return shapely.Polygon(rings[0], rings[1:])


def _run_ring_on(points: NDArray[np.float64]) -> NDArray[np.float64]:
    longitude = np.unwrap(points[:, 0], period=360)
    if abs(longitude[-1] - longitude[0]) > 180:
        return points
    longitude -= 360 * np.round((longitude.min() + longitude.max()) / 720)
    return np.column_stack([longitude, points[:, 1]])
