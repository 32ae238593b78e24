"""Where the areas are on paper, in points: the outlines of a map, or the circles and lines of a network."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import PathPatch
from matplotlib.path import Path

from judgemap.core.types import FloatArray, IntArray
from judgemap.geo.adjacency import in_metres
from judgemap.geo.maps import Areas
from judgemap.report.figures import network
from judgemap.report.figures.picture import (
    FAINT,
    INK,
    QUIET,
    WIDTH,
)

if TYPE_CHECKING:
    import shapely

MARGIN = 6.0
TALLEST = 400.0
"""The greatest height of a map, in points; a taller map is drawn narrower than the page instead."""

FINEST = 0.4
"""Bends of a border smaller than this, in points, are not drawn."""


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """A drawing of the areas that can be coloured: `points` has a place inside each, `room` the width around it.

    `shapes` are the outlines, empty for a network; `rim` is the outline of the whole map; `kilometre` is the length of
    one on paper, or nan if that is not known.
    """

    areas: Areas
    points: FloatArray
    room: FloatArray
    height: float
    shapes: tuple[Path, ...] = ()
    rim: Path | None = None
    kilometre: float = float("nan")

    @property
    def is_map(self) -> bool:
        """Whether the areas have outlines."""
        return bool(self.shapes)

    def paint(self, axes: Axes, members: IntArray, colour: str, edge: str = "white") -> None:
        """Fill areas with a colour."""
        if not len(members):
            return
        if self.is_map:
            path = Path.make_compound_path(*(self.shapes[area] for area in members))
            line = float(np.clip(np.median(self.room) / 40, 0.15, 0.5))
            _draw(axes, path, facecolor=colour, edgecolor=edge, linewidth=line, zorder=1)
        else:
            self._mark(axes, members, self.room[0], color=colour, markeredgecolor=QUIET, markeredgewidth=0.6, zorder=3)

    def frame(self, axes: Axes) -> None:
        """Draw the outline of the map, or the lines between neighbours."""
        if self.rim is not None:
            _draw(axes, self.rim, fill=False, edgecolor=QUIET, linewidth=0.6, zorder=2)
        elif not self.is_map:
            self.link(axes, self.areas.graph.edges, color=FAINT, linewidth=0.8)

    def link(self, axes: Axes, edges: IntArray, **line: Any) -> None:  # noqa: ANN401 - matplotlib's line properties
        """Draw lines between the areas of each edge."""
        if not len(edges):
            return
        vertices = self.points[np.asarray(edges)].reshape(-1, 2)
        codes = np.tile(np.array([Path.MOVETO, Path.LINETO], dtype=Path.code_type), len(edges))
        _draw(axes, Path(vertices, codes), fill=False, **{"zorder": 2, "capstyle": "butt", **line})

    def outline(self, axes: Axes, area: int) -> None:
        """Draw a strong line around an area."""
        path = self.shapes[area] if self.is_map else Path.circle(self.points[area], self.room[area] / 2)
        _draw(axes, path, fill=False, edgecolor="white", linewidth=4.0, zorder=4)
        _draw(axes, path, fill=False, edgecolor=INK, linewidth=2.0, zorder=5)

    def dots(self, axes: Axes, width: float, members: IntArray | None = None) -> None:
        """Mark areas with a dot: the given ones, or all."""
        marked = np.arange(len(self.points)) if members is None else members
        self._mark(axes, marked, width, color=INK, markeredgecolor="white", markeredgewidth=0.4, zorder=4)

    def _mark(self, axes: Axes, members: IntArray, width: float, **look: Any) -> None:  # noqa: ANN401 - see link
        axes.plot(*self.points[members].T, "o", markersize=width, clip_on=False, **look)


@lru_cache(maxsize=4)
def ground(areas: Areas) -> Ground:
    """Lay the areas out on paper, north up: as a map if they have outlines, otherwise as a network of circles.

    The last few layouts are cached, because a report draws the same map many times.

    >>> from judgemap.core.model.graph import AreaGraph
    >>> ground(Areas(("1", "2"), ("Castle", "Trent"), AreaGraph(2, [[0, 1]]))).is_map
    False
    """
    return _network(areas) if areas.geometry is None else _map(areas)


def _map(areas: Areas) -> Ground:
    import shapely

    outlines = in_metres(areas.to_frame().geometry)
    polygons = np.asarray(outlines.array, dtype=object)
    corners = shapely.bounds(polygons)
    scale, shift, height = _fit_paper(np.array([corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)]))
    polygons = shapely.transform(polygons, lambda places: places * scale + shift)
    polygons = shapely.coverage_simplify(_without_specks(polygons), FINEST)
    middle = shapely.point_on_surface(polygons)
    known = outlines.crs is not None and (outlines.crs.is_geographic or outlines.crs.is_projected)
    return Ground(
        areas,
        points=np.column_stack([shapely.get_x(middle), shapely.get_y(middle)]),
        room=np.sqrt(shapely.area(polygons)),
        height=height,
        shapes=tuple(_path(shapely.get_parts(polygon)) for polygon in polygons),
        rim=_path(shapely.get_parts(shapely.union_all(polygons, grid_size=0.01))),
        kilometre=1000 * scale if known else float("nan"),
    )


def _network(areas: Areas) -> Ground:
    points = network.layout(areas.graph)
    apart = np.hypot(*(points[:, None] - points[None]).transpose(2, 0, 1))
    np.fill_diagonal(apart, np.inf)
    typical = float(np.median(apart.min(axis=1))) if len(areas) > 1 else 1.0
    pad = typical / 2
    scale, shift, height = _fit_paper(np.array([points.min(axis=0) - pad, points.max(axis=0) + pad]))
    room = np.full(len(areas), np.clip(0.6 * typical * scale, 4.0, 18.0))
    return Ground(areas, points * scale + shift, room, height)


def _fit_paper(box: FloatArray) -> tuple[float, FloatArray, float]:
    """Return the scale and shift that centre a box on paper, and the height it takes."""
    size = np.maximum(np.ptp(box, axis=0), 1e-9 + 1e-6 * np.ptp(box))
    scale = float(min((WIDTH - 2 * MARGIN) / size[0], (TALLEST - 2 * MARGIN) / size[1]))
    height = float(size[1] * scale + 2 * MARGIN)
    return scale, np.array([WIDTH, height]) / 2 - box.mean(axis=0) * scale, height


def _without_specks(polygons: np.ndarray) -> np.ndarray:
    """Leave out islands too small to see, but never the largest part of an area."""
    import shapely

    kept = []
    for polygon in polygons:
        parts = shapely.get_parts(polygon)
        size = shapely.area(parts)
        kept.append(shapely.multipolygons(parts[(size > FINEST**2) | (size == size.max())]))
    return np.array(kept, dtype=object)


def _path(polygons: "Iterable[shapely.Polygon]") -> Path:
    """Turn polygons into one path; holes run the other way round, so that they are not filled."""
    import shapely

    rings: list[FloatArray] = []
    for polygon in polygons:
        turned = shapely.orient_polygons(polygon)
        rings += [shapely.get_coordinates(ring) for ring in (turned.exterior, *turned.interiors)]
    return Path.make_compound_path(*(Path(ring, closed=True) for ring in rings))


def _draw(axes: Axes, path: Path, **look: Any) -> None:  # noqa: ANN401 - matplotlib's patch properties
    # Not add_patch: it walks along every bend of every border to find axis limits, which a sheet has already set.
    axes.add_artist(PathPatch(path, clip_on=False, **{"joinstyle": "round", **look}))
