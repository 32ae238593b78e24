"""The map of a study's areas with who is whose neighbour, as one SVG that works with a script and without."""

import json
import math
from dataclasses import dataclass

from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.display import UNITS
from judgemap.web.studies.models import Area, Edge, Study

RADIUS = 6_378_137.0
"""Of the Earth in metres, as Web Mercator has it."""


@dataclass(frozen=True, slots=True)
class DrawnArea:
    """An area on the map: its path, and the point that its edges meet in."""

    position: int
    name: str
    code: str
    shape: str
    x: float
    y: float


@dataclass(frozen=True, slots=True)
class DrawnEdge:
    """An edge on the map, between two areas' points."""

    a: DrawnArea
    b: DrawnArea
    origin: str


@dataclass(frozen=True, slots=True)
class StudyMap:
    """All areas and edges, and what to look at."""

    areas: list[DrawnArea]
    edges: list[DrawnEdge]
    parts: int
    alone: list[str]

    @property
    def bridges(self) -> list[DrawnEdge]:
        """The edges that no border gives, made because a part of the map would be cut off."""
        return [edge for edge in self.edges if edge.origin == Edge.Origin.BRIDGE]

    @property
    def by_hand(self) -> list[DrawnEdge]:
        """The edges that a researcher added."""
        return [edge for edge in self.edges if edge.origin == Edge.Origin.ADDED]


def draw_map(study: Study) -> StudyMap:
    """Draw a study's areas and the edges of its version in force."""
    rows = list(study.areas.order_by("position"))
    points = _points(study, rows)
    areas = [
        DrawnArea(row.position, row.name, row.code, row.shape, *point) for row, point in zip(rows, points, strict=True)
    ]
    by_key = {row.pk: area for row, area in zip(rows, areas, strict=True)}
    current = Edge.objects.filter(study=study, removed_in=None).order_by("pk").values_list("a_id", "b_id", "origin")
    edges = [DrawnEdge(by_key[a], by_key[b], origin) for a, b, origin in current]
    parts = load_graph(study.version).components()
    touched = {edge.a.position for edge in edges} | {edge.b.position for edge in edges}
    alone = [area.name for area in areas if area.position not in touched]
    return StudyMap(areas, edges, int(parts.max()) + 1, alone)


def _points(study: Study, rows: list[Area]) -> list[tuple[float, float]]:
    """Return a point inside each area, in the units of the map; on a circle where there is no map."""
    if not study.outline:
        turns = [2 * math.pi * i / len(rows) for i in range(len(rows))]
        return [(round(500 + 450 * math.sin(turn), 1), round(500 - 450 * math.cos(turn), 1)) for turn in turns]
    import shapely

    west, north, size = json.loads(study.outline)["box"]
    inside = shapely.point_on_surface(shapely.from_geojson([row.outline for row in rows]))
    lon, lat = shapely.get_coordinates(inside).T
    unit = size / UNITS
    return [
        (round((RADIUS * math.radians(a) - west) / unit, 1), round((north - mercator(b)) / unit, 1))
        for a, b in zip(lon.tolist(), lat.tolist(), strict=True)
    ]


def mercator(latitude: float) -> float:
    """Return a latitude's place in Web Mercator, in metres.

    >>> round(mercator(51.5))
    6710219
    """
    return RADIUS * math.log(math.tan(math.pi / 4 + math.radians(latitude) / 2))
