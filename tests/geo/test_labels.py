"""Labels: one spelling of an id, the columns taken for ids and names, and names that several areas share."""

import geopandas
import numpy as np
import pytest
import shapely

from judgemap.errors import StudyError
from judgemap.geo.maps import choose_labels, clean_label, read_areas


def table(**columns: list[object]) -> geopandas.GeoDataFrame:
    rows = len(next(iter(columns.values()))) if columns else 3
    return geopandas.GeoDataFrame(columns, geometry=[shapely.box(x, 0, x + 1, 1) for x in range(rows)])


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (7, "7"),
        (np.int32(7), "7"),
        (7.0, "7"),
        (np.float32(7.0), "7"),
        (1e16, "10000000000000000"),
        (7.5, "7.5"),
        (" 7.0 ", "7"),
        ("-3.00", "-3"),
        ("007", "007"),
        ("1.10", "1.10"),
        ("E01.0", "E01.0"),
        ("\u00a0Castle ward\t", "Castle ward"),
        ("Zu\u0308rich", "Z\u00fcrich"),
        (None, ""),
        (float("nan"), ""),
        ("  ", ""),
        (["a", "b"], "['a', 'b']"),
    ],
)
def test_one_spelling(value, label):
    assert clean_label(value) == label


@pytest.mark.parametrize(
    ("columns", "id_column", "name_column"),
    [
        ({"id": [1, 2, 3], "subwardName": ["a", "b", "c"]}, "id", "subwardName"),
        (
            {
                "LAD23CD": ["E1"] * 3,
                "LAD23NM": ["Ashfield"] * 3,
                "WD23CD": ["W1", "W2", "W3"],
                "WD23NM": ["p", "q", "r"],
            },
            "WD23CD",
            "WD23NM",
        ),
        (
            {
                "GID_0": ["TZA"] * 3,
                "NAME_0": ["Tanzania"] * 3,
                "GID_2": ["T.1", "T.2", "T.3"],
                "NAME_2": ["x", "y", "z"],
            },
            "GID_2",
            "NAME_2",
        ),
        ({"STATEFP": [17] * 3, "GEOID": [171, 172, 173], "NAME": ["Cook", "Will", "Lake"]}, "GEOID", "NAME"),
        ({"id": [None] * 3, "code": ["x", "y", "z"], "name": ["a", "b", "c"]}, "code", "name"),
        ({"OBJECTID": [1, 2, 3], "ward_code": ["x", "y", "z"]}, "ward_code", None),
        ({"OBJECTID": [1, 2, 3], "COMMUNITY": ["LOOP", "OHARE", "UPTOWN"]}, "OBJECTID", "COMMUNITY"),
        ({"code": ["x", "x", "y"], "name": [10, 20, 30]}, None, None),
        ({"population": [5, 6, 7]}, None, None),
    ],
)
def test_columns_are_guessed_by_their_names_and_values(columns, id_column, name_column):
    labels = choose_labels(table(**columns), None, None)
    ids = [clean_label(value) for value in columns[id_column]] if id_column else ["1", "2", "3"]
    assert list(labels.ids) == ids
    assert list(labels.names) == (columns[name_column] if name_column else ids)
    said = " ".join(labels.notes)
    assert (f"ids appear to be in the column {id_column!r}" if id_column else "numbered from 1") in said
    assert (f"names appear to be in the column {name_column!r}" if name_column else "ids are used as names") in said


def test_columns_that_are_given_are_not_noted():
    labels = choose_labels(table(a=["x", "y"], b=["p", "q"], id=[1, 2]), "a", "b")
    assert (labels.ids, labels.names, labels.notes) == (("x", "y"), ("p", "q"), ())


def test_areas_without_a_name_and_names_of_several_areas_are_noted():
    labels = choose_labels(table(id=[1, 2, 3, 4], name=["Castle", None, "Castle", " "]), "id", "name")
    assert labels.names == ("Castle", "2", "Castle", "4")
    assert labels.notes == (
        "These areas have no name, so their ids are used: '2', '4'.",
        "More than one area is called 'Castle'; use their ids in files.",
    )


@pytest.mark.parametrize(
    ("columns", "chosen", "sentence"),
    [
        (
            {"code": ["a"], "Label": ["b"]},
            ("cod", None),
            r"no column 'cod' \(did you mean 'code'\?\); the columns are 'code', 'Label'",
        ),
        ({"code": ["a"], "Label": ["b"]}, ("code", "label"), r"no column 'label' \(did you mean 'Label'\?\)"),
        ({}, ("code", None), "the map has no columns at all"),
        ({"code": ["a", None, "b", ""]}, ("code", None), r"'code' has no id in row 2, 4"),
        ({"code": [None] * 13}, ("code", None), r"in row 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 3 more"),
        ({"code": ["a", "b", " a", "b", "c"]}, ("code", None), r"the same id more than once: 'a', 'b';"),
        ({"code": [1, "1.0"]}, ("code", None), r"the same id more than once: '1'"),
        ({"Id": [1, 1, 2], "code": ["x", "y", "z"]}, (None, None), r"column 'Id' has the same id more than once: '1'"),
    ],
)
def test_what_is_wrong_with_columns(columns, chosen, sentence):
    with pytest.raises(StudyError, match=sentence):
        choose_labels(table(**columns), *chosen)


def squares(names, **columns):
    """Squares in a row, from west to east."""
    boxes = [shapely.box(x * 1000, 0, (x + 1) * 1000, 1000) for x in range(len(names))]
    ids = [f"A{i}" for i in range(len(names))]
    return geopandas.GeoDataFrame({"id": ids, "name": names, **columns}, geometry=boxes, crs="EPSG:27700")


def named(frame):
    return read_areas(frame, id="id", name="name").names


FIVE = ["Monroe", "Brown", "Clay", "Dale", "Monroe"]
STATES = {"code": ["IN", "IN", "IN", "OH", "OH"], "state": ["Indiana"] * 3 + ["Ohio"] * 2}


@pytest.mark.parametrize(
    ("names", "columns", "first", "last"),
    [
        (FIVE, STATES, "Monroe, Indiana", "Monroe, Ohio"),
        (FIVE, {"county": ["X"] * 5}, "Monroe, near Brown", "Monroe, near Dale"),
        (["Monroe", "Brown", "Monroe"], {}, "Monroe, west", "Monroe, east"),
        (["Monroe"] * 3, {}, "Monroe, A0", "Monroe, A2"),
    ],
    ids=["by what they belong to", "by a neighbour", "by direction", "by id"],
)
def test_namesakes_are_told_apart(names, columns, first, last):
    new = named(squares(names, **columns))
    assert (new[0], new[-1]) == (first, last)
    assert new[1:-1] == tuple(names[1:-1]) or names[1] == "Monroe"


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
