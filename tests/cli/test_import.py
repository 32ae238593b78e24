"""`judgemap import` prints the command to run next, and that command runs; `judgemap export` writes other formats."""

import shlex
import zipfile
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely

R = Path(__file__).parents[1] / "study" / "r"
QUICK = ["--chains", "1", "--draws", "10", "--seed", "1"]


def next_words(out: str) -> list[str]:
    words = shlex.split(out.splitlines()[-1])
    assert words[0] == "judgemap"
    return words[1:]


@pytest.mark.parametrize("file", ["list.rda", "map.rda", "items.rda", "named.rds"])
def test_the_command_that_is_printed_runs(judgemap, tmp_path, monkeypatch, file):
    monkeypatch.chdir(tmp_path)
    result = judgemap("import", "speedybbt", R / file, "-o", "my wards")
    assert result.status == 0, result.err
    assert (tmp_path / "my wards" / "comparisons.csv").exists()
    fitted = judgemap(*next_words(result.out), *QUICK)
    assert fitted.status == 0, fitted.err
    assert (tmp_path / "results" / "areas.csv").exists()
    assert (tmp_path / "results" / "areas.geojson").exists() is (file == "map.rda")


def test_a_table_with_columns_of_other_names(judgemap, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("games.csv").write_text("preferred,other,rater\nAsh,Elm,1\nElm,Fir,2\n")
    words = ["--winner", "preferred", "--loser", "other", "--judge", "rater", "--winner-is", "higher"]
    result = judgemap("import", "table", "games.csv", *words, "-o", "out")
    assert result.status == 0, result.err
    assert "--winner-is higher" in result.out
    assert "set --winner-is" not in result.out
    assert judgemap(*next_words(result.out), *QUICK).status == 0


def test_results_in_another_format(judgemap, results, tmp_path):
    assert judgemap("export", results, "-o", tmp_path / "a.parquet").status == 0
    there = pd.read_csv(results / "areas.csv")
    pd.testing.assert_series_equal(pd.read_parquet(tmp_path / "a.parquet")["risk_mean"], there["risk_mean"])
    refused = judgemap("export", results, "-o", tmp_path / "a.gpkg")
    assert refused.status == 2
    assert "this fit has no map" in refused.err


def test_an_archive_from_the_command_line(judgemap, results, comparisons, tmp_path):
    refused = judgemap("export", results, "-o", tmp_path / "a.zip")
    assert refused.status == 2
    assert "--comparisons comparisons.csv" in refused.err
    assert judgemap("export", results, "-o", tmp_path / "a.zip", "--comparisons", comparisons).status == 0
    assert (tmp_path / "a.zip").exists()
    assert judgemap("export", results, "-o", tmp_path / "a.csv", "--comparisons", comparisons).status == 2
    assert not (tmp_path / "a.csv").exists()
    comparisons.write_text(comparisons.read_text() + "9,1,2,left\n")
    refused = judgemap("export", results, "-o", tmp_path / "b.zip", "--comparisons", comparisons)
    assert "not the ones that were fitted" in refused.err


def test_an_archive_of_a_fit_whose_prior_rests_on_centroids(judgemap, tmp_path, monkeypatch):
    """A results folder has rounded outlines: with the map itself the numbers are the same to the last digit."""
    monkeypatch.chdir(tmp_path)
    squares = [shapely.box(x, y, x + 1000.3, y + 1000) for y in (0, 1000, 2000) for x in (0, 1000, 2000)]
    geometry = geopandas.GeoSeries(squares, crs="EPSG:27700").translate(450_000.7, 340_000.1)
    geopandas.GeoDataFrame({"code": [f"W{i}" for i in range(9)]}, geometry=geometry).to_file("map.gpkg")
    rng = np.random.default_rng(1)
    rows = [f"W{a},W{(a + b) % 9}\n" for a, b in zip(rng.integers(0, 9, 60), rng.integers(1, 9, 60), strict=True)]
    Path("pairs.csv").write_text("winner,loser\n" + "".join(rows))
    fit = ["fit", "pairs.csv", "--areas", "map.gpkg", "--id", "code", "--prior", "exponential", *QUICK, "-o", "results"]
    assert judgemap(*fit).status == 0
    words = ["--comparisons", "pairs.csv", "--areas", "map.gpkg", "--id", "code"]
    result = judgemap("export", "results", "-o", "a.zip", *words)
    assert result.status == 0, result.err
    with zipfile.ZipFile("a.zip") as archive:
        archive.extractall("empty")
    monkeypatch.chdir(tmp_path / "empty")
    again = judgemap(*shlex.split(Path("command.sh").read_text().splitlines()[-1])[1:])
    assert again.status == 0, again.err
    assert Path("results/areas.csv").read_text() == (tmp_path / "results" / "areas.csv").read_text()
    monkeypatch.chdir(tmp_path)
    geopandas.GeoDataFrame({"code": [f"W{8 - i}" for i in range(9)]}, geometry=geometry).to_file("other.gpkg")
    refused = judgemap("export", "results", "-o", "b.zip", *words[:3], "other.gpkg", *words[4:])
    assert refused.status == 2
    assert "does not have the fit's areas" in refused.err
