import csv
import json
import signal

import pytest

from judgemap.study.simulations import runner

SMALL = ["--pairs", "200", "--chains", "2", "--draws", "25", "--seed", "3"]
STUDIES = ("scalability", "clustering", "scheduling", "robustness")
PART = {"robustness": ["--behaviours", "careless", "--truths", "gradient", "--lengths", "few", "--judges", "3"]}
PART["robustness"] += ["--panels", "alike", "--fits", "paper"]
"""tests/study/test_experiments.py goes through the others."""


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("study", STUDIES)
def test_writes_sets_and_a_table(judgemap, edges, tmp_path, study):
    out = tmp_path / "out"
    result = judgemap("simulate", study, *edges, *SMALL, *PART.get(study, ()), "--sets", "2", "-o", out, "--cores", "1")
    assert result.status == 0, result.err
    assert result.err == "", "quiet where nobody watches"
    assert f"{study.capitalize()}, 2 sets, 6 areas, seed 3" in result.out
    names = {value for row in rows_of(out / "summary.csv") for value in list(row.values())[:1]}
    assert all(name in result.out for name in names), "what is compared is in the table"
    assert {row["set"] for row in rows_of(out / "sets.csv")} == {"1", "2"}
    assert all(row["sets"] == "2" for row in rows_of(out / "summary.csv"))
    record = json.loads((out / "simulation.json").read_text())
    assert (record["study"], record["seed"], record["settings"]["comparisons"]) == (study, 3, 200)


def test_quick_and_json(judgemap, edges, tmp_path):
    words = ["simulate", "scheduling", *edges, "--quick", "--sets", "1", "--cores", "1", "--json", "-o"]
    said = [judgemap(*words, tmp_path / name).out for name in ("one", "two")]
    one, two = (json.loads(each, parse_constant=pytest.fail) for each in said)
    assert one["summary"][0]["sets"] == 1, "one set has no standard error, and JSON no nan"
    assert one["settings"]["draws"] == 100
    assert one["settings"]["comparisons"] == 500
    assert one["seed"] != two["seed"], "a seed is drawn and told"
    again = json.loads(judgemap(*words, tmp_path / "one").out)
    assert again == one, "the folder's own seed is used, and nothing is run"


def test_stopped_in_the_middle_it_goes_on(judgemap, edges, tmp_path, monkeypatch):
    words = ["simulate", "scheduling", *edges, *SMALL, "--sets", "2", "--cores", "1", "-o"]
    begun, whole = tmp_path / "begun", tmp_path / "whole"
    assert judgemap(*words, whole).status == 0
    right = runner.run_set

    def run_set(experiment, prepared, seed, number):
        if number == 2:
            raise KeyboardInterrupt
        return right(experiment, prepared, seed, number)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "run_set", run_set)
        result = judgemap(*words, begun)
    assert result.status == 130
    assert result.err == "judgemap: interrupted after 1 of 2 sets; run the command again to continue\n"
    assert not (begun / "summary.csv").exists()
    assert judgemap(*words, begun).status == 0
    for name in ("sets.csv", "summary.csv"):
        assert (begun / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.slow  # starts processes; the test above is the quick sibling
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGINT])
def test_a_process_stopped_in_the_middle_goes_on(judgemap, stopped, edges, tmp_path, by):
    words = ["simulate", "scheduling", *edges, "--sets", 6, "--pairs", 300, "--chains", 2, "--seed", 4]
    words += ["--draws", 100, "--cores", 1, "-o"]
    begun, whole = tmp_path / "begun", tmp_path / "whole"
    _, status = stopped(*words, begun, once=b"2/6", by=by)
    assert status == (130 if by == signal.SIGINT else -by)
    assert 2 <= len(list((begun / "sets").glob("[0-9]*.json"))) < 6, "it was in the middle"
    assert not (begun / "summary.csv").exists()
    assert judgemap(*words, begun).status == judgemap(*words, whole).status == 0
    for name in ("sets.csv", "summary.csv"):
        assert (begun / name).read_bytes() == (whole / name).read_bytes()
