"""Files of R, written by R itself with the structure of speedyBBT's and BSBT's data (tests/study/r/make.R)."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import rdata

import judgemap as jm
from judgemap.errors import StudyError
from judgemap.study.data.exchange import save_import
from judgemap.study.data.r_files import import_speedybbt

R = Path(__file__).parent / "r"
RING = (("1", "2"), ("1", "6"), ("2", "3"), ("3", "4"), ("4", "5"), ("5", "6"))


def test_a_list_of_winners_and_losers(tmp_path):
    found = import_speedybbt([R / "list.rda"])
    assert found.ids == tuple("123456")
    assert found.names == tuple(f"Ward {letter}" for letter in "ABCDEF")
    assert found.edges == RING
    assert found.winner_is == "lower"
    assert [(each.judge, each.left, each.right, each.outcome) for each in found.answers][:2] == [
        ("1", "1", "2", "left"), ("1", "3", "1", "left"),
    ]  # fmt: skip
    save_import(found, tmp_path / "out")
    areas = jm.read_edges(tmp_path / "out" / "edges.csv", tmp_path / "out" / "areas.csv")
    data = jm.read_comparisons(tmp_path / "out" / "comparisons.csv", areas)
    assert data.per_judge() == {"1": 2, "2": 2, "3": 1}
    assert areas.graph.edges.tolist() == [[int(a) - 1, int(b) - 1] for a, b in RING]


def test_outcomes_as_numbers_and_a_map(tmp_path):
    found = import_speedybbt([R / "map.rda"])
    assert [each.outcome for each in found.answers] == ["left", "left", "tie", "right"]
    assert any("their help says the opposite" in note for note in found.notes)
    assert found.winner_is == "higher"
    assert found.geometry.crs.to_epsg() == 27700
    assert found.geometry.iloc[2].bounds == (450002, 0, 450003, 1)
    save_import(found, tmp_path / "out")
    folder = tmp_path / "out"
    areas = jm.read_areas(folder / "areas.geojson", id="id", name="name", edges=folder / "edges.csv")
    assert areas.names[0] == "Subward 1"
    assert len(areas.graph.edges) == 6, "the matrix says who borders whom, not the outlines"
    assert jm.read_comparisons(folder / "comparisons.csv", areas).counts().total == 3


def test_the_helps_coding_can_be_asked_for():
    found = import_speedybbt([R / "map.rda"], ones="second")
    assert [each.outcome for each in found.answers] == ["right", "right", "tie", "left"]


def test_comparisons_of_the_interface_in_a_data_frame():
    found = import_speedybbt([R / "items.rda"])
    assert [each.outcome for each in found.answers] == ["left", "tie", "skipped", "right"]
    assert (found.ids, found.edges, found.winner_is) == (("11", "12", "13", "14"), (), None)


def test_comparisons_and_a_sparse_matrix_in_files_apart_and_areas_by_code_in_an_rds_file():
    found = import_speedybbt([R / "apart-comparisons.rda", R / "apart-adjacency.rda"])
    assert [(each.left, each.right) for each in found.answers] == [("1", "3"), ("2", "3"), ("2", "1")]
    assert found.edges == (("1", "2"), ("2", "3"))
    found = import_speedybbt([R / "named.rds"])
    assert (found.ids, found.names) == (("W1", "W2", "W3"), ("Ash", "Beech", "Cedar"))
    assert found.edges == (("W1", "W2"), ("W2", "W3"))


def test_a_file_without_comparisons_says_what_it_holds():
    said = r"no table of comparisons .* results\$wards \(a table of NAME\); results\$lambda"
    with pytest.raises(StudyError, match=said):
        import_speedybbt([R / "nothing.rda"])


RUBBISH = [b"", b"RDX3\nX\n", b"not R at all", b"\x1f\x8b\x08\0\0\0", b"BZh9", b"\xfd7zXZ\0"]
CUT = [(R / "list.rda").read_bytes()[:end] for end in (50, 200, 400)]


@pytest.mark.parametrize("content", [*RUBBISH, *CUT])
def test_what_is_no_r_file(tmp_path, content):
    with pytest.raises(StudyError, match="there is no such file"):
        import_speedybbt([tmp_path / "a.rda"])
    (tmp_path / "a.rda").write_bytes(content)
    with pytest.raises(StudyError, match=r"a.rda: this R data file cannot be read"):
        import_speedybbt([tmp_path / "a.rda"])


def save(path: Path, **objects) -> Path:
    rdata.write_rda(path, objects)
    return path


PAIRS = pd.DataFrame({"win": [1, 2], "lost": [2, 3]})


@pytest.mark.parametrize(
    ("objects", "words"),
    [
        ({"comparisons": PAIRS.replace(2, 9), "adjacency": np.eye(3)[::-1]}, "'9' are not areas"),
        ({"comparisons": PAIRS, "adjacency": np.triu(np.ones((3, 3)), 1)}, "must be symmetric"),
        ({"comparisons": PAIRS, "adj1": np.zeros((3, 3)), "adj2": np.zeros((3, 3))}, "several matrices"),
        ({"one": PAIRS, "two": PAIRS}, "several tables could be the comparisons"),
        ({"comparisons": pd.DataFrame({"win": [1, 2], "lost": [2, 2]})}, "row 2: '2' is compared with itself"),
        ({"comparisons": pd.DataFrame({"item1": [1], "item2": [2], "outcome": [5]})}, "row 1: '5' is not an outcome"),
    ],
)
def test_what_makes_no_sense_is_one_sentence(tmp_path, objects, words):
    with pytest.raises(StudyError, match=words) as told:
        import_speedybbt([save(tmp_path / "a.rda", **objects)])
    assert "\n" not in str(told.value)


def adjacency(folder: Path, size: int) -> np.ndarray:
    matrix = np.zeros((size, size))
    with (folder / "edges.csv").open() as file:
        for row in csv.DictReader(file):
            a, b = int(row["area_a"]) - 1, int(row["area_b"]) - 1
            matrix[a, b] = matrix[b, a] = 1
    return matrix


def test_the_papers_study_comes_out_as_it_is(nottinghamshire, tmp_path):
    """The public data, put into the package's list, are imported with the same counts and direction."""
    rows, wards = (
        pd.read_csv(nottinghamshire / f"{name}.csv", dtype="string[python]") for name in ("comparisons", "areas")
    )
    table = pd.DataFrame({"user": rows["judge"], "time": rows["time_of_day"], "win": rows["winner"].astype(int),
                          "lost": rows["loser"].astype(int)})  # fmt: skip
    packed = {"comparisons": table, "wards": pd.DataFrame({"NAME": wards["name"]}),
              "adjacencyMatrix": adjacency(nottinghamshire, 76)}  # fmt: skip
    found = import_speedybbt([save(tmp_path / "forcedMarriage.rda", forcedMarriage=packed)])
    save_import(found, tmp_path / "out")
    places = jm.read_edges(nottinghamshire / "edges.csv", nottinghamshire / "areas.csv")
    there = jm.read_comparisons(nottinghamshire / "comparisons.csv", places)
    again = jm.read_edges(tmp_path / "out" / "edges.csv", tmp_path / "out" / "areas.csv")
    data = jm.read_comparisons(tmp_path / "out" / "comparisons.csv", again)
    assert data.digest() == there.digest()
    assert again.graph.edges.tolist() == places.graph.edges.tolist()
    city = {ward for ward, authority in zip(wards["id"], wards["authority"], strict=True) if "CITY" in authority}
    between = [each for each in found.answers if (each.left in city) != (each.right in city)]
    assert sum(each.left in city for each in between) < len(between) / 10, "winners have the lower rate: not the city"
    assert found.winner_is == "lower"


def test_dar_es_salaams_outcomes_are_wins_of_the_first(dar_es_salaam, tmp_path):
    table = pd.read_csv(dar_es_salaam / "comparisons.csv")[["outcome", "subward1", "subward2"]].head(2000)
    packed = {"comparisons": table, "adjacencyMatrix": adjacency(dar_es_salaam, 452)}
    found = import_speedybbt([save(tmp_path / "darEsSalaam.rda", darEsSalaam=packed)])
    outcomes = [each.outcome for each in found.answers]
    assert outcomes.count("left") == (table["outcome"] == 1).sum()
    assert outcomes.count("tie") == (table["outcome"] == 2).sum()
    assert found.winner_is == "higher"
