"""Maps as people draw them: Chicago's, which comes with libpysal, and Dar es Salaam's, if it is available."""

from pathlib import Path

import numpy as np
import pytest

from judgemap.geo.adjacency import border_graph
from judgemap.geo.maps import read_areas, read_edges
from judgemap.study.data.example import chicago

DAR = Path(__file__).parents[3] / "shared" / "data" / "dar_es_salaam"


@pytest.fixture(scope="module")
def city():
    return chicago()


def test_chicago_is_whole(city):
    assert len(city) == 77
    assert sorted(map(int, city.ids)) == list(range(1, 78))
    assert city.graph.components().max() == 0
    assert city.bridges == ()


def test_chicagos_names_are_spelt_as_people_spell_them(city):
    assert {"O'Hare", "McKinley Park", "Loop", "Rogers Park", "Near North Side"} <= set(city.names)
    assert len(set(city.names)) == 77
    assert not any(name.isupper() for name in city.names)
    assert city.index(["76", "59"]).tolist() == city.index(["O'Hare", "McKinley Park"]).tolist()


def test_chicagos_neighbours(city):
    """The Loop's neighbours are those that everybody knows; four areas meet at one corner, digitised 11 cm apart."""
    adjacency = city.graph.adjacency()
    loop = {city.names[i] for i in np.flatnonzero(adjacency[city.lookup["Loop"]])}
    assert loop == {"Near North Side", "Near West Side", "Near South Side"}
    assert city.notes == ("Borders that nearly meet, or overlap, were treated as shared: 'Portage Park – Hermosa'.",)


def test_chicago_is_as_large_as_it_is(city):
    """606 km² of land, by the city's own account, and 42 km from north to south."""
    points = city.centroids()
    north, south = points[city.index(["Rogers Park", "Hegewisch"])]
    assert 35_000 < np.hypot(*(north - south)) < 42_000
    assert city.geometry.crs == "EPSG:3435"
    assert city.geometry.area.sum() * (1200 / 3937) ** 2 / 1e6 == pytest.approx(600, rel=0.02)


@pytest.mark.skipif(not DAR.is_dir(), reason="the Dar es Salaam data are not beside the repository")
def test_dar_es_salaams_edges_are_those_of_its_file():
    areas = read_areas(DAR / "areas.geojson")
    listed = read_edges(DAR / "edges.csv")
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
