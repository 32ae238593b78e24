"""A folder of results is whole or absent, nobody else's files are touched, and fit.json is a typed value."""

import json
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.errors import StudyError
from judgemap.study.fit.folder import check_folder, check_new, new_folder
from judgemap.study.fit.record import FitRecord, Note, NoteKind, json_value

OLD = {"fit.json": "old", "areas.csv": "old", "posterior.nc": "old", "clusters.csv": "old"}
NEW = {"fit.json": "new", "areas.csv": "new", "posterior.nc": "new", "areas.geojson": "new"}
MINE = {"notes.txt": "mine", ".hidden": "mine"}
KILLED = """
import os, pathlib, signal, sys
from judgemap.study.fit.folder import new_folder
steps = int(sys.argv[2])
def counting(step):
    def run(*given, **more):
        global steps
        steps -= 1
        if steps < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return step(*given, **more)
    return run
for name in ("mkdir", "write_text", "rename", "replace", "unlink", "rmdir"):
    setattr(pathlib.Path, name, counting(getattr(pathlib.Path, name)))
with new_folder(pathlib.Path(sys.argv[1])) as draft:
    for name in sys.argv[3:]:
        (draft / name).write_text("new")
"""


def write(folder, files):
    with new_folder(folder) as draft:
        for name, text in files.items():
            (draft / name).write_text(text)


def content(folder):
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


def test_kill_at_any_step_leaves_whole_results_or_none_and_every_other_file(tmp_path):
    seen, steps, status = set(), 0, -signal.SIGKILL
    while status == -signal.SIGKILL:
        folder = tmp_path / str(steps)
        write(folder, OLD)
        for name, text in MINE.items():
            (folder / name).write_text(text)
        (folder / "figures").mkdir()
        words = [sys.executable, "-c", KILLED, str(folder), str(steps), *NEW]
        status = subprocess.run(words, check=False).returncode
        left = content(folder)
        assert left.items() >= MINE.items()
        if "fit.json" in left:
            assert left in (OLD | MINE, NEW | MINE), "no mixture looks whole"
        seen.add(left.get("fit.json"))
        check_folder(folder)
        write(folder, NEW)
        assert content(folder) == NEW | MINE
        assert {path.name for path in folder.iterdir()} == {*NEW, *MINE, "figures"}, "what was left behind is removed"
        steps += 1
    assert status == 0
    assert seen == {"old", None, "new"}


def test_a_run_that_was_killed_leaves_an_empty_folder_free_and_other_files_safe(tmp_path):
    words = [sys.executable, "-c", KILLED, str(tmp_path), "2", *NEW]
    assert subprocess.run(words, check=False).returncode == -signal.SIGKILL
    check_new(tmp_path)
    (tmp_path / "areas.csv").write_text("mine")
    with pytest.raises(StudyError, match="is not empty and holds no fit"):
        write(tmp_path, NEW)
    assert (tmp_path / "areas.csv").read_text() == "mine"


def test_links_are_replaced_and_what_they_point_to_is_left_alone(tmp_path):
    write(tmp_path / "results", OLD)
    (tmp_path / "mine.csv").write_text("mine")
    (tmp_path / "results" / "areas.csv").unlink()
    (tmp_path / "results" / "areas.csv").symlink_to(tmp_path / "mine.csv")
    (tmp_path / "link").symlink_to(tmp_path / "results")
    write(tmp_path / "link", NEW)
    assert content(tmp_path / "results") == NEW
    assert (tmp_path / "mine.csv").read_text() == "mine"


def test_a_folder_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(StudyError, match="cannot be written"):
        write(tmp_path / "file" / "results", NEW)
    with pytest.raises(StudyError, match="is a file; name a folder"):
        write(tmp_path / "file", NEW)
    assert (tmp_path / "file").read_text() == "mine"


NOTES = tuple(Note(kind, f"1,001 of 3,003, or 'a' and 'b': {kind.value}.") for kind in NoteKind)
KEYS = {"model", "made_by", "why", "prior", "hyperparameters", "sampler", "seed", "plan", "complete", "seconds",
        "winner_is", "risk", "view", "data", "versions", "bridges", "notes", "note_kinds", "diagnostics",
        "settings"}  # fmt: skip


@pytest.fixture(scope="module")
def records(study, rough_clusters):
    areas, data = study.areas, study.data
    quick = {"seed": 1, "chains": 2, "draws": 20, "as_in_paper": True}
    kernel = jm.prior_covariance(areas, "matern32", length=2.0 / 3.0)
    by_hand = jm.fit_spatial(data, areas, covariance=kernel, alpha=2.0, **quick)
    fits = (jm.fit_standard(data, areas, **quick), by_hand, rough_clusters)
    return [replace(fit.record, notes=NOTES) for fit in fits]


def test_there_and_back(records):
    for record in records:
        assert FitRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record


def test_the_keys_are_documented(records):
    for record in records:
        assert set(record.to_dict()) == KEYS | ({"n_clusters"} if record.model == "clusters" else {"correlation"})


def test_what_a_database_keeps_for_no_number(records):
    told = records[2].to_dict()
    told["diagnostics"]["rhat_max"] = told["diagnostics"]["clusters"]["ess_together"] = None
    judged = FitRecord.from_dict(told).diagnostics
    assert judged.rhat_max != judged.rhat_max
    assert judged.clusters.ess_together != judged.clusters.ess_together


@pytest.mark.parametrize("rubbish", [[1, 2], {"model": "spatial", "prior": 3}, "text"])
def test_rubbish_is_said_to_be(rubbish):
    with pytest.raises(jm.StudyError, match="is not the record of a fit"):
        FitRecord.from_dict(rubbish)


def test_no_number_becomes_none():
    given = {"a": [np.float64("nan"), np.int64(3), float("inf")], 2: np.array([1.5])}
    assert json_value(given) == {"a": [None, 3, None], "2": [1.5]}
