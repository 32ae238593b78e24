"""Everything that changes uploads or asks for drafts of them."""

import tomllib
from dataclasses import asdict, fields, replace
from datetime import date, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.geo.drawing.squares import MadeTile
from judgemap.study.data.definition import AreasSource, StudyDefinition, parse_definition, without_edges
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.jobs import outlast
from judgemap.web.server.tokens import make_token
from judgemap.web.studies.areas import edges_in
from judgemap.web.studies.basemap.making import copy_base_map, move_base_map
from judgemap.web.studies.checking import check_definition
from judgemap.web.studies.designs import recommended_design
from judgemap.web.studies.editing import definition_of, edit_study, state_of
from judgemap.web.studies.keeping import check_end, remove_study
from judgemap.web.studies.log import record
from judgemap.web.studies.making import WholeMap, create_study, store_study
from judgemap.web.studies.models import Area, Draft, Study, Upload
from judgemap.web.studies.upload.files import inspect_file, read_with_regions, take_file

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile
    from django.db.models import QuerySet

KEPT_FOR = timedelta(days=2)
MOST_KEPT = 3
LARGEST_DEFINITION = 500_000


def read_toml(sent: "UploadedFile | None") -> str:
    """Read an uploaded study.toml, if it makes sense; empty if there is none."""
    if sent is None:
        return ""
    if (sent.size or 0) > LARGEST_DEFINITION:
        raise StudyError(_("this file is too long to be a study.toml; check that it is the right one"))
    try:
        text = bytes(sent.read()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise StudyError(_("this is not a text file in UTF-8; save it as one")) from None
    parse_toml(text)
    return text


def parse_toml(text: str) -> StudyDefinition:
    """Make a definition from the text of a study.toml."""
    try:
        definition = parse_definition(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise StudyError(_("this is not TOML (%(error)s); correct it") % {"error": error}) from None
    check_definition(definition)
    return definition


def keep_upload(researcher: Researcher, sent: "UploadedFile", definition: str) -> Upload:
    """Inspect a boundary file, and store it for the next step; delete old uploads and the researcher's oldest."""
    name, content = take_file(sent)
    inspection = asdict(inspect_file(name, content))
    with transaction.atomic():
        Upload.objects.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()
        upload = Upload.objects.create(
            researcher=researcher, name=name, content=content, definition=definition, inspection=inspection
        )
        kept = Upload.objects.filter(researcher=researcher).order_by("-pk").values_list("pk", flat=True)[:MOST_KEPT]
        at_work = Draft.objects.filter(status__in=Draft.UNDER_WAY, upload__isnull=False).values("upload")
        spare = Upload.objects.filter(researcher=researcher).exclude(pk__in=list(kept))
        spare.exclude(pk__in=at_work).delete()
    return upload


def look_again(upload: Upload, layer: str) -> None:
    """Inspect another layer of an uploaded file."""
    upload.inspection = asdict(inspect_file(upload.name, bytes(upload.content), layer))
    upload.save(update_fields=["inspection"])


def ask_for_draft(upload: Upload, chosen: dict[str, Any], by: Researcher) -> Draft:
    """Ask a worker to make a draft from an upload; if one is already being made, return that one.

    An earlier draft from the same upload that nobody has opened to judges is replaced.
    """
    made = _last_study(upload)
    return _ask(Draft(upload=upload, chosen=chosen, replaces=made, asked_by=by), Draft.objects.filter(upload=upload))


def ask_for_copy(study: Study, by: Researcher) -> Draft:
    """Ask a worker to copy a study, without its judges and answers."""
    return _ask(Draft(copy_of=study, asked_by=by), Draft.objects.filter(copy_of=study))


def _ask(draft: Draft, alike: "QuerySet[Draft]") -> Draft:
    """Store a request for a draft, unless one like it is under way: the database allows only one."""
    try:
        with transaction.atomic():
            draft.save(force_insert=True)
            return draft
    except IntegrityError:
        under_way = alike.filter(status__in=Draft.UNDER_WAY).first()
        if under_way is None:
            raise
        return under_way


def _last_study(upload: Upload) -> Study | None:
    """Return the last study made from an upload, if it is still a draft."""
    done = Draft.objects.filter(upload=upload, study__status=Study.Status.DRAFT, study__deleted_at=None)
    draft = done.select_related("study").order_by("-pk").first()
    return draft.study if draft else None


READING = 0.15
"""About how much of the work is reading the file, as a share."""
SOURCE = ("id", "name", "crs", "contiguity")
TEXTS = ("title", "question", "direction")
READY = "Your draft is ready."
APART = (
    "The earlier draft was opened to judges or deleted meanwhile, so it stays as it is, and this is a separate draft."
)
MAP = {
    "versions", "areas", "drawing", "tiles", "edges", "acts", "base_maps", "extracts", "fits", "counts", "panel_plan",
    "population_map",
}  # fmt: skip
"""What belongs to a draft's map and goes with it; everything else that points at the study was made by people."""


def make_draft(draft: Draft) -> None:
    """Make the study that a draft asks for, and finish the draft."""
    draft.said = READY
    draft.study = _copied(draft) if draft.copy_of is not None else _from_upload(draft)
    draft.finish("study")


def _from_upload(draft: Draft) -> Study:
    upload = draft.upload
    if upload is None:
        raise StudyError("the file is no longer there; upload it again")
    then = definition_of(draft.replaces) if draft.replaces is not None else None
    definition = define(upload, draft.chosen, then)
    options = {key: draft.chosen.get(key, "") for key in (*SOURCE, "layer", "region")}
    extra = [list(pair) for pair in definition.areas.extra_edges]
    more = {"extra_edges": extra, "remedies": draft.chosen.get("remedies", {})}
    hear = partial(_hear, draft, 0.0, READING)
    areas, regions = read_with_regions(upload.name, bytes(upload.content), options | more, hear)
    areas = without_edges(areas, definition.areas.removed_edges)
    if draft.replaces is None and not upload.definition:
        definition = replace(definition, design=recommended_design(len(areas)))

    study = create_study(definition, areas, draft.asked_by, partial(_hear, draft, READING, 1.0), regions)
    record(study, draft.asked_by, "map read", {"file": upload.name, "notes": list(areas.notes)})
    if draft.replaces is not None and then is not None and not _take_place_of(study, draft.replaces, then):
        draft.said = APART
    return study


def _hear(draft: Draft, first: float, last: float, share: float, doing: str) -> None:
    """Report the progress of a part of the work that takes the draft from share ``first`` to ``last``."""
    if draft.news_due():
        draft.tell(first + (last - first) * share, doing)


def define(upload: Upload, chosen: dict[str, Any], replaced: StudyDefinition | None = None) -> StudyDefinition:
    """Define an upload's study by what was chosen, with the texts of its study.toml or of the draft it replaces."""
    source = AreasSource(file=upload.name, **{key: chosen.get(key, "") for key in SOURCE})
    until = chosen.get("answers_until")
    texts = {key: chosen[key] for key in TEXTS} | {"answers_until": date.fromisoformat(until) if until else None}
    definition = StudyDefinition(areas=source, **texts)
    if replaced is not None:
        source = replace(source, extra_edges=replaced.areas.extra_edges, removed_edges=replaced.areas.removed_edges)
        definition = replace(replaced, areas=source, **texts)
    elif upload.definition:
        given = parse_toml(upload.definition)
        source = replace(source, extra_edges=given.areas.extra_edges, removed_edges=given.areas.removed_edges)
        definition = replace(given, areas=source, **texts)
    check_definition(definition)
    check_end(definition.answers_until)
    return definition


def _take_place_of(study: Study, replaced: Study, then: StudyDefinition) -> bool:
    """Put a new draft in the place of an earlier one, with all that people made in that; False if it is no draft now.

    ``then`` is what the earlier draft was when the work began; what was edited since is edited in the new one too.
    """
    while True:
        seen = Study.objects.select_related("current").filter(pk=replaced.pk).first()
        if seen is None:
            return False
        now = definition_of(seen)
        if now.areas != then.areas:
            remove_study(study)
            raise StudyError("somebody changed neighbours in the draft while it was made again; make it again")
        before = ((each.name, getattr(then, each.name), getattr(now, each.name)) for each in fields(now))
        if edited := {name: value for name, old, value in before if old != value}:
            edit_study(study, replace(definition_of(study), **edited), seen.version.author)
            study.refresh_from_db()
        then = now
        with transaction.atomic():
            earlier = Study.objects.select_for_update(of=("self",)).filter(pk=replaced.pk).first()
            if earlier is None or earlier.status != Study.Status.DRAFT or earlier.deleted_at is not None:
                return False
            if state_of(earlier) != state_of(seen):
                continue
            _hand_over(earlier, study)
        outlast(partial(remove_study, earlier))
        return True


def _hand_over(earlier: Study, study: Study) -> None:
    """Give a study the name, the link and the people of an earlier draft, which nobody sees from here on."""
    move_base_map(earlier, study)
    for relation in Study._meta.related_objects:  # noqa: SLF001 - Django's
        if relation.get_accessor_name() not in MAP:
            model, name = relation.field.model, relation.field.name
            model._base_manager.filter(**{name: earlier}).update(**{name: study})  # noqa: SLF001 - Django's
    study.slug, study.join_code, study.owner = earlier.slug, earlier.join_code, earlier.owner
    study.colleagues.set(earlier.colleagues.all())
    study.readers.set(earlier.readers.all())
    earlier.slug, earlier.join_code, earlier.owner = make_token().lower(), None, None
    earlier.deleted_at = timezone.now()
    for each in (earlier, study):
        each.save(update_fields=["slug", "join_code", "owner", "deleted_at"])


def _copied(draft: Draft) -> Study:
    original = draft.copy_of
    if original is None or original.current is None:
        raise StudyError("the study to copy is no longer there")
    definition = definition_of(original)
    definition = replace(definition, title=f"{definition.title[:190]} (copy)", answers_until=None)
    fields = ("position", "code", "name", "region", "outline", "scene", "rings", "label_x", "label_y")
    rows = [Area(**each) for each in original.areas.order_by("position").values(*fields)]
    edges = list(edges_in(original.version).values_list("a__position", "b__position", "origin"))
    packed = original.version.packed_design
    design = bytes(packed) if packed else None
    tiles = [MadeTile(each.level, each.x, each.y, bytes(each.content)) for each in original.tiles.all()]
    study = store_study(definition, WholeMap(rows, edges, original.outline, tiles), design, draft.asked_by)
    copy_base_map(original, study)
    record(study, draft.asked_by, "copied", {"from": original.slug})
    return study
