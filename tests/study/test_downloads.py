"""A fit in other programs' formats reads back there with the same numbers."""

from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import judgemap as jm
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.export import (
    FORMATS,
    OF_A_MAP,
    kind_of,
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


def test_comparisons_of_another_fit_are_refused(fitted, tmp_path):
    from judgemap.study.export import replication

    _, data = jm.example_study(seed=2)
    with pytest.raises(StudyError, match="not the ones that were fitted"):
        replication(fitted, data, None, tmp_path / "a.zip")
    assert isinstance(data, Comparisons)
    assert list(tmp_path.iterdir()) == []
