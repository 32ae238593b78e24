"""Boundary files: every kind that is read, what is chosen and repaired, and one sentence for every mistake."""

import json
import zipfile
from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pyogrio
import pytest
import shapely

from judgemap.errors import StudyError
from judgemap.geo.maps import Bridge, read_areas

BRITISH_GRID = "EPSG:27700"


def wards(**columns: list[object]) -> geopandas.GeoDataFrame:
    """Three squares in a row, a kilometre wide, or as many as the columns have rows."""
    columns = columns or {"code": ["W1", "W2", "W3"], "name": ["Castle", "Trent", "Sherwood"]}
    rows = len(next(iter(columns.values())))
    squares = [shapely.box(x * 1000, 0, (x + 1) * 1000, 1000) for x in range(rows)]
    return geopandas.GeoDataFrame(columns, geometry=squares, crs=BRITISH_GRID)


def zipped(folder: Path, inside: str = "") -> Path:
    """Zip every file of a folder."""
    path = folder.parent / f"{folder.name}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, inside + file.name)
    return path


def shapefile(tmp_path: Path, frame: geopandas.GeoDataFrame, name: str = "wards") -> Path:
    folder = tmp_path / "shapefile"
    folder.mkdir(exist_ok=True)
    frame.to_file(folder / f"{name}.shp")
    return folder / f"{name}.shp"


@pytest.fixture
def read(tmp_path):
    """Write a table, or outlines as GeoJSON has them, and read the areas of the file."""

    def written(what, **how):
        if isinstance(what, geopandas.GeoDataFrame):
            what.to_file(tmp_path / "wards.gpkg")
            return read_areas(tmp_path / "wards.gpkg", **how)
        rows = enumerate(what, start=1)
        features = [{"type": "Feature", "properties": {"id": f"W{row}"}, "geometry": each} for row, each in rows]
        (tmp_path / "wards.geojson").write_text(json.dumps({"type": "FeatureCollection", "features": features}))
        return read_areas(tmp_path / "wards.geojson", **how)

    return written


BOW_TIE = shapely.Polygon([(3000, 0), (4000, 1000), (4000, 0), (3000, 1000)])


def check_three_wards(path: Path) -> None:
    areas = read_areas(path, id="code", name="name")
    assert areas.ids == ("W1", "W2", "W3")
    assert areas.names == ("Castle", "Trent", "Sherwood")
    assert areas.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert (areas.bridges, areas.notes) == ((), ())


@pytest.mark.parametrize("name", ["wards.gpkg", "wards.shp", "WARDS.GPKG"])
def test_geopackage_and_shapefile(tmp_path, name):
    wards().to_file(tmp_path / name)
    check_three_wards(tmp_path / name)
    assert read_areas(tmp_path / name).geometry.crs == BRITISH_GRID


@pytest.mark.parametrize("beginning", [b"", b"\xef\xbb\xbf", b"\n  "])
@pytest.mark.parametrize("suffix", [".geojson", ".json"])
def test_geojson(tmp_path, suffix, beginning):
    path = tmp_path / f"wards{suffix}"
    path.write_bytes(beginning + wards().to_crs("EPSG:4326").to_json().encode())
    check_three_wards(path)
    assert read_areas(path).geometry.crs == "EPSG:4326"


@pytest.mark.parametrize("inside", ["", "export/2024/"])
def test_zipped_shapefile(tmp_path, inside):
    check_three_wards(zipped(shapefile(tmp_path, wards()).parent, inside))


def test_zipped_geopackage_beside_what_a_mac_adds(tmp_path):
    wards().to_file(tmp_path / "wards.gpkg")
    with zipfile.ZipFile(tmp_path / "wards.zip", "w") as archive:
        archive.writestr("__MACOSX/._wards.gpkg", b"resource fork")
        archive.writestr("readme.txt", "hello")
        archive.write(tmp_path / "wards.gpkg", "wards.gpkg")
    check_three_wards(tmp_path / "wards.zip")


