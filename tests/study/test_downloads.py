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
from judgemap.study.export import (
    FORMATS,
    OF_A_MAP,
    export_speedybbt,
    kind_of,
    wide_draws,
    write_download,
)


@pytest.fixture(scope="module")
def without_map(rough) -> jm.Fit:
    return replace(rough, map=replace(rough.map, geometry=None))


def numbers(table: pd.DataFrame) -> np.ndarray:
    return table[["risk_median", "risk_sd", "risk_low", "risk_high", "rank", "p_top10"]].to_numpy(dtype=float)


READERS = {
    "csv": lambda path: pd.read_csv(path, dtype={"id": str}),
    "geojson": geopandas.read_file,
    "gpkg": lambda path: geopandas.read_file(path, layer="areas"),
    "parquet": geopandas.read_parquet,
}


@pytest.mark.parametrize("kind", READERS)
def test_a_table_reads_back(rough, tmp_path, kind):
    path = write_download(rough, kind, tmp_path / f"wards{FORMATS[kind].ending}")
    table = READERS[kind](path)
    assert table["id"].astype(str).tolist() == list(rough.map.ids)
    assert table["name"].tolist() == list(rough.map.names)
    np.testing.assert_allclose(numbers(table), numbers(rough.areas), rtol=1e-12)
    assert list(tmp_path.iterdir()) == [path], "nothing is left beside it"


def test_maps_are_where_they_were(rough, tmp_path):
    for kind in ("geojson", "gpkg", "parquet"):
        table = READERS[kind](write_download(rough, kind, tmp_path / f"wards.{kind}"))
        there = table.to_crs(rough.map.geometry.crs).geometry
        assert there.distance(rough.map.geometry).max() < 1.0
    assert geopandas.read_parquet(tmp_path / "wards.parquet").crs == rough.map.geometry.crs


def test_draws(rough, tmp_path):
    table = pd.read_parquet(write_download(rough, "draws", tmp_path / "wards.draws.parquet"))
    assert len(table) == 2 * 200 * 77
    medians = table.groupby("area", observed=True)["risk"].median()
    np.testing.assert_array_equal(medians[list(rough.map.ids)], rough.areas["risk_median"])


def test_netcdf_is_that_of_the_folder(rough, tmp_path):
    path = write_download(rough, "netcdf", tmp_path / "wards.nc")
    with xr.open_dataset(path, group="posterior", engine="h5netcdf") as posterior:
        np.testing.assert_array_equal(posterior["risk"], rough.posterior["risk"])


def test_clusters_are_in_the_table(rough_clusters, tmp_path):
    table = pd.read_csv(write_download(rough_clusters, "csv", tmp_path / "wards.csv"))
    np.testing.assert_array_equal(table["cluster"], rough_clusters.clusters["cluster"])
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


def test_mistakes(rough, tmp_path):
    with pytest.raises(StudyError, match=r"there is no format 'gkpg' \(did you mean 'gpkg'\?\)"):
        write_download(rough, "gkpg", tmp_path / "a")
    with pytest.raises(StudyError, match="there is no folder"):
        write_download(rough, "csv", tmp_path / "nowhere" / "a.csv")
    with pytest.raises(StudyError, match="its ending is not a known format"):
        kind_of("wards.shp")


def test_every_format_has_an_ending_of_its_own():
    assert {kind_of(Path(f"a{each.ending}")) for each in FORMATS.values()} == set(FORMATS)


def test_winners_losers_and_the_prior(rough, study, tmp_path):
    areas, data = study.areas, study.data
    assert export_speedybbt(rough, data, tmp_path / "r") == len(data)
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
    assert np.array_equal(covariance, rough.covariance.matrix)
    script = (tmp_path / "r" / "speedybbt.R").read_text(encoding="utf-8")
    assert "risk <- -1 * (lambda" in script, "the winner has the lower rate"
    assert "item.prior.var" not in script, "its name differs between versions"
    assert "names(formals(fit))" in script


@pytest.mark.parametrize(
    ("settings", "ties", "words"),
    [({"alpha": 3.0}, 0, "α² inferred"), ({}, 40, "fit with --ties leave-out, and export")],
)
def test_what_speedybbt_cannot_fit_is_refused(rough, study, tmp_path, settings, ties, words):
    record = rough.record
    made = replace(record, settings=replace(record.settings, **settings), data=replace(record.data, ties=ties))
    with pytest.raises(StudyError, match=words):
        export_speedybbt(replace(rough, record=made), study.data, tmp_path / "r")


def test_the_wide_table_holds_every_draw(rough):
    table, first = wide_draws(rough), rough.map.ids[0]
    assert table.shape == (400, 3 + 77 + 2)
    assert table[".chain"].tolist() == [1] * 200 + [2] * 200
    chain_2 = table.loc[table[".chain"] == 2, f"risk[{first}]"]
    assert np.array_equal(chain_2.to_numpy(), rough.posterior["risk"][1][:, 0])
    assert np.array_equal(table["alpha2"].to_numpy(), rough.posterior["alpha2"].ravel())


def test_the_command_says_what_to_type():
    from judgemap.cli.main import app

    done = CliRunner().invoke(app, ["export", "speedybbt", "-o", "r"])
    assert "judgemap export results --as speedybbt" in str(done.exception)
