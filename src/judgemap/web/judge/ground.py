"""The base map on judges' pages: tiles for the page's script, and pictures for a page without one."""

import json

from django.db.models import Exists, F, Max, OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_safe

from judgemap.geo.basemap.kinds import style
from judgemap.web.judge.fastpath import PreparedQuery
from judgemap.web.judge.models import Judge
from judgemap.web.judge.screens import view_of
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.server.tokens import hashed
from judgemap.web.studies.basemap.pictures import Frame, picture
from judgemap.web.studies.basemap.serving import (
    LARGEST_NUMBER,
    content_response,
    find_tile,
    picture_response,
    tile_response,
)
from judgemap.web.studies.models import Area, BaseMapTile, Study


def ground_json(request: HttpRequest, study: Study, token: str) -> str:
    """Write what the page's script draws a base map from; the empty text where there is none."""
    if study.base_map_id is None:
        return ""
    finest = BaseMapTile.objects.filter(base_map=study.base_map_id).aggregate(finest=Max("level"))["finest"]
    address = _address(request, "judge:tile", token, study.base_map_id, 0, 0, 0).removesuffix("0/0/0")
    return json.dumps({"tiles": address, "finest": finest or 0, "style": style()}, separators=(",", ":"))


def picture_address(request: HttpRequest, study: Study, token: str, area: Area) -> str:
    """Return where the picture under an area is, for a page without a script."""
    if study.base_map_id is None or not area.scene:
        return ""
    return _address(request, "judge:picture", token, study.base_map_id, area.position)


def _address(request: HttpRequest, name: str, *args: object) -> str:
    """Return an address of the judge's, or the preview's where a researcher plays one, as templates do."""
    match = request.resolver_match
    return reverse(name, args=args, current_app=match.namespace if match else None)


@require_safe
def tile(request: HttpRequest, token: str, key: int, level: int, column: int, row: int) -> HttpResponse:  # noqa: ARG001
    """Hand a tile to whoever has a judge's link."""
    if max(key, level, column, row) <= LARGEST_NUMBER:
        for found in _TILE(token_hash=hashed(token), key=key, level=level, column=column, row=row):
            return content_response(found)
    return tile_response(_base_map_of(token)[0], key, (level, column, row))


@require_safe
def ground_picture(request: HttpRequest, token: str, key: int, position: int) -> HttpResponse:
    """Hand the picture under an area to whoever has a judge's link."""
    current, study = _base_map_of(token)
    return area_picture(request, current, key, study, position)


def area_picture(request: HttpRequest, current: int | None, key: int, study: int | None, position: int) -> HttpResponse:
    """Answer with the picture of the base map under an area, as much of it as the page shows."""
    if current is None or current != key or position > LARGEST_NUMBER:
        raise Http404
    scene = Area.objects.filter(study=study, position=position).values_list("scene", flat=True).first()
    if not scene:
        raise Http404
    facts = json.loads(scene)
    left, top, width, _ = view_of(facts["own"])
    return picture_response(request, picture(key, Frame(*facts["box"]).part(left, top, width)))


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


def _seen_tile(token_hash: str, **place: int) -> "QuerySet[BaseMapTile]":
    """Find a tile of the base map that a judge sees, in one query: a pair may need four."""
    judges = _seen(token_hash).filter(study__base_map=OuterRef("base_map")).order_by()
    return find_tile(**place).filter(Exists(judges))


_TILE = PreparedQuery(BaseMapTile, _seen_tile, token_hash="hash", key=101, level=102, column=103, row=104)  # noqa: S106
_SEEN = PreparedQuery(Judge, _seen, token_hash="hash")  # noqa: S106 - an example
