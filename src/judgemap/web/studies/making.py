"""Making a study: its areas are drawn and written in short turns, and appear with the last one."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import timedelta
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.html import escape
from django.utils.safestring import SafeString
from django.utils.text import slugify
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.geo.drawing import Drawings, MadeTile, draw_areas, stored_path
from judgemap.geo.figures import regions_in
from judgemap.geo.maps import Areas
from judgemap.study.data.definition import StudyDefinition
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.database import delete_in_turns, insert_in_turns
from judgemap.web.server.tokens import make_token
from judgemap.web.studies.areas import prepare_design
from judgemap.web.studies.editing import add_version, check_definition, check_end, check_languages, check_size
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Area, Drawing, Edge, Study, Tile

EDGE_BYTES = 60
DRAWN = 0.7
"""About how much of the work is drawing the areas, as a share."""
TRIES = 5
LONGEST_MAKING = timedelta(hours=1)
Tell = Callable[[float, str], None]
"""Called with the share of the work that is done, 0 to 1, and what is being done."""


def unheard(share: float, doing: str) -> None:
    """Ignore progress."""


def create_study(
    definition: StudyDefinition,
    areas: Areas,
    owner: Researcher | None = None,
    tell: Tell = unheard,
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
    remove_unfinished()
    drawings = draw_areas(areas, lambda share: tell(DRAWN * share, "Drawing the areas."))
    tell(DRAWN, "Preparing the choice of pairs.")
    packed = prepare_design(definition.design, areas.graph, definition.recommended)
    rows = _areas(areas, drawings, regions or regions_in(areas.names))
    whole = WholeMap(list(rows), _edges(areas), drawings.outline, drawings.tiles)
    return store_study(
        definition, whole, packed, owner, lambda share: tell(DRAWN + (1 - DRAWN) * share, "Storing the areas.")
    )


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
    tell: Callable[[float], None] = lambda share: None,  # noqa: ARG005
) -> Study:
    """Write a new study, in short turns; ``tell`` is called with the share of the areas that is written."""
    study = _new_study(definition.title, whole.outline)
    insert_in_turns(
        _rows_of(study, whole.areas, tell), lambda area: len(area.outline) + len(area.scene) + len(area.rings)
    )
    insert_in_turns(_edge_rows(study, whole.edges), lambda edge: EDGE_BYTES)  # noqa: ARG005 - all alike
    insert_in_turns((Tile(study=study, **each._asdict()) for each in whole.tiles), lambda tile: len(tile.content))
    if whole.outline and not whole.tiles:
        Drawing.objects.create(study=study, paths=draw_paths(whole.areas))
    with transaction.atomic():
        study.owner, study.answers_until = owner, definition.answers_until
        study.asks_places = bool(whole.outline) and (definition.asks_places or len(whole.areas) > MANY)
        study.join_code = make_token() if definition.access == "open" else None
        add_version(study, definition, packed_design, owner)
        record(study, owner, "created", {"areas": len(whole.areas)})
    return study


def _rows_of(study: Study, areas: Sequence[Area], tell: Callable[[float], None]) -> Iterator[Area]:
    for place, area in enumerate(areas):
        tell(place / len(areas))
        area.study = study
        yield area


def remove_unfinished() -> None:
    """Remove the studies that were being made when their process was killed."""
    left = Study.objects.filter(current=None, deleted_at=None, created_at__lt=timezone.now() - LONGEST_MAKING)
    for study in left:
        delete_in_turns(Edge.objects.filter(study=study))
        delete_in_turns(Tile.objects.filter(study=study))
        delete_in_turns(Area.objects.filter(study=study))
        study.delete()


def _new_study(title: str, outline: str) -> Study:
    """Make the row of a study under a free name; if two are made at once, one finds it taken and tries the next."""
    for _attempt in range(TRIES):
        try:
            with transaction.atomic():
                return Study.objects.create(slug=_free_slug(title), outline=outline)
        except IntegrityError:
            continue
    raise StudyError(_("several studies with this title are being made at once; try again"))


def _areas(areas: Areas, drawings: Drawings, regions: Sequence[str]) -> Iterator[Area]:
    for i, (label_x, label_y) in enumerate(drawings.labels):
        yield Area(
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


def _edges(areas: Areas) -> Iterator[tuple[int, int, str]]:
    bridges = {tuple(sorted(areas.index([each.a, each.b]).tolist())) for each in areas.bridges}
    for i, j in areas.graph.edges.tolist():
        yield i, j, Edge.Origin.BRIDGE if (i, j) in bridges else Edge.Origin.BORDER


def _edge_rows(study: Study, edges: Iterable[tuple[int, int, str]]) -> Iterator[Edge]:
    rows = list(Area.objects.filter(study=study).order_by("position").values_list("pk", flat=True))
    for i, j, origin in edges:
        yield Edge(study=study, a_id=min(rows[i], rows[j]), b_id=max(rows[i], rows[j]), origin=origin)


def _free_slug(title: str) -> str:
    base = slugify(title)[:50].strip("-") or "study"
    taken: Sequence[str] = list(Study.objects.filter(slug__startswith=base).values_list("slug", flat=True))
    slug, number = base, 2
    while slug in taken:
        slug, number = f"{base}-{number}", number + 1
    return slug


def draw_paths(areas: Iterable[Area]) -> SafeString:
    """Write areas with outlines as SVG paths, one after another, each with its position and its name."""
    return SafeString(
        "".join(
            f'<path class="area" d="{stored_path(area.rings)}" data-area="{area.position}">'
            f"<title>{escape(area.name)}</title></path>"
            for area in areas
        )
    )


MANY = 1_000
"""Nobody knows a map with more areas than this: its judges are asked which places they know, whatever a file says."""
PARTS = 50
"""From this many areas on, judges of a new study are asked, unless its researcher says otherwise."""
