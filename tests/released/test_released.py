"""Databases, fit folders and archives that released versions wrote stay readable; `make.py` wrote them."""

import csv
import io
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import judgemap as jm

RELEASES = sorted(each.parent for each in Path(__file__).parent.glob("*/expected.json"))


@pytest.fixture(scope="module", params=RELEASES, ids=[each.name for each in RELEASES])
def written(request, tmp_path_factory):
    """What a release wrote, unpacked, and what is expected of it."""
    import tarfile

    folder = tmp_path_factory.mktemp("written")
    with tarfile.open(request.param / "written.tar.xz") as archive:
        archive.extractall(folder, filter="data")
    return folder, json.loads((request.param / "expected.json").read_text())


def test_a_fit_folder(written):
    folder, expected = written
    fit = jm.load_fit(folder / "fit")
    assert fit.areas["risk_median"].round(6).tolist() == expected["risk_median"]


def test_a_replication_archive(written):
    folder, expected = written
    with zipfile.ZipFile(folder / "archive.zip") as archive:
        root = next(name for name in archive.namelist() if name.endswith("areas.csv"))
        rows = list(csv.DictReader(io.StringIO(archive.read(root).decode())))
    assert len(rows) == len(expected["risk_median"])


@pytest.fixture
def judgemap(tmp_path):
    """The command, on a server of its own."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("JUDGEMAP", "DJANGO"))}

    def run(*words):
        command = [sys.executable, "-m", "judgemap", *map(str, words), "--data", tmp_path / "data"]
        return subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout

    return run


@pytest.mark.django_db(transaction=True)
def test_a_backup_can_be_restored(written, settings, tmp_path, django_db_blocker):
    """It is whole, and no table or column is missing: what `restore --check` asks."""
    from judgemap.web.judge.models import Answer
    from judgemap.web.server import backup

    settings.DATA = tmp_path
    with django_db_blocker.unblock(), backup.opened(written[0] / "backup.sqlite3") as (copy, _):
        assert Answer.objects.using(copy.alias).count() == written[1]["answers"]


@pytest.mark.slow  # starts three programs
def test_a_backup_is_restored_with_every_answer(written, judgemap, tmp_path):
    folder, expected = written
    judgemap("study", "restore", folder / "backup.sqlite3")
    (study,) = json.loads(judgemap("study", "list", "--json"))
    judgemap("study", "export", study["study"], "-o", tmp_path / "study.zip")
    with zipfile.ZipFile(tmp_path / "study.zip") as archive:
        table = next(name for name in archive.namelist() if name.endswith("comparisons.csv"))
        rows = csv.DictReader(io.StringIO(archive.read(table).decode()))
        assert sum(bool(row["answered_at"]) for row in rows) == expected["answers"]
