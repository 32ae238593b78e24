"""Where the areas are on a page: their outlines as SVG paths, or circles and lines where there is no map."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models import F, Q, QuerySet

from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.models import Area, Edge, Study, StudyVersion

MARGIN = 12
BADGE = 15.0
"""Radius of the numbered circles, in units of the map."""
Point = tuple[float, float]


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


@dataclass(frozen=True, slots=True)
class Place:
    """An area on the page."""

    position: int
    code: str
    name: str
    path: str
    x: float
    y: float
    """A point well inside it."""


@dataclass(frozen=True, slots=True)
class Badge:
    """A number on the map: where it is, and where its area is."""

    text: str
    x: float
    y: float
    area_x: float
    area_y: float

    @property
    def apart(self) -> bool:
        """Whether a line must lead from the number to its area."""
        return math.hypot(self.x - self.area_x, self.y - self.area_y) > BADGE


@dataclass(frozen=True, slots=True)
class Ground:
    """Every area, in the order of the areas; lines between neighbours where there is no map; the box that holds all."""

    places: list[Place]
    lines: list[tuple[float, float, float, float]]
    box: tuple[int, int, int, int]
    is_map: bool

    @property
    def view_box(self) -> str:
        """The box as SVG has it."""
        return " ".join(str(each) for each in self.box)

    @property
    def crowded(self) -> bool:
        """Whether borders must be thin to leave room for the areas."""
        return len(self.places) > 150

    @property
    def kind(self) -> str:
        """What is drawn."""
        return "map" if self.is_map else "network"

    def badges(self, positions: Sequence[int]) -> list[Badge]:
        """Set the numbers 1, 2, 3 … on areas, or beside them where numbers would cover each other."""
        anchors = [(self.places[position].x, self.places[position].y) for position in positions]
        spots: list[Point] = []
        for each, anchor in enumerate(anchors):
            taken = [*spots, *(other for place, other in enumerate(anchors) if place > each)]
            spots.append(_free_spot(anchor, taken, self.box))
        return [
            Badge(str(each), *spot, *anchor)
            for each, (spot, anchor) in enumerate(zip(spots, anchors, strict=True), start=1)
        ]


def lay_ground(study: Study, version: StudyVersion, layout: Sequence[Sequence[float]] | None = None) -> Ground:
    """Return the drawing of a study's areas; ``layout`` places them where there is no map, else a circle does."""
    fields = ("position", "code", "name", "shape", "label_x", "label_y")
    rows = list(Area.objects.filter(study=study).order_by("position").values_list(*fields))
    if study.outline:
        places = [Place(*row) for row in rows]
        rings = json.loads(study.outline)["rings"]
        corners = [point for ring in rings for point in zip(ring[::2], ring[1::2], strict=True)]
        return Ground(places, [], _box(corners), is_map=True)
    points: Sequence[Sequence[float]] = layout or circle(len(rows))
    radius = max(6.0, min(26.0, 330 / math.sqrt(len(rows))))
    places = [
        Place(position, code, name, _disc(x, y, radius), x, y)
        for (position, code, name, *_), (x, y, *_) in zip(rows, points, strict=True)
    ]
    edges = _edges(version).values_list(F("a__position"), F("b__position"))
    lines = [(*points[a][:2], *points[b][:2]) for a, b in edges]
    return Ground(places, lines, _box(points, radius), is_map=False)


def neighbours_of(version: StudyVersion, position: int) -> list[int]:
    """Return the positions of an area's neighbours in a version of its study."""
    touching = _edges(version).filter(Q(a__position=position) | Q(b__position=position))
    pairs = touching.values_list(F("a__position"), F("b__position"))
    return sorted(b if a == position else a for a, b in pairs)


def _edges(version: StudyVersion) -> QuerySet[Edge]:
    there = Q(removed_in=None) | Q(removed_in__gt=version.number)
    return Edge.objects.filter(there, study_id=version.study_id, added_in__lte=version.number)


def _disc(x: float, y: float, radius: float) -> str:
    r = round(radius, 1)
    return f"M{round(x - r, 1)} {round(y, 1)}a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 -{2 * r} 0z"


def _box(points: Sequence[Sequence[float]], radius: float = 0.0) -> tuple[int, int, int, int]:
    """Return the box that holds discs at these points: west, north, width and height."""
    free = MARGIN + radius
    west, north = (math.floor(min(point[axis] for point in points) - free) for axis in (0, 1))
    east, south = (math.ceil(max(point[axis] for point in points) + free) for axis in (0, 1))
    return west, north, east - west, south - north


def _free_spot(anchor: Point, taken: Sequence[Point], box: tuple[int, int, int, int]) -> Point:
    """Find the spot nearest to an area that is on no other number and inside the box."""
    x, y = anchor
    outwards = math.atan2(y - box[1] - box[3] / 2, x - box[0] - box[2] / 2)
    choices = [anchor]
    for ring in range(40):
        reach = BADGE * (2.2 + 0.5 * ring)
        turns = [outwards + math.pi * half * side / 10 for half in range(11) for side in (1, -1)]
        choices += [(round(x + reach * math.cos(turn), 1), round(y + reach * math.sin(turn), 1)) for turn in turns]
    for choice in choices:
        inside = box[0] + BADGE <= choice[0] <= box[0] + box[2] - BADGE
        inside &= box[1] + BADGE <= choice[1] <= box[1] + box[3] - BADGE
        if inside and all(math.dist(choice, other) > 2 * BADGE for other in taken):
            return choice
    return anchor
