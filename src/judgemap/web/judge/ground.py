"""The maps on judges' pages: two areas as SVG, and the base map under them, as tiles or as pictures."""

import json
from dataclasses import dataclass

from django.db.models import Max
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from judgemap.geo.basemap.kinds import style
from judgemap.geo.basemap.tiles import Place
from judgemap.geo.drawing import svg_path
from judgemap.web.judge import answering
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.studies.basemap.pictures import (
    LARGEST_NUMBER,
    Frame,
    find_tiles,
    kept_by_browser,
    picture,
    tiles_response,
)
from judgemap.web.studies.models import Area, BaseMapTile, Study


def ground_json(study: Study, token: str) -> str:
    """Write the JSON from which the page's script draws the base map; empty if there is none."""
    if study.base_map_id is None:
        return ""
    finest = BaseMapTile.objects.filter(base_map=study.base_map_id).aggregate(finest=Max("level"))["finest"]
    address = reverse("judge:tiles", args=[token, study.base_map_id, [(0, 0, 0)]]).removesuffix("0/0/0")
    return json.dumps({"tiles": address, "finest": finest or 0, "style": style()}, separators=(",", ":"))


def picture_address(study: Study, token: str, area: Area) -> str:
    """Return the address of the picture under an area, for pages without scripts; empty if there is none."""
    if study.base_map_id is None or not area.scene:
        return ""
    return reverse("judge:picture", args=[token, study.base_map_id, area.position])


VIEW = 0.25
"""How much of the surroundings is in view at first, on each side, as a multiple of the area's width."""
LETTER = 0.6
"""The mean width of a letter, as a multiple of the font size."""
CORNER = (0.22, 0.38)
"""The share of a view's width and height that the small map covers, or that a phone cuts off above."""


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a page without scripts: its name, and its map as SVG."""

    side: str
    name: str
    area: int
    own: str
    others: list[str]
    labels: list[tuple[int, int, str]]
    view: str
    font: float
    where: tuple[int, int, int]
    neighbours: str
    ground: str = ""
    """The address of a picture of streets and places, for a page without scripts; empty without a base map."""


def side_of(side: str, area: Area, ground: str = "") -> Side:
    """Draw one side from the area's scene, over the picture at the address ``ground``."""
    if not area.scene:
        return Side(side, area.name, area.position, "", [], [], "", 0, (0, 0, 0), "")
    scene = json.loads(area.scene)
    named = [other for other in scene["others"] if "name" in other]
    west, north, east, south = scene["where"]
    spot = ((west + east) // 2, (north + south) // 2, max(east - west, south - north, 40) // 2)
    view = view_of(scene["own"])
    font = round(view[2] / 30, 1)
    return Side(
        side=side,
        name=area.name,
        area=area.position,
        own=svg_path(scene["own"]),
        others=[svg_path(other["rings"]) for other in scene["others"]],
        labels=[(*other["at"], other["name"]) for other in named if has_room(other["name"], other["at"], view, font)],
        view=" ".join(str(each) for each in view),
        font=font,
        where=spot,
        neighbours=", ".join(scene.get("near") or (other["name"] for other in named)),
        ground=ground,
    )


def has_room(name: str, at: tuple[int, int], view: tuple[int, int, int, int], font: float) -> bool:
    """Say whether a name is fully in view on a page without scripts, and not under the small map in the corner.

    >>> [has_room("Arnold", at, (0, 0, 1000, 1000), 33.3) for at in ((500, 400), (30, 600), (100, 200))]
    [True, False, False]
    """
    left, top, width, height = view
    half = LETTER * font * len(name) / 2
    start, end = at[0] - half - left, at[0] + half - left
    under = start < CORNER[0] * width and at[1] - top < CORNER[1] * height
    return start >= 0 and end <= width and not under


def view_of(rings: list[list[int]]) -> tuple[int, int, int, int]:
    """Return the part of a scene that a page without scripts shows: left, top, width and height in its units."""
    xs = [x for ring in rings for x in ring[::2]]
    ys = [y for ring in rings for y in ring[1::2]]
    size = round(max(max(xs) - min(xs), max(ys) - min(ys)) * (1 + 2 * VIEW))
    return (min(xs) + max(xs) - size) // 2, (min(ys) + max(ys) - size) // 2, size, size


@require_safe
def tiles(request: HttpRequest, token: str, key: int, places: list[Place]) -> HttpResponse:
    """Serve tiles to whoever has a judge's link."""
    if _base_map_of(token)[0] != key:
        raise Http404
    return tiles_response(request, places, list(find_tiles(key, places)))


@require_safe
def ground_picture(request: HttpRequest, token: str, key: int, position: int) -> HttpResponse:
    """Serve the picture under an area, cropped to what the page shows, to whoever has a judge's link."""
    current, study = _base_map_of(token)
    if current != key or position > LARGEST_NUMBER:
        raise Http404
    scene = Area.objects.filter(study=study, position=position).values_list("scene", flat=True).first()
    if not scene:
        raise Http404
    facts = json.loads(scene)
    left, top, width, _ = view_of(facts["own"])
    drawn = picture(key, Frame(*facts["box"]).part(left, top, width))
    return kept_by_browser(request, drawn.encode(), "image/svg+xml")


def _base_map_of(token: str) -> tuple[int | None, int]:
    """Return the base map and the study that a judge's link leads to; guessing is slowed as on the judge's pages."""
    judge = answering.find_judge(token)
    if judge is None or judge.withdrawn_at is not None or judge.study.deleted_at is not None:
        WRONG_GUESSES.allows()
        raise Http404
    return judge.study.base_map_id, judge.study.pk
