import json

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
    assert told["comparisons"] == [8, 16, 24, 32]
    assert told["grid"]["per_judge"] == [2, 4, 8, 16, 32, 64]
    assert max(told["grid"]["sd"][-1]) < 0.001, "who are all alike are known exactly by answers without end"


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
def test_ctrl_c_leaves_nothing_behind(stopped, edges, tmp_path):
    """With two workers: the bar counts studies, Ctrl-C goes to all processes, and no file is left."""
    words = ["plan", *edges, "-o", tmp_path / "plan.html", "--simulations", 4000, "--designs", "uniform", "--cores", 2]
    before = {path.name for path in tmp_path.iterdir()}
    shown, status = stopped(*words, once=b"5/4000")
    assert status == 130
    assert "studies" in shown
    assert "Traceback" not in shown
    assert {path.name for path in tmp_path.iterdir()} == before
