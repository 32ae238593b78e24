"""Areas without a map: an edge list and a table of names."""

from pathlib import Path

import geopandas
import numpy as np
import pandas as pd
import pytest
import shapely
from scipy import sparse

import judgemap as jm
from judgemap.errors import StudyError
from judgemap.geo.maps import read_areas, read_edges, read_names


@pytest.fixture
def saved(tmp_path):
    def save(name: str, *lines: str) -> Path:
        path = tmp_path / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path

    return save


def test_edges_with_names(saved):
    edges = saved("edges.csv", "area_a,area_b", "1,2", "2,3", "3,2", "1, 2", "Trent,1")
    names = saved("areas.csv", "id,authority,name", "3,city, Sherwood ", "1,city,Castle", "2,county,Trent")
    areas = read_edges(edges, names)
    assert areas.ids == ("3", "1", "2")
    assert areas.names == ("Sherwood", "Castle", "Trent")
    assert areas.graph.edges.tolist() == [[0, 2], [1, 2]]
    assert (areas.geometry, areas.bridges, areas.notes) == (None, (), ())


def test_without_names_the_areas_are_those_of_the_edges_in_their_natural_order(saved):
    areas = read_edges(saved("edges.csv", "area_a,area_b", "10,9", "9,2", "2,B", "A,10", "2.0,10"))
    assert areas.ids == areas.names == ("2", "9", "10", "A", "B")
    assert areas.graph.edges.tolist() == [[0, 1], [0, 2], [0, 4], [1, 2], [2, 3]]


def test_parts_are_left_apart_and_said(saved):
    edges = saved("edges.csv", "area_a,area_b", "1,2", "3,4")
    names = saved("areas.csv", "id,name", *[f"{i},ward {i}" for i in range(1, 6)])
    areas = read_edges(edges, names)
    assert areas.graph.components().tolist() == [0, 0, 1, 1, 2]
    assert areas.notes == (
        "These areas have no neighbour: 'ward 5'.",
        "The map is in 3 separate parts, with 2, 2, 1 areas: one part tells us nothing about another.",
    )
    whole = read_edges(edges, names, extra_edges=[("2", "3"), ("4", "5")])
    assert whole.graph.components().tolist() == [0] * 5
    assert whole.notes == ("Edges were added by hand: 'ward 2 – ward 3', 'ward 4 – ward 5'.",)


def test_without_a_map_there_are_no_outlines(saved):
    areas = read_edges(saved("edges.csv", "area_a,area_b", "1,2"))
    for ask in (areas.centroids, areas.to_frame):
        with pytest.raises(StudyError, match="these areas come from an edge list and have no outlines"):
            ask()


NAMES = ("id,name", "E01001,Castle", "E01002,Trent", "E01003,Trent")


@pytest.mark.parametrize(
    ("edges", "names", "sentence"),
    [
        (
            ("area_a,area_b", "E01001,E01002", "E01002,E0103"),
            NAMES,
            r"^edges\.csv line 3: area 'E0103' is not in the list of areas \(did you mean 'E01003'\?\)$",
        ),
        (("area_a,area_b", "E01001,E01001"), NAMES, r"^edges\.csv line 2: the edge joins area 'E01001' to itself; "),
        (("area_a,area_b", "E01001,Castle"), NAMES, r"^edges\.csv line 2: the edge joins area 'E01001' to itself"),
        (
            ("area_a,area_b", "Castle,Trent"),
            NAMES,
            r"^edges\.csv line 2: 2 areas are called 'Trent': use an id, one of",
        ),
        (("area_a,area_b", "", "E01001,"), NAMES, r"^edges\.csv line 3: an edge joins two areas, but this one reads"),
        (
            ("area_a,area_b", "1,2"),
            ("id,title", "1,x", "2,y"),
            r"^areas\.csv: there is no column 'name'.*'id', 'title'$",
        ),
        (("area_a,area_b", "1,2"), ("id,name", "1,x", ",y"), r"^areas\.csv line 3: the id is missing; fill it in$"),
        (
            ("area_a,area_b", "1,2"),
            ("id,name", "1,x", "2,y", "1.0,z"),
            r"^areas\.csv line 4: the id '1' is already on line 2",
        ),
        (("area_a,area_b", "1,2"), ("id,name", "1,x"), r"^areas\.csv: there is only one area; a comparison needs two$"),
        (("area_a,area_b", "1,"), None, r"^edges\.csv line 2: an edge joins two areas"),
    ],
)
def test_what_is_wrong(saved, edges, names, sentence):
    edges_path = saved("edges.csv", *edges)
    names_path = saved("areas.csv", *names) if names else None
    with pytest.raises(StudyError, match=sentence):
        read_edges(edges_path, names_path)


