"""Where the areas are on a page: outlines as SVG paths, circles and lines if there is no map, or one large picture."""

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import chain

import numpy as np
from django.db.models import F, Q
from django.http import HttpResponse
from django.utils.html import escape
from django.utils.safestring import SafeString

from judgemap.core.model.graph import AreaGraph
from judgemap.geo.drawing import EARTH, UNITS, stored_path
from judgemap.report.figures.colours import round_step
from judgemap.report.figures.layout import free_spots
from judgemap.web.studies.areas import area_keys, edges_in
from judgemap.web.studies.models import Area, Drawing, Edge, Study, StudyVersion, Tile

MARGIN = 12
WIDE = 1.35
BADGE = 15.0
"""Radius of the numbered circles, in units of the map."""
MOST_ALONE = 50
"""How many areas without neighbours are named."""
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Place:
    """An area on the page; without an outline, ``path`` is empty."""

    position: int
    code: str
    name: str
    path: str
    x: float
    y: float
    """A point well inside it."""


def load_places(study: Study, layout: Sequence[Sequence[float]] = ()) -> list[Place]:
    """Return a study's areas in their order; without a map, their points come from ``layout`` or a circle."""
    fields = ("position", "code", "name", "rings", "label_x", "label_y")
    rows = list(Area.objects.filter(study=study).order_by("position").values_list(*fields))
    points = layout or circle(len(rows))
    return [
        Place(position, code, name, stored_path(rings), *((x, y) if rings else point[:2]))
        for (position, code, name, rings, x, y), point in zip(rows, points, strict=True)
    ]


def circle(count: int) -> list[Point]:
    """Place the areas on a circle, in the units of a map."""
    turns = [2 * math.pi * place / count for place in range(count)]
    return [(round(500 + 450 * math.sin(turn), 1), round(500 - 450 * math.cos(turn), 1)) for turn in turns]


@dataclass(frozen=True, slots=True)
class MapFacts:
    """What is said about a study's map: how many areas and edges, and what needs a look."""

    areas: int
    edges: int
    bridges: list[tuple[str, str]]
    by_hand: list[tuple[str, str]]
    parts: int
    alone: list[str]


@lru_cache(maxsize=4)
def map_facts(version_id: int) -> MapFacts:
    """Count a map's areas and edges, and name the edges that are not borders; a version's never change."""
    version = StudyVersion.objects.defer("packed_design").get(pk=version_id)
    areas = Area.objects.filter(study_id=version.study_id)
    keys, positions = area_keys(version.study_id).T
    current = edges_in(version)
    numbers = chain.from_iterable(current.values_list("a_id", "b_id"))
    ends = positions[np.searchsorted(keys, np.fromiter(numbers, np.int64))].reshape(-1, 2)
    graph = AreaGraph(len(keys), ends)
    alone = np.setdiff1d(np.arange(len(keys)), ends).tolist()[:MOST_ALONE]

    def pairs(origin: str) -> list[tuple[str, str]]:
        return list(current.filter(origin=origin).order_by("pk").values_list("a__name", "b__name"))

    return MapFacts(
        areas=len(keys),
        edges=len(ends),
        bridges=pairs(Edge.Origin.BRIDGE),
        by_hand=pairs(Edge.Origin.ADDED),
        parts=int(graph.components().max()) + 1,
        alone=list(areas.filter(position__in=alone).order_by("name").values_list("name", flat=True)),
    )


@dataclass(frozen=True, slots=True)
class StudyMap(MapFacts):
    """All areas and edges as SVG, and what is said about them."""

    paths: SafeString
    lines: dict[str, str]
    """The edges of each origin, as one SVG path."""
    dots: str
    """A point in each area, as an SVG path of dots."""
    options: SafeString
    """The areas by name, as options of a list."""


