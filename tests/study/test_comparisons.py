import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.study.data.comparisons import ANSWERS, Comparisons, Outcome

HEADER = "judge,left,right,outcome,seconds\n"


def write(folder, text, name="comparisons.csv"):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_shown_pairs(tmp_path, square):
    rows = "1,a,b,left,3.5\n1,Beech,c,right,\n2,c,d,tie,9\n2,a,d,skipped,\n2,a,c,unknown,1\n"
    data = jm.read_comparisons(write(tmp_path, HEADER + rows), square)
    assert len(data) == 5
    assert data.decided.tolist() == [True, True, False, False, False]
    assert data.per_judge() == {"1": 2, "2": 3}
    counts = data.counts()
    assert counts.total == 2
    np.testing.assert_array_equal(counts.excess(), [0.5, -1.0, 0.5, 0.0])
    np.testing.assert_array_equal(np.isnan(data.seconds), [False, True, False, True, False])


def test_a_tie_or_a_skip_is_no_win_of_the_winner(tmp_path, square):
    table = "winner,loser,outcome\na,b,left\nc,b,tie\na,c,skipped\nb,d,unknown\nd,a,\n"
    data = jm.read_comparisons(write(tmp_path, table), square)
    assert data.decided.tolist() == [True, False, False, False, True]
    assert data.tied.tolist() == [False, True, False, False, False]
    assert not data.sides


def test_winners_beside_sides_must_agree_with_them(tmp_path, square):
    table = "left,right,outcome,winner,loser\na,b,right,Beech,a\nc,b,tie,,\nc,a,left,,\n"
    data = jm.read_comparisons(write(tmp_path, table), square)
    assert data.decided.tolist() == [True, False, True]
    assert data.sides


def test_numbers_with_a_decimal_point_are_ids(tmp_path):
    areas = jm.Areas(("1", "2"), ("One", "Two"), AreaGraph(2, [[0, 1]]))
    assert len(jm.read_comparisons(write(tmp_path, "winner,loser\n1.0,2.0\n"), areas)) == 1


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "comparisons.csv: the file is empty"),
        ("judge,left,right,outcome\n", "comparisons.csv: there is a header but there are no rows"),
        ("a\nb\n", "comparisons.csv: there is no column 'left'; the columns are 'a'"),
        ("winner,looser\na,b\n", "comparisons.csv: there is no column 'loser' (did you mean 'looser'?)"),
        ("left,right\na,b\n", "comparisons.csv: there is no column 'outcome'"),
        (HEADER + "1,a,b,left,2\n1,a,Asch,left,2\n", "comparisons.csv line 3: area 'Asch' is not in the list"),
        (HEADER + "1,a,a,left,2\n", "comparisons.csv line 2: 'a' is compared with itself"),
        (HEADER + "1,a,Ash,left,2\n", "comparisons.csv line 2: 'a' is compared with itself"),
        (HEADER + "1,a,b,lefd,2\n", "comparisons.csv line 2: 'lefd' is not an outcome (did you mean 'left'?)"),
        (HEADER + "1,a,b,,2\n", "comparisons.csv line 2: '' is not an outcome"),
        (HEADER + "1,a,,left,2\n", "comparisons.csv line 2: the cell of 'right' is empty"),
        (HEADER + "1,a,b,left,2\n1,nan,b,left,2\n", "comparisons.csv line 3: area 'nan' is not in the list"),
        (HEADER + "1,a,b,left,soon\n", "comparisons.csv line 2: 'soon' is not a number of seconds"),
        (HEADER + "1,a,b,left,nan\n", "comparisons.csv line 2: 'nan' is not a number of seconds"),
        (HEADER + "1,a,b,left,-1\n", "comparisons.csv line 2: '-1' is not a number of seconds"),
        (HEADER + "1,a,b\n", "comparisons.csv line 2: there are 3 cells where the header has 5"),
        ("winner,loser,outcome\na,b,right\n", "comparisons.csv line 2: the outcome 'right' does not go with"),
        ("winner,loser,outcome\na,b,won\n", "comparisons.csv line 2: the outcome 'won' does not go with"),
        ("left,right,outcome,winner\na,b,right,a\n", "comparisons.csv line 2: the outcome is 'right', but the winner"),
        ("left,right,outcome,loser\na,b,tie,b\n", "comparisons.csv line 2: the outcome is 'tie', but the loser is 'b'"),
        ("winner,loser\nE1,E2\n", "comparisons.csv and the map have no area in common: the table names 'E1'"),
    ],
)
def test_bad_tables(tmp_path, square, text, sentence):
    with pytest.raises(jm.StudyError) as caught:
        jm.read_comparisons(write(tmp_path, text), square)
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)