def test_a_map_can_take_its_neighbours_from_a_list(tmp_path, saved):
    squares = [shapely.box(x, 0, x + 1000, 1000) for x in (0, 1000, 2000)]
    frame = geopandas.GeoDataFrame({"id": ["a", "b", "c"]}, geometry=squares, crs="EPSG:27700")
    frame.to_file(tmp_path / "map.gpkg")
    areas = read_areas(tmp_path / "map.gpkg", id="id", edges=saved("edges.csv", "area_a,area_b", "a,c"))
    assert areas.graph.edges.tolist() == [[0, 2]]
    assert areas.geometry is not None
    assert areas.bridges == ()
    assert any("These areas have no neighbour: 'b'" in note for note in areas.notes)
    with pytest.raises(StudyError, match=r"edges.csv line 2: area 'z' is not on the map"):
        read_areas(tmp_path / "map.gpkg", id="id", edges=saved("edges.csv", "area_a,area_b", "a,z"))


def test_areas_without_neighbours(saved):
    areas = read_names(saved("areas.csv", "id,name", "2,Beech", "1,Ash"))
    assert areas.ids == ("2", "1")
    assert len(areas.graph.edges) == 0


SQUARE = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])
RING = [[0, 1], [0, 3], [1, 2], [2, 3]]


def as_graphs(labels):
    """The ring of four areas as each of the things that people have."""
    from libpysal.graph import Graph
    from libpysal.weights import W

    around = {labels[k]: [labels[(k + 1) % 4], labels[(k + 3) % 4]] for k in range(4)}
    return {
        "dense": SQUARE,
        "weights": SQUARE * 0.5,
        "sparse": sparse.csr_matrix(SQUARE),
        "labelled": pd.DataFrame(SQUARE, labels, labels),
        "Graph": Graph.from_dicts({label: dict.fromkeys(others, 1.0) for label, others in around.items()}),
        "W": W(around, id_order=labels, silence_warnings=True),
    }


@pytest.mark.parametrize("kind", ["dense", "weights", "sparse", "labelled", "Graph", "W"])
@pytest.mark.parametrize("labels", [[0, 1, 2, 3], ["n", "e", "s", "w"]])
def test_neighbours_from_memory(kind, labels):
    outlines = [shapely.box(2 * x, 0, 2 * x + 1, 1) for x in range(4)]  # no two of them meet
    frame = geopandas.GeoDataFrame(geometry=outlines, index=labels, crs="EPSG:27700")
    areas = jm.read_areas(frame, edges=as_graphs(labels)[kind])
    assert areas.ids == tuple(map(str, labels)), "ids are those of the index"
    assert areas.graph.edges.tolist() == RING
    listed = jm.read_edges(as_graphs(labels)[kind], ["Ash", "Beech", "Cedar", "Elm"])
    assert (listed.names, sorted(listed.graph.edges.tolist())) == (("Ash", "Beech", "Cedar", "Elm"), RING)


def test_a_graph_is_matched_by_label_not_by_order():
    graph = as_graphs(["w", "n", "e", "s"])["Graph"]
    frame = geopandas.GeoDataFrame(
        {"code": ["n", "e", "s", "w"]}, geometry=[shapely.box(2 * x, 0, 2 * x + 1, 1) for x in range(4)], crs=27700
    )
    assert jm.read_areas(frame, id="code", edges=graph).graph.edges.tolist() == RING


@pytest.mark.parametrize(
    ("edges", "said"),
    [
        (np.tril(SQUARE), "is not symmetric.*add the transpose"),
        (SQUARE[:2], "a row and a column for each area; this one is 2 × 4"),
        (np.eye(5), "those of 5 areas, and there are 4"),
        (-SQUARE, "this one has other values"),
        (5, "give a CSV file, a square matrix, or a graph of libpysal, not int"),
        (pd.DataFrame(SQUARE, list("abcd"), list("abcd")), "name an area 'a', which is neither an id nor in the index"),
    ],
)
def test_wrong_neighbours_get_a_sentence(edges, said):
    frame = geopandas.GeoDataFrame(geometry=[shapely.box(2 * x, 0, 2 * x + 1, 1) for x in range(4)], crs=27700)
    with pytest.raises(jm.StudyError, match=said):
        jm.read_areas(frame, edges=edges)


def test_ids_of_an_index_are_found_again_in_comparisons():
    frame = geopandas.GeoDataFrame(geometry=[shapely.box(x, 0, x + 1, 1) for x in range(3)], crs=27700)
    areas = jm.read_areas(frame)
    data = jm.read_comparisons(np.array([[0, 1], [2, 0]]), areas)
    assert (areas.ids, data.left.tolist(), data.right.tolist()) == (("0", "1", "2"), [0, 2], [1, 0])
    coded = frame.set_index(pd.Index([30, 10, 20], name="ward"))
    assert jm.read_areas(coded).ids == jm.read_areas(coded, id="ward").ids == ("30", "10", "20")
