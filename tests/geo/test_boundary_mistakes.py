"""Boundary files that are wrong: each gets one sentence."""

import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyogrio
import pytest
import shapely
from boundary_making import geojson, shapefile, wards, zipped

from judgemap.errors import StudyError
from judgemap.geo.maps import read_areas


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("wards.gpkg", b"", r"^wards\.gpkg: the file is empty; export the map again"),
        ("wards.gpkg", bytes(range(256)), r"^wards\.gpkg: the file is not what its ending \.gpkg says"),
        ("wards.geojson", b"hello", r"the file is not what its ending \.geojson says; export it again as GeoJSON"),
        (
            "wards.shp",
            b"hello",
            r"not what its ending \.shp says; a Shapefile needs its \.shx and \.dbf files beside it",
        ),
        ("wards.geojson", b'{"a": 1}', r"^wards\.geojson: the file cannot be read as a map .*; export it again"),
        ("wards.geojson", b'{"type": "FeatureCollection", "features": [{', r"cannot be read as a map"),
        ("wards.geojson", b'{"type": "FeatureCollection", "features": []}', r"there are no areas in the file"),
        ("wards.geojson", b"<OGRVRTDataSource/>", r"the file is not what its ending \.geojson says"),
        ("wards.gml", b"<gml/>", r"maps are read from \.geojson"),
        ("wards.zip", b"PK or so", r"the zip file cannot be opened"),
        ("wards", b"x", r"maps are read from"),
    ],
)
def test_what_is_not_a_map(tmp_path, name, content, sentence):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(StudyError, match=sentence) as caught:
        read_areas(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(StudyError, match=r"^nowhere\.gpkg: there is no such file"):
        read_areas(tmp_path / "nowhere.gpkg")
    with pytest.raises(StudyError, match="this is a folder; name a map file in it"):
        read_areas(tmp_path)


def test_zip_files_without_a_map_or_with_another_one_than_they_say(tmp_path):
    with zipfile.ZipFile(tmp_path / "wards.zip", "w") as archive:
        archive.writestr("readme.txt", "hello")
    with pytest.raises(StudyError, match=r"^wards\.zip: there is no map in the zip file; it should hold a \.shp"):
        read_areas(tmp_path / "wards.zip")
    with zipfile.ZipFile(tmp_path / "wards.zip", "w") as archive:
        archive.writestr("wards.geojson", "<OGRVRTDataSource/>")
    with pytest.raises(StudyError, match=r"^wards\.zip: the file is not what its ending \.geojson says"):
        read_areas(tmp_path / "wards.zip")


def test_a_shapefile_without_its_index(tmp_path):
    path = shapefile(tmp_path, wards())
    path.with_suffix(".shx").unlink()
    for broken in (path, zipped(path.parent)):
        with pytest.raises(StudyError, match=r"a Shapefile needs its \.shx and \.dbf files beside it") as caught:
            read_areas(broken)
        assert str(tmp_path) not in str(caught.value)


def test_a_table_without_outlines(tmp_path):
    pyogrio.write_dataframe(pd.DataFrame({"id": [1, 2]}), tmp_path / "wards.gpkg")
    with pytest.raises(StudyError, match=r"the file is a table without outlines"):
        read_areas(tmp_path / "wards.gpkg")


def test_columns_that_do_not_exist_and_ids_that_are_not_one_each(tmp_path):
    path = tmp_path / "wards.gpkg"
    wards(code=["a", "b", "a"], name=["x", "y", "z"]).to_file(path)
    with pytest.raises(
        StudyError, match=r"^wards\.gpkg: there is no column 'Code' \(did you mean 'code'\?\); .* 'code', 'name'$"
    ):
        read_areas(path, id="Code")
    with pytest.raises(StudyError, match=r"^wards\.gpkg: the column 'code' has the same id more than once: 'a'"):
        read_areas(path, id="code")
    assert read_areas(path).ids == ("1", "2", "3")


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ({"type": "Point", "coordinates": [0, 0]}, "Point"),
        ({"type": "LineString", "coordinates": [[0, 0], [1, 1]]}, "LineString"),
    ],
)
def test_points_and_lines_are_no_areas(tmp_path, shape, kind):
    square = shapely.geometry.mapping(shapely.box(0, 0, 1, 1))
    with pytest.raises(StudyError, match=rf"the file holds {kind} features, not polygons"):
        read_areas(geojson(tmp_path, shape, shape))
    with pytest.raises(StudyError, match=r"these areas are not polygons: 'W2'; remove them"):
        read_areas(geojson(tmp_path, square, shape))


