"""Rows that are no areas: found, and left out, repaired or kept as was chosen."""

import tracemalloc

import geopandas
import numpy as np
import pytest
import shapely

from judgemap.geo.boundaries import list_layers, load, repaired
from judgemap.web.studies.upload.faults import FAULTS, find_faults, settle
from judgemap.web.studies.upload.guessing import Extent, guess_systems
from judgemap.web.studies.upload.records import FaultKind, Remedy

SQUARES = [shapely.box(x, 0, x + 1, 1) for x in range(4)]


def frame(shapes, ids):
    return geopandas.GeoDataFrame({"code": ids}, geometry=list(shapes), crs="EPSG:27700")


def kinds(shapes):
    return find_faults(geopandas.GeoSeries(list(shapes)))


def test_a_sound_map_has_no_faults():
    assert kinds(SQUARES) == {}
    left, ids, notes = settle(frame(SQUARES, list("abcd")), list("abcd"), {})
    assert (len(left), ids, notes) == (4, list("abcd"), [])


@pytest.mark.parametrize(
    ("odd", "kind"),
    [
        (None, FaultKind.NO_OUTLINE),
        (shapely.Polygon(), FaultKind.NO_OUTLINE),
        (shapely.MultiPolygon(), FaultKind.NO_OUTLINE),
        (shapely.Point(1, 1), FaultKind.NOT_POLYGONS),
        (shapely.LineString([(0, 0), (1, 1)]), FaultKind.NOT_POLYGONS),
        (shapely.GeometryCollection([shapely.Point(1, 1)]), FaultKind.NOT_POLYGONS),
        (shapely.Polygon([(0, 0), (1e300, 0), (1, 1)]), FaultKind.NOWHERE),
        (shapely.Polygon([(0, 0), (np.inf, 0), (1, 1)]), FaultKind.NOWHERE),
        (shapely.Polygon([(0, 0), (1, 1), (0, 0), (1, 1)]), FaultKind.NO_SURFACE),
    ],
)
def test_outlines_that_are_no_areas_are_listed_and_left_out(odd, kind):
    shapes = [*SQUARES, odd]
    assert kinds(shapes) == {kind: [4]}
    left, ids, notes = settle(frame(shapes, list("abcde")), list("abcde"), {})
    assert ids == list("abcd")
    assert len(left) == 4
    assert notes == [f"Rows that {FAULTS[kind]} were left out: 'e'"]


def test_mixed_shapes_and_heights_become_polygons():
    mixed = shapely.GeometryCollection(
        [shapely.Point(0, 0), shapely.GeometryCollection([shapely.MultiPolygon([shapely.box(0, 0, 1, 1)])])]
    )
    high = shapely.force_3d(shapely.box(0, 0, 2, 2), 50.0)
    left, _, notes = settle(frame([mixed, high], ["a", "b"]), ["a", "b"], {FaultKind.SAME_OUTLINE: Remedy.KEEP})
    assert left.geometry.geom_type.tolist() == ["Polygon", "Polygon"]
    assert not left.geometry.has_z.any()
    assert notes == []


def test_a_repair_leaves_no_specks():
    bow = shapely.Polygon([(0, 0), (1, 1), (1, 0), (0, 1), (0, 0)])
    speck = shapely.Polygon([(0, 0), (2e4, 1.00001), (2e4, 1), (0, 1e-5)])
    valid = repaired(np.array([bow, speck], dtype=object))
    assert shapely.is_valid(valid).all()
    assert set(shapely.get_type_id(valid)) <= {shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON}


def test_a_given_id_is_nobody_elses():
    ids = settle(frame(SQUARES, ["row-2", "", "b", "c"]), ["row-2", "", "b", "c"], {})[1]
    assert len(set(ids)) == 4


def test_one_long_outline_does_not_make_all_the_others_costly():
    """As on the map of the US counties: 3,230 outlines, the longest of them 2,000 times as long as a square."""
    coast = shapely.Point(0, 50).buffer(10, quad_segs=2500)
    shapes = [coast, *(shapely.box(x, 0, x + 1, 1) for x in range(1000))]
    tracemalloc.start()
    try:
        assert kinds(shapes) == {}
        assert tracemalloc.get_traced_memory()[1] < 50e6
    finally:
        tracemalloc.stop()


AGAIN = shapely.Polygon([(1, 1), (0, 1), (0, 0), (1, 0)])  # the first square from another corner
SLIVER = shapely.box(0, 1, 1, 1.0005)
SAME_ID, NO_ID, TWICE, THIN = FaultKind.SAME_ID, FaultKind.NO_ID, FaultKind.SAME_OUTLINE, FaultKind.SLIVER


