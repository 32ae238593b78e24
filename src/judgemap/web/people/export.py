"""A study as a zip file of tables: every pair shown, every answer and its revisions, and how to read them."""

import hashlib
import json
import logging
import os
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from django.conf import settings
from django.db.models import Prefetch, Sum

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import csv_text
from judgemap.study.data.definition import write_definition
from judgemap.web.judge.comparisons import IN_TABLES, History, TableRow
from judgemap.web.judge.models import Consent, Judge, UnknownArea, asks_who_is_left_out
from judgemap.web.judge.places import in_codes
from judgemap.web.server.backup import snapshot
from judgemap.web.server.readers import TooMuchError, run_reader
from judgemap.web.studies.areas import figures_of, load_graph
from judgemap.web.studies.editing import definition_of
from judgemap.web.studies.models import Area, Study

logger = logging.getLogger(__name__)
LARGE = 20_000
"""With more answers than this, an export takes seconds, for which judges would wait: another process writes it."""
PAIR_COLUMNS = (
    "judge", "left", "right", "outcome", "seconds", "answered_at", "issued_at", "position", "revisions", "unknown_side",
    "reason", "design", "probability", "version",
)  # fmt: skip
JUDGE_COLUMNS = (
    "judge", "joined_at", "language", "consented_at", "consent_version", "judged", "group", "places", "left_out",
    "left_out_reason",
)  # fmt: skip
REVISION_COLUMNS = ("judge", "position", "revision", "outcome", "unknown_side", "seconds", "answered_at", "reason")


def export_study(study: Study, path: Path) -> Path:
    """Write a study's export as of one moment; a failure leaves no partial file."""
    draft = path.with_name(f".{path.name}.part")
    try:
        with snapshot(), zipfile.ZipFile(draft, "w", zipfile.ZIP_DEFLATED) as archive:
            sums = []
            for name, text in export_files(study):
                data = text.encode()
                archive.writestr(name, data)
                sums.append(f"{hashlib.sha256(data).hexdigest()}  {name}\n")
            archive.writestr("SHA256SUMS", "".join(sums))
        draft.replace(path)
    except OSError as error:
        raise StudyError(f"{path} cannot be written ({error.strerror}); name another file") from None
    finally:
        draft.unlink(missing_ok=True)
    return path


def export_apart(study: Study, path: Path) -> Path:
    """Write a study's export, in a process of its own if it is large."""
    judged = Judge.objects.filter(study=study).aggregate(Sum("judged"))["judged__sum"] or 0
    if judged <= LARGE:
        return export_study(study, path)
    environment = os.environ | {"JUDGEMAP_DATA": str(settings.DATA)}
    try:
        said = run_reader("judgemap.web.start", [study.slug, str(path)], path.parent, environment)
    except TooMuchError:
        said = b"it took too long"
    if not path.is_file():
        logger.error("an export broke down: %s", said.decode(errors="replace"))
        raise StudyError("the export broke down; write it with 'judgemap study export', or ask whoever runs the server")
    return path


def export_files(study: Study) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file of an export."""
    areas = list(
        Area.objects.filter(study=study).order_by("position").only("code", "name", "outline", "position", "region")
    )
    codes = {area.pk: area.code for area in areas}
    history, ids = History.read(study, more=IN_TABLES), [area.code for area in areas]
    yield "comparisons.csv", csv_text(PAIR_COLUMNS, _pair_rows(history, ids))
    yield "revisions.csv", csv_text(REVISION_COLUMNS, _revision_rows(history, ids))
    yield "areas.csv", csv_text(("id", "name"), ([area.code, area.name] for area in areas))
    edges = load_graph(study.version).edges.tolist()
    yield "edges.csv", csv_text(("area_a", "area_b"), ([areas[a].code, areas[b].code] for a, b in edges))
    if all(area.outline for area in areas):
        yield "areas.geojson", geojson(areas)
    if (figures := figures_of(study.pk, ids, [area.region for area in areas])) is not None:
        yield "figures.csv", figures.to_csv()
    yield "judges.csv", csv_text(JUDGE_COLUMNS, _judge_rows(study, ids))
    unknown = UnknownArea.objects.filter(judge__study=study).order_by("judge_id", "area__position")
    rows = unknown.values_list("judge_id", "area_id", "marked_at")
    yield "unknown_areas.csv", csv_text(("judge", "area", "marked_at"), ([a, codes[b], time(c)] for a, b, c in rows))
    yield "study.toml", write_definition(definition_of(study))
    for version in study.versions.order_by("number"):
        yield f"versions/study-{version.number}.toml", write_definition(definition_of(study, version))
    yield "codebook.md", Path(__file__).with_name("codebook.md").read_text(encoding="utf-8")


def time(moment: datetime | None) -> str:
    """Write a moment in UTC, to the millisecond."""
    return "" if moment is None else moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _pair_rows(history: History, ids: Sequence[str]) -> Iterator[list[object]]:
    for row in history.last().rows(ids):
        yield [
            row.judge, row.left, row.right, "unknown" if row.answered_at is None else row.outcome, _seconds(row),
            time(row.answered_at), time(row.issued_at), row.position, row.revision, row.unknown_side, row.reason,
            row.design, repr(row.probability), row.version,
        ]  # fmt: skip


def _revision_rows(history: History, ids: Sequence[str]) -> Iterator[list[object]]:
    for row in history.where(history.answer >= 0).rows(ids):
        yield [
            row.judge, row.position, row.revision, row.outcome, row.unknown_side, _seconds(row), time(row.answered_at),
            row.reason,
        ]  # fmt: skip


def _seconds(row: TableRow) -> str:
    """Write how long a pair was in view, to the millisecond."""
    return "" if row.answered_at is None else f"{row.seconds:.3f}"


def _judge_rows(study: Study, ids: Sequence[str]) -> Iterator[list[object]]:
    consents = Prefetch("consents", Consent.objects.select_related("version").order_by("given_at"), to_attr="given")
    judges = Judge.objects.filter(study=study, withdrawn_at=None).select_related("group")
    judges = judges.prefetch_related(consents).order_by("name")
    reasons: dict[str, str] = {}
    for _, told in asks_who_is_left_out.send(Study, study=study):
        reasons |= told if isinstance(told, dict) else {}
    for judge in judges.iterator(chunk_size=2000):
        given: list[Consent] = judge.given
        last = given[-1] if given else None
        yield [
            judge.name, time(judge.created_at), judge.language, time(last.given_at if last else None),
            last.version.number if last else "", judge.judged, judge.group.name if judge.group else "",
            "; ".join(in_codes(each, ids) for each in judge.places),
            "yes" if judge.name in reasons else "", reasons.get(judge.name, ""),
        ]  # fmt: skip


def geojson(areas: list[Area]) -> str:
    """Write areas with their outlines, in longitude and latitude, as GeoJSON."""
    features = [
        {"type": "Feature", "properties": {"id": area.code, "name": area.name}, "geometry": json.loads(area.outline)}
        for area in areas
    ]
    return json.dumps({"type": "FeatureCollection", "features": features}, ensure_ascii=False)
