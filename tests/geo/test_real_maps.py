"""Maps as people draw them: Chicago's, which comes with libpysal, and Dar es Salaam's, if it is available."""

import numpy as np
import pytest

from judgemap.geo.adjacency import border_graph
from judgemap.geo.maps import read_areas, read_edges
from judgemap.study.data.example import chicago


@pytest.fixture(scope="module")
def city():
    return chicago()


def test_chicago_is_whole(city):
    assert len(city) == 77
    assert sorted(map(int, city.ids)) == list(range(1, 78))
    assert city.graph.components().max() == 0
    assert city.bridges == ()


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
