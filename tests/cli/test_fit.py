import csv
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import geopandas as gpd
import numpy as np
import pytest
import shapely

import judgemap as jm
from judgemap.study.fit.settings import FitSettings

TINY = ["--judges-alike", "--chains", "1", "--draws", "10", "--seed", "1"]
"""For what any fit shows."""


def test_writes_the_folder_and_prints_a_table(judgemap, edges, comparisons, tmp_path):
    result = judgemap("fit", comparisons, *edges, "-o", tmp_path / "results", *TINY[1:])
    assert result.status == 0, result.err
    assert result.err == "", "quiet where nobody watches"
    assert "40 comparisons of 6 areas by 3 judges, seed 1." in result.out
    assert jm.load_fit(tmp_path / "results").record.made_by in result.out
    assert "Verdict: Not ready for use." in result.out
    assert "Effective sample size" in result.out
    fit = jm.load_fit(tmp_path / "results")
    assert (fit.record.prior, fit.settings.judges, fit.record.why) == ("car", "differ", "3 judges are named")
    highest = fit.areas.nlargest(1, "risk_median")["name"].item()
    assert highest in result.out.split("----")[-1].splitlines()[1]
    with (tmp_path / "results" / "areas.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 6
    assert not (tmp_path / "results" / "areas.geojson").exists()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--sampler", "gibbs"], {"sampler": "gibbs", "why": "the Gibbs sampler cannot tell them apart"}),
        (["--as-in-paper"], {"prior": "communicability", "hyperparameters": {"chi": 0.1, "omega": 0.1}}),
        (["--alpha-scale", "2"], {"prior": "car", "hyperparameters": {"alpha_scale": 2.0}}),
        (["--chi", "2", "--omega", "3"], {"hyperparameters": {"chi": 2.0, "omega": 3.0}}),
        (["--winner-is", "higher"], {"winner_is": "higher", "risk": "the centred strength"}),
        (["--thin", "2"], {"plan": {"chains": 1, "warmup": 30, "draws": 10, "thin": 2}}),
    ],
)
def test_options(judgemap, edges, comparisons, tmp_path, options, expected):
    tiny = ["--chains", "1", "--draws", "10", "--seed", "1"]
    result = judgemap("fit", comparisons, *edges, "-o", tmp_path / "results", *tiny, "--json", *options)
    assert result.status == 0, result.err
    assert json.loads(result.out).items() >= expected.items()


def test_a_map_with_an_island(judgemap, tmp_path):
    boxes = [shapely.box(i, 0, i + 1, 1) for i in range(4)] + [shapely.box(9, 0, 10, 1)]
    frame = gpd.GeoDataFrame({"code": list("abcde"), "name": list("ABCDE")}, geometry=boxes, crs="EPSG:27700")
    frame.to_file(tmp_path / "wards.gpkg")
    (tmp_path / "answers.csv").write_text("winner,loser\na,b\nb,c\nd,A\n")
    files = [tmp_path / "answers.csv", "--areas", tmp_path / "wards.gpkg", "-o", tmp_path / "out"]
    result = judgemap("fit", *files, *TINY[1:])
    assert result.status == 0, result.err
    assert "joined to the nearest area, 'D'" in result.out
    assert "3 comparisons of 5 areas, seed" in result.out, "nobody said who judged"
    assert "judges taken to be alike (fewer than 3 are named)" in result.out
    assert "1 of 5 areas were never compared ('E')" in result.out
    assert len(gpd.read_file(tmp_path / "out" / "areas.geojson")) == 5
    assert [(bridge.a, bridge.b) for bridge in jm.load_fit(tmp_path / "out").map.bridges] == [("e", "d")]


def test_from_the_shell(edges, comparisons, tmp_path):
    """The command in a process of its own; tests/installed and the tests of Ctrl-C let it finish."""
    words = [sys.executable, "-m", "judgemap", "fit", comparisons, *edges, "-o", tmp_path / "results", "--model", "x"]
    bad = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert bad.returncode == 2
    assert bad.stderr.startswith("judgemap: ")
    assert bad.stderr.count("\n") == 1


