"""Tables out of CSV files: what is read, where rows are, and one sentence for everything that can be wrong."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import read_table

EDGES = ("area_a", "area_b")


def saved(tmp_path: Path, content: str | bytes, name: str = "edges.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_cells_are_stripped_and_lines_are_counted_past_blank_ones(tmp_path):
    table = read_table(saved(tmp_path, " area_a , area_b,since\n\n 1, 2 ,1990\n   \n,,\n3,4,\n"), EDGES)
    assert table.columns == ("area_a", "area_b", "since")
    assert table.rows == [{"area_a": "1", "area_b": "2", "since": "1990"}, {"area_a": "3", "area_b": "4", "since": ""}]
    assert table.lines == [3, 6]
    assert table.where(1) == "edges.csv line 6"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_delimiters_line_ends_and_encodings(tmp_path, delimiter, newline, encoding):
    text = newline.join(["area_a,area_b", "Ålesund,Zürich", ""]).replace(",", delimiter)
    table = read_table(saved(tmp_path, text.encode(encoding)), EDGES)
    assert table.rows == [{"area_a": "Ålesund", "area_b": "Zürich"}]


def test_the_delimiter_is_the_one_that_gives_the_required_columns(tmp_path):
    table = read_table(saved(tmp_path, "area_a;area_b;a, b, c and d\n1;2;x, y\n"), EDGES)
    assert table.rows == [{"area_a": "1", "area_b": "2", "a, b, c and d": "x, y"}]


def test_a_quoted_cell_may_hold_lines_and_the_next_row_is_still_found(tmp_path):
    table = read_table(saved(tmp_path, 'area_a,area_b,text\n1,2,"two\nlines, one cell"\n3,4,x\n'), EDGES)
    assert table.rows[0]["text"] == "two\nlines, one cell"
    assert table.lines == [2, 4]


def test_without_required_columns_the_caller_decides(tmp_path):
    table = read_table(saved(tmp_path, "winner;loser\n1;2\n"))
    table.require("winner", "loser")
    with pytest.raises(StudyError, match=r"no column 'left'; the columns are 'winner', 'loser'"):
        table.require("winner", "left")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", r"edges\.csv: the file is empty"),
        (" \n\n", r"edges\.csv: the file is empty"),
        (b"\xef\xbb\xbf", r"the file is empty"),
        ("area_a,area_b\n", r"there is a header but there are no rows"),
        (" , \n1,2\n", r"no column 'area_a'; the columns are '1', '2'"),
        ("area_a,area_b\n , \n", r"there is a header but there are no rows"),
        ("area_a|area_b\n1|2\n", r"only one column, 'area_a\|area_b', .* commas, semicolons or tabs"),
        (
            "area_a,aera_b,x\n1,2,3\n",
            r"no column 'area_b' \(did you mean 'aera_b'\?\); the columns are 'area_a', 'aera_b', 'x'",
        ),
        ("AREA_A,AREA_B\n1,2\n", r"no column 'area_a' \(did you mean 'AREA_A'\?\)"),
        ("area_a,area_b,x,x\n1,2,3,4\n", r"the column 'x' appears more than once"),
        ("area_a,area_b\n1,2\n\n3\n", r"edges\.csv line 4: there are 1 cells where the header has 2"),
        ("area_a,area_b\n1,2,3\n", r"edges\.csv line 2: there are 3 cells where the header has 2"),
        ('area_a,area_b\n1,2\n3,"4\n5,6\n7,8\n', r"edges\.csv line 3: the row cannot be read .* mark left open"),
        ('area_a,area_b\n1,2\n3,"4\n5,6\n7,"8\n', r"edges\.csv line 3: the row cannot be read .* mark left open"),
        ('area_a,area_b\n1,"' + "x" * 200_000, r"line 2: the row cannot be read .* quotation mark left open"),
        (bytes(range(256)), r"this is not a text file; save the table as CSV"),
        (b"PK\x03\x04 and so on", r"this is a spreadsheet or a zip file; save the table as CSV"),
        ("area_a,area_b\n1,2\nZürich,3\n".encode("latin-1"), r"line 3: the text is not in UTF-8; .* 'CSV UTF-8'"),
        (b"\xff\xfea\x00b", r"not in UTF-8"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_sentence(tmp_path, content, sentence):
    with pytest.raises(StudyError, match=sentence) as caught:
        read_table(saved(tmp_path, content), EDGES)
    assert "\n" not in str(caught.value)


def test_a_missing_file_and_a_folder(tmp_path):
    with pytest.raises(StudyError, match=r"nowhere\.csv: there is no such file"):
        read_table(tmp_path / "nowhere.csv", EDGES)
    with pytest.raises(StudyError, match="this is a folder; name a CSV file in it"):
        read_table(tmp_path, EDGES)


CELL = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=8).map(str.strip)


@given(cells=st.lists(st.tuples(CELL.filter(bool), CELL), min_size=1, max_size=8), delimiter=st.sampled_from(",;\t"))
def test_what_the_csv_module_writes_is_read_back(tmp_path_factory, cells, delimiter):
    path = tmp_path_factory.mktemp("csv") / "table.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([EDGES, *cells])
    table = read_table(path, EDGES)
    assert [(row["area_a"], row["area_b"]) for row in table.rows] == cells
    assert table.lines == list(range(2, len(cells) + 2))
