"""Figures and districts at the shell: fitted with, exported by, and in the briefing."""

import geopandas
import pandas as pd
import pytest

import judgemap as jm


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("figures")


@pytest.fixture
def fitted(judgemap, edges, comparisons, folder):
    """A fit with figures, made once."""
    if not (folder / "results").exists():
        (folder / "figures.csv").write_text("id,town,people\n1,A,10\n2,A,20\n3,A,30\n4,B,40\n5,B,50\n6,B,60\n9,C,1\n")
        words = ["--as-in-paper", "--chains", "2", "--warmup", "100", "--draws", "1000", "--seed", "1"]
        files = ["--figures", folder / "figures.csv", "-o", folder / "results"]
        done = judgemap("fit", comparisons, *edges, *files, *words)
        assert done.status == 0, done.err
        assert "1 of 7 rows are not of these areas" in done.out
        assert "people" in done.out
        assert "not a cause" in done.out
    return folder / "results"


def test_export_by_group(judgemap, fitted, tmp_path):
    done = judgemap("export", fitted, "-o", tmp_path / "towns.xlsx", "--by", "town", "--weighted-by", "people")
    assert done.status == 0, done.err
    found = jm.results_by(jm.load_fit(fitted), "town", weights="people")
    sheet = geopandas.read_file(tmp_path / "towns.xlsx", layer="results")
    pd.testing.assert_frame_equal(sheet.set_index("group"), found.set_index("group"), check_dtype=False)
    meanings = geopandas.read_file(tmp_path / "towns.xlsx", layer="columns")
    assert len(meanings) == len(found.columns) + 1  # GDAL takes the heading of a sheet of text for a row
    assert meanings.iloc[:, 1].str.len().min() > 3


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--weighted-by", "people"], "add --by or --rates"),
        (["--rates", "people"], "name its column with --expected"),
        (["--rates", "people", "--expected", "people", "--missed", "some"], "give a range such as"),
        (["--expected", "people"], "say which column has the counts"),
    ],
)
def test_groups_that_cannot_be(judgemap, fitted, tmp_path, words, said):
    done = judgemap("export", fitted, "-o", tmp_path / "towns.csv", *words)
    assert done.status == 2
    assert said in done.err
    assert not (tmp_path / "towns.csv").exists()


def test_the_briefing_has_groups_and_figures(judgemap, fitted, tmp_path):
    page = tmp_path / "report.html"
    done = judgemap("report", fitted, "-o", page, "--next-steps", "Visit.", "--by", "town", "--column", "people")
    assert done.status == 0, done.err
    html = page.read_text(encoding="utf-8")
    assert "Results by town" in html
    assert "Beside people" in html