def test_areas_without_outlines_are_named(tmp_path):
    square = shapely.geometry.mapping(shapely.box(0, 0, 1, 1))
    empty = {"type": "Polygon", "coordinates": []}
    with pytest.raises(StudyError, match=r"these areas have no outline: 'W2', 'W3'; draw or remove them"):
        read_areas(geojson(tmp_path, square, None, empty))
    with pytest.raises(StudyError, match=r"no area has an outline; export the map with its geometry"):
        read_areas(geojson(tmp_path, None, None))


@pytest.mark.parametrize(
    ("corner", "sentence"),
    [
        ((1000, 500), "these areas enclose no area: '2'; redraw"),
        ((np.inf, 0), "these areas have coordinates that are not on Earth: '2'; redraw"),
        ((1e300, 0), "these areas have coordinates that are not on Earth: '2'; redraw"),
        ((1e11, 0), "are nowhere on Earth in OSGB36"),
    ],
)
def test_areas_without_surface_and_coordinates_that_cannot_be(tmp_path, corner, sentence):
    frame = wards(id=[1, 2])
    frame.geometry = [shapely.box(0, 0, 1000, 1000), shapely.Polygon([(1000, 0), corner, (1000, 1000), (1000, 0)])]
    frame.to_file(tmp_path / "wards.gpkg")
    with pytest.raises(StudyError, match=sentence):
        read_areas(tmp_path / "wards.gpkg")


def test_one_area_is_not_enough(tmp_path):
    wards(id=[1]).to_file(tmp_path / "wards.gpkg")
    with pytest.raises(StudyError, match=r"^wards\.gpkg: there is only one area on the map; a comparison needs two"):
        read_areas(tmp_path / "wards.gpkg")


def test_choices_that_do_not_exist(tmp_path):
    wards().to_file(tmp_path / "wards.gpkg")
    with pytest.raises(
        StudyError, match=r"contiguity='qeen' is not recognised \(did you mean 'queen'\?\); it is one of"
    ):
        read_areas(tmp_path / "wards.gpkg", contiguity="qeen")
    with pytest.raises(StudyError, match=r"bridge='no' is not recognised"):
        read_areas(tmp_path / "wards.gpkg", bridge="no")


@pytest.mark.parametrize("kind", ["wards.gpkg", "wards.geojson", "wards.zip", "wards.shp", "wards.dbf", "wards.prj"])
def test_a_damaged_file_gives_a_map_or_one_sentence(tmp_path, kind):
    """Cut short or with bytes changed, at places drawn with a fixed seed: never another error, never a warning."""
    whole = shapefile(tmp_path, wards())
    wards().to_file(tmp_path / "shapefile" / "wards.gpkg")
    (tmp_path / "shapefile" / "wards.geojson").write_text(wards().to_crs("EPSG:4326").to_json())
    zipped(whole.parent).rename(whole.with_suffix(".zip"))
    damaged = whole.parent / kind
    sound = damaged.read_bytes()
    rng = np.random.default_rng(4)
    for trial in range(24):
        data = np.frombuffer(sound, dtype=np.uint8).copy()
        if trial % 2:
            data = data[: rng.integers(len(data))]
        else:
            data[rng.integers(len(data), size=8)] = rng.integers(256, size=8)
        damaged.write_bytes(data.tobytes())
        sentence = outcome(damaged if kind.endswith(("gpkg", "geojson", "zip")) else whole)
        assert sentence.startswith("wards.")
        assert "\n" not in sentence
        assert str(tmp_path) not in sentence


def outcome(path: Path) -> str:
    try:
        areas = read_areas(path)
    except StudyError as error:
        return str(error)
    return f"{path.name}: {len(areas)} areas"
