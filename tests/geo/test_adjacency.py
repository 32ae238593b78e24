"""Adjacency: queen and rook, borders that almost meet, islands and parts, metres on the ground, and real maps."""

import geopandas
import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from judgemap.core.model.graph import AreaGraph
from judgemap.geo.adjacency import Bridge, border_graph, hairline_pairs, in_metres, join_parts, overlapping
from judgemap.geo.maps import read_areas, read_edges
from judgemap.study.data.example import chicago

BRITISH_GRID = "EPSG:27700"
WIDTH = 1000.0


def cell(column: float, row: float) -> shapely.Polygon:
    return shapely.box(column * WIDTH, row * WIDTH, (column + 1) * WIDTH, (row + 1) * WIDTH)


def grid(columns: int, rows: int) -> geopandas.GeoSeries:
    return geopandas.GeoSeries([cell(x, y) for y in range(rows) for x in range(columns)], crs=BRITISH_GRID)


def pairs(graph: AreaGraph) -> set[tuple[int, int]]:
    return {(a, b) for a, b in graph.edges.tolist()}


@pytest.mark.parametrize(("columns", "rows"), [(1, 2), (3, 3), (4, 7)])
def test_rook_and_queen_on_a_grid(columns, rows):
    squares = grid(columns, rows)
    rook = (columns - 1) * rows + columns * (rows - 1)
    assert len(border_graph(squares, "rook").edges) == rook
    assert len(border_graph(squares, "queen").edges) == rook + 2 * (columns - 1) * (rows - 1)
    for contiguity in ("queen", "rook"):
        graph = border_graph(squares, contiguity)
        assert len(hairline_pairs(squares, graph, contiguity)) == 0


def test_borders_meet_where_only_one_side_has_the_corner():
    """One long side against two short ones: no two corner points of the first and the third are the same."""
    squares = geopandas.GeoSeries([shapely.box(0, 0, 1, 3), shapely.box(1, 0, 2, 1), shapely.box(1, 1, 2, 2)])
    assert pairs(border_graph(squares, "rook")) == {(0, 1), (0, 2), (1, 2)}


@pytest.mark.parametrize("contiguity", ["queen", "rook"])
@pytest.mark.parametrize("offset", [0.03, -0.03])
def test_hairline_gaps_and_overlaps_are_borders(contiguity, offset):
    squares = grid(3, 3)
    whole = border_graph(squares, contiguity)
    shrunk = squares.buffer(-offset, join_style="mitre")
    broken = border_graph(shrunk, contiguity)
    assert len(broken.edges) == 0
    found = hairline_pairs(shrunk, broken, contiguity)
    assert pairs(AreaGraph(9, found)) == pairs(whole)
    assert len(overlapping(shrunk, found)) == 0


@pytest.mark.parametrize("contiguity", ["queen", "rook"])
def test_a_gap_wider_than_a_hair_is_none(contiguity):
    shrunk = grid(2, 2).buffer(-0.5, join_style="mitre")
    assert len(hairline_pairs(shrunk, AreaGraph(4, np.empty((0, 2))), contiguity)) == 0


@pytest.mark.parametrize("contiguity", ["queen", "rook"])
def test_an_area_drawn_over_another_borders_it_and_is_noted(contiguity):
    frame = geopandas.GeoDataFrame(
        {"id": ["town", "county", "next"]}, geometry=[cell(0, 0).buffer(-300), cell(0, 0), cell(1, 0)], crs=BRITISH_GRID
    )
    areas = read_areas(frame, contiguity=contiguity)
    assert pairs(areas.graph) == {(0, 1), (1, 2)}
    assert "These areas overlap; check them on the map: 'town – county'." in areas.notes


def test_an_island_is_joined_to_the_nearest_area():
    squares = geopandas.GeoSeries([cell(0, 0), cell(1, 0), cell(2, 0), cell(4.5, 0)], crs=BRITISH_GRID)
    graph, bridges = join_parts(border_graph(squares, "queen"), squares, ids=["a", "b", "c", "isle"])
    assert bridges == (Bridge("isle", "c", 1.5),)
    assert pairs(graph) == {(0, 1), (1, 2), (2, 3)}


