"""Drawings of areas: true to the map, and small."""

import json

import geopandas
import numpy as np
import pytest
import shapely
from shapely.affinity import affine_transform

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.geo.drawing import LARGEST, Simplified, Square, draw_areas, packed_rings, sketch, stored_path, svg_path
from judgemap.geo.maps import Areas


@pytest.fixture(scope="module")
def chicago():
    areas = jm.chicago()
    return areas, draw_areas(areas)


def points(rings):
    return np.concatenate([np.array(ring).reshape(-1, 2) for ring in rings])


def all_rings(scene):
    return [*scene["own"], *(ring for other in scene["others"] for ring in other["rings"])]


def test_every_area_is_in_the_middle_of_its_scene(chicago):
    for scene in map(json.loads, chicago[1].scenes):
        own = points(scene["own"])
        middle = (own.min(axis=0) + own.max(axis=0)) / 2
        assert np.allclose(middle, 500, atol=5)
        assert 250 < np.ptp(own, axis=0).max() < 300


def test_scenes_lie_where_the_areas_are(chicago):
    areas, drawings = chicago
    mercator = areas.geometry.to_crs("EPSG:3857")
    for scene, bounds in zip(map(json.loads, drawings.scenes), mercator.bounds.to_numpy(), strict=True):
        west, north, size = scene["box"]
        own = points(scene["own"])
        x, y = west + own[:, 0] * size / 1000, north - own[:, 1] * size / 1000
        drawn = [x.min(), y.min(), x.max(), y.max()]
        assert np.abs(np.array(drawn) - bounds).max() < 3 * size / 1000


def test_neighbours_are_drawn_true_to_the_map(chicago):
    """A border in sight is within 1.5 units of what is drawn, and half a unit's diagonal of rounding."""
    areas, drawings = chicago
    outlines = areas.geometry.to_crs("EPSG:3857").boundary
    for scene in map(json.loads, drawings.scenes[::7]):
        west, north, size = scene["box"]
        unit = size / 1000
        edges = [shapely.LinearRing(np.array(ring).reshape(-1, 2)) for ring in all_rings(scene)]
        drawn = affine_transform(shapely.MultiLineString(edges), [unit, 0, 0, -unit, west, north])
        inside = shapely.box(west + 5 * unit, north - 995 * unit, west + 995 * unit, north - 5 * unit)
        borders = shapely.points(shapely.get_coordinates(outlines.clip(inside).to_numpy()))
        assert shapely.distance(borders, drawn).max() < (1.5 + 0.75) * unit


def test_a_polygon_is_simplified_once_for_each_level():
    simplified = Simplified(np.array([shapely.Point(0, 0).buffer(100, quad_segs=200)]))
    only = np.array([0])
    fine, coarse = simplified.at(only, np.array([1.0]))[0], simplified.at(only, np.array([4.0]))[0]
    assert simplified.at(only, np.array([1.1]))[0] is fine
    assert 800 > shapely.get_num_coordinates(fine) > shapely.get_num_coordinates(coarse)


ISLANDS = shapely.MultiPolygon([shapely.box(0, 0, 300, 300), shapely.box(500, 500, 900, 700)])
HOLED = shapely.Polygon(
    shapely.box(100, 100, 800, 800).exterior.coords, [shapely.box(200, 200, 300, 300).exterior.coords]
)
SPECK = shapely.box(10, 10, 10.1, 10.1)


@pytest.mark.parametrize(
    "shapes",
    [
        [shapely.box(0, 0, 1000, 1000), ISLANDS, SPECK, HOLED],
        [SPECK],
        [shapely.LineString([(0, 0), (5, 5)]), shapely.GeometryCollection([shapely.Point(1, 1), HOLED])],
        [shapely.box(0, 0, 10, 10), shapely.box(-400_000, -5, 3_000_000_000, 10)],
    ],
    ids=["islands, a speck and a hole", "a speck alone", "what cutting leaves", "far beyond the square"],
)
def test_rings_written_at_once_are_the_rings_of_each_shape(shapes):
    square = Square(west=0.0, north=1000.0, size=1000.0)
    each = [packed_rings(square.repeated(1), np.array([shape]))[0] for shape in shapes]
    assert packed_rings(square.repeated(len(shapes)), np.array(shapes)) == each


def test_rings_are_in_units_downwards_with_holes_and_islands():
    square = Square(west=0.0, north=1000.0, size=1000.0)
    rings = [json.loads(each) for each in packed_rings(square.repeated(3), np.array([ISLANDS, HOLED, SPECK]))]
    assert [len(each) for each in rings] == [2, 2, 1]
    assert points(rings[0]).min(axis=0).tolist() == [0, 300]
    assert points(rings[0]).max(axis=0).tolist() == [900, 1000]
    assert rings[2] == [[10, 988, 12, 990, 10, 992, 8, 990]]


