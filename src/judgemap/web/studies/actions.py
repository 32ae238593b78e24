"""Everything that changes a study. Each action but the first is one transaction; the audit log records them all."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, NamedTuple

import numpy as np
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from judgemap.core.model.graph import AreaGraph
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.drawing.outlines import Drawings, draw_areas
from judgemap.geo.drawing.squares import MadeTile
from judgemap.geo.maps import Areas
from judgemap.study.data.definition import StudyDefinition
from judgemap.web.accounts.actions import find_researcher
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.tokens import make_token
from judgemap.web.server.turns import delete_in_turns, insert_in_turns
from judgemap.web.studies.areas import load_graph, source_of
from judgemap.web.studies.designs import prepare_design
from judgemap.web.studies.keeping import change_end, check_end
from judgemap.web.studies.limits import check_limits, check_size
from judgemap.web.studies.log import record
from judgemap.web.studies.maps import draw_paths
from judgemap.web.studies.models import Area, Drawing, Edge, Study, StudyVersion, Tile
from judgemap.web.studies.regions import MANY, regions_in

VERSION_FIELDS = (
    "title", "question", "direction", "example", "consent", "instructions", "thanks", "design", "recommended",
    "maximum", "ties", "skips", "repeats", "base_map", "base_map_credit",
)  # fmt: skip
SOURCE_FIELDS = ("file", "edges", "names", "id", "name", "crs", "contiguity", "extra_edges", "removed_edges")
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
    _check_languages(definition)
    check_end(definition.answers_until)
    check_size(len(areas))
    remove_unfinished()
    drawings = draw_areas(areas, lambda share: tell(DRAWN * share, "Drawing the areas."))
    tell(DRAWN, "Preparing the choice of pairs.")
    packed = prepare_design(definition.design, areas.graph, definition.recommended)
    rows = [Area(**each) for each in _areas(areas, drawings, regions or regions_in(areas.names))]
    whole = WholeMap(rows, _edges(areas), drawings.outline, drawings.tiles)
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
        study.asks_places = bool(whole.outline) and len(whole.areas) > MANY
        study.join_code = make_token() if definition.access == "open" else None
        _add_version(study, definition, packed_design, owner)
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


def edit_study(study: Study, definition: StudyDefinition, author: Researcher | None = None) -> StudyVersion:
    """Store an edit as a new version. Areas and edges stay as they are; no answer is touched.

    The edit was made from what ``study`` was when it was read; if somebody has changed it since, the edit is refused.
    """
    _check_languages(definition)
    packed = prepare_design(definition.design, load_graph(study.version), definition.recommended)
    read = state_of(study)
    with transaction.atomic():
        study = locked(study)
        if state_of(study) != read:
            raise StudyError(_("Someone else has changed this study. Reload the page and make your change again."))
        if study.status == Study.Status.CLOSED:
            raise StudyError(
                _("study %(slug)s is closed; make a new one instead of editing it") % {"slug": f"{study.slug!r}"}
            )
        if definition.access == "open" and study.join_code is None:
            study.join_code = make_token()
        elif definition.access == "personal":
            study.join_code = None
        change_end(study, definition.answers_until, author)
        version = _add_version(study, definition, packed, author)
        record(study, author, "edited", {"version": version.number})
    return version


def state_of(study: Study) -> tuple[object, ...]:
    """Return what tells two states of a study's definition apart."""
    return study.current_id, study.answers_until, study.join_code