def test_of_several_layers_the_first_with_polygons_is_read_and_named(tmp_path):
    path = tmp_path / "wards.gpkg"
    points = wards().set_geometry(wards().centroid)
    points.to_file(path, layer="schools")
    wards().to_file(path, layer="wards")
    check_three_wards(path)
    wards().to_file(path, layer="parishes")
    note = read_areas(path, id="code", name="name").notes
    assert note == ("Of the file's layers, 'wards' was read; the others are 'parishes'.",)


def test_of_several_maps_in_a_zip_file_the_first_is_read_and_named(tmp_path):
    shapefile(tmp_path, wards(), "a")
    path = zipped(shapefile(tmp_path, wards(), "b").parent)
    note = read_areas(path, id="code", name="name").notes
    assert note == ("Of the maps in the zip file, 'a.shp' was read; the others are 'b.shp'.",)


def test_a_shapefile_whose_text_is_not_what_it_claims(tmp_path):
    path = tmp_path / "wards.shp"
    wards(code=["1", "2"], name=["Château", "Trent"]).to_file(path, encoding="ISO-8859-1")
    path.with_suffix(".cpg").write_text("UTF-8")
    areas = read_areas(path, id="code", name="name")
    assert areas.names == ("Château", "Trent")
    assert any("Windows-1252" in note for note in areas.notes)


def test_a_shapefile_without_its_table_is_numbered(tmp_path):
    path = shapefile(tmp_path, wards())
    path.with_suffix(".dbf").unlink()
    areas = read_areas(path)
    assert areas.ids == areas.names == ("1", "2", "3")
    assert "numbered from 1" in areas.notes[0]


def test_columns_are_chosen_or_guessed(read):
    frame = wards(gss=["E1", "E2"], WD23CD=["W1", "W2"], WD23NM=["Castle", "Trent"])
    assert read(frame, id="gss", name="WD23CD").names == ("W1", "W2")
    assert read(frame).notes == (
        "The ids appear to be in the column 'WD23CD'.",
        "The names appear to be in the column 'WD23NM'.",
    )
    assert read(wards(code=["a", "b", "a"])).ids == ("1", "2", "3")
    assert read(wards(code=[1.0, 2.0, 3.0]), id="code").ids == ("1", "2", "3"), "whole numbers"


def test_an_outline_that_crosses_itself_is_repaired_and_keeps_its_neighbours(read):
    frame = wards(code=["W1", "W2", "W3", "W4", "W5"], name=["a", "b", "c", "Bow", "e"])
    frame.loc[3, "geometry"] = BOW_TIE
    areas = read(frame, id="code", name="name")
    assert areas.notes == ("Outlines that crossed themselves were repaired: 'Bow'.",)
    assert areas.graph.edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    assert areas.geometry.is_valid.all()
    assert set(areas.geometry.geom_type) <= {"Polygon", "MultiPolygon"}
    assert areas.geometry.iloc[3].area == pytest.approx(0.5e6)


def test_rings_that_are_not_closed_are_closed(read):
    rings = [[0, 0], [1, 0], [1, 1], [0, 1]], [[1, 0], [2, 0], [2, 1], [1, 1], [1, 0]]
    areas = read([{"type": "Polygon", "coordinates": [ring]} for ring in rings], id="id", name="id")
    assert areas.geometry.iloc[0].equals(shapely.box(0, 0, 1, 1))
    assert areas.notes == ("Some outlines did not end where they started; they were closed.",)