def draw_map(study: Study) -> StudyMap:
    """Draw a study's areas and the edges of its current version."""
    names, points = _named_points(study)
    drawing = Drawing.objects.filter(study=study).values_list("paths", flat=True).first()
    in_order = sorted(range(len(names)), key=lambda position: (names[position], position))
    options = "".join(f'<option value="{each}">{escape(names[each])}</option>' for each in in_order)
    return StudyMap(
        **asdict(map_facts(study.version.pk)),
        paths=SafeString(drawing or ""),
        lines=_lines(points, _current_edges(study)),
        dots="".join(f"M{x} {y}h0" for x, y in points),
        options=SafeString(options),
    )


def draw_lines(study: Study) -> dict[str, str]:
    """Draw the edges of a study's current version, with one SVG path per origin."""
    return _lines(_named_points(study)[1], _current_edges(study))


def _lines(points: list[Point], edges: list[tuple[int, int, str]]) -> dict[str, str]:
    drawn: dict[str, list[str]] = {origin: [] for origin in Edge.Origin.values}
    for a, b, origin in edges:
        drawn[origin].append(f"M{points[a][0]} {points[a][1]}L{points[b][0]} {points[b][1]}")
    return {origin: "".join(lines) for origin, lines in drawn.items()}


def _current_edges(study: Study) -> list[tuple[int, int, str]]:
    current = Edge.objects.filter(study=study, removed_in=None).order_by("pk")
    return list(current.values_list(F("a__position"), F("b__position"), "origin"))


def _named_points(study: Study) -> tuple[list[str], list[Point]]:
    rows = list(Area.objects.filter(study=study).order_by("position").values_list("name", "label_x", "label_y"))
    around = circle(len(rows))
    points = [around[place] if x is None or y is None else (x, y) for place, (_, x, y) in enumerate(rows)]
    return [name for name, *_ in rows], points


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
    """Every area, in the order of the areas; lines between neighbours if there is no map; the box around it all."""

    places: list[Place]
    lines: list[tuple[float, float, float, float]]
    box: tuple[int, int, int, int]
    is_map: bool
    kilometre: float = 0.0
    """How many units of the drawing a kilometre has, at the middle of the map; 0 if there is no map."""

    @property
    def wide(self) -> bool:
        """Whether it is so much wider than it is high that it should get the whole width of a page."""
        return self.box[2] > WIDE * self.box[3]

    @property
    def scale(self) -> tuple[float, str]:
        """A round length that fits into a fifth of the drawing: in its units, and in words."""
        if not self.kilometre:
            return 0.0, ""
        length = 1 / round_step(5 * self.kilometre / self.box[2], (1, 2, 5, 10))
        return round(length * self.kilometre, 1), f"{length:g} km" if length >= 1 else f"{1000 * length:g} m"

    @property
    def view_box(self) -> str:
        """The box as SVG has it."""
        return " ".join(str(each) for each in self.box)

    @property
    def foot(self) -> int:
        """Where the scale is drawn, just above the lower edge."""
        return self.box[1] + self.box[3] - 8

    @property
    def crowded(self) -> bool:
        """Whether borders must be thin to leave room for the areas."""
        return len(self.places) > 150

    @property
    def kind(self) -> str:
        """What is drawn."""
        return "map" if self.is_map else "network"

    def badges(self, positions: Sequence[int]) -> list[Badge]:
        """Put the numbers 1, 2, 3 … on areas, or beside them if numbers would cover each other."""
        anchors = np.array([(self.places[position].x, self.places[position].y) for position in positions])
        west, north, width, height = self.box
        spots = free_spots(anchors, BADGE, np.array([[west, north], [west + width, north + height]]))
        return [
            Badge(str(each), *spot, *anchor)
            for each, (spot, anchor) in enumerate(zip(spots.round(1).tolist(), anchors.tolist(), strict=True), start=1)
        ]


