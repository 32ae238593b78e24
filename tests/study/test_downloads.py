"""A fit in other programs' formats, speedyBBT's among them, reads back there with the same numbers."""

import csv
from dataclasses import replace
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner

import judgemap as jm
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Outcome
from judgemap.study.export import (
    FORMATS,
    OF_A_MAP,
    export_speedybbt,
    kind_of,
    wide_draws,
    write_download,
)

QUICK = {"chains": 2, "draws": 50}


@pytest.fixture(scope="module")
def fitted() -> jm.Fit:
    areas, data = jm.example_study(seed=1)
    return jm.fit_spatial(data, areas, seed=1, **QUICK, as_in_paper=True)


@pytest.fixture(scope="module")
def without_map(fitted) -> jm.Fit:
    areas, data = jm.example_study(seed=1)
    bare = Areas(areas.ids, areas.names, areas.graph)
    return jm.fit_spatial(data, bare, seed=1, **QUICK, as_in_paper=True)


def numbers(table: pd.DataFrame) -> np.ndarray:
    return table[["risk_median", "risk_sd", "risk_low", "risk_high", "rank", "p_top10"]].to_numpy(dtype=float)


READERS = {
    "csv": lambda path: pd.read_csv(path, dtype={"id": str}),
    "geojson": geopandas.read_file,
    "gpkg": lambda path: geopandas.read_file(path, layer="areas"),
    "parquet": geopandas.read_parquet,
}


@pytest.mark.parametrize("kind", READERS)
def test_a_table_reads_back(fitted, tmp_path, kind):
    path = write_download(fitted, kind, tmp_path / f"wards{FORMATS[kind].ending}")
    table = READERS[kind](path)
    assert table["id"].astype(str).tolist() == list(fitted.map.ids)
    assert table["name"].tolist() == list(fitted.map.names)
    np.testing.assert_allclose(numbers(table), numbers(fitted.areas), rtol=1e-12)
    assert list(tmp_path.iterdir()) == [path], "nothing is left beside it"


def test_maps_are_where_they_were(fitted, tmp_path):
    for kind in ("geojson", "gpkg", "parquet"):
        table = READERS[kind](write_download(fitted, kind, tmp_path / f"wards.{kind}"))
        there = table.to_crs(fitted.map.geometry.crs).geometry
        assert there.distance(fitted.map.geometry).max() < 1.0
    assert geopandas.read_parquet(tmp_path / "wards.parquet").crs == fitted.map.geometry.crs


def test_draws(fitted, tmp_path):
    table = pd.read_parquet(write_download(fitted, "draws", tmp_path / "wards.draws.parquet"))
    assert len(table) == 2 * 50 * 77
    medians = table.groupby("area", observed=True)["risk"].median()
    np.testing.assert_array_equal(medians[list(fitted.map.ids)], fitted.areas["risk_median"])


def test_netcdf_is_that_of_the_folder(fitted, tmp_path):
    path = write_download(fitted, "netcdf", tmp_path / "wards.nc")
    with xr.open_dataset(path, group="posterior", engine="h5netcdf") as posterior:
        np.testing.assert_array_equal(posterior["risk"], fitted.posterior["risk"])


def test_clusters_are_in_the_table(tmp_path):
    areas, data = jm.example_study(seed=1)
    fit = jm.fit_clusters(data, areas, seed=1, chains=2, warmup=50, draws=50, thin=1)
    table = pd.read_csv(write_download(fit, "csv", tmp_path / "wards.csv"))
    np.testing.assert_array_equal(table["cluster"], fit.clusters["cluster"])
    assert table["probability"].between(0, 1).all()


@pytest.mark.parametrize("kind", OF_A_MAP)
def test_a_map_of_no_map(without_map, tmp_path, kind):
    with pytest.raises(StudyError, match="this fit has no map"):
        write_download(without_map, kind, tmp_path / "wards.x")
    assert list(tmp_path.iterdir()) == []


def test_a_table_without_a_map_is_plain_parquet(without_map, tmp_path):
    table = pd.read_parquet(write_download(without_map, "parquet", tmp_path / "wards.parquet"))
    assert "geometry" not in table.columns
    np.testing.assert_array_equal(numbers(table), numbers(without_map.areas))


def test_mistakes(fitted, tmp_path):
    with pytest.raises(StudyError, match=r"there is no format 'gkpg' \(did you mean 'gpkg'\?\)"):
        write_download(fitted, "gkpg", tmp_path / "a")
    with pytest.raises(StudyError, match="there is no folder"):
        write_download(fitted, "csv", tmp_path / "nowhere" / "a.csv")
    with pytest.raises(StudyError, match="its ending is not a known format"):
        kind_of("wards.shp")


def test_every_format_has_an_ending_of_its_own():
    assert {kind_of(Path(f"a{each.ending}")) for each in FORMATS.values()} == set(FORMATS)


def test_winners_losers_and_the_prior(fitted, tmp_path):
    (areas, data), fit = jm.example_study(seed=1), fitted
    assert export_speedybbt(fit, data, tmp_path / "r") == len(data)
    with (tmp_path / "r" / "comparisons.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert {row["outcome"] for row in rows} == {"1"}
    wins = np.zeros((len(areas), len(areas)), dtype=int)
    for row in rows:
        wins[int(row["item1"]) - 1, int(row["item2"]) - 1] += 1
    counts = data.counts()
    assert (wins[counts.first, counts.second] == counts.wins).all()
    assert (wins[counts.second, counts.first] == counts.n - counts.wins).all()
    covariance = np.loadtxt(tmp_path / "r" / "covariance.csv", delimiter=",")
    assert np.array_equal(covariance, fit.covariance.matrix)
    script = (tmp_path / "r" / "speedybbt.R").read_text(encoding="utf-8")
    assert "risk <- -1 * (lambda" in script, "the winner has the lower rate"
    assert "item.prior.var" not in script, "its name differs between versions"
    assert "names(formals(fit))" in script


def test_what_speedybbt_cannot_fit_is_refused(tmp_path):
    areas, data = jm.example_study(seed=1)
    fixed = jm.fit_spatial(data, areas, seed=1, **QUICK, alpha=3.0, as_in_paper=True)
    with pytest.raises(StudyError, match="α² inferred"):
        export_speedybbt(fixed, data, tmp_path / "r")
    tied = replace(
        data, outcome=np.where(np.arange(len(data)) < 40, Outcome.TIE, data.outcome).astype(data.outcome.dtype)
    )
    with_ties = jm.fit_spatial(tied, areas, seed=1, **QUICK, as_in_paper=True)
    with pytest.raises(StudyError, match="fit with --ties leave-out, and export"):
        export_speedybbt(with_ties, tied, tmp_path / "r")


def test_the_wide_table_holds_every_draw(fitted):
    fit, table = fitted, wide_draws(fitted)
    assert table.shape == (100, 3 + 77 + 2)
    assert table[".chain"].tolist() == [1] * 50 + [2] * 50
    chain_2 = fit.posterior["risk"][1]
    first = fit.map.ids[0]
    assert np.array_equal(table.loc[table[".chain"] == 2, f"risk[{first}]"].to_numpy(), chain_2[:, 0])
    assert np.array_equal(table["alpha2"].to_numpy(), fit.posterior["alpha2"].ravel())


def test_the_command_says_what_to_type():
    from judgemap.cli.main import app

    done = CliRunner().invoke(app, ["export", "speedybbt", "-o", "r"])
    assert "judgemap export results --as speedybbt" in str(done.exception)
