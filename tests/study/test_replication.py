"""An archive, unpacked in an empty folder, gives the fit's numbers again by its own command."""

import contextlib
import json
import shlex
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from typer.testing import CliRunner

import judgemap as jm
from judgemap.cli.main import app
from judgemap.core.model.graph import AreaGraph
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.export import replication, settings_of
from judgemap.study.fit.record import Correlation
from judgemap.study.fit.settings import FitSettings

SIDE = 4
QUICK = {"seed": 1, "chains": 2, "draws": 20, "as_in_paper": True}


@pytest.fixture(scope="module")
def areas() -> Areas:
    """A grid whose neighbours are not those of its borders: one edge is missing, one was added by hand."""
    squares = [shapely.box(x, y, x + 1000.1, y + 1000) for y in range(0, 4000, 1000) for x in range(0, 4000, 1000)]
    geometry = geopandas.GeoSeries(squares, crs="EPSG:27700").translate(450_000.3, 340_000.7)
    places = np.arange(SIDE * SIDE).reshape(SIDE, SIDE)
    across, down = [(places[:, :-1], places[:, 1:]), (places[:-1], places[1:])]
    edges = [[int(a), int(b)] for one, other in (across, down) for a, b in zip(one.flat, other.flat, strict=True)]
    edges = [edge for edge in edges if edge != [0, 1]] + [[0, 15]]
    ids = tuple(f"E0{i:02}" for i in reversed(range(SIDE * SIDE)))
    return Areas(ids, tuple(f"Ward, the {i}." for i in range(16)), AreaGraph(16, np.array(edges)), geometry)


@pytest.fixture(scope="module")
def data(areas) -> jm.Comparisons:
    rng = np.random.default_rng(3)
    left = rng.integers(0, 16, 120)
    right = (left + rng.integers(1, 16, 120)) % 16
    outcomes = rng.choice(["left", "right", "tie", "skipped"], 120, p=[0.5, 0.3, 0.1, 0.1])
    judges = [*rng.choice(["Ann Archer", "Bob Baker"], 119), "=Cleo Carter"]
    seconds = np.where(np.arange(120) % 7 == 0, np.nan, rng.lognormal(1, 1, 120))
    return jm.Comparisons.from_words(areas.ids, judges, left, right, outcomes.tolist(), seconds, winner_is="higher")


@pytest.fixture(scope="module")
def fit(areas, data):
    return FitSettings(**QUICK).run(data, areas)


def unpacked(archive: Path, folder: Path) -> Path:
    folder.mkdir()
    with zipfile.ZipFile(archive) as opened:
        opened.extractall(folder)
    return folder


def run(folder: Path, *, apart: bool = False) -> pd.DataFrame:
    """Run the archive's command, in a separate process if asked, as a user would, and read the table it writes."""
    command = (folder / "command.sh").read_text().splitlines()[-1]
    words = shlex.split(command)
    assert words[0] == "judgemap"
    if apart:
        command = [sys.executable, "-m", "judgemap", *words[1:]]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    else:
        with contextlib.chdir(folder):
            said = CliRunner().invoke(app, words[1:], catch_exceptions=False)
        assert said.exit_code == 0, said.output
    return pd.read_csv(folder / "results" / "areas.csv", dtype={"id": str})


