"""Making a base map, as a worker or a command does it: the reader's tiles, checked and stored."""

import base64
import json
import re
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.geo.basemap.kinds import BY_NAME, ENDINGS
from judgemap.geo.basemap.tiles import needed_tiles, unpack
from judgemap.web.accounts.models import Researcher
from judgemap.web.server.database import delete_in_turns, insert_in_turns
from judgemap.web.server.readers import Hear, TooMuchError, reader_environment, run_reader, safe_name
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Area, BaseMap, BaseMapTile, Extract, ExtractPart, Study

READER = "judgemap.web.studies.basemap.reading"
DRIVERS = frozenset({"OSM", "GPKG"})
SECONDS = 1800.0
"""How many seconds a reader of an extract may take; its limit on CPU time is half of this."""
STORING = 0.9
"""The share of the work that is done when the tiles have been cut."""
TOO_MUCH = "the extract is too large or too complex to read here; choose a smaller region"
PATH = re.compile(r"[Mlz0-9 -]*")


class Made(NamedTuple):
    """What a reader made from an extract: tiles by level, column and row, and a sentence about what was found."""

    said: str
    tiles: list[tuple[int, int, int, bytes]]


def make_base_map(job: BaseMap) -> None:
    """Make the base map that a job asks for from its uploaded extract, and finish the job."""
    extract = job.extract
    if extract is None:
        raise StudyError("the extract is no longer there; upload it again")

    try:
        with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
            path = _put_together(extract, Path(folder))
            made = read_extract_file(path, job.study, lambda share, doing: job.tell(STORING * share, doing))
    except StudyError:
        remove_extract(extract)
        raise
    job.tell(STORING, "Storing the tiles.")
    _store(job, made)
    remove_extract(extract)


def make_here(study: Study, path: Path, credit: str, tell: Hear) -> BaseMap:
    """Make a base map from a file on this machine at once, without a worker, as the command does."""
    made = read_extract_file(path, study, tell)
    now = timezone.now()
    row = BaseMap(study=study, file=path.name[:100], credit=credit, status=BaseMap.Status.RUNNING)
    row.started_at = row.heard_at = now  # so that no worker takes it
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        raise StudyError("another base map for this study is being made; wait until it is done") from None
    _store(row, made)
    return row


def read_extract_file(path: Path, study: Study, tell: Hear) -> Made:
    """Have a confined process read an extract and cut the tiles for a study's areas."""
    boxes = list(_scene_boxes(study))
    if not boxes:
        raise StudyError("the study has no map, so there is nothing to draw streets under")
    with tempfile.TemporaryDirectory(prefix="judgemap-") as folder:
        options = Path(folder, "options.json")
        options.write_text(json.dumps({"boxes": boxes}))
        arguments = [str(path.absolute()), str(options)]
        environment = reader_environment(folder, DRIVERS) | {"CPL_TMPDIR": folder}
        try:
            answer = json.loads(run_reader(READER, arguments, Path(folder), environment, tell, SECONDS))
        except (TooMuchError, ValueError):
            raise StudyError(TOO_MUCH) from None
    if "error" in answer:
        raise StudyError(answer["error"])
    tiles = [(n, x, y, base64.b64decode(tile)) for n, x, y, tile in answer["tiles"]]
    for *_place, tile in tiles:
        _check(tile)
    return Made(answer["said"], tiles)


def _check(tile: bytes) -> None:
    """Refuse a tile that our reader would not write: it comes from a stranger's file."""
    paths, names = unpack(tile)
    drawn = all(kind in BY_NAME and PATH.fullmatch(path) for kind, path in paths.items())
    if not (drawn and all(isinstance(name[3], str) for name in names)):
        raise StudyError(TOO_MUCH)


def _scene_boxes(study: Study) -> Iterator[tuple[float, float, float]]:
    """Yield the place of each area's scene: west, north and width, in metres of Web Mercator."""
    decoder = json.JSONDecoder()
    for scene in Area.objects.filter(study=study).exclude(scene="").values_list("scene", flat=True).iterator():
        west, north, size = decoder.raw_decode(scene, scene.index("["))[0]  # the box comes first
        yield west, north, size


def _put_together(extract: Extract, folder: Path) -> Path:
    path = folder / extract.name
    with path.open("wb") as file:
        for part in extract.parts.order_by("number").values_list("content", flat=True).iterator(chunk_size=4):
            file.write(part)
    if path.stat().st_size != extract.size:
        raise StudyError("the upload was incomplete; upload the extract again")
    return path


def _store(job: BaseMap, made: Made) -> None:
    """Store the tiles, in short turns, and then let them replace any earlier base map."""
    rows = (BaseMapTile(base_map=job, level=n, column=x, row=y, content=tile) for n, x, y, tile in made.tiles)
    remove_tiles(job)  # those of an earlier start, which an outage ended
    insert_in_turns(rows, lambda row: len(row.content))
    earlier = BaseMap.objects.filter(study=job.study_id).exclude(pk=job.pk)
    job.size, job.said = sum(len(tile) for *_, tile in made.tiles), made.said[:400]
    job.in_results = earlier.filter(in_results=True).exists()
    with transaction.atomic():
        job.finish("size", "in_results")
        Study.objects.filter(pk=job.study_id).update(base_map=job)
        detail = {"file": job.file, "tiles": len(made.tiles), "bytes": job.size, "found": made.said}
        record(job.study, job.asked_by, "base map made", detail)
    for old in earlier.exclude(status__in=BaseMap.UNDER_WAY):
        remove_tiles(old)
        old.delete()