def change_edge(study: Study, a: Area, b: Area, author: Researcher | None = None) -> Edge | None:
    """Make two areas neighbours, or separate them if they are, in a new version of the study.

    Returns the edge, or None if it was removed.
    """
    first, second = sorted((a, b), key=lambda area: area.pk)
    while True:
        before = study.version
        graph = _with_edge_changed(load_graph(before), a.position, b.position)
        packed = prepare_design(before.design, graph, before.recommended)
        with transaction.atomic():
            study = locked(study)
            if study.status == Study.Status.CLOSED:
                raise StudyError(
                    _("study %(slug)s is closed; its edges stay as they are") % {"slug": f"{study.slug!r}"}
                )
            if study.version.pk != before.pk:
                continue  # edited meanwhile: our design, which can take long to make, is for another graph
            definition, number = definition_of(study), before.number + 1
            edge = Edge.objects.filter(a=first, b=second, removed_in=None).first()
            if edge is None:
                edge = Edge.objects.create(study=study, a=first, b=second, origin=Edge.Origin.ADDED, added_in=number)
            else:
                edge.removed_in = number
                edge.save(update_fields=["removed_in"])
            _add_version(study, definition, packed, author)
            verb = "edge removed" if edge.removed_in else "edge added"
            record(study, author, verb, {"edge": [first.code, second.code]})
        return None if edge.removed_in else edge


def _with_edge_changed(graph: AreaGraph, a: int, b: int) -> AreaGraph:
    edges = {(i, j) for i, j in graph.edges.tolist()} ^ {(min(a, b), max(a, b))}
    return AreaGraph(graph.n_areas, np.array(sorted(edges), dtype=np.int64))


def open_study(study: Study, by: Researcher | None = None) -> Study:
    """Open a study to its judges."""
    return _move(study, Study.Status.OPEN, by, {Study.Status.DRAFT, Study.Status.PAUSED})


def pause_study(study: Study, by: Researcher | None = None) -> Study:
    """Pause a study: judges cannot answer for now."""
    return _move(study, Study.Status.PAUSED, by, {Study.Status.OPEN})


def close_study(study: Study, by: Researcher | None = None) -> Study:
    """End the study; its answers stay."""
    return _move(study, Study.Status.CLOSED, by, {Study.Status.DRAFT, Study.Status.OPEN, Study.Status.PAUSED})


def find_study(slug: str) -> Study:
    """Find a study by its name in addresses; if there is none, the error lists those there are."""
    made = Study.objects.exclude(current=None)
    study = made.select_related("current").filter(slug=slug).first()
    if study is None:
        slugs = list(made.order_by("slug").values_list("slug", flat=True))
        there = f"there are {quoted(slugs)}" if slugs else "there are no studies yet"
        raise StudyError(
            _("there is no study %(slug)s%(hint)s; %(there)s")
            % {"slug": f"{slug!r}", "hint": did_you_mean(slug, slugs), "there": there}
        )
    return study


def definition_of(study: Study, version: StudyVersion | None = None) -> StudyDefinition:
    """Return the definition that a version was made from, with the edges that were added and removed by hand."""
    version = version or study.version
    return StudyDefinition(
        **{field: getattr(version, field) for field in VERSION_FIELDS},
        access="open" if study.join_code else "personal",
        languages=tuple(version.languages),
        translations=version.translations,
        areas=source_of(version),
        answers_until=study.answers_until,
    )


def _move(study: Study, status: Study.Status, by: Researcher | None, allowed: set[Study.Status]) -> Study:
    with transaction.atomic():
        study = locked(study)
        if study.status == status:
            return study
        if study.status not in allowed:
            raise StudyError(
                _("study %(slug)s is %(status)s and cannot become %(wanted)s")
                % {"slug": f"{study.slug!r}", "status": study.status, "wanted": status.value}
            )
        study.status = status
        study.opened_at = study.opened_at or (timezone.now() if status == Study.Status.OPEN else None)
        study.closed_at = timezone.now() if status == Study.Status.CLOSED else None
        study.save(update_fields=["status", "opened_at", "closed_at"])
        record(study, by, status.value, {})
    return study


def locked(study: Study) -> Study:
    """Lock a study's row and read it again; refuse one that was deleted, or made again from its file, meanwhile."""
    found = Study.objects.select_for_update(of=("self",)).select_related("current").filter(pk=study.pk).first()
    if found is None or found.deleted_at is not None:
        raise StudyError(_("this study was deleted or made again meanwhile; reload the page"))
    return found