def test_islands_are_joined_or_left_apart_and_both_are_said(read):
    frame = wards(code=["1", "2", "3", "4", "5"], name=["a", "b", "c", "Isle", "Skerry"])
    frame.geometry = [shapely.box(x, 0, x + 1000, 1000) for x in (0, 1000, 2000, 6500, 8000)]
    joined = read(frame, id="code", name="name")
    assert joined.bridges == (Bridge("4", "5", 0.5), Bridge("4", "3", 3.5))
    assert joined.graph.edges.tolist() == [[0, 1], [1, 2], [2, 3], [3, 4]]
    isle = "'Isle' borders nothing outside its part of the map, so it was joined to the nearest area"
    assert joined.notes == (f"{isle}, 'Skerry', 0.50 km away.", f"{isle}, 'c', 3.50 km away.")
    apart = read(frame, id="code", name="name", bridge="none")
    assert apart.graph.edges.tolist() == [[0, 1], [1, 2]]
    assert apart.bridges == ()
    assert apart.notes == (
        "These areas have no neighbour: 'Isle', 'Skerry'.",
        "The map is in 3 separate parts, with 3, 1, 1 areas: one part tells us nothing about another.",
    )


def test_edges_by_hand_come_before_bridges(read, tmp_path):
    frame = wards()
    frame.geometry = [shapely.box(x, 0, x + 1000, 1000) for x in (0, 1000, 5000)]
    ferry = tmp_path / "ferries.csv"
    ferry.write_text("area_a,area_b,operator\nSherwood,W1,x\nW1,W3,y\n")
    for extra in (ferry, str(ferry), [("W1", "W3")], [["Castle", "Sherwood"]]):
        areas = read(frame, id="code", name="name", extra_edges=extra)
        assert areas.graph.edges.tolist() == [[0, 1], [0, 2]]
        assert areas.bridges == ()
        assert "Edges were added by hand: " in areas.notes[0]
        assert "Castle" in areas.notes[0]


@pytest.mark.parametrize(
    ("extra", "sentence"),
    [
        ([("W1", "W9")], r"^extra edges: area 'W9' is not on the map; correct it, or add the area to the map$"),
        ([("W1", "Shirwood")], r"^extra edges: area 'Shirwood' is not on the map \(did you mean 'Sherwood'\?\)"),
        ([("W1", "Castle")], r"^extra edges: the edge joins area 'W1' to itself; remove it"),
        ([("W1",)], r"^extra edges: an edge joins two areas, but this one reads 'W1'; name both"),
        ([("W1", "W2", "W3")], r"this one reads 'W1', 'W2', 'W3'"),
        ("area_a,area_b\nW1,W2\nW1,W7\n", r"^ferries\.csv line 3: area 'W7' is not on the map"),
        ("area_a,area_b\nW1,\n", r"^ferries\.csv line 2: an edge joins two areas, but this one reads 'W1', ''"),
        ("a,b\nW1,W2\n", r"^ferries\.csv: there is no column 'area_a'.*; the columns are 'a', 'b'"),
    ],
)
def test_what_is_wrong_with_edges_by_hand(read, tmp_path, extra, sentence):
    if isinstance(extra, str):
        (tmp_path / "ferries.csv").write_text(extra)
        extra = tmp_path / "ferries.csv"
    with pytest.raises(StudyError, match=sentence):
        read(wards(), id="code", name="name", extra_edges=extra)


def test_borders_that_do_not_meet_at_all_are_suspected(read):
    frame = wards(id=list(range(30)))
    frame.geometry = frame.geometry.buffer(-20, join_style="mitre")
    areas = read(frame)
    assert len(areas.bridges) == 29
    assert areas.notes[-2] == "9 more areas were joined to their nearest area in the same way."
    assert areas.notes[-1].startswith("So many parts suggest that the borders in the file do not meet")


def test_a_reference_system_that_the_file_does_not_say(tmp_path):
    path = shapefile(tmp_path, wards())
    path.with_suffix(".prj").unlink()
    with pytest.raises(StudyError, match=r"wards\.shp: the file does not state its coordinate .* crs='EPSG:27700'"):
        read_areas(path)
    for crs in ("EPSG:27700", 27700, "27700"):
        assert read_areas(path, crs=crs).geometry.crs == BRITISH_GRID
    with pytest.raises(StudyError, match=r"wards\.shp: crs='EPGS:27700' is not a coordinate reference system"):
        read_areas(path, crs="EPGS:27700")


