"""Tiles: which are needed, what they hold, and how heavy they may be."""

import re

import numpy as np
import pytest
import shapely

from judgemap.errors import StudyError
from judgemap.geo.basemap import tiles as cutting
from judgemap.geo.basemap.extract import Extract, project
from judgemap.geo.basemap.tiles import UNITS, WORLD, Tile, box_of, cut_tiles, describe, needed_tiles, tiles_over, unpack

PLACE = (12, 2000, 1300)
CORNER = np.array([2000, 1300]) / 2**12
UNIT = 1 / 2**12 / UNITS


def at(*points: tuple[float, float]) -> np.ndarray:
    """Points of the tile, in its units, in the world's."""
    return CORNER + np.array(points) * UNIT


def lines(*each) -> np.ndarray:
    return np.array([shapely.LineString(at(*points)) for points in each], dtype=object)


def quiet(share: float, doing: str) -> None:
    pass


def tile(extract: Extract) -> Tile:
    return unpack(cut_tiles(extract, {PLACE}, quiet).tiles[PLACE])


def names(number: int, name: str = "") -> np.ndarray:
    return np.full(number, name, dtype=object)


def test_a_scene_needs_the_tiles_from_all_of_it_to_the_closest_view():
    needed = needed_tiles([(-140_000.0, 6_980_000.0, 8_000.0)])
    assert sorted({level for level, *_ in needed}) == [11, 12, 13, 14]
    west, south, east, north = box_of(needed)
    assert west < -140_000 / WORLD * 360 < (-140_000 + 8_000) / WORLD * 360 < east
    assert south < 53.0 < north


def test_tiles_go_on_across_the_date_line():
    half = WORLD / 2
    assert {column for _, column, _ in tiles_over(5, half - 1000, 0, 2000)} == {31, 0}
    assert {column for _, column, _ in tiles_over(5, -half - 1000, 0, 2000)} == {31, 0}


def test_lines_are_written_in_units_of_the_tile():
    extract = Extract()
    extract.add("primary", lines([(10, 20), (500, 20)], [(500, 20), (500, 900)]), names(2))
    assert tile(extract).paths["primary"] in ("M10 20l490 0 0 880", "M500 900l0-880-490 0")


def test_what_reaches_beyond_a_tile_is_cut_a_little_outside():
    extract = Extract()
    extract.add("rail", lines([(-5000, 100), (9000, 100)]), names(1))
    assert re.fullmatch(r"M-12 100l1048 0|M1036 100l-1048 0", tile(extract).paths["rail"])


def test_polygons_are_closed_and_small_ones_left_out():
    extract = Extract()
    squares = [
        shapely.Polygon(at((x, 0), (x + size, 0), (x + size, size), (x, size))) for x, size in ((0, 300), (400, 9))
    ]
    extract.add("green", np.array(squares, dtype=object), names(2))
    path = tile(extract).paths["green"]
    assert path.count("M") == path.count("z") == 1


def test_small_streets_wait_for_a_closer_level():
    extract = Extract()
    extract.add("street", lines([(0, 0), (900, 900)]), names(1))
    extract.add("motorway", lines([(0, 9), (900, 0)]), names(1))
    level, column, row = PLACE
    made = cut_tiles(extract, {PLACE, (level - 1, column // 2, row // 2)}, quiet)
    assert [sorted(unpack(each).paths) for _, each in sorted(made.tiles.items())] == [
        ["motorway"],
        ["motorway", "street"],
    ]


def test_places_and_straight_roads_are_named():
    extract = Extract()
    extract.add("town", shapely.points(at((100, 200))), names(1, "Łódź"))
    extract.add("primary", lines([(0, 500), (1000, 500)]), names(1, "High Street"))
    bends = [(x, 700 + 60 * (x // 40 % 2)) for x in range(0, 1000, 40)]
    extract.add("secondary", lines(bends), names(1, "Winding Lane"))
    assert tile(extract).names == [["town", 100, 200, "Łódź"], ["line", 500, 500, "High Street", 0]]


def test_a_heavy_tile_does_without_small_streets(monkeypatch):
    rng = np.random.default_rng(1)
    extract = Extract()
    extract.add("street", lines(*rng.uniform(0, 1000, (3000, 2, 2)).tolist()), names(3000))
    extract.add("primary", lines([(0, 0), (900, 900)]), names(1))
    made = cut_tiles(extract, {PLACE}, quiet)
    assert len(made.tiles[PLACE]) <= cutting.LARGEST
    assert made.lightened == 1
    assert set(unpack(made.tiles[PLACE]).paths) == {"primary"}


def test_the_closest_levels_go_where_all_would_be_too_many(monkeypatch):
    monkeypatch.setattr(cutting, "MOST_TILES", 2)
    extract = Extract()
    extract.add("motorway", lines([(0, 0), (900, 900)]), names(1))
    level, column, row = PLACE
    finer = {(level + 1, 2 * column + x, 2 * row + y) for x in (0, 1) for y in (0, 1)}
    made = cut_tiles(extract, {PLACE} | finer, quiet)
    assert (list(made.tiles), made.dropped) == ([PLACE], [level + 1])


def test_what_was_found_is_said_in_sentences():
    extract = Extract()
    extract.add("primary", project(np.array([shapely.LineString([(-1.24, 52.97), (-1.23, 52.97)])])), names(1))
    size = 8_000.0
    over, beside = (-1.235 / 360 * WORLD - size / 2, 6_981_400.0, size), (0.0, 6_981_400.0, size)
    said = describe(extract, cut_tiles(extract, needed_tiles([over]), quiet), [over, beside])
    assert said == (
        "Found 1 road. Footpaths, service roads and buildings are never drawn. "
        "The extract has no roads in 1 of the 2 areas: check that it covers them all."
    )


def test_an_extract_without_roads_is_refused():
    extract = Extract()
    extract.add("river", lines([(0, 0), (900, 900)]), names(1))
    with pytest.raises(StudyError, match="has no roads around the study's areas"):
        describe(extract, cut_tiles(extract, {PLACE}, quiet), [(0.0, 0.0, 1000.0)])
