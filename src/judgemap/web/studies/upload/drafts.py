"""From an uploaded file to a draft: taking and reading the file, keeping it, and what a worker makes of it.

A file is checked from the outside before a separate process opens it.
"""

import logging
import tempfile
import tomllib
import zipfile
from dataclasses import replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import msgspec
import numpy as np
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from judgemap.core.model.graph import AreaGraph
from judgemap.errors import StudyError
from judgemap.geo.drawing import MadeTile
from judgemap.geo.maps import Areas, Bridge
from judgemap.study.data.definition import AreasSource, StudyDefinition, parse_definition, without_edges
from judgemap.web.accounts.models import Researcher
from judgemap.web.server import readers
from judgemap.web.server.jobs import outlast
from judgemap.web.server.readers import (
    Hear,
    TooMuchError,
    reader_environment,
    run_reader,
    safe_name,
    unheard,
)  # fmt: skip
from judgemap.web.server.sandbox import Limits
from judgemap.web.server.tokens import make_token
from judgemap.web.studies.areas import edges_in, recommended_design
from judgemap.web.studies.basemap.making import copy_base_map, move_base_map
from judgemap.web.studies.editing import check_definition, check_end, definition_of, state_of
from judgemap.web.studies.keeping import remove_study
from judgemap.web.studies.log import record
from judgemap.web.studies.making import PARTS, WholeMap, create_study, store_study
from judgemap.web.studies.models import Area, Draft, Study, Upload
from judgemap.web.studies.upload.reading import KEPT, LARGE, limits_for
from judgemap.web.studies.upload.records import Answer, Chosen, Inspection, KnownAreas, ReadFigures

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile
    from django.db.models import QuerySet

logger = logging.getLogger(__name__)
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
        raise StudyError(_("this is not TOML (%(error)s); correct it"), error=error) from None
    check_definition(definition)
    return definition


def keep_upload(researcher: Researcher, sent: "UploadedFile", definition: str) -> Upload:
    """Inspect a boundary file, and store it for the next step; delete old uploads and the researcher's oldest."""
    name, content = take_file(sent)
    found, kept_file = inspect_and_shrink(name, content)
    if kept_file is not None:
        name, content = f"{Path(name).stem}.gpkg", kept_file
    inspection = msgspec.to_builtins(found)
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
    upload.inspection = msgspec.to_builtins(inspect_file(upload.name, bytes(upload.content), layer))
    upload.save(update_fields=["inspection"])


def ask_for_draft(upload: Upload, chosen: Chosen, by: Researcher) -> Draft:
    """Ask a worker to make a draft from an upload; if one is already being made, return that one.

    An earlier draft from the same upload that nobody has opened to judges is replaced.
    """
    draft = Draft(upload=upload, chosen=msgspec.to_builtins(chosen), replaces=_last_study(upload), asked_by=by)
    return _ask(draft, Draft.objects.filter(upload=upload))


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
    "versions", "areas", "drawing", "tiles", "edges", "acts", "base_maps", "extracts", "fits", "counts", "plan",
    "population_map",
}  # fmt: skip
"""What belongs to a draft's map and goes with it; everything else that points at the study was made by people."""


def make_draft(draft: Draft) -> None:
    """Make the study that a draft asks for, and finish the draft."""
    draft.study = _copied(draft) if draft.copy_of is not None else _from_upload(draft)
    if draft.said != APART:
        draft.said = READY
    draft.finish("study")


def _from_upload(draft: Draft) -> Study:
    upload = draft.upload
    if upload is None:
        raise StudyError("the file is no longer there; upload it again")
    earlier = draft.replaces
    definition = define(upload, draft.choice, None if earlier is None else definition_of(earlier))
    seen = None if earlier is None else state_of(earlier)
    chosen = msgspec.structs.replace(draft.choice, extra_edges=list(definition.areas.extra_edges))
    areas, regions = read_file(
        upload.name, bytes(upload.content), chosen, lambda share, doing: draft.tell(READING * share, doing)
    )
    areas = without_edges(areas, definition.areas.removed_edges)
    if earlier is None and not upload.definition:
        definition = replace(definition, design=recommended_design(len(areas)), asks_places=len(areas) >= PARTS)

    study = create_study(
        definition,
        areas,
        draft.asked_by,
        lambda share, doing: draft.tell(READING + (1 - READING) * share, doing),
        regions,
    )
    record(study, draft.asked_by, "map read", {"file": upload.name, "notes": list(areas.notes)})
    if earlier is not None and seen is not None and not _take_place_of(study, earlier, seen):
        draft.said = APART
    return study


