"""Making a study: its areas are drawn and written in short turns, and appear with the last one."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.geo.drawing import MadeTile, draw_areas, stored_path, svg_path
from judgemap.geo.figures import regions_in
from judgemap.geo.maps import Areas
from judgemap.study.data.definition import NO_WORDS, StudyDefinition
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.database import insert_in_turns
from judgemap.web.server.readers import Hear, unheard
from judgemap.web.server.tokens import make_token
from judgemap.web.studies.areas import prepare_design
from judgemap.web.studies.editing import (
    add_version,
    check_definition,
    check_end,
    check_languages,
    check_size,
    set_imprint,
)
from judgemap.web.studies.keeping import remove_study
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Area, Drawing, Edge, Study, Tile

EDGE_BYTES = 60
DRAWN = 0.7
"""About how much of the work is drawing the areas, as a share."""
LONGEST_MAKING = timedelta(hours=1)
MOST_OF_A_NAME = 1_000


def create_study(
    definition: StudyDefinition,
    areas: Areas,
    owner: Researcher | None = None,
    tell: Hear = unheard,
    regions: Sequence[str] = (),
) -> Study:
    """Make a draft of a study, with its areas, its edges and version 1; ``tell`` is called with the progress.

    ``regions`` are the larger places that the areas belong to; without them, they may be read from the names.

    The study is written in short turns, so that judges of other studies need not wait. Until the last turn it has
    neither a version nor an owner, and no page or command shows it; what a killed process leaves behind is removed when
    the next study is made.
    """
    check_languages(definition)
    check_definition(definition)
    check_end(definition.answers_until)
    check_size(len(areas))
    for left in Study.objects.filter(current=None, deleted_at=None, created_at__lt=timezone.now() - LONGEST_MAKING):
        remove_study(left)
    drawings = draw_areas(areas, lambda share: tell(DRAWN * share, "Drawing the areas."))
    tell(DRAWN, "Preparing the choice of pairs.")
    packed = prepare_design(definition.design, areas.graph, definition.recommended)
    regions = regions or regions_in(areas.names)
    rows = [
        Area(
            position=i,
            code=areas.ids[i],
            name=areas.names[i],
            region=regions[i],
            outline=drawings.geojson[i],
            scene=drawings.scenes[i],
            rings=drawings.rings[i],
            label_x=label_x,
            label_y=label_y,
        )
        for i, (label_x, label_y) in enumerate(drawings.labels)
    ]
    bridges = {tuple(sorted(areas.index([each.a, each.b]).tolist())) for each in areas.bridges}
    edges = (
        (i, j, Edge.Origin.BRIDGE if (i, j) in bridges else Edge.Origin.BORDER) for i, j in areas.graph.edges.tolist()
    )
    study = store_study(
        definition,
        WholeMap(rows, edges, drawings.outline, drawings.tiles),
        packed,
        owner,
        lambda share, doing: tell(DRAWN + (1 - DRAWN) * share, doing),
    )
    if definition.briefing != NO_WORDS:
        set_imprint(study, asdict(definition.briefing), owner)
    return study


class WholeMap(NamedTuple):
    """What is stored of a map; edges are pairs of positions with their origin, and only a large map has tiles."""

    areas: Sequence[Area]
    edges: Iterable[tuple[int, int, str]]
    outline: str
    tiles: Sequence[MadeTile] = ()


def store_study(
    definition: StudyDefinition,
    whole: WholeMap,
    packed_design: bytes | None,
    owner: Researcher | None,
    tell: Hear = unheard,
) -> Study:
    """Write a new study, in short turns; ``tell`` is called with the share of the areas that is written."""
    study = _new_study(definition.title, whole.outline)

    def areas() -> Iterator[Area]:
        for place, area in enumerate(whole.areas):
            tell(place / len(whole.areas), "Storing the areas.")
            area.study = study
            yield area

    insert_in_turns(areas(), lambda area: len(area.outline) + len(area.scene) + len(area.rings))
    keys = list(Area.objects.filter(study=study).order_by("position").values_list("pk", flat=True))
    rows = (
        Edge(study=study, a_id=min(keys[i], keys[j]), b_id=max(keys[i], keys[j]), origin=origin)
        for i, j, origin in whole.edges
    )
    insert_in_turns(rows, lambda edge: EDGE_BYTES)  # noqa: ARG005 - all alike
    insert_in_turns((Tile(study=study, **each._asdict()) for each in whole.tiles), lambda tile: len(tile.content))
    if whole.outline:
        draw = small_paths if whole.tiles else draw_paths
        Drawing.objects.create(study=study, paths=draw(whole.areas))
    with transaction.atomic():
        study.owner, study.answers_until = owner, definition.answers_until
        study.asks_places = bool(whole.outline) and (definition.asks_places or len(whole.areas) > MANY)
        study.join_code = make_token() if definition.access == "open" else None
        add_version(study, definition, packed_design, owner)
        record(study, owner, "created", {"areas": len(whole.areas)})
    return study


def _new_study(title: str, outline: str) -> Study:
    """Make the row of a study under a free name."""
    base = slugify(title)[:50].strip("-") or "study"
    for number in range(1, MOST_OF_A_NAME):
        slug = base if number == 1 else f"{base}-{number}"
        study, is_new = Study.objects.defer("outline").get_or_create(slug=slug, defaults={"outline": outline})
        if is_new:
            return study
    raise StudyError(_("too many studies have this title; choose another one"))


def draw_paths(areas: Iterable[Area]) -> SafeString:
    """Write areas with outlines as SVG paths, one after another, each with its position and its name."""
    return SafeString(
        "".join(
            f'<path class="area" d="{stored_path(area.rings)}" data-area="{area.position}">'
            f"<title>{escape(area.name)}</title></path>"
            for area in areas
        )
    )


SPECK = 4
"""An area no larger than this, in units of the whole map, is drawn as a small square."""


def small_paths(areas: Iterable[Area]) -> str:
    """Write the outline of each area of a large map as an SVG path, one on each line."""
    return "\n".join(small_path(json.loads(area.rings)) for area in areas)


def small_path(rings: list[list[int]]) -> str:
    """Write an area's rings as an SVG path; one that is too small to see, as a small square.

    >>> small_path([[0, 0, 90, 0, 90, 50]]), small_path([[5, 5, 7, 7, 5, 9, 3, 7]])
    ('M0 0l90 0 0 50z', 'M4 6h2v2h-2z')
    """
    if len(rings) == 1 and len(rings[0]) == 8:
        xs, ys = rings[0][::2], rings[0][1::2]
        if max(xs) - min(xs) <= SPECK and max(ys) - min(ys) <= SPECK:
            return f"M{sum(xs) // 4 - 1} {sum(ys) // 4 - 1}h2v2h-2z"
    return svg_path(rings)


MANY = 1_000
"""Nobody knows a map with more areas than this: its judges are asked which places they know, whatever a file says."""
PARTS = 50
"""From this many areas on, judges of a new study are asked, unless its researcher says otherwise."""