def lay_ground(study: Study, version: StudyVersion, layout: Sequence[Sequence[float]] = ()) -> Ground:
    """Return the drawing of a study's areas for a map of results; see `load_places` for ``layout``."""
    places = load_places(study, layout)
    if study.outline:
        outline = json.loads(study.outline)
        rings = outline["rings"]
        corners = [point for ring in rings for point in zip(ring[::2], ring[1::2], strict=True)]
        return Ground(places, [], box_around(corners), is_map=True, kilometre=_kilometre(outline.get("box")))
    r = round(max(6.0, min(26.0, 330 / math.sqrt(len(places)))), 1)
    half = f"a{r} {r} 0 1 0 {2 * r} 0a{r} {r} 0 1 0 -{2 * r} 0z"
    discs = [replace(each, path=f"M{round(each.x - r, 1)} {round(each.y, 1)}{half}") for each in places]
    ends = edges_in(version).values_list(F("a__position"), F("b__position"))
    lines = [(places[a].x, places[a].y, places[b].x, places[b].y) for a, b in ends]
    return Ground(discs, lines, box_around([(place.x, place.y) for place in places], r), is_map=False)


def _kilometre(box: Sequence[float] | None) -> float:
    """Return how many units a kilometre has at the middle of a square of Web Mercator: west, north, size, in metres.

    >>> round(_kilometre([0.0, 500_000.0, 1_000_000.0]), 3)
    1.0
    """
    if not box:
        return 0.0
    _, north, size = box
    latitude = 2 * math.atan(math.exp((north - size / 2) / EARTH)) - math.pi / 2
    return UNITS * 1000 / (size * math.cos(latitude))


def neighbours_of(version: StudyVersion, position: int) -> list[int]:
    """Return the positions of an area's neighbours in a version of its study."""
    key = Area.objects.values_list("pk", flat=True).get(study_id=version.study_id, position=position)
    touching = edges_in(version).filter(Q(a=key) | Q(b=key))  # the keys have an index, the positions none
    pairs = touching.values_list(F("a__position"), F("b__position"))
    return sorted(b if a == position else a for a, b in pairs)


def box_around(points: Sequence[Point], radius: float = 0.0) -> tuple[int, int, int, int]:
    """Return the box that contains discs at these points: west, north, width and height."""
    free = MARGIN + radius
    west, north = (math.floor(min(point[axis] for point in points) - free) for axis in (0, 1))
    east, south = (math.ceil(max(point[axis] for point in points) + free) for axis in (0, 1))
    return west, north, east - west, south - north


PICTURE_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'self'; sandbox"
)


def has_tiles(study: Study) -> bool:
    """Say whether a study's map is so large that pages show a picture and tiles, not a shape for each area."""
    return Tile.objects.filter(study=study).exists()


def picture_response(svg: str) -> HttpResponse:
    """Return a picture that may neither run nor load anything."""
    return HttpResponse(svg, "image/svg+xml", headers={"Content-Security-Policy": PICTURE_POLICY})


@lru_cache(maxsize=4)
def stored_rings(study_id: int) -> tuple[str, ...]:
    """Return the outlines of a large map's areas, as SVG paths by position; they never change."""
    return tuple(Drawing.objects.values_list("paths", flat=True).get(study_id=study_id).split("\n"))


def picture(paths: Sequence[str], classes: Sequence[int], colours: Sequence[str], defined: str = "") -> str:
    """Draw all areas as SVG, one path per colour; ``defined`` has patterns that colours refer to.

    Areas are drawn half a unit larger, in their own colour: where thousands are smaller than a pixel, gaps would show.

    >>> drawn = picture(["M0 0l90 0 0 50z", "M4 6h2v2h-2z"], [0, 1], ["#fff", "#a00"])
    >>> drawn.partition(">")[2]
    '<path d="M0 0l90 0 0 50z" fill="#fff" stroke="#fff"/><path d="M4 6h2v2h-2z" fill="#a00" stroke="#a00"/></svg>'
    """
    parts: list[list[str]] = [[] for _ in colours]
    for path, shade in zip(paths, classes, strict=True):
        parts[shade].append(path)
    drawn = "".join(
        f'<path d="{"".join(each)}" fill="{colour}" stroke="{colour}"/>'
        for each, colour in zip(parts, colours, strict=True)
        if each
    )
    head = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 1000" shape-rendering="crispEdges">'
    return f"{head}{defined}{drawn}</svg>"