def define(upload: Upload, chosen: Chosen, replaced: StudyDefinition | None = None) -> StudyDefinition:
    """Define an upload's study by what was chosen, with the texts of its study.toml or of the draft it replaces."""
    source = AreasSource(file=upload.name, **{key: getattr(chosen, key) for key in SOURCE})
    texts = {key: getattr(chosen, key) for key in (*TEXTS, "answers_until")}
    given = replaced or (parse_toml(upload.definition) if upload.definition else None)
    if given is None:
        definition = StudyDefinition(areas=source, **texts)
    else:
        by_hand = given.areas
        source = replace(source, extra_edges=by_hand.extra_edges, removed_edges=by_hand.removed_edges)
        definition = replace(given, areas=source, **texts)
    check_definition(definition)
    check_end(definition.answers_until)
    return definition


def _take_place_of(study: Study, replaced: Study, seen: tuple[object, ...]) -> bool:
    """Put a new draft in the place of an earlier one, with all that people made in that; False if it is no draft now.

    ``seen`` is the state of the earlier draft from which the new one was made.
    """
    with transaction.atomic():
        earlier = Study.objects.select_for_update(of=("self",)).filter(pk=replaced.pk).first()
        if earlier is None or earlier.status != Study.Status.DRAFT or earlier.deleted_at is not None:
            return False
        unchanged = state_of(earlier) == seen
        if unchanged:
            _hand_over(earlier, study)
    outlast(partial(remove_study, earlier if unchanged else study))
    if not unchanged:
        raise StudyError("somebody changed the draft while it was made again; make it again")
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


LARGEST = 100_000_000
LARGEST_UNZIPPED = 250_000_000
MOST_FILES = 60
ENDINGS = (".geojson", ".json", ".topojson", ".gpkg", ".kml", ".kmz", ".zip")
FIGURES = (".csv", ".tsv", ".txt", ".xlsx")
LARGEST_FIGURES = 10_000_000
TABLES = (".csv", ".tsv", ".txt", ".xlsx", ".xls", ".ods")
DRIVERS = frozenset({"GeoJSON", "TopoJSON", "GPKG", "ESRI Shapefile", "KML", "XLSX"})
READER = "judgemap.web.studies.upload.reading"
TOO_MUCH = gettext_noop("the file is too large or too complex to read here; simplify its boundaries and try again")


Content: TypeAlias = "bytes | UploadedFile"
"""A file as it is kept, or a larger one as it was sent, which stays on the disk."""


def take_file(sent: "UploadedFile") -> tuple[str, Content]:
    """Take an uploaded boundary file, if its name, size and content are of a kind that we accept."""
    name = safe_name(sent.name or "")
    ending = Path(name).suffix.lower()
    if ending in TABLES:
        raise StudyError(
            _(
                "this is a table, which has no outlines. Find the boundaries of its areas, join the table to them by "
                "their codes in QGIS (Layer properties, Joins), and export the layer as a GeoPackage; a table of "
                "points becomes areas with “Voronoi polygons”"
            )
        )
    if ending in (".shp", ".dbf", ".shx", ".prj"):
        raise StudyError(_("a Shapefile is several files: put its .shp, .shx, .dbf and .prj into one .zip file"))
    if ending not in ENDINGS:
        raise StudyError(
            _("choose a .geojson, .topojson, .json, .gpkg, .kml or .kmz file, or a .zip file with a Shapefile in it")
        )
    if (sent.size or 0) > LARGEST:
        text = _(
            "the file is %(size)s MB; the limit is %(largest)s MB. Simplify its boundaries, or cut out what you need"
        )
        raise StudyError(text, size=f"{(sent.size or 0) / 1e6:.0f}", largest=f"{LARGEST / 1e6:.0f}")
    if not sent.size:
        raise StudyError(_("the file is empty; export the map again"))
    if ending in (".zip", ".kmz"):
        check_zip(sent)
    return name, sent if sent.size > LARGE else sent.read()


