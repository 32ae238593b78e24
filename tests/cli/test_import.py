"""`judgemap import` prints the command to run next, and that command runs; `judgemap export` writes other formats."""

import shlex
from pathlib import Path

import pandas as pd
import pytest

R = Path(__file__).parents[1] / "study" / "r"
QUICK = ["--chains", "2", "--draws", "50", "--seed", "1"]


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


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["speedybbt", "none.rda"], "there is no such file"),
        (["interface", "none.zip"], "there is no such file"),
        (["table", "none.csv"], "there is no such file"),
        (["interface", "none.zip", "--id", "email"], "--id is one of item_id, name and display_name"),
        (["table", "none.csv", "--ones", "third"], "--ones is 'first' or 'second'"),
        (["speedybbt", str(R / "list.rda"), "--winner-is", "worse"], "the winner's rate is 'lower' or 'higher'"),
    ],
)
def test_mistakes(judgemap, tmp_path, monkeypatch, words, sentence):
    monkeypatch.chdir(tmp_path)
    result = judgemap("import", *words, "-o", "out")
    assert result.status == 2
    assert sentence in result.err
    assert list(tmp_path.iterdir()) == []


def test_every_import_has_an_example(judgemap):
    for name in ("speedybbt", "interface", "table"):
        assert f"Example: judgemap import {name}" in judgemap("import", name, "--help").out


@pytest.fixture
def results(judgemap, edges, comparisons, tmp_path):
    assert judgemap("fit", comparisons, *edges, "-o", tmp_path / "results", *QUICK).status == 0
    return tmp_path / "results"


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
    for words in (["--comparisons", comparisons], ["--judges", "named"]):
        assert judgemap("export", results, "-o", tmp_path / "a.csv", *words).status == 2
    assert not (tmp_path / "a.csv").exists()
    comparisons.write_text(comparisons.read_text() + "9,1,2,left\n")
    refused = judgemap("export", results, "-o", tmp_path / "b.zip", "--comparisons", comparisons)
    assert "not those that the fit was made of" in refused.err