@pytest.mark.parametrize(
    ("shapes", "ids", "choices", "kept", "noted"),
    [
        (SQUARES, "a,b,a,c", {}, {"a": 2, "b": 1, "c": 1}, "joined into one area: 'a'"),
        (SQUARES, "a,b,a,c", {SAME_ID: Remedy.REPAIR}, {"a": 2, "b": 1, "c": 1}, "joined into one area: 'a'"),
        (SQUARES, "a,b,a,c", {SAME_ID: Remedy.LEAVE_OUT}, {"a": 1, "b": 1, "c": 1}, "only the first was kept: 'a'"),
        (SQUARES, "a,,,c", {NO_ID: Remedy.REPAIR}, {"a": 1, "row-2": 1, "row-3": 1, "c": 1}, "'row-2', 'row-3'"),
        (SQUARES, "a,,,c", {NO_ID: Remedy.LEAVE_OUT}, {"a": 1, "c": 1}, "were left out: 'row 2', 'row 3'"),
        ([*SQUARES, AGAIN], "a,b,c,d,e", {TWICE: Remedy.LEAVE_OUT}, dict.fromkeys("abcd", 1), "were left out: 'e'"),
        ([*SQUARES, AGAIN], "a,b,c,d,e", {TWICE: Remedy.KEEP}, dict.fromkeys("abcde", 1), ""),
        ([*SQUARES, SLIVER], "a,b,c,d,e", {THIN: Remedy.REPAIR}, dict.fromkeys("abcd", 1) | {"a": 1.0005},
         "joined to a neighbour: 'e'"),
        ([*SQUARES, SLIVER], "a,b,c,d,e", {THIN: Remedy.LEAVE_OUT}, dict.fromkeys("abcd", 1), "were left out: 'e'"),
        ([*SQUARES, SLIVER], "a,b,c,d,e", {THIN: Remedy.KEEP}, dict.fromkeys("abcd", 1) | {"e": 0.0005}, ""),
    ],
)  # fmt: skip
def test_what_is_chosen_is_done_and_noted(shapes, ids, choices, kept, noted):
    assert kinds(shapes) == ({THIN: [4]} if SLIVER in shapes else {TWICE: [4]} if AGAIN in shapes else {})
    left, labels, notes = settle(frame(shapes, ids.split(",")), ids.split(","), choices)
    assert dict(zip(labels, left.area, strict=True)) == pytest.approx(kept)
    assert len(notes) == bool(noted)
    assert noted in "".join(notes)


def test_small_round_areas_are_no_slivers():
    vatican = shapely.Point(0.5, 0.5).buffer(0.001)
    assert kinds([*SQUARES, vatican]) == {}


def test_of_several_layers_the_one_with_areas_to_compare_comes_first(tmp_path):
    path = tmp_path / "map.gpkg"
    geopandas.GeoDataFrame(geometry=[shapely.box(0, 0, 4, 1)], crs="EPSG:27700").to_file(path, layer="country")
    frame(SQUARES, list("abcd")).to_file(path, layer="wards")
    geopandas.GeoDataFrame(geometry=[shapely.Point(0, 0)] * 3, crs="EPSG:27700").to_file(path, layer="towns")
    assert list_layers(path) == ["wards", "country"]
    assert len(load(path)[0]) == 4
    assert len(load(path, "country")[0]) == 1


@pytest.mark.parametrize(
    ("extent", "crs", "among"),
    [
        ((-84.3, 33.9, -75.5, 36.6), "EPSG:4326", 1),
        ((445_000, 330_000, 480_000, 390_000), "EPSG:27700", 1),
        ((2_485_410, 1_075_268, 2_833_858, 1_295_934), "EPSG:2056", 1),
        ((100_000, 6_050_000, 1_240_000, 7_110_000), "EPSG:2154", 1),
        ((280_000, 5_200_000, 900_000, 6_100_000), "EPSG:25832", 1),
        ((1_091_131, 1_813_891, 1_205_199, 1_951_669), "EPSG:3435", 10),
        ((913_175, 120_122, 1_067_383, 272_844), "EPSG:2263", 10),
        ((-8.3e6, 4.9e6, -8.2e6, 5.0e6), "EPSG:3857", 1),
    ],
)
def test_systems_are_guessed_by_extent(extent, crs, among):
    """Britain, Switzerland, France, Germany, Chicago and New York, as their own grids have them."""
    assert crs in [guess.crs for guess in guess_systems(Extent(*extent))][:among]


def test_coordinates_of_a_picture_are_nowhere():
    assert guess_systems(Extent(0, 0, 975, 610)) == []
