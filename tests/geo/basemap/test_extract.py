"""Extracts: what is read, what is left out, and what is refused."""

import gzip

import geopandas
import numpy as np
import pytest
import shapely
from town_making import MIDDLE, Town, town

from judgemap.errors import StudyError
from judgemap.geo.basemap.extract import read_extract, sea

BOX = (MIDDLE[0] - 0.05, MIDDLE[1] - 0.03, MIDDLE[0] + 0.05, MIDDLE[1] + 0.03)


@pytest.fixture(scope="module")
def osm(tmp_path_factory):
    return town().write(tmp_path_factory.mktemp("town") / "town.osm")


def read(path, box=BOX):
    told = []
    return read_extract(path, box, path.parent, lambda share, doing: told.append((share, doing))), told


def test_a_town_is_read_by_kind(osm):
    extract, told = read(osm)
    assert (extract.count("primary"), extract.count("rail"), extract.count("river")) == (2, 1, 1)
    assert (extract.count("green"), extract.count("water"), extract.count("built")) == (1, 1, 1)
    assert extract.names_of("suburb").tolist() == ["Sherwood <b>&amp;</b>"]
    assert extract.count("street") > 20
    assert told[0] == (0.0, "Reading the lines.")


def test_what_lies_outside_is_not_read(osm):
    x, y = MIDDLE
    extract, _ = read(osm, (x + 0.031, y + 0.02, x + 0.05, y + 0.03))
    assert extract.count("green") == extract.count("town") == 0
    assert extract.count("street") < 12


def test_shapes_are_laid_out_in_web_mercator(osm):
    point = shapely.get_coordinates(read(osm)[0].of("town"))[0]
    assert point == pytest.approx([(MIDDLE[0] + 180) / 360, 0.3259], abs=0.0001)


def test_an_extract_of_another_continent_says_where_it_is(tmp_path):
    path = town((151.2, -33.9)).write(tmp_path / "sydney.osm")
    with pytest.raises(StudyError, match=r"it is around 33\.9° south, 151\.2° east, the study is around 53\.0° north"):
        read(path)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("a.osm.pbf", b"PK\x03\x04" + bytes(100), "neither an OpenStreetMap extract"),
        ("a.osm.pbf", b"", "neither an OpenStreetMap extract"),
        ("a.osm.pbf", b"\x00\x00\x00\x0d\x0a\x09OSMHeader\x18\x7c" + bytes(500), "damaged or cut short"),
        ("a.osm", b"<?xml version='1.0'?><osm version='0.6'><node id='1' lat=", "damaged or cut short"),
        ("a.osm", gzip.compress(b"<osm/>", mtime=0), "neither an OpenStreetMap extract"),
        ("a.gpkg", b"SQLite format 3\0" + bytes(500), "damaged or cut short"),
        ("a.osm", b"<?xml version='1.0'?><osm version='0.6'></osm>", "nothing to draw"),
    ],
)
def test_what_is_no_extract_is_refused(tmp_path, name, content, match):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(StudyError, match=match):
        read(path)


def test_entities_that_grow_without_end_are_refused(tmp_path):
    """The oldest trick with XML: each entity is ten of the one before."""
    entities = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 12))
    path = tmp_path / "bomb.osm"
    path.write_text(f'<?xml version="1.0"?><!DOCTYPE osm [<!ENTITY e0 "ha">{entities}]><osm version="0.6">&e11;</osm>')
    with pytest.raises(StudyError):
        read(path)


def test_a_geopackage_of_ones_own_needs_no_tags(tmp_path):
    x, y = MIDDLE
    lines = geopandas.GeoDataFrame(
        {"name": ["Ring road"], "geometry": [shapely.LineString([(x, y), (x + 0.01, y)])]}, crs="EPSG:4326"
    ).to_crs("EPSG:27700")
    path = tmp_path / "own.gpkg"
    lines.to_file(path, layer="roads")
    points = geopandas.GeoDataFrame({"name": ["Old town", None], "geometry": [shapely.Point(x, y)] * 2}, crs=4326)
    points.to_file(path, layer="labels")
    extract, _ = read(path)
    assert extract.names_of("secondary").tolist() == ["Ring road"]
    assert extract.names_of("suburb").tolist() == ["Old town"]


def test_a_geopackage_says_what_things_are_as_openstreetmap_does(tmp_path):
    x, y = MIDDLE
    frame = geopandas.GeoDataFrame(
        {"highway": ["motorway", None], "geometry": [shapely.LineString([(x, y), (x + 0.01, y)])] * 2}, crs=4326
    )
    frame.to_file(tmp_path / "own.gpkg", layer="lines")
    extract, _ = read(tmp_path / "own.gpkg")
    assert list(extract.found) == ["motorway"]


def test_the_sea_is_on_the_right_of_its_coast():
    """A coast from south to north has water in the east; an island in it is land."""
    coast = shapely.LineString([(2, -1), (2, 11)])
    island = shapely.LineString([(5, 5), (7, 5), (7, 7), (5, 7), (5, 5)])
    water = sea(np.array([coast, island]), (0, 0, 10, 10))
    assert sum(shapely.area(water)) == pytest.approx(80 - 4)
    assert not shapely.intersects(shapely.union_all(water), shapely.Point(1, 5))
    turned = sea(np.array([coast.reverse()]), (0, 0, 10, 10))
    assert sum(shapely.area(turned)) == pytest.approx(20)


def test_the_sea_ends_where_the_extract_does():
    """A coast in two ways, the second of which ends before the box does: there nothing is known."""
    coast = [shapely.LineString([(2, -1), (2, 4)]), shapely.LineString([(2, 4), (2, 8)])]
    water = sea(np.array(coast), (0, 0, 10, 10))
    assert shapely.total_bounds(water).tolist() == [2, 0, 10, 8]


def test_a_coast_is_read_as_water(tmp_path):
    x, y = MIDDLE
    made = Town()
    made.way([(x, y - 1), (x, y + 1)], natural="coastline")
    made.way([(x - 0.01, y), (x - 0.02, y)], highway="primary")
    extract, _ = read(made.write(tmp_path / "coast.osm"))
    west, _, east, _ = shapely.total_bounds(extract.of("water")) * 360 - 180
    assert (west, east) == pytest.approx((x, BOX[2]))