def _add_version(
    study: Study, definition: StudyDefinition, packed_design: bytes | None, author: Researcher | None
) -> StudyVersion:
    last = StudyVersion.objects.filter(study=study).order_by("-number").values_list("number", flat=True).first()
    version = StudyVersion.objects.create(
        study=study,
        number=(last or 0) + 1,
        author=author,
        packed_design=packed_design,
        consent_digest=_consent_digest(definition),
        languages=list(definition.languages),
        translations={language: dict(texts) for language, texts in definition.translations.items()},
        source={field: value for field in SOURCE_FIELDS if (value := getattr(definition.areas, field))},
        **{field: getattr(definition, field) for field in VERSION_FIELDS},
    )
    study.current = version
    study.save(update_fields=["current", "join_code", "owner", "answers_until", "asks_places"])
    return version


def _consent_digest(definition: StudyDefinition) -> str:
    translated = [definition.translations.get(each, {}).get("consent", "") for each in definition.languages]
    # The separator occurs in no text, so words that move from one language to the next change the digest.
    return hashlib.sha256("\x1e".join([definition.consent, *translated]).encode()).hexdigest()


def _new_study(title: str, outline: str) -> Study:
    """Make the row of a study under a free name; if two are made at once, one finds it taken and tries the next."""
    for _attempt in range(TRIES):
        try:
            with transaction.atomic():
                return Study.objects.create(slug=_free_slug(title), outline=outline)
        except IntegrityError:
            continue
    raise StudyError(_("several studies with this title are being made at once; try again"))


def _areas(areas: Areas, drawings: Drawings, regions: Sequence[str]) -> Iterator[dict[str, Any]]:
    for i, (label_x, label_y) in enumerate(drawings.labels):
        yield {
            "position": i,
            "code": areas.ids[i],
            "name": areas.names[i],
            "region": regions[i],
            "outline": drawings.geojson[i],
            "scene": drawings.scenes[i],
            "rings": drawings.rings[i],
            "label_x": label_x,
            "label_y": label_y,
        }


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


def _check_languages(definition: StudyDefinition) -> None:
    known = [code for code, _ in settings.LANGUAGES]
    for language in definition.languages:
        if language not in known:
            text = f"languages: {language!r} is not translated yet; there are {quoted(known)}"
            raise StudyError(text, field="languages")


def change_study(study: Study, by: Researcher, changes: dict[str, Any]) -> bool:
    """Store changes to a study as a new version; False if nothing changed."""
    before = definition_of(study)
    after = replace(before, **changes)
    check_limits(after)
    if after == before:
        return False
    edit_study(study, after, by)
    return True


def share_study(study: Study, email: str, by: Researcher, *, to_read: bool = False) -> Researcher:
    """Share a study with the researcher at an email address, or change what they may do."""
    colleague = Researcher.objects.filter(email=email.strip().lower(), is_active=True).first()
    if colleague is None:
        raise StudyError(_("no researcher here has this address; invite them under Researchers first"))
    with transaction.atomic():
        study = locked(study)
        if colleague == study.owner:
            raise StudyError(_("this is the study's owner"))
        now, before = (study.readers, study.colleagues) if to_read else (study.colleagues, study.readers)
        before.remove(colleague)
        now.add(colleague)
        record(study, by, "shared", {"with": colleague.email} | ({"to": "read"} if to_read else {}))
    return colleague


def unshare_study(study: Study, colleague_id: str, by: Researcher) -> None:
    """Stop sharing a study with a colleague; nothing happens if it was not shared."""
    with transaction.atomic():
        study = locked(study)
        known = colleague_id.isdecimal() and len(colleague_id) < 19
        for shared in (study.colleagues, study.readers):
            for colleague in shared.filter(pk=colleague_id if known else -1):
                shared.remove(colleague)
                record(study, by, "unshared", {"with": colleague.email})


def give_study(study: Study, email: str) -> Researcher:
    """Make a researcher the owner of a study; the previous owner stays on as a colleague."""
    owner = find_researcher(email)
    with transaction.atomic():
        study = locked(study)
        if study.owner is not None and study.owner != owner:
            study.colleagues.add(study.owner)
        study.colleagues.remove(owner)
        study.readers.remove(owner)
        study.owner = owner
        study.save(update_fields=["owner"])
        record(study, None, "given", {"to": owner.email})
    return owner
