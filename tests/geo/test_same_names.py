"""Areas that share a name get names of their own, everywhere."""

import geopandas
import pytest
import shapely

from judgemap.geo.maps import areas_from_frame, read_areas


def squares(names, **columns):
    """Squares in a row, from west to east."""
    boxes = [shapely.box(x * 1000, 0, (x + 1) * 1000, 1000) for x in range(len(names))]
    ids = [f"A{i}" for i in range(len(names))]
    return geopandas.GeoDataFrame({"id": ids, "name": names, **columns}, geometry=boxes, crs="EPSG:27700")


def named(frame):
    return areas_from_frame(frame, id="id", name="name").names


def test_by_what_they_belong_to():
    states = {"code": ["IN", "IN", "IN", "OH", "OH"], "state": ["Indiana"] * 3 + ["Ohio"] * 2}
    names = named(squares(["Monroe", "Brown", "Clay", "Dale", "Monroe"], **states))
    assert names == ("Monroe, Indiana", "Brown", "Clay", "Dale", "Monroe, Ohio")


def test_by_a_neighbour_where_no_column_tells_them_apart():
    names = named(squares(["Monroe", "Brown", "Clay", "Dale", "Monroe"], county=["X"] * 5))
    assert names == ("Monroe, near Brown", "Brown", "Clay", "Dale", "Monroe, near Dale")


def test_by_direction_where_they_have_the_same_neighbour():
    assert named(squares(["Monroe", "Brown", "Monroe"])) == ("Monroe, west", "Brown", "Monroe, east")


def test_by_id_where_nothing_else_is_left():
    assert named(squares(["Monroe"] * 3))[1] == "Monroe, A1"


def test_names_that_differ_stay_and_the_notes_say_what_changed(tmp_path):
    squares(["Ash", "Beech"]).to_file(tmp_path / "a.gpkg")
    assert read_areas(tmp_path / "a.gpkg", id="id", name="name").names == ("Ash", "Beech")
    squares(["Ash", "Beech", "Ash"]).to_file(tmp_path / "b.gpkg")
    areas = read_areas(tmp_path / "b.gpkg", id="id", name="name")
    assert "Areas with the same name are distinguished: 'Ash, west', 'Ash, east'." in areas.notes
    assert areas.index(["Ash, east"]).tolist() == [2]


@pytest.mark.parametrize("taken", ["Monroe, west", "Monroe, near Brown"])
def test_no_new_name_is_taken_already(taken):
    names = named(squares(["Monroe", "Brown", taken, "Dale", "Monroe"]))
    assert len(set(names)) == 5
