"""The export: every pair that was shown, safe to open, read back by the library, and downloaded by researchers."""

import csv
import hashlib
import io
import subprocess
import sys
import tomllib
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from django.utils import timezone

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.data.definition import parse_definition
from judgemap.web.judge.comparisons import History, load_comparisons
from judgemap.web.judge.models import Pair
from judgemap.web.people import export
from judgemap.web.people.export import export_study
from judgemap.web.results.models import Exclusion
from judgemap.web.studies import editing, making
from judgemap.web.studies.models import Act

pytestmark = pytest.mark.django_db(transaction=True)
"""An export sees the database at one moment, in its own transaction."""


@pytest.fixture
def exported(study, tmp_path):
    """Export the study, and return a reader of its files."""

    def read(of=None):
        path = export_study(editing.find_study((of or study).slug), tmp_path / "export.zip")
        with zipfile.ZipFile(path) as archive:
            archive.extractall(tmp_path / "export")
            return {name: archive.read(name) for name in archive.namelist()}

    return read


def rows(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode())))


def test_an_answer_counts_from_its_own_moment_on(judge):
    judge.answer("left")
    history = History.read(editing.find_study("wards"))
    (answered,) = (datetime.fromtimestamp(at / 10**6, UTC) for at in history.answered if at >= 0)
    given = [
        int((history.last(answered - early).answer >= 0).sum()) for early in (timedelta(), timedelta(microseconds=1))
    ]
    assert given == [1, 0]


def test_every_shown_pair_is_there_the_unanswered_too(judge, exported):
    for outcome in ("left", "tie", "unknown-right"):
        judge.pair()
        Pair.objects.filter(open=True).update(issued_at=timezone.now() - timedelta(minutes=1))
        judge.answer(outcome, seen_ms="2500")
    table = rows(exported()["comparisons.csv"])
    assert [row["outcome"] for row in table] == ["left", "tie", "unknown", "unknown"]
    assert [bool(row["answered_at"]) for row in table] == [True, True, True, False]
    assert table[0]["seconds"] == "2.500"
    for row, pair in zip(table, Pair.objects.order_by("position"), strict=True):
        assert (row["left"], row["right"], row["judge"]) == (pair.left.code, pair.right.code, judge.name)
        assert float(row["probability"]) == pair.probability


def test_the_last_revision_counts_and_all_are_listed(judge, exported):
    judge.answer("left")
    judge.answer("right", pair=judge.last()["pair"], follows="1")
    files = exported()
    first = rows(files["comparisons.csv"])[0]
    assert (first["outcome"], first["revisions"]) == ("right", "2")
    assert [row["outcome"] for row in rows(files["revisions.csv"])] == ["left", "right"]


def test_practice_and_the_withdrawn_are_in_no_file(visit, exported):
    practising, leaving = visit(agreed=False), visit()
    practising.agree(begin="practice")
    practising.answer("left")
    leaving.answer("left")
    leaving.withdraw()
    files = exported()
    assert rows(files["comparisons.csv"]) == []
    assert all(leaving.name.encode() not in data for data in files.values())


def test_it_is_what_the_server_itself_analyses(judge, exported, tmp_path, study):
    for outcome in ("left", "tie", "right"):
        judge.answer(outcome)
    exported()
    areas = jm.read_areas(tmp_path / "export" / "areas.geojson", id="id", name="name")
    there, here = jm.read_comparisons(tmp_path / "export" / "comparisons.csv", areas), load_comparisons(study)
    assert there.digest() == here.digest()
    np.testing.assert_array_equal(there.seconds, here.seconds)


def test_checksums_are_right(judge, exported):
    judge.answer("left")
    files = exported()
    sums = files.pop("SHA256SUMS").decode().splitlines()
    assert dict(reversed(line.split("  ")) for line in sums) == {
        name: hashlib.sha256(data).hexdigest() for name, data in files.items()
    }


def test_the_definition_is_that_of_the_study_and_of_each_version(exported, edit, definition):
    edit(title="Wards, again")
    files = exported()
    now = parse_definition(tomllib.loads(files["study.toml"].decode()))
    first = parse_definition(tomllib.loads(files["versions/study-1.toml"].decode()))
    assert now == replace(definition, title="Wards, again")
    assert first == definition


