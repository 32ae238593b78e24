"""Figures from elsewhere: which rows are matched, what is a number, and in which larger place an area lies."""

import geopandas
import numpy as np
import pandas as pd
import pyogrio
import pytest
import shapely
from numpy.testing import assert_array_equal

from judgemap.core.model.graph import AreaGraph
from judgemap.errors import StudyError
from judgemap.geo.figures import Figures, read_figures
from judgemap.geo.maps import Areas


@pytest.fixture
def areas() -> Areas:
    """Four squares in a row, each a kilometre wide."""
    squares = [shapely.box(1000 * x, 0, 1000 * x + 1000, 1000) for x in range(4)]
    geometry = geopandas.GeoSeries(squares, crs="EPSG:27700").translate(450_000, 340_000)
    return Areas(("a", "b", "c", "d"), ("Ash", "Beech", "Cedar", "Dogwood"), AreaGraph(4, []), geometry)


def test_rows_are_matched_by_id_or_name_and_the_misses_are_listed(areas, tmp_path):
    path = tmp_path / "imd.csv"
    path.write_text("note;ward;income\nx;Cedar;3,5\ny;a;1,25\nz;Elm;9\n")
    figures = read_figures(path, areas)
    assert_array_equal(figures.numbers("income"), [1.25, np.nan, 3.5, np.nan])
    assert "2 of 4 areas: 'Beech', 'Dogwood'" in figures.notes[0]
    assert "1 of 3 rows" in figures.notes[1]


@pytest.mark.parametrize(
    ("cells", "values"),
    [
        (("1,234", "12", "1,000,000", ".."), [1234, 12, 1_000_000, np.nan]),
        (("1,5", "12,25", "c", "-3"), [1.5, 12.25, np.nan, -3]),
        (("12 %", "3.5%", "0", ""), [12, 3.5, 0, np.nan]),
        (("1e3", "-1.5", "1.234,5", "N/A"), [1000, -1.5, 1234.5, np.nan]),
    ],
)
def test_numbers_as_people_write_them(cells, values):
    assert_array_equal(Figures(tuple("abcd"), {"x": cells}).numbers("x"), values)


def test_what_is_a_number_and_what_groups():
    cells = {
        "town": ("A", "A", "B", ""), "same": ("1", "1", "1", "1"), "n": ("1", "2", "", "4"),
        "names": ("p", "q", "r", "s"), "mixed": ("1", "two", "3", "4"), "nothing": ("", "", "", ""),
    }  # fmt: skip
    figures = Figures(tuple("abcd"), cells)
    assert figures.numeric == ["n"]
    assert figures.groupings == ["town"]
    with pytest.raises(StudyError, match="'two', which is not a number"):
        figures.numbers("mixed")
    with pytest.raises(StudyError, match=r"no column 'twon' \(did you mean 'town'"):
        figures.groups("twon")


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"ward": ["Elm", "Oak"], "x": [1, 2]}, "no column has the areas' ids or names"),
        ({"ward": ["a", "Ash"], "x": [1, 2]}, "line 1: there is another row for 'Ash'"),
        ({"ward": ["a", "b"]}, "no column beside 'ward'"),
    ],
)
def test_tables_that_cannot_be_matched(areas, table, said):
    with pytest.raises(StudyError, match=said):
        read_figures(pd.DataFrame(table), areas)


def test_a_spreadsheet_gives_the_same_figures_as_a_csv_file(areas, tmp_path):
    table = pd.DataFrame({"code": list("abcd"), "ward no": ["007", "8", "9", "10"], "share": [0.5, 2, 1e-7, -3]})
    pyogrio.write_dataframe(table, tmp_path / "x.xlsx", driver="XLSX")
    table.to_csv(tmp_path / "x.csv", index=False)
    sheet, text = (read_figures(tmp_path / f"x.{kind}", areas) for kind in ("xlsx", "csv"))
    assert sheet.groups("ward no") == text.groups("ward no") == ("007", "8", "9", "10")
    assert_array_equal(sheet.numbers("share"), text.numbers("share"))
    (tmp_path / "bad.xlsx").write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(StudyError, match="not a spreadsheet that can be read"):
        read_figures(tmp_path / "bad.xlsx", areas)


def test_an_area_lies_where_most_of_it_is(areas, tmp_path):
    """Two districts meet at 1,400 m: Beech is 40 % in the first; nobody has Dogwood."""
    districts = [shapely.box(-10, -10, 1400, 1010), shapely.box(1400, -10, 3000, 1010)]
    geometry = geopandas.GeoSeries(districts, crs="EPSG:27700").translate(450_000, 340_000)
    frame = geopandas.GeoDataFrame({"code": ["W", "E"], "name": ["West", "East"]}, geometry=geometry)
    frame.to_crs("EPSG:4326").to_file(tmp_path / "districts.geojson")
    figures = read_figures(tmp_path / "districts.geojson", areas)
    assert figures.groups("districts") == ("West", "East", "East", "")
    assert "1 of 4 areas lie in none of the places: 'Dogwood'" in figures.notes[0]
    assert "divided, and count where most of each is: 'Beech'" in figures.notes[1]


def test_columns_of_the_map_itself(areas, tmp_path):
    areas.to_frame().assign(people=[5, 6, 7, 8]).to_file(tmp_path / "wards.gpkg")
    assert_array_equal(read_figures(tmp_path / "wards.gpkg", areas).numbers("people"), [5, 6, 7, 8])


def test_figures_come_back_from_their_own_file(areas, tmp_path):
    figures = Figures(areas.ids, {"=town": ("-A", "b", "", "d"), "n": ("-1.5", "", "2", "3")})
    path = tmp_path / "figures.csv"
    path.write_text(figures.to_csv(), encoding="utf-8")
    again = areas.with_figures(path).figures
    assert list(again.cells.values()) == list(figures.cells.values())
