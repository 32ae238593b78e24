import csv
import json
import os
import signal
import subprocess
import sys
import time

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
    one, two = (json.loads(judgemap(*words, tmp_path / name).out) for name in ("one", "two"))
    assert one["settings"]["draws"] == 100
    assert one["settings"]["comparisons"] == 500
    assert one["seed"] != two["seed"], "a seed is drawn and told"
    again = json.loads(judgemap(*words, tmp_path / "one").out)
    assert again == one, "the folder's own seed is used, and nothing is run"


def start(words):
    command = [sys.executable, "-m", "judgemap", *map(str, words)]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_for_sets(process, folder, count):
    for _ in range(3000):
        done = len(list((folder / "sets").glob("*.json"))) if (folder / "sets").is_dir() else 0
        if done >= count:
            return done
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    raise AssertionError("no set was finished")


def test_stopped_in_the_middle_it_goes_on(judgemap, edges, tmp_path, monkeypatch):
    words = ["simulate", "scheduling", *edges, *SMALL, "--sets", "2", "--cores", "1", "-o"]
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    assert judgemap(*words, whole).status == 0
    right = runner.run_set

    def run_set(experiment, prepared, seed, number):
        if number == 2:
            raise KeyboardInterrupt
        return right(experiment, prepared, seed, number)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "run_set", run_set)
        result = judgemap(*words, stopped)
    assert result.status == 130
    assert result.err == "judgemap: interrupted after 1 of 2 sets; run the command again to continue\n"
    assert not (stopped / "summary.csv").exists()
    assert judgemap(*words, stopped).status == 0
    for name in ("sets.csv", "summary.csv"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.slow  # starts processes; the test above is the quick sibling
@pytest.mark.parametrize("stop", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "ctrl-C"])
def test_a_process_stopped_in_the_middle_goes_on(judgemap, edges, tmp_path, stop):
    words = ["simulate", "scheduling", *edges, "--sets", "6", "--pairs", "300", "--chains", "2", "--seed", "4"]
    words += ["--draws", "100", "-o"]
    stopped, whole = tmp_path / "stopped", tmp_path / "whole"
    process = start([*words, stopped, "--cores", "2" if stop == signal.SIGINT else "1"])
    wait_for_sets(process, stopped, 2)
    os.killpg(process.pid, stop)
    err = process.communicate()[1]
    done = len(list((stopped / "sets").glob("[0-9]*.json")))
    assert done < 6, "it was in the middle"
    assert not (stopped / "summary.csv").exists()
    if stop == signal.SIGINT:
        assert process.returncode == 130
        assert f"judgemap: interrupted after {done} of 6 sets; run the command again to continue" in err
    assert judgemap(*words, stopped, "--cores", "1").status == 0
    assert judgemap(*words, whole, "--cores", "1").status == 0
    for name in ("sets.csv", "summary.csv"):
        assert (stopped / name).read_bytes() == (whole / name).read_bytes()
