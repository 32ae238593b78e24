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
    rings = frame.rings(simple)
    return Drawings(
        outline=packed(_locator(simple, frame)),
        scenes=make_scenes(areas, polygons, frame, lambda share: tell((SCENES if large else 1.0) * share)),
        rings=[packed(each) for each in rings],
        labels=label_points(rings),
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


def _locator(polygons: Shapes, frame: Square) -> dict[str, object]:
    whole = shapely.union_all(shapely.buffer(polygons, frame.unit / 2, quad_segs=1))
    parts = shapely.get_parts(whole)
    big = parts[shapely.area(parts) >= (3 * frame.unit) ** 2]
    shown = shapely.MultiPolygon(list(big if len(big) else parts))
    rings = frame.rings(np.array([shapely.simplify(shown, 1.5 * frame.unit)]))[0]
    return {"box": frame.place(), "rings": rings}