@pytest.mark.parametrize(
    "settings",
    [
        {"seed": 11},
        {"model": "clusters", "beta": 1e-6, "seed": 3, "warmup": 20, "thin": 2, "clusters": 3, "loss": "binder"},
        *(
            pytest.param(slow, marks=pytest.mark.slow)
            for slow in (
                {"model": "standard", "alpha": 1.3, "seed": 2**40, "sampler": "gibbs", "thin": 2},
                {"prior": "exponential", "chi": 0.3, "omega": 0.7, "seed": 5},
                {"prior": "graph-exponential", "length": 0.4, "seed": 5},
            )
        ),
    ],
    ids=lambda settings: settings.get("model", settings.get("prior", "spatial")),
)
def test_the_command_gives_the_same_numbers(areas, data, tmp_path, settings):
    settings = FitSettings(**QUICK | settings)
    fit = settings.run(data, areas)
    archive = replication(fit, data, 'title = "Wards"\n', tmp_path / "wards.zip")
    folder = unpacked(archive, tmp_path / "empty")
    again = run(folder, apart=settings.model == "standard")
    fit.save(tmp_path / "first")
    first = pd.read_csv(tmp_path / "first" / "areas.csv", dtype={"id": str})
    pd.testing.assert_frame_equal(again, first, check_exact=True)
    if settings.model == "clusters":
        texts = [(place / "clusters.csv").read_text() for place in (tmp_path / "first", folder / "results")]
        assert texts[0] == texts[1]
    said = json.loads((folder / "results" / "fit.json").read_text())
    kept = json.loads((folder / "fit.json").read_text())
    assert said["data"] == kept["data"]
    assert (folder / "study.toml").read_text() == 'title = "Wards"\n'


def test_a_fit_out_of_its_folder_and_without_a_map(areas, data, tmp_path):
    fit = FitSettings(**QUICK).run(data, replace(areas, geometry=None))
    loaded = jm.load_fit(fit.save(tmp_path / "results"))
    folder = unpacked(replication(loaded, data, None, tmp_path / "a.zip"), tmp_path / "empty")
    assert not (folder / "areas.gpkg").exists()
    first = pd.read_csv(tmp_path / "results" / "areas.csv", dtype={"id": str})
    pd.testing.assert_frame_equal(run(folder), first, check_exact=True)


def test_areas_without_neighbours(areas, data, tmp_path):
    lone = Areas(areas.ids, areas.names, AreaGraph(16, np.empty((0, 2), dtype=np.int64)))
    fit = FitSettings(model="standard", **QUICK).run(data, lone)
    folder = unpacked(replication(fit, data, None, tmp_path / "a.zip"), tmp_path / "empty")
    again = run(folder)
    np.testing.assert_array_equal(again["risk_mean"], fit.areas["risk_mean"])


def test_judges_names_are_nowhere_unless_kept(data, fit, tmp_path):
    assert any("Cleo Carter" in note for note in fit.info["notes"]), "the fit's own notes name a judge"
    for judges, there in (("numbered", False), ("kept", True)):
        archive = replication(fit, data, None, tmp_path / f"{judges}.zip", judges=judges)
        with zipfile.ZipFile(archive) as opened:
            texts = {name: opened.read(name) for name in opened.namelist()}
        for name in ("comparisons.csv", "fit.json"):
            assert (b"Cleo Carter" in texts[name]) is there
        assert (b"\n'=Cleo Carter," in texts["comparisons.csv"]) is there, "no spreadsheet runs a name"
        assert any(b"Ann Archer" in text for text in texts.values()) is there
    assert json.loads(texts["fit.json"])["data"]["sha256"] == data.digest()


def test_versions_are_as_pip_has_them(data, fit, tmp_path):
    folder = unpacked(replication(fit, data, None, tmp_path / "a.zip"), tmp_path / "empty")
    lines = (folder / "requirements.txt").read_text().splitlines()
    assert f"numpy=={np.__version__}" in lines
    assert all(line.count("==") == 1 for line in lines)
    assert "django" not in "".join(lines)


def test_what_cannot_be_made_again_is_refused(areas, data, fit, tmp_path):
    interrupted = replace(fit, record=replace(fit.record, complete=False))
    with pytest.raises(StudyError, match="interrupted"):
        replication(interrupted, data, None, tmp_path / "a.zip")
    by_hand = replace(fit, record=replace(fit.record, correlation=Correlation("my own")))
    with pytest.raises(StudyError, match="'my own', was built in Python"):
        settings_of(by_hand)
    with pytest.raises(StudyError, match="these areas are not the ones"):
        replication(fit, data, None, tmp_path / "a.zip", areas=replace(areas, ids=tuple(reversed(areas.ids))))
    assert list(tmp_path.iterdir()) == []
