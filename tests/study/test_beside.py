"""Results by district and figures beside the map, against what can be worked out by hand."""

from dataclasses import replace
from functools import partial

import geopandas
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm, spearmanr

import judgemap as jm
from judgemap.errors import StudyError
from judgemap.geo.figures import Figures
from judgemap.study.assess.beside import beside, follows, group_areas, results_by
from judgemap.study.export import write_download
from judgemap.study.fit.result import load_fit


@pytest.fixture(scope="module")
def fit(rough) -> jm.Fit:
    numbers = [int(each) for each in rough.map.ids]
    sides = ["North" if each < 30 else "South" for each in numbers]
    table = {"id": rough.map.ids, "side": sides, "people": [100 * each for each in numbers], "flat": 7, "none": 0}
    return replace(rough, map=rough.map.with_figures(pd.DataFrame(table)))


def test_a_group_is_the_weighted_mean_of_its_areas_in_every_draw(fit):
    found = results_by(fit, "side", weights="people").set_index("group")
    members = np.array([int(each) < 30 for each in fit.map.ids])
    people = np.array([100.0 * int(each) for each in fit.map.ids])
    north, south = ((fit.risk[:, own] @ people[own]) / people[own].sum() for own in (members, ~members))
    assert_allclose(found.loc["North", "risk_median"], np.median(north))
    assert_allclose(found.loc["North", ["risk_low", "risk_high"]].astype(float), np.quantile(north, [0.025, 0.975]))
    assert_allclose(found.loc["North", "p_top1"], (north > south).mean())
    assert found.loc["North", "areas"] == members.sum()
    assert found["rank"].tolist() == [1, 2]


def test_groups_of_one_area_are_the_areas(fit):
    found = results_by(fit, fit.map.ids).set_index("group").loc[list(fit.map.ids)]
    for column in ("risk_median", "risk_low", "rank", "rank_low", "rank_high", "p_top10"):
        assert_allclose(found[column].to_numpy(float), fit.areas[column].to_numpy(float), err_msg=column)


def test_surface_weighs_by_surface(fit):
    grouping = group_areas(fit.map, "side", weights="area")
    assert_allclose(grouping.weights, fit.map.geometry.to_crs(fit.map.geometry.estimate_utm_crs()).area, rtol=1e-2)
    assert_allclose(grouping.shares.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("by", "weights", "said"),
    [
        ("town", "equal", "no column 'town'"),
        ("nowhere.gpkg", "equal", r"^nowhere\.gpkg: there is no such file"),
        ("side", "flats", "no column 'flats'"),
        ("side", "none", "the areas of 'North' have no weight by 'none'"),
        (["x"] * 77, "equal", "puts all areas into one group"),
        (["x", "y"], "equal", "a group for each of the 77 areas"),
    ],
)
def test_groupings_that_cannot_be(fit, by, weights, said):
    with pytest.raises(StudyError, match=said):
        group_areas(fit.map, by, weights=weights)


def test_rank_correlation_is_taken_draw_by_draw(fit):
    figure = fit.areas["risk_median"].to_numpy() + np.random.default_rng(2).normal(0, 2, 77)
    figure[5] = np.nan
    figures = Figures(fit.map.ids, {"x": tuple("" if np.isnan(each) else repr(float(each)) for each in figure)})
    told = follows(fit, figures, "x")
    known = np.isfinite(figure)
    each = [spearmanr(draw[known], figure[known]).statistic for draw in fit.risk]
    assert_allclose([told.median, told.low, told.high], np.quantile(each, [0.5, 0.025, 0.975]))
    assert told.areas == 76
    assert told.low < told.high < 1


def test_the_area_that_was_moved_stands_out(fit):
    figure = fit.areas["risk_median"].to_numpy().copy()
    highest = int(figure.argmax())
    figure[highest] = figure.min()
    figures = Figures(fit.map.ids, {"x": tuple(map(repr, figure.tolist()))})
    first = follows(fit, figures, "x").out[0]
    assert (first.area, first.riskier) == (highest, True)
    score = norm.ppf((pd.Series(figure).rank() - 0.5) / 77)
    above = fit.risk - np.array([np.polyval(np.polyfit(score, draw, 1), score) for draw in fit.risk])
    assert_allclose(first.probability, (above[:, highest] > 0).mean())


def test_a_figure_that_is_noise_is_not_followed(fit):
    noise = tuple(map(str, np.random.default_rng(1).permutation(77)))
    told = follows(fit, Figures(fit.map.ids, {"noise": noise}), "noise")
    assert "not clearly follow" in told.sentence
    with pytest.raises(StudyError, match="a correlation needs"):
        follows(fit, fit.map.figures, "flat")


def test_everything_beside_a_fit(fit):
    told = beside(fit, fit.map.figures)
    assert list(told.follows) == ["people"]
    assert [row["group"] for row in told.groups["side"]] == results_by(fit, "side")["group"].tolist()


def test_figures_are_kept_with_the_fit(fit, tmp_path):
    again = load_fit(fit.save(tmp_path / "results"))
    assert again.map.figures.cells == fit.map.figures.cells


@pytest.mark.parametrize("kind", ["csv", "xlsx", "geojson", "gpkg", "parquet"])
def test_results_by_group_in_every_format(fit, kind, tmp_path):
    path = write_download(fit, kind, tmp_path / f"sides.{kind}", group_areas(fit.map, "side"))
    readers = {"csv": pd.read_csv, "parquet": geopandas.read_parquet, "xlsx": partial(geopandas.read_file, layer=0)}
    read = readers.get(kind, geopandas.read_file)(path)
    expected = results_by(fit, "side").set_index("group")
    assert_allclose(read.set_index("group").loc[expected.index, "risk_median"], expected["risk_median"], rtol=1e-6)
    assert ("geometry" in read) == (kind in ("geojson", "gpkg", "parquet"))


def test_draws_have_no_groups(fit, tmp_path):
    with pytest.raises(StudyError, match="cannot be written as 'draws'"):
        write_download(fit, "draws", tmp_path / "x.draws.parquet", group_areas(fit.map, "side"))