def test_the_locator_holds_every_area(chicago):
    drawings = chicago[1]
    rings = json.loads(drawings.outline)["rings"]
    whole = points(rings)
    for scene in map(json.loads, drawings.scenes):
        west, north, east, south = scene["where"]
        assert whole[:, 0].min() - 5 <= west <= east <= whole[:, 0].max() + 5
        assert whole[:, 1].min() - 5 <= north <= south <= whole[:, 1].max() + 5


def test_an_area_among_hundreds_of_small_ones_is_drawn_within_the_limit():
    """A county of 60 km, with 400 wards as jagged as stars before it: drawn in full it would weigh 70 kB."""
    county = shapely.box(0, 0, 60_000, 60_000)
    turns = np.linspace(0, 2 * np.pi, 21)[:-1]
    star = np.column_stack([np.sin(turns), np.cos(turns)]) * np.where(np.arange(20) % 2, 200, 740)[:, None]
    wards = [shapely.Polygon(star + np.array([1500 * x, -1500 * y - 800])) for x in range(1, 21) for y in range(20)]
    geometry = geopandas.GeoSeries([county, *wards], crs="EPSG:27700").translate(450_000, 340_000)
    names = tuple(f"Ward {each}" for each in range(401))
    scenes = draw_areas(Areas(names, names, AreaGraph(401, np.array([[0, 1]])), geometry)).scenes
    assert max(len(scene.encode()) for scene in scenes) <= LARGEST
    assert len(json.loads(scenes[0])["others"]) == 400


def test_stored_coordinates_make_the_path_that_pages_draw(areas):
    drawings = draw_areas(areas)
    rings = json.loads(drawings.rings[0])
    assert len(rings) == 1
    assert stored_path(drawings.rings[0]) == svg_path(rings)
    assert stored_path("") == ""


def drawn(*polygons):
    """The drawings of areas in degrees."""
    count = len(polygons)
    names = tuple(f"Area {i}" for i in range(count))
    return draw_areas(Areas(names, names, AreaGraph(count, []), geopandas.GeoSeries(polygons, crs="EPSG:4326")))


def test_areas_that_cutting_stumbles_over_are_drawn():
    """Like Swiss municipalities with enclaves: a hole that touches its shell, simplified, crosses itself."""
    shell = [(0, 0), (4, 0), (4, 2), (3.9999, 2.00001), (4, 2.00002), (4, 4), (0, 4)]
    hole = [(4, 2), (1, 1), (1, 3)]
    torn = shapely.make_valid(shapely.Polygon(shell, [hole]))
    broken = shapely.Polygon([(4, 0), (6, 3), (6, 0), (4, 3)])
    drawings = drawn(torn, broken, shapely.box(-1, -1, 0, 0))
    assert all(json.loads(scene)["own"] for scene in drawings.scenes)


def test_cutting_falls_back_where_geos_refuses(monkeypatch):
    def refuse(*_):
        raise shapely.errors.GEOSException("TopologyException")

    squares = [shapely.box(x, 50, x + 1, 51) for x in range(3)]
    as_usual = drawn(*squares).scenes
    monkeypatch.setattr(shapely, "clip_by_rect", refuse)
    others = [len(json.loads(scene)["others"]) for scene in drawn(*squares).scenes]
    assert others == [len(json.loads(scene)["others"]) for scene in as_usual]


def test_a_map_across_the_date_line_is_in_one_piece():
    east, west = shapely.box(178, -18, 180, -16), shapely.box(-180, -18, -178, -16)
    whole = shapely.MultiPolygon([shapely.box(176, -20, 180, -18), shapely.box(-180, -20, -177, -18)])
    labels = np.array(drawn(east, west, whole).labels)
    assert labels[0, 0] < labels[1, 0]
    assert np.ptp(labels[:2, 0]) > 100  # two of seven degrees, not two of 360
    world = drawn(shapely.box(-180, -60, 0, 60), shapely.box(0, -60, 180, 60))
    assert np.array(world.labels)[0, 0] < np.array(world.labels)[1, 0]


def test_an_area_at_the_pole_is_cut_where_the_drawing_ends():
    drawings = drawn(shapely.box(-180, -90, 180, -70), shapely.box(-60, -60, -50, -40))
    assert all(json.loads(rings) for rings in drawings.rings)


def test_an_area_that_vanishes_at_this_size_has_a_label_all_the_same():
    speck = shapely.Polygon([(5, 5), (5.0000001, 5), (5, 5.0000001)])
    labels = np.array(drawn(shapely.box(0, 0, 10, 10), speck).labels)
    assert np.isfinite(labels).all()


def test_areas_too_small_for_a_sketch_leave_no_hole():
    """A city of a hundred areas, each a hundredth of a unit wide, in the middle of four large areas."""
    around = [shapely.box(x, y, x + 450, y + 300) for x in (0, 451) for y in (0, 301)]
    city = [shapely.box(450.3 + x / 100, y * 6, 450.31 + x / 100, y * 6 + 0.01) for x in range(10) for y in range(10)]
    drawn = sketch(geopandas.GeoSeries([*around, *city]))
    assert drawn["path"].count("M") == 4 + 10
