"""Everything that changes a study's base map: the upload of an extract, part by part, and its removal."""

from datetime import timedelta
from pathlib import Path

from django.db import IntegrityError, transaction
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.geo.basemap.kinds import ENDINGS
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.basemap.making import remove_extract, remove_tiles
from judgemap.web.studies.log import record
from judgemap.web.studies.models import BaseMap, Extract, ExtractPart, Study
from judgemap.web.studies.upload.files import safe_name

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
        raise StudyError(
            _("the extract is %(size)s; the limit is %(largest)s. Choose a smaller region")
            % {"size": _megabytes(size), "largest": _megabytes(largest)}
        )
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
    try:
        with transaction.atomic():
            ExtractPart.objects.create(extract=extract, number=number, content=content)
    except IntegrityError:
        pass  # sent twice, because the first answer was lost
    return ExtractPart.objects.filter(extract=extract).aggregate(n=Count("pk"))["n"] or 0


def parts_of(extract: Extract) -> int:
    """Return how many parts an extract has in all."""
    return -(-extract.size // PART)


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
        raise StudyError(_("there is no file %(path)s") % {"path": path})
    return check_extract(path.name, path.stat().st_size, 4 * LARGEST)


def _check_free(study: Study) -> None:
    if BaseMap.objects.filter(study=study, status__in=BaseMap.UNDER_WAY).exists():
        raise StudyError(_("another base map for this study is being made; wait until it is done, or stop it"))


def _megabytes(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e9 else f"{size / 1e6:.0f} MB"