def check_zip(file: "UploadedFile") -> None:
    """Refuse a zip file that would unpack to too much, before it is unpacked."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        raise StudyError(_("the zip file cannot be opened; zip the map again, without a password")) from None
    if len(members) > MOST_FILES:
        text = _("the zip file holds %(files)s files; put only the Shapefile's own into it")
        raise StudyError(text, files=len(members))
    if sum(each.file_size for each in members) > LARGEST_UNZIPPED:
        text = _("the zip file unpacks to more than %(largest)s MB; simplify the boundaries")
        raise StudyError(text, largest=f"{LARGEST_UNZIPPED / 1e6:.0f}")
    if any(each.flag_bits & 1 for each in members):
        raise StudyError(_("the zip file has a password; zip the map again, without one"))
    file.seek(0)


def read_figures(sent: "UploadedFile", areas: Areas) -> ReadFigures:
    """Read an uploaded table of figures, or boundaries of larger places, and match it to areas."""
    import shapely

    name = safe_name(sent.name or "")
    ending = Path(name).suffix.lower()
    if ending in FIGURES:
        if (sent.size or 0) > LARGEST_FIGURES:
            raise StudyError(_("the table is larger than 10 MB; keep the rows and columns that you need"))
        if ending == ".xlsx":
            check_zip(sent)
        content: Content = sent.read()
    elif ending in ENDINGS:
        name, content = take_file(sent)
    else:
        raise StudyError(_("choose a .csv or .xlsx file, or boundaries of districts as .geojson, .gpkg or .zip"))
    outlines = [] if areas.geometry is None else shapely.to_wkb(areas.geometry.to_numpy(), hex=True).tolist()
    known = msgspec.json.encode(KnownAreas(list(areas.ids), list(areas.names), outlines))
    read = _run("figures", name, content, known)[0].figures
    if read is None:
        raise StudyError(_(TOO_MUCH))
    return read


def inspect_file(name: str, content: bytes, layer: str = "") -> Inspection:
    """Inspect a boundary file."""
    return inspect_and_shrink(name, content, layer)[0]


def inspect_and_shrink(name: str, content: Content, layer: str = "") -> tuple[Inspection, bytes | None]:
    """Inspect a boundary file; if it is large, return also what is to be kept of it, with simpler outlines."""
    answer, kept = _run("inspect", name, content, Chosen(layer=layer))
    if answer.inspection is None or (kept is None and not isinstance(content, bytes)):
        raise StudyError(_(TOO_MUCH))
    return answer.inspection, kept


def read_file(name: str, content: bytes, chosen: Chosen, hear: Hear = unheard) -> tuple[Areas, list[str]]:
    """Read the areas of a boundary file as was chosen, and the region of each area if a column has regions."""
    import geopandas
    import shapely

    read = _run("read", name, content, chosen, hear)[0].map
    if read is None:
        raise StudyError(_(TOO_MUCH))
    areas = Areas(
        ids=tuple(read.ids),
        names=tuple(read.names),
        graph=AreaGraph(len(read.ids), np.array(read.edges, dtype=np.int64).reshape(-1, 2)),
        geometry=geopandas.GeoSeries(shapely.from_wkb(read.outlines), crs="EPSG:4326"),
        bridges=tuple(Bridge(*each) for each in read.bridges),
        notes=tuple(read.notes),
    )
    return areas, read.regions


def _run(
    action: str, name: str, content: Content, told: Chosen | bytes, hear: Hear = unheard
) -> tuple[Answer, bytes | None]:
    """Run the reader, and return its answer and the file it wrote, or raise its sentence.

    What is told as bytes goes into a file.
    """
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        path, other = Path(folder, safe_name(name)), Path(folder, "told")
        with path.open("wb") as file:
            file.writelines([content] if isinstance(content, bytes) else content.chunks())
        if isinstance(told, bytes):
            other.write_bytes(told)
        arguments = [action, str(path), str(other) if isinstance(told, bytes) else msgspec.json.encode(told).decode()]
        try:
            environment = reader_environment(folder, DRIVERS)
            patience = readers.SECONDS * limits_for(path).seconds / Limits().seconds
            written = run_reader(READER, arguments, Path(folder), environment, hear, patience)
            answer = msgspec.json.decode(written, type=Answer)
            kept = Path(folder, KEPT).read_bytes() if Path(folder, KEPT).exists() else None
        except (TooMuchError, msgspec.DecodeError):
            raise StudyError(_(TOO_MUCH)) from None
    if answer.traceback:
        logger.error("The reader of %s failed.\n%s", path.name, answer.traceback)
    if answer.error:
        raise StudyError(_(answer.error), answer.field, **answer.values)
    return answer, kept