def remove_tiles(base_map: BaseMap) -> None:
    """Remove the tiles of a base map, in short turns."""
    delete_in_turns(BaseMapTile.objects.filter(base_map=base_map))


def remove_extract(extract: Extract) -> None:
    """Remove an uploaded extract."""
    delete_in_turns(ExtractPart.objects.filter(extract=extract), at_once=1)
    extract.delete()


def copy_base_map(original: Study, copy: Study) -> None:
    """Give a copied study the base map of its original."""
    old = original.base_map
    if old is None:
        return
    fields = {
        name: getattr(old, name) for name in ("file", "credit", "size", "in_results", "status", "progress", "said")
    }
    new = BaseMap.objects.create(study=copy, **fields)
    tiles = old.tiles.values_list("level", "column", "row", "content").iterator(chunk_size=50)
    rows = (BaseMapTile(base_map=new, level=n, column=x, row=y, content=bytes(tile)) for n, x, y, tile in tiles)
    insert_in_turns(rows, lambda row: len(row.content))
    Study.objects.filter(pk=copy.pk).update(base_map=new)


def move_base_map(replaced: Study, study: Study) -> None:
    """Give a draft that was made again the base map of the one it replaces, if that covers it; otherwise, say so."""
    there = BaseMap.objects.filter(study=replaced)
    drawn = Study.objects.select_related("base_map").get(pk=replaced.pk).base_map
    lost, why = there.filter(status__in=BaseMap.UNDER_WAY).first(), "was still being made"
    if drawn is not None and needed_tiles(list(_scene_boxes(study))) <= needed_tiles(list(_scene_boxes(replaced))):
        BaseMap.objects.filter(pk=drawn.pk).update(study=study)
        Study.objects.filter(pk=study.pk).update(base_map=drawn)
    elif lost is None:
        lost, why = drawn, "no longer covers all the areas"
    if lost is not None:
        said = f"The draft was made again, and the base map from {lost.file} {why}. Upload the extract again."
        BaseMap.objects.create(
            study=study, file=lost.file, credit=lost.credit, status=BaseMap.Status.FAILED, said=said,
            finished_at=timezone.now(),
        )  # fmt: skip


LARGEST = 250_000_000
PART = 2_000_000
"""The size of every part but the last, in bytes."""
KEPT_FOR = timedelta(days=2)
CREDIT = "© OpenStreetMap contributors"


def check_extract(name: str, size: int, largest: int = LARGEST) -> str:
    """Refuse an extract by its name or its size, before any of it is sent; return its name."""
    name = safe_name(name)
    if not name.lower().endswith(ENDINGS):
        raise StudyError(_("choose an .osm.pbf, .osm or .gpkg file; unzip it first if necessary"))
    if not size:
        raise StudyError(_("the file is empty; download it again"))
    if size > largest:
        text = _("the extract is %(size)s; the limit is %(largest)s. Choose a smaller region")
        raise StudyError(text, size=_megabytes(size), largest=_megabytes(largest))
    return name


def begin_extract(study: Study, name: str, size: int) -> Extract:
    """Start an extract that arrives in parts; earlier ones that nobody finished are removed."""
    name = check_extract(name, size)
    _check_free(study)
    for old in Extract.objects.filter(created_at__lt=timezone.now() - KEPT_FOR):
        remove_extract(old)
    for old in Extract.objects.filter(study=study):
        remove_extract(old)
    return Extract.objects.create(study=study, name=name, size=size)


def add_part(extract: Extract, number: int, content: bytes) -> int:
    """Store a part, and return how many there are; a part that is sent twice counts once."""
    if len(content) > PART or number * PART + len(content) > extract.size:
        raise StudyError(_("the parts do not fit together; upload the file again"))
    ExtractPart.objects.get_or_create(extract=extract, number=number, defaults={"content": content})
    return extract.parts.count()


def ask_for_base_map(extract: Extract, credit: str, by: Researcher | None) -> BaseMap:
    """Ask a worker to make a base map from an extract."""
    job = BaseMap(study=extract.study, extract=extract, file=extract.name, credit=credit[:200] or CREDIT, asked_by=by)
    try:
        with transaction.atomic():
            job.save(force_insert=True)
    except IntegrityError:
        _check_free(extract.study)
        raise
    return job


def remove_base_map(study: Study, by: Researcher | None = None) -> None:
    """Remove the base map."""
    if study.base_map is None:
        return
    base_map = study.base_map
    with transaction.atomic():
        Study.objects.filter(pk=study.pk).update(base_map=None)
        record(study, by, "base map removed", {"file": base_map.file})
    remove_tiles(base_map)
    base_map.delete()


def show_in_results(study: Study, by: Researcher, *, on: bool) -> None:
    """Switch the base map on or off for the results map, the dashboard and the briefing."""
    if study.base_map is None:
        raise StudyError(_("there is no base map; upload an extract first"))
    with transaction.atomic():
        BaseMap.objects.filter(pk=study.base_map.pk).update(in_results=on)
        record(study, by, "base map shown in results" if on else "base map hidden in results", {})


def check_file(path: Path) -> str:
    """Refuse a file on this machine that a command cannot use; return its name."""
    if not path.is_file():
        raise StudyError(_("there is no file %(path)s"), path=path)
    return check_extract(path.name, path.stat().st_size, 4 * LARGEST)


def _check_free(study: Study) -> None:
    if BaseMap.objects.filter(study=study, status__in=BaseMap.UNDER_WAY).exists():
        raise StudyError(_("another base map for this study is being made; wait until it is done, or stop it"))


def _megabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