def test_metres_in_a_geojson_file_that_means_degrees(tmp_path):
    frame = wards().translate(450_000, 340_000)
    path = tmp_path / "wards.geojson"
    path.write_text(frame.set_crs(None, allow_override=True).to_json())
    with pytest.raises(StudyError, match=r"wards\.geojson: the coordinates \(x 450000 … .*\) cannot be degrees"):
        read_areas(path)
    areas = read_areas(path, crs=BRITISH_GRID)
    assert areas.geometry.crs == BRITISH_GRID
    assert "The coordinates were read as EPSG:27700, where the file says WGS 84." in areas.notes


def test_degrees_in_a_file_that_says_metres_are_doubted(read):
    frame = wards(id=[1, 2])
    frame.geometry = [shapely.box(-1.2, 52.9, -1.1, 53.0), shapely.box(-1.1, 52.9, -1.0, 53.0)]
    doubt = r"The coordinates (x -1.2 … -1, y 52.9 … 53) look like degrees, which OSGB36 / British National Grid does"
    assert any(note.startswith(doubt) for note in read(frame).notes)
    assert not any("degrees" in note for note in read(frame, crs=4326).notes)


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


SQUARE = shapely.geometry.mapping(shapely.box(0, 0, 1, 1))
POINT, LINE = {"type": "Point", "coordinates": [0, 0]}, {"type": "LineString", "coordinates": [[0, 0], [1, 1]]}
TWICE, GAP = wards(code=["a", "b", "a"], name=["x", "y", "z"]), wards(code=[1, None, 3], name=["a", "b", "c"])


def reaching(corner: tuple[float, float]) -> geopandas.GeoDataFrame:
    """A square, and a triangle with this corner."""
    frame = wards(id=[1, 2])
    frame.loc[1, "geometry"] = shapely.Polygon([(1000, 0), corner, (1000, 1000), (1000, 0)])
    return frame


@pytest.mark.parametrize(
    ("what", "how", "sentence"),
    [
        (
            TWICE,
            {"id": "Code"},
            r"^wards\.gpkg: .* no column 'Code' \(did you mean 'code'\?\); .* 'code', 'name'$",
        ),
        (TWICE, {"id": "code"}, r"^wards\.gpkg: the column 'code' has the same id more than once: 'a'"),
        (GAP, {"id": "code"}, r"wards\.gpkg: the column 'code' has no id in row 2;"),
        ([POINT, POINT], {}, "the file holds Point features, not polygons"),
        ([LINE, LINE], {}, "the file holds LineString features, not polygons"),
        ([SQUARE, POINT], {}, "these areas are not polygons: 'W2'; remove them"),
        ([SQUARE, LINE], {}, "these areas are not polygons: 'W2'; remove them"),
        (
            [SQUARE, None, {"type": "Polygon", "coordinates": []}],
            {},
            "these areas have no outline: 'W2', 'W3'; draw or remove them",
        ),
        ([None, None], {}, "no area has an outline; export the map with its geometry"),
        (reaching((1000, 500)), {}, "these areas enclose no area: '2'; redraw"),
        (reaching((np.inf, 0)), {}, "these areas have coordinates that are not on Earth: '2'; redraw"),
        (reaching((1e300, 0)), {}, "these areas have coordinates that are not on Earth: '2'; redraw"),
        (reaching((1e11, 0)), {}, "are nowhere on Earth in OSGB36"),
        (wards(id=[1]), {}, r"^wards\.gpkg: there is only one area on the map; a comparison needs two"),
        (
            wards(),
            {"contiguity": "qeen"},
            r"contiguity='qeen' is not rec.* \(did you mean 'queen'\?\); it is one of",
        ),
        (wards(), {"bridge": "no"}, "bridge='no' is not recognised"),
    ],
)
def test_what_is_wrong_with_areas(read, what, how, sentence):
    with pytest.raises(StudyError, match=sentence):
        read(what, **how)


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