def test_of_many_bad_lines_the_first_ten_are_listed(tmp_path, square):
    text = HEADER + "1,a,b,left,2\n" + "".join(f"1,a,b,left,soon{n}\n" for n in range(13))
    with pytest.raises(jm.StudyError) as caught:
        jm.read_comparisons(write(tmp_path, text), square)
    lines = str(caught.value).splitlines()
    assert len(lines) == 11
    assert lines[0].startswith("comparisons.csv line 3: 'soon0' is not a number of seconds")
    assert lines[9].startswith("line 12: 'soon9' is not a number")
    assert lines[10] == "and 3 more bad lines"


def test_binary_file(tmp_path, square):
    path = tmp_path / "comparisons.csv"
    path.write_bytes(bytes(range(256)) * 4)
    with pytest.raises(jm.StudyError, match=r"not a text file|not in UTF-8"):
        jm.read_comparisons(path, square)


def test_one_judge_or_all_but_one(tmp_path, square):
    data = jm.read_comparisons(write(tmp_path, HEADER + "1,a,b,left,2\n2,b,c,left,\n1,c,d,right,3\n"), square)
    assert len(data.only(["1"])) == 2
    assert data.without(["1"]).judges == ("2",)
    assert data.only(["2"]).counts().total == 1
    assert data.only(["2"]).judge.tolist() == [0]
    assert small(judge=("x", "", "y")).without(["x"]).judge_names.tolist() == ["", "y"]
    with pytest.raises(jm.StudyError, match="there is no judge '3'"):
        data.only(["3"])


def test_digest_tells_data_apart(tmp_path, square):
    one = jm.read_comparisons(write(tmp_path, "winner,loser\na,b\nc,b\n"), square)
    same = jm.read_comparisons(write(tmp_path, "winner;loser\nAsh;Beech\nCedar;b\n", "other.csv"), square)
    other = jm.read_comparisons(write(tmp_path, "winner,loser\na,b\nb,c\n"), square)
    higher = jm.read_comparisons(write(tmp_path, "winner,loser\na,b\nc,b\n"), square, winner_is="higher")
    assert one.digest() == same.digest()
    assert len({one.digest(), other.digest(), higher.digest()}) == 3


@given(
    st.lists(
        st.tuples(st.sampled_from("12"), st.integers(0, 3), st.integers(1, 3), st.sampled_from(ANSWERS)),
        min_size=1,
        max_size=20,
    )
)
def test_a_table_written_reads_back(tmp_path_factory, square, rows):
    left = np.array([row[1] for row in rows])
    right = (left + [row[2] for row in rows]) % 4
    judges, outcomes = tuple(row[0] for row in rows), tuple(row[3] for row in rows)
    data = Comparisons.from_words(square.ids, judges, left, right, outcomes, np.full(len(rows), 1.5))
    path = tmp_path_factory.mktemp("records") / "comparisons.csv"
    data.to_frame().to_csv(path, index=False)
    assert jm.read_comparisons(path, square).digest() == data.digest()


def small(**changes):
    columns = {"judge": ("x", "", "y"), "left": [0, 1, 2], "right": [1, 2, 0], "outcome": ("left", "tie", "open")}
    return Comparisons.from_words(("a", "b", "c"), **columns | changes)


def test_the_digest_never_changes_and_an_open_pair_counts_as_unknown():
    """Saved fits contain it, so the same data must always give the same digest."""
    data = small(winner_is="higher")
    assert data.digest() == "ad8078f649688ba78a754ad31edcfa45b68593bc57078233b554c779307175c8"
    assert small(winner_is="higher", outcome=("left", "tie", "unknown")).digest() == data.digest()
    assert small(winner_is="higher", judge=("1", "", "2")).digest() == data.digest(), "an archive numbers the judges"
    assert small(winner_is="higher", judge=("x", "", "x")).digest() != data.digest()
    assert data.to_frame()["outcome"].tolist() == ["left", "tie", "unknown"]


def test_an_open_pair_is_no_answer():
    data = small()
    assert [data.count(each) for each in Outcome] == [1, 0, 1, 0, 0, 1]
    assert data.counts().total == 1
    assert data.counts().ties.sum() == 1
    assert data.outcomes_by_judge().tolist() == [[1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 0, 1]]


def test_sides_are_known_where_a_right_area_won(tmp_path, square):
    winners = jm.read_comparisons(write(tmp_path, "winner,loser,judge\na,b,1\nc,b,1\nb,a,1\n"), square)
    assert not winners.sides
    assert winners.by_judge().first_left.tolist() == [-1, -1]
    assert winners.by_judge().n.tolist() == [2, 1]
    sided = jm.read_comparisons(write(tmp_path, HEADER + "1,a,b,left,1\n1,b,a,right,1\n1,b,a,tie,1\n"), square)
    counts = sided.by_judge()
    assert (counts.first_left.tolist(), counts.n.tolist(), counts.wins.tolist()) == ([0, 1], [1, 1], [1, 1])
    assert counts.ties.tolist() == [1, 0]
    assert counts.pairs().n.tolist() == sided.counts().n.tolist()


