import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading

import pytest

QUICK = ["--judges", "3", "--per-judge", "8", "--simulations", "6", "--designs", "uniform", "--cores", "1"]
SEED = ["--seed", "1"]


@pytest.mark.usefixtures("undrawn")
def test_says_what_to_expect_and_writes_a_page(judgemap, edges, tmp_path):
    result = judgemap("plan", *edges, *QUICK, *SEED, "--designs", "uniform,principal", "-o", tmp_path / "plan.html")
    assert result.status == 0, result.err
    assert result.err == "", "quiet where nobody watches"
    assert "24 comparisons (3 judges × 8) with the uniform design give" in result.out
    assert "Principal component design:" in result.out
    assert "What 24 comparisons give" in result.out
    assert "If judges differ by 0.5 of how far areas differ, twice the answers of the same judges give" in result.out
    page = (tmp_path / "plan.html").read_text(encoding="utf-8")
    assert "24 comparisons (3 judges × 8)" in page
    assert "How many judges, how many answers each?" in page


@pytest.mark.usefixtures("undrawn")
def test_judges_alike(judgemap, edges, tmp_path):
    result = judgemap("plan", *edges, *QUICK, *SEED, "--judge-spread", "0", "--json")
    assert result.status == 0, result.err
    told = json.loads(result.out)
    assert told["differ"] == 0
    assert max(told["grid"]["sd"][-1]) < 0.001, "who are all alike are known exactly by answers without end"


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("cores", ["1", pytest.param("2", marks=pytest.mark.slow)])  # starts two processes
def test_same_seed_same_numbers_on_any_number_of_cores(judgemap, edges, tmp_path, cores):
    words = ["plan", *edges, *QUICK, *SEED, "--json"]
    one, two = (json.loads(judgemap(*words, *more).out) for more in ([], ["--cores", cores]))
    assert {**one, "seconds": 0} == {**two, "seconds": 0}
    assert one["comparisons"] == [8, 16, 24, 32]
    assert one["expected"]["uniform"]["sd"][0][0] > one["expected"]["uniform"]["sd"][-1][0]
    assert one["grid"]["per_judge"] == [2, 4, 8, 16, 32, 64]


def test_a_pilot(judgemap, edges, results):
    result = judgemap("plan", *edges, *QUICK, *SEED, "--pilot", results)
    assert result.status == 0, result.err
    assert "drawn from the posterior of a pilot with 40 comparisons" in result.out
    assert "Note: The pilot's own answers are not counted" in result.out


def test_ctrl_c_is_a_sentence(judgemap, edges, tmp_path, monkeypatch):
    def press(*_given, **_more):
        raise KeyboardInterrupt

    monkeypatch.setattr("judgemap.study.plan.planning._run", press)
    result = judgemap("plan", *edges, *QUICK, "-o", tmp_path / "plan.html")
    assert (result.status, result.err) == (130, "judgemap: interrupted; nothing was written\n")
    assert not (tmp_path / "plan.html").exists()


@pytest.mark.slow  # starts three processes; the sentence above is the quick sibling
def test_ctrl_c_leaves_nothing_behind(edges, tmp_path):
    """On a terminal, with two workers: the bar counts studies, Ctrl-C goes to all processes, no file is left."""
    words = [sys.executable, "-m", "judgemap", "plan", *edges, "-o", tmp_path / "plan.html", "--simulations", "4000"]
    words += ["--designs", "uniform", "--cores", "2"]
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        [str(word) for word in words], stdout=inside, stderr=inside, text=True, start_new_session=True
    )
    os.close(inside)
    shown = b""
    while b"5/4000" not in shown:
        shown += os.read(terminal, 4096)
    before = {path.name for path in tmp_path.iterdir()}
    told = []

    def listen():
        with contextlib.suppress(OSError):
            while data := os.read(terminal, 4096):
                told.append(data)

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait(timeout=60) == 130
    listener.join(timeout=60)
    assert b"studies" in shown
    assert "interrupted; nothing was written" in b"".join(told).decode()
    assert "Traceback" not in b"".join(told).decode()
    assert {path.name for path in tmp_path.iterdir()} == before