def test_formulas_are_defused_and_still_read_back(definition, visit, exported, tmp_path):
    nasty = Areas(("=1+1", "@b", "-3"), ("=cmd|' /C calc'!A0", "+B", "C"), AreaGraph(3, [[0, 1], [1, 2]]))
    study = editing.open_study(making.create_study(definition, nasty))
    visitor = visit(of=study)
    visitor.answer("tie", reason='=HYPERLINK("http://evil")')
    visitor.answer("left")
    files = exported(study)
    for name, data in files.items():
        if name.endswith(".csv"):
            cells = [cell for row in csv.reader(io.StringIO(data.decode())) for cell in row]
            assert not [cell for cell in cells if cell[:1] in "=+@\t" and cell]
    areas = jm.read_edges(tmp_path / "export" / "edges.csv", tmp_path / "export" / "areas.csv")
    assert jm.read_comparisons(tmp_path / "export" / "comparisons.csv", areas).counts().total == 1


def test_a_folder_that_is_not_there_is_one_sentence(study, tmp_path):
    with pytest.raises(StudyError, match="cannot be written"):
        export_study(study, tmp_path / "nowhere" / "export.zip")


def test_the_codebook_names_every_column(exported):
    files = exported()
    header = next(csv.reader(io.StringIO(files["comparisons.csv"].decode())))
    assert all(column in files["codebook.md"].decode() for column in header)


def test_judges_who_are_left_out_of_fits_are_marked(judge, visit, exported):
    other = visit()
    other.answer("left")
    judge.answer("left")
    Exclusion.objects.create(judge_id=other.name, reason="answered for a colleague")
    marked = {row["judge"]: (row["left_out"], row["left_out_reason"]) for row in rows(exported()["judges.csv"])}
    assert marked == {judge.name: ("", ""), other.name: ("yes", "answered for a colleague")}


def test_a_large_export_is_written_by_another_process(owned, clients, judge, monkeypatch, tmp_path):
    """It runs the module that this process would run with `run_reader`; the test's database is not on the disk."""
    judge.answer("left")
    monkeypatch.setattr(export, "LARGE", 0)
    asked = []

    def run(module, arguments, folder, environment):
        asked.append((module, arguments[0], environment["JUDGEMAP_DATA"]))
        export_study(owned, tmp_path / "whole.zip").rename(arguments[1])
        return b""

    monkeypatch.setattr(export, "run_reader", run)
    page = clients["owner"].post(f"/studies/{owned.slug}/export")
    assert page.status_code == 200
    assert page.getvalue().startswith(b"PK")
    assert asked == [("judgemap.web.start", owned.slug, str(export.settings.DATA))]
    monkeypatch.setattr(export, "run_reader", lambda *_: b"Traceback")
    assert clients["owner"].post(f"/studies/{owned.slug}/export").status_code == 503


APART = """
import sys, zipfile
from pathlib import Path
from judgemap.web import start
folder = Path(sys.argv[1])
start.connect(folder / "data", create=True)
from judgemap.web.demo.study import prepare_demo
from judgemap.web.people import export
study = prepare_demo(folder, 1, lambda _news: None).finished
here = zipfile.ZipFile(export.export_study(study, folder / "here.zip"))
export.LARGE = 0
apart = zipfile.ZipFile(export.export_apart(study, folder / "apart.zip"))
assert apart.namelist() == here.namelist()
assert all(apart.read(name) == here.read(name) for name in here.namelist())
"""


@pytest.mark.slow
def test_the_other_process_writes_the_same_files(tmp_path):
    """A server's own data folder, because another process cannot see the database of a test."""
    subprocess.run([sys.executable, "-c", APART, tmp_path], check=True)


@pytest.mark.parametrize(("who", "status"), [("owner", 200), ("teammate", 200), ("stranger", 404), ("anonymous", 302)])
def test_the_zip_file_has_the_answers_for_those_who_may_have_them(owned, clients, judge, people, who, status):
    judge.answer("left")
    response = clients[who].post("/studies/wards/export")
    assert response.status_code == status
    assert Act.objects.filter(verb="exported").count() == (status == 200)
    assert clients["owner"].get("/studies/wards/export").status_code == 405
    if status == 200:
        assert Act.objects.get(verb="exported").researcher == people[who]
        assert response["Content-Disposition"] == 'attachment; filename="wards.zip"'
        with zipfile.ZipFile(io.BytesIO(response.getvalue())) as archive:
            assert [row["outcome"] for row in rows(archive.read("comparisons.csv"))] == ["left", "unknown"]
