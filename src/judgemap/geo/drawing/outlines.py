"""What pages draw areas from, made once with the study: the map's outline, each area's rings and scene."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from operator import sub
from typing import TYPE_CHECKING

import numpy as np
import shapely
from numpy.typing import NDArray

from judgemap.geo.drawing.scenes import make_scenes, simplify
from judgemap.geo.drawing.squares import (
    EARTH,
    LARGE,
    MadeTile,
    Rings,
    Shapes,
    Square,
    label_points,
    make_tiles,
    packed,
    packed_rings,
    rounded_rings,
)
from judgemap.geo.maps import Areas

if TYPE_CHECKING:
    import geopandas

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
LARGEST = 150_000
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
    frames = np.tile([west, north, unit], (len(shapes), 1))
    for coarseness in (0.5, 1.0, 2.0, 4.0, 8.0):
        simple = shapely.simplify(shapes, coarseness * unit, preserve_topology=False)
        points, counts, _ = rounded_rings(frames, simple)
        path = svg_path([ring.ravel().tolist() for ring in np.split(points, np.cumsum(counts)[:-1]) if len(ring)])
        if len(path) <= LARGEST:
            break
    width, height = round((east - west) / unit), round((north - south) / unit)
    return {"path": path, "width": max(width, 1), "height": max(height, 1)}
