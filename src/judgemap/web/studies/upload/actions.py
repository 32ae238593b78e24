"""What changes uploads, and makes drafts of them."""

import tomllib
from dataclasses import asdict, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.study.definition import AreasSource, StudyDefinition, parse_definition, without_edges
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.actions import check_limits, create_study
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Study, Upload
from judgemap.web.studies.upload.files import inspect_file, read_file, take_file

if TYPE_CHECKING:
    from django.core.files.uploadedfile import UploadedFile

KEPT_FOR = timedelta(days=2)
MOST_KEPT = 3
LARGEST_DEFINITION = 500_000


def read_toml(sent: "UploadedFile | None") -> str:
    """Take an uploaded study.toml, if it makes sense; the empty text where there is none."""
    if sent is None:
        return ""
    if (sent.size or 0) > LARGEST_DEFINITION:
        raise StudyError("this is too long for a study.toml; check that it is the right file")
    try:
        text = bytes(sent.read()).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise StudyError("this is not a text file in UTF-8; save it as one") from None
    parse_toml(text)
    return text


def parse_toml(text: str) -> StudyDefinition:
    """Make a definition of the text of a study.toml."""
    try:
        definition = parse_definition(tomllib.loads(text))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise StudyError(f"this is not TOML ({error}); correct it") from None
    check_limits(definition)
    return definition


def keep_upload(researcher: Researcher, sent: "UploadedFile", definition: str) -> Upload:
    """Look into a boundary file, and keep it for the next step; the researcher's oldest and all old ones go."""
    name, content = take_file(sent)
    inspection = asdict(inspect_file(name, content))
    with transaction.atomic():
        Upload.objects.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()
        upload = Upload.objects.create(
            researcher=researcher, name=name, content=content, definition=definition, inspection=inspection
        )
        kept = Upload.objects.filter(researcher=researcher).order_by("-pk").values_list("pk", flat=True)[:MOST_KEPT]
        Upload.objects.filter(researcher=researcher).exclude(pk__in=list(kept)).delete()
    return upload


def make_study(upload: Upload, chosen: dict[str, Any], owner: Researcher) -> Study:
    """Make a draft of an upload with the columns, title and question that were chosen."""
    options = {key: str(chosen[key]) for key in ("id", "name", "crs", "contiguity")}
    texts = {key: chosen[key] for key in ("title", "question", "direction", "answers_until")}
    source = AreasSource(file=upload.name, **options)  # type: ignore[arg-type]
    definition = StudyDefinition(areas=source, **texts)
    if upload.definition:
        given = parse_toml(upload.definition)
        source = replace(source, extra_edges=given.areas.extra_edges, removed_edges=given.areas.removed_edges)
        definition = replace(given, areas=source, **texts)
    check_limits(definition)
    extra = [list(pair) for pair in definition.areas.extra_edges]
    areas = read_file(upload.name, bytes(upload.content), options | {"extra_edges": extra})
    areas = without_edges(areas, definition.areas.removed_edges)
    study = create_study(definition, areas, owner)
    with transaction.atomic():
        record(study, owner, "map read", {"file": upload.name, "notes": list(areas.notes)})
        upload.delete()
    return study
