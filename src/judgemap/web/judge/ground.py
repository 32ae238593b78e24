"""The base map on judges' pages: tiles for the page's script, and pictures for a page without one."""

import itertools
import json
from functools import cache

from django.db.models import Exists, F, Max, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from judgemap.geo.basemap.kinds import style
from judgemap.geo.basemap.tiles import Place
from judgemap.web.judge.fastpath import PreparedQuery
from judgemap.web.judge.models import Judge
from judgemap.web.judge.screens import view_of
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.server.tokens import hashed
from judgemap.web.studies.basemap.pictures import (
    LARGEST_NUMBER,
    Frame,
    find_tiles,
    kept_by_browser,
    picture,
    tiles_response,
)
from judgemap.web.studies.models import Area, BaseMapTile, Study


def ground_json(request: HttpRequest, study: Study, token: str) -> str:
    """Write the JSON from which the page's script draws the base map; empty if there is none."""
    if study.base_map_id is None:
        return ""
    finest = BaseMapTile.objects.filter(base_map=study.base_map_id).aggregate(finest=Max("level"))["finest"]
    address = _address(request, "judge:tiles", token, study.base_map_id, [(0, 0, 0)]).removesuffix("0/0/0")
    return json.dumps({"tiles": address, "finest": finest or 0, "style": style()}, separators=(",", ":"))


def picture_address(request: HttpRequest, study: Study, token: str, area: Area) -> str:
    """Return the address of the picture under an area, for pages without scripts; empty if there is none."""
    if study.base_map_id is None or not area.scene:
        return ""
    return _address(request, "judge:picture", token, study.base_map_id, area.position)


def _address(request: HttpRequest, name: str, *args: object) -> str:
    """Return an address of a judge's page or, in a researcher's preview, of the preview; templates do the same."""
    match = request.resolver_match
    return reverse(name, args=args, current_app=match.namespace if match else None)


@require_safe
def tiles(request: HttpRequest, token: str, key: int, places: list[Place]) -> HttpResponse:
    """Serve tiles to whoever has a judge's link."""
    found = _seen_tiles(token, key, places) if key <= LARGEST_NUMBER else []
    if not found and _base_map_of(token)[0] != key:  # finding a tile proves that the link is good
        raise Http404
    return tiles_response(request, places, found)


@require_safe
def ground_picture(request: HttpRequest, token: str, key: int, position: int) -> HttpResponse:
    """Serve the picture under an area to whoever has a judge's link."""
    current, study = _base_map_of(token)
    return area_picture(request, current, key, study, position)


def area_picture(request: HttpRequest, current: int | None, key: int, study: int | None, position: int) -> HttpResponse:
    """Return the picture of the base map under an area, cropped to what the page shows."""
    if current is None or current != key or position > LARGEST_NUMBER:
        raise Http404
    scene = Area.objects.filter(study=study, position=position).values_list("scene", flat=True).first()
    if not scene:
        raise Http404
    facts = json.loads(scene)
    left, top, width, _ = view_of(facts["own"])
    drawn = picture(key, Frame(*facts["box"]).part(left, top, width))
    return kept_by_browser(request, drawn.encode(), "image/svg+xml")


def _base_map_of(token: str) -> tuple[int | None, int | None]:
    """Return the base map and the study that a judge's link leads to; guessing is slowed as on the judge's pages."""
    rows = _SEEN(token_hash=hashed(token))
    if rows:
        return rows[0].base_map, rows[0].study_id  # type: ignore[attr-defined]
    WRONG_GUESSES.allows()
    raise Http404


def _seen(token_hash: str) -> "QuerySet[Judge]":
    judges = Judge.objects.filter(token_hash=token_hash, withdrawn_at__isnull=True, study__deleted_at__isnull=True)
    return judges.annotate(base_map=F("study__base_map_id")).only("study")


def _seen_tiles(token: str, key: int, places: list[Place]) -> list[BaseMapTile]:
    """Find tiles of the base map that a judge sees, in one query."""
    numbers = {f"{name}{i}": each for i, place in enumerate(places) for name, each in zip(PARTS, place, strict=True)}
    return _query(len(places))(token_hash=hashed(token), key=key, **numbers)


PARTS = ("level", "column", "row")


@cache
def _query(count: int) -> PreparedQuery[BaseMapTile]:
    """Prepare the query for ``count`` tiles."""
    names = [[f"{name}{i}" for name in PARTS] for i in range(count)]

    def build(token_hash: str, key: int, **numbers: int) -> "QuerySet[BaseMapTile]":
        judges = _seen(token_hash).filter(study__base_map=OuterRef("base_map")).order_by()
        places = [(numbers[level], numbers[column], numbers[row]) for level, column, row in names]
        return find_tiles(key, places).filter(Exists(judges))

    examples = {name: 1001 + i for i, name in enumerate(itertools.chain(*names))}
    return PreparedQuery(BaseMapTile, build, token_hash="hash", key=1000, **examples)  # noqa: S106 - an example


_SEEN = PreparedQuery(Judge, _seen, token_hash="hash")  # noqa: S106 - an example
