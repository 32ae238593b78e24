"""Everything that changes uploads or asks for drafts of them."""

import json
import tomllib
from dataclasses import asdict
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.study.data.definition import StudyDefinition, parse_definition
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.keeping import check_end
from judgemap.web.studies.limits import check_limits
from judgemap.web.studies.models import Draft, Study, Upload
from judgemap.web.studies.upload.files import inspect_file, take_file

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
    check_limits(definition)
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
    check_end(chosen.get("answers_until"))
    made = _last_study(upload)
    kept = json.loads(json.dumps(chosen, default=str))
    return _ask(Draft(upload=upload, chosen=kept, replaces=made, asked_by=by), Draft.objects.filter(upload=upload))


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