def test_parts_are_joined_one_after_the_other_by_the_shortest_ways():
    """Two isles near each other, far from a mainland of three: the isles join first, then the nearer of them."""
    squares = geopandas.GeoSeries([cell(0, 0), cell(1, 0), cell(2, 0), cell(6, 0), cell(8, 0)], crs=BRITISH_GRID)
    graph, bridges = join_parts(border_graph(squares, "queen"), squares, ids=["a", "b", "c", "near", "outer"])
    assert bridges == (Bridge("near", "outer", 1.0), Bridge("near", "c", 3.0))
    assert graph.components().tolist() == [0] * 5


def test_distances_are_between_borders_not_centres():
    wide, small = shapely.box(0, 0, 100_000, 1000), shapely.box(101_000, 0, 102_000, 1000)
    far_off = shapely.box(101_000, 3000, 102_000, 4000)
    shapes = geopandas.GeoSeries([wide, far_off, small], crs=BRITISH_GRID)
    _, bridges = join_parts(AreaGraph(3, [[0, 1]]), shapes, ids=["wide", "far off", "small"])
    assert bridges == (Bridge("small", "wide", 1.0),)


@given(
    cells=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12),
    contiguity=st.sampled_from(["queen", "rook"]),
    data=st.data(),
)
def test_the_order_of_the_rows_does_not_matter(cells, contiguity, data):
    """Sets of grid cells have islands, parts and many equal distances: the graph by id is the same in any order."""
    ids = [f"area {number}" for number in range(len(cells))]
    frame = geopandas.GeoDataFrame({"id": ids}, geometry=[cell(x, y) for x, y in sorted(cells)], crs=BRITISH_GRID)
    order = data.draw(st.permutations(range(len(frame))))
    plain, mixed = (read_areas(each, contiguity=contiguity) for each in (frame, frame.iloc[order]))
    by_id = [{frozenset(areas.ids[end] for end in edge) for edge in areas.graph.edges} for areas in (plain, mixed)]
    assert by_id[0] == by_id[1]
    assert set(plain.bridges) == set(mixed.bridges)
    assert plain.graph.components().max() == 0
    assert len(plain.bridges) == border_graph(frame.geometry, contiguity).components().max()


def test_metres_of_degrees_feet_and_web_mercator_are_those_on_the_ground():
    """A kilometre square near Nottingham, drawn on the British grid (whose scale is within 0.1 % there)."""
    square = geopandas.GeoSeries([shapely.box(457_000, 340_000, 458_000, 341_000)], crs=BRITISH_GRID)
    assert in_metres(square) is square
    for crs in ("EPSG:4326", "EPSG:3857", "EPSG:2229"):
        moved = in_metres(square.to_crs(crs))
        assert moved.area.iloc[0] == pytest.approx(1e6, rel=2e-3), crs


def test_a_map_across_the_date_line_is_whole():
    shapes = geopandas.GeoSeries([shapely.box(179, -17, 180, -16), shapely.box(-180, -17, -179, -16)], crs="EPSG:4326")
    left, right = in_metres(shapes)
    assert left.distance(right) < 1


@pytest.fixture(scope="module")
def city():
    return chicago()


def test_chicagos_neighbours(city):
    """The Loop's neighbours are those that everybody knows; four areas meet at one corner, digitised 11 cm apart."""
    adjacency = city.graph.adjacency()
    loop = {city.names[i] for i in np.flatnonzero(adjacency[city.lookup["Loop"]])}
    assert loop == {"Near North Side", "Near West Side", "Near South Side"}
    assert city.notes == ("Borders that nearly meet, or overlap, were treated as shared: 'Portage Park – Hermosa'.",)


def test_dar_es_salaams_edges_are_those_of_its_file(dar_es_salaam):
    areas = read_areas(dar_es_salaam / "areas.geojson")
    listed = read_edges(dar_es_salaam / "edges.csv")
    assert areas.ids == listed.ids
    assert len(listed.graph.edges) == 1262
    np.testing.assert_array_equal(areas.graph.edges, listed.graph.edges)
    assert areas.bridges == ()
    repaired = "Outlines that crossed themselves were repaired: 'Gerezani Magharibi', 'Machimbo', 'Makangarawe'."
    assert repaired in areas.notes


@pytest.mark.parametrize("contiguity", ["queen", "rook"])
def test_borders_are_those_of_libpysal(city, contiguity):
    from libpysal.graph import Graph

    shapes = city.geometry.reset_index(drop=True)
    adjacency = Graph.build_contiguity(shapes, rook=contiguity == "rook", strict=True).adjacency
    theirs = {tuple(sorted(pair)) for pair in adjacency[adjacency > 0].index}
    assert {tuple(pair) for pair in border_graph(shapes, contiguity).edges.tolist()} == theirs
