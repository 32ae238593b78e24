"""The value that everything else takes: areas by id or name, centroids, a table."""

import pickle

import geopandas
import numpy as np
import pytest
import shapely

from judgemap.core.model.graph import AreaGraph
from judgemap.errors import StudyError
from judgemap.geo.maps import Areas, read_areas


def areas_of(ids: list[str], names: list[str]) -> Areas:
    return Areas(tuple(ids), tuple(names), AreaGraph(len(ids), np.empty((0, 2))))


@pytest.fixture
def wards() -> Areas:
    squares = [shapely.box(-1.2 + x, 52.9, -1.1 + x, 53.0) for x in (0.0, 0.1, 0.2)]
    frame = geopandas.GeoDataFrame(
        {"id": ["E1", "E2", "E3"], "name": ["Castle", "Trent", "Castle"]}, geometry=squares, crs="EPSG:4326"
    )
    return read_areas(frame)


def test_ids_and_names_find_areas(wards):
    assert wards.index([" Trent", "E3 ", "E1", "E3"]).tolist() == [1, 2, 0, 2]
    assert wards.index([]).tolist() == []
    assert wards.index([]).dtype == np.int64
    assert len(wards) == 3


def test_an_id_goes_before_a_name():
    areas = areas_of(["1", "2"], ["2", "Trent"])
    assert areas.lookup == {"1": 0, "2": 1, "Trent": 1}


@pytest.mark.parametrize(
    ("label", "sentence"),
    [
        ("Trant", r"^area 'Trant' is not on the map \(did you mean 'Trent'\?\)$"),
        ("TRENT", r"^area 'TRENT' is not on the map \(did you mean 'Trent'\?\)$"),
        ("Sherwood", r"^area 'Sherwood' is not on the map; correct it, or add the area to the map$"),
        ("", r"^area '' is not on the map; correct it, or add the area to the map$"),
        ("Castle", r"^2 areas are called 'Castle': use an id, one of 'E1', 'E3'$"),
    ],
)
def test_unknown_labels(wards, label, sentence):
    with pytest.raises(StudyError, match=sentence):
        wards.index(["E1", label])


def test_one_label_is_not_a_list(wards):
    with pytest.raises(TypeError, match="give a list of labels"):
        wards.index("E1")


def test_fields_must_fit_together():
    graph = AreaGraph(2, [[0, 1]])
    with pytest.raises(ValueError, match="must have the same length"):
        Areas(("a", "b"), ("x",), graph)
    with pytest.raises(ValueError, match="must have the same length"):
        Areas(("a", "b"), ("x", "y"), graph, geopandas.GeoSeries([shapely.box(0, 0, 1, 1)]))
    with pytest.raises(ValueError, match="needs its own id"):
        Areas(("a", "a"), ("x", "y"), graph)


def test_centroids_are_in_metres(wards):
    """A tenth of a degree of longitude at 52.95° north is 6.73 km (6378.137 km · cos φ′ · π/1800, on the ellipsoid)."""
    points = wards.centroids()
    assert points.shape == (3, 2)
    steps = np.hypot(*np.diff(points, axis=0).T)
    a, e2, phi = 6378137.0, 0.00669437999, np.radians(52.95)
    expected = a / np.sqrt(1 - e2 * np.sin(phi) ** 2) * np.cos(phi) * np.radians(0.1)
    np.testing.assert_allclose(steps, expected, rtol=1e-3)


def test_the_table_has_the_maps_own_reference_system(wards):
    frame = wards.to_frame()
    assert list(frame.columns) == ["id", "name", "geometry"]
    assert frame.crs == "EPSG:4326"
    again = read_areas(frame)
    assert (again.ids, again.names) == (wards.ids, wards.names)
    np.testing.assert_array_equal(again.graph.edges, wards.graph.edges)


def test_areas_travel_between_processes(wards):
    copy = pickle.loads(pickle.dumps(wards))  # noqa: S301 - our own bytes
    assert copy.ids == wards.ids
    assert copy.geometry.equals(wards.geometry)