def test_ctrl_c_keeps_what_was_drawn(judgemap, edges, comparisons, tmp_path, monkeypatch):
    """As if the user pressed it in the middle of the draws: the folder is whole, and says that it was stopped."""
    real = FitSettings.run

    def press(draws, _wanted):
        if draws.n_draws >= 20:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(FitSettings, "run", lambda *given, **more: real(*given, **more | {"watch": press}))
    result = judgemap("fit", comparisons, *edges, "-o", tmp_path / "results", *TINY[:-3], "2000", "--seed", "1")
    assert result.status == 130
    assert f"the draws made until then are in {tmp_path / 'results'}/" in result.err
    assert "- The fit was stopped after" in result.out[result.out.index("Verdict:") :]
    assert not jm.load_fit(tmp_path / "results").info["complete"]


@pytest.mark.slow  # a process with a terminal; the test above is the quick sibling
def test_ctrl_c_on_a_terminal_keeps_what_was_drawn(stopped, edges, comparisons, tmp_path):
    """A long run shows draws, ESS and R-hat, and still writes a whole folder when it is interrupted."""
    words = ["fit", comparisons, *edges, "-o", tmp_path / "results", "--judges-alike", "--chains", 2, "--draws", 10**5]
    shown, status = stopped(*words, once=b"R-hat")
    assert status == 130
    assert "draws" in shown
    assert "ESS" in shown
    assert "The computation has not settled" not in shown
    assert not jm.load_fit(tmp_path / "results").info["complete"]


def test_an_earlier_fit_is_overwritten_only_by_force(judgemap, edges, comparisons, results, tmp_path):
    words = ["fit", comparisons, *edges, "-o", results, *TINY]
    before = {path.name: path.read_bytes() for path in results.iterdir()}
    refused = judgemap(*words)
    assert refused.status == 2
    assert "holds another fit; name a new folder, or overwrite it with --force" in refused.err
    assert {path.name: path.read_bytes() for path in (tmp_path / "results").iterdir()} == before
    assert judgemap(*words[:-1], "2", "--force").status == 0
    assert json.loads((tmp_path / "results" / "fit.json").read_text())["seed"] == 2


@pytest.mark.parametrize("error", [np.linalg.LinAlgError("Matrix is not positive definite"), KeyboardInterrupt()])
def test_a_fit_is_saved_before_it_is_assessed(judgemap, edges, comparisons, tmp_path, monkeypatch, error):
    def fail(*_given, **_more):
        raise error

    monkeypatch.setattr("judgemap.study.assess.explain.reliability", fail)
    result = judgemap("fit", comparisons, *edges, "-o", tmp_path / "results", *TINY)
    words = "How far another panel would agree could not be assessed (Matrix is not positive definite)."
    kept = jm.load_fit(tmp_path / "results")
    if isinstance(error, KeyboardInterrupt):
        assert result.status == 130
        assert f"interrupted; the fit is in {tmp_path / 'results'}/, but was not assessed" in result.err
        assert kept.record.verdict is None
    else:
        assert result.status == 0
        assert words in result.out
        assert words in kept.verdict.lines


def test_ctrl_c_in_a_refit_keeps_the_fit_and_writes_no_table(judgemap, edges, comparisons, tmp_path, monkeypatch):
    real = FitSettings.run

    def run(settings, *given, **more):
        fit = real(settings, *given, **more)
        return fit if settings.chi is None else replace(fit, record=replace(fit.record, complete=False))

    monkeypatch.setattr(FitSettings, "run", run)
    words = ["fit", comparisons, *edges, "-o", tmp_path / "results", *TINY, "--sensitivity", "chi=1,2"]
    result = judgemap(*words)
    assert result.status == 130
    assert f"the fit is in {tmp_path / 'results'}/, and there is no sensitivity.csv" in result.err
    assert jm.load_fit(tmp_path / "results").record.complete
    assert not (tmp_path / "results" / "sensitivity.csv").exists()
