import csv
import json

import pytest

SEED = ["--seed", "1"]


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_writes_the_list_and_says_what_it_asks(judgemap, edges, tmp_path):
    result = judgemap("schedule", *edges, "--pairs", "30", "-o", tmp_path / "list.csv", *SEED)
    assert result.status == 0, result.err
    assert result.err == ""
    rows = read(tmp_path / "list.csv")
    assert len(rows) == 30
    assert list(rows[0]) == ["position", "left", "right", "left_name", "right_name", "probability"]
    assert "30 pairs of 6 areas by the principal component design, seed 1." in result.out
    assert "most likely" in result.out
    assert "every area comes up 10.0 times on average" in result.out


@pytest.mark.parametrize("design", ["uniform", "naive", "optimal"])
def test_every_design_and_its_map(judgemap, edges, tmp_path, design):
    words = ["--design", design, "--pairs", "30", "-o", tmp_path / "list.csv", "--picture", tmp_path / "asked.svg"]
    result = judgemap("schedule", *edges, *words, *SEED)
    assert result.status == 0, result.err
    assert "Times asked, on average in 30 pairs" in (tmp_path / "asked.svg").read_text(encoding="utf-8")
    assert ("All 15 pairs are equally likely." in result.out) == (design == "uniform")


def test_same_seed_same_list_and_json(judgemap, edges, tmp_path):
    words = ["schedule", *edges, "--pairs", "40", "--repeats", "0.1", "--balanced-exposure", "--json", *SEED, "-o"]
    one, two = (json.loads(judgemap(*words, tmp_path / name).out) for name in ("one.csv", "two.csv"))
    assert one == two
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert one["repeats"] == 4
    assert sum(row["repeat_of"] != "" for row in read(tmp_path / "one.csv")) == 4
    assert sum(area["asked"] for area in one["areas"]) == 80
    assert judgemap(*words[:-3], tmp_path / "three.csv").status == 2, "-o is needed"


def test_weights_of_ones_own(judgemap, edges, tmp_path):
    (tmp_path / "weights.csv").write_text("area_a,area_b,weight\n1,2,1\n2,3,1\n")
    words = ["--weights", tmp_path / "weights.csv", "--no-connected", "--spacing", "0"]
    result = judgemap("schedule", *edges, *words, "--pairs", "9", "-o", tmp_path / "list.csv", *SEED)
    assert result.status == 0, result.err
    pairs = {frozenset((row["left"], row["right"])) for row in read(tmp_path / "list.csv")}
    assert pairs == {frozenset("12"), frozenset("23")}


def test_a_judge_who_knows_what_is_around_home(judgemap, edges, tmp_path):
    words = ["schedule", *edges, "--pairs", "9", "--home", "Ash", "-o", tmp_path / "list.csv", "--force", *SEED]
    result = judgemap(*words, "--around", "3")
    assert result.status == 0, result.err
    shown = {row[side] for row in read(tmp_path / "list.csv") for side in ("left_name", "right_name")}
    assert shown == {"Ash", "Beech", "Fir"}
    (tmp_path / "knows.csv").write_text("area\nAsh\nElm\n")
    refused = judgemap(*words, "--knows", tmp_path / "knows.csv")
    assert refused.status == 2
    assert "give only one" in refused.err