def test_counts_need_an_answer_and_those_by_judge_names():
    with pytest.raises(jm.StudyError, match="none of the 3 comparisons was decided"):
        small(outcome=("tie", "skipped", "open")).counts()
    with pytest.raises(jm.StudyError, match="1 of 2 answers do not name their judge"):
        small().by_judge()


def test_moments_are_read_where_they_can_be(tmp_path, square):
    rows = "a,b,left,2021-03-01T12:00:00Z\na,b,left,2021-03-01T13:00:00+01:00\na,b,left,noon\na,b,left,\n"
    data = jm.read_comparisons(write(tmp_path, "left,right,outcome,answered_at\n" + rows), square)
    np.testing.assert_array_equal(data.answered_at, [1614600000, 1614600000, np.nan, np.nan])


def test_repeats_are_held_against_the_time_before():
    columns = {"left": [0, 1, 0, 0, 0], "right": [1, 0, 1, 1, 1]}
    data = small(judge=("x", "x", "x", "y", "y"), outcome=("left", "right", "right", "left", "tie"), **columns)
    repeats, same = data.repeats()
    assert (repeats.tolist(), same.tolist()) == ([2, 0], [1, 0])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"left": [0, 1, 3]}, "left must lie in 0 … 2"),
        ({"seconds": [1.0]}, "must have the same length"),
        ({"winner_is": "worse"}, "'lower' or 'higher', not 'worse'"),
    ],
)
def test_bad_columns(changes, sentence):
    with pytest.raises(ValueError, match=sentence):
        small(**changes)


def test_what_may_have_been_meant_is_looked_up_only_for_rows_that_are_listed(tmp_path, square, monkeypatch):
    asked = []
    monkeypatch.setattr(type(square), "unknown", lambda _areas, label: asked.append(label) or f"no {label}")
    with pytest.raises(jm.StudyError, match="and 190 more bad lines"):
        jm.read_comparisons(write(tmp_path, "winner,loser\na,b\n" + "nowhere,a\n" * 200), square)
    assert len(asked) == 10


def test_rows_repeated_ten_times_bring_a_note(square):
    from judgemap.study.fit.record import NoteKind, data_notes

    def noted(times, seconds=None):
        sides = np.zeros(times, int), np.ones(times, int)
        data = Comparisons.from_words(square.ids, ["ann"] * times, *sides, ["left"] * times, seconds)
        kinds = {note.kind: note.text for note in data_notes(data, data.counts().decided(), square, "spatial")}
        return kinds.get(NoteKind.REPEATED, "")

    assert "up to 10 times" in noted(10)
    assert noted(9) == noted(10, np.arange(10.0)) == "", "answers at different times are no copies"


def test_a_data_frame_or_pairs_are_read_like_the_file(tmp_path):
    """Ids may be numbers, with or without gaps in their column; what is missing is empty."""
    areas = jm.Areas(("1", "2", "3"), ("A", "B", "C"), AreaGraph(3, [[0, 1], [1, 2]]))
    frame = pd.DataFrame({"judge": ["x", None, "x"], "left": [1.0, 2.0, 3.0], "right": np.array([2, 3, 1]),
                          "outcome": ["left", "tie", "right"], "seconds": [3.5, np.nan, 2.0],
                          "answered_at": pd.to_datetime(["2026-01-01 10:00", None, "2026-01-02 11:30"])})  # fmt: skip
    frame.astype({"left": int}).to_csv(tmp_path / "c.csv", index=False)
    read, there = jm.read_comparisons(tmp_path / "c.csv", areas), jm.read_comparisons(frame, areas)
    pd.testing.assert_frame_equal(there.to_frame(), read.to_frame())
    pairs = jm.read_comparisons([(np.int64(1), 2), ("3", "B")], areas)
    assert pairs.left.tolist() == [0, 2]
    with pytest.raises(jm.StudyError, match="the table line 2: area '9' is not in the list of areas"):
        jm.read_comparisons([(1, 2), (1, 9)], areas)
    with pytest.raises(jm.StudyError, match=r"give a file, a data frame, or a list of \(winner, loser\) pairs"):
        jm.read_comparisons(5, areas)
    with pytest.raises(jm.StudyError, match="give a boundary file or a GeoDataFrame, not dict"):
        jm.read_areas({})
