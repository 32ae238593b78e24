"""The map of a study's areas with who is whose neighbour, as one SVG that works with a script and without."""

import math
from dataclasses import dataclass

from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.models import Area, Edge, Study


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
    points = _points(rows)
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


def _points(rows: list[Area]) -> list[tuple[float, float]]:
    """Return a point inside each area, in the units of the map; on a circle where there is no map."""
    around = circle(len(rows))
    return [
        point if row.label_x is None or row.label_y is None else (row.label_x, row.label_y)
        for row, point in zip(rows, around, strict=True)
    ]


def circle(count: int) -> list[tuple[float, float]]:
    """Place so many areas on a circle, in the units of a map."""
    turns = [2 * math.pi * place / count for place in range(count)]
    return [(round(500 + 450 * math.sin(turn), 1), round(500 - 450 * math.cos(turn), 1)) for turn in turns]
