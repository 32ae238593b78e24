"""Which model predicts a judge it has not seen, and the warning of fits that take judges as alike."""

import os
import signal
from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.simulate import truths
from judgemap.core.simulate.misbehaviour import Setting
from judgemap.errors import StudyError
from judgemap.study.assess import comparing as model_choice
from judgemap.study.assess import explain
from judgemap.study.assess import judges as panel_judges
from judgemap.study.assess.checks import DIFFER_LEVEL as LEVEL
from judgemap.study.assess.explain import parameters
from judgemap.study.assess.judges import SURE, stands_out
from judgemap.study.assess.verdict import Subject
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.record import NoteKind
from judgemap.study.fit.settings import FitSettings

SHORT = {"seed": 1, "chains": 4, "warmup": 50, "draws": 100}
PAPER = {**SHORT, "as_in_paper": True}


def panel(square, reversed_judges, n_judges=6, each=30, outcome=("left", "right")):
    """Judges agree that a < b < c < d, except for some who see it the other way round."""
    rng = np.random.default_rng(1)
    judge = np.repeat(np.arange(n_judges), each)
    left = rng.integers(4, size=len(judge))
    right = (left + rng.integers(1, 4, size=len(judge))) % 4
    sees = np.where(judge < reversed_judges, -1, 1) * (left - right)
    words = np.where(rng.random(len(judge)) < 1 / (1 + np.exp(sees)), *outcome)
    names = [f"judge {number}" for number in judge]
    return Comparisons.from_words(square.ids, names, left, right, words.tolist())


def test_judges_who_differ_are_predicted_best_by_a_model_in_which_they_do(square):
    judged = jm.compare_models(panel(square, 3), square, models=["alike", "differ"], **SHORT)
    best, other = judged.table.to_dict("records")
    assert (best["model"], best["difference"], best["options"]) == ("differ", 0.0, "--judges-differ")
    assert other["difference"] < -2 * other["difference_se"]
    assert judged.words.startswith("'differ' (judgemap fit --judges-differ) predicts a new judge's answers best")
    assert judged.judges.index.tolist() == [f"judge {number}" for number in range(6)]
    np.testing.assert_allclose(judged.judges.sum()["differ"], best["elpd"])


def test_ctrl_c_in_any_fit_ends_the_comparison(square, monkeypatch):
    def watch(draws, _wanted):
        if draws.n_draws >= 10:
            os.kill(os.getpid(), signal.SIGINT)

    real = FitSettings.run
    monkeypatch.setattr(FitSettings, "run", lambda *given, **more: real(*given, **more, watch=watch))
    with pytest.raises(KeyboardInterrupt):
        jm.compare_models(panel(square, 3), square, models=["alike", "differ"], **SHORT)


def test_judges_who_agree_need_no_more(square):
    judged = jm.compare_models(panel(square, 0), square, models=["alike", "differ"], **SHORT)
    assert abs(judged.table["difference"]).max() < 3
    assert "Choose 'differ' (judgemap fit --judges-differ)" in judged.words, "a tie goes to honest intervals"


@pytest.mark.slow  # ten fits
def test_taking_a_judge_out_agrees_with_fits_without_the_judge(square, monkeypatch):
    """Both estimate the same thing; with this many judges, their Monte Carlo errors are a few hundredths."""
    data = panel(square, 0, n_judges=10, each=15)
    settings = FitSettings(judges="differ", seed=1, chains=8, draws=250, as_in_paper=True)
    quick, _ = model_choice.leave_one_judge_out(data, square, settings)
    monkeypatch.setattr(model_choice, "MOST_OF_ONE", -np.inf)
    slow, refits = model_choice.leave_one_judge_out(data, square, settings)
    assert refits == 10
    np.testing.assert_allclose(quick, slow, atol=0.3)


@pytest.mark.parametrize("names", [("ann", "bob"), ("ann", "bob", "")])
def test_leaving_out_needs_judges(square, names):
    data = Comparisons.from_words(square.ids, names, [0] * len(names), [1] * len(names), ["left"] * len(names))
    with pytest.raises(StudyError, match="which takes 3 judges, and every answer with its judge's name"):
        jm.compare_models(data, square, seed=1)


def test_only_what_the_answers_can_tell_is_tried(square):
    winners = panel(square, 0, outcome=("left", "left"))
    assert "side" not in model_choice._applicable(winners)
    assert "davidson" not in model_choice._applicable(winners)


def test_a_fit_that_takes_judges_as_alike_warns_where_they_are_not(square):
    """The rate of false alarms is tested in tests/core/assess/test_kinds.py."""
    fit = jm.fit_spatial(panel(square, 3), square, **PAPER)
    notes = {note.kind: note.text for note in fit.record.notes}
    assert f"(p = {LEVEL / 2:.3f} or less)" in notes[NoteKind.JUDGES_DIFFER]
    assert notes[NoteKind.JUDGES_DIFFER].endswith("fit again with --judges-differ.")
    agreed = jm.fit_spatial(panel(square, 0), square, **PAPER)
    assert NoteKind.JUDGES_DIFFER not in [note.kind for note in agreed.record.notes]


def test_ties_do_not_hide_that_judges_differ(square):
    data = panel(square, 3)
    words = data.outcome_words.tolist()
    words[::7] = ["tie"] * len(words[::7])
    tied = Comparisons.from_words(square.ids, data.judge_names.tolist(), data.left, data.right, words)
    fit = jm.fit_spatial(tied, square, **PAPER)
    assert {NoteKind.TIES, NoteKind.JUDGES_DIFFER} <= {note.kind for note in fit.record.notes}
    differ = jm.fit_spatial(tied, square, judges="differ", **PAPER)
    assert NoteKind.JUDGES_DIFFER not in {note.kind for note in differ.record.notes}


def test_parameters_have_intervals_and_words(square):
    parts = {"judges": "differ", "attention": True, "smoothness": "infer"}
    fit = jm.fit_spatial(panel(square, 2), square, **parts, **PAPER | {"draws": 20})
    found = {each.symbol: each for each in parameters(fit)}
    assert list(found) == ["α", "σ", "ρ", "σ_a", "σ/α"]
    assert all(each.low <= each.median <= each.high and each.words for each in found.values())
    assert found["σ"].median == pytest.approx(np.median(fit.sigma))


@pytest.fixture(scope="module")
def odd_judge(square):
    """Eight judges of 60 answers, the first of whom sees it the other way round, and a fit with attention."""
    data = panel(square, 1, n_judges=8, each=60)
    return data, settled(jm.fit_spatial(data, square, attention=True, **PAPER | {"draws": 200}))


def settled(fit):
    """Say of a short fit that it has converged, for tests of what is said then."""
    good = replace(fit.record.diagnostics, rhat_max=1.0, ess_bulk_min=1000.0)
    return replace(fit, record=replace(fit.record, diagnostics=good))


def test_a_judge_the_other_way_round_is_told_apart(square, odd_judge):
    """With or without attention in the model; on four areas a map of one's own may well be the others' upside down."""
    data, fit = odd_judge
    table = jm.judge_table(fit, data)
    kinds = table[["p_little", "p_reversed", "p_another_view"]]
    assert kinds["p_reversed"].argmax() == 0
    assert kinds["p_reversed"][0] > 0.8
    assert (kinds.loc[1:] <= SURE).all(axis=None), "nothing is said of the others, though short chains may flip some"
    assert not any(table["kind_note"])
    assert (table["attention_low"] <= table["attention"]).all()
    differ = settled(jm.fit_spatial(data, square, judges="differ", **PAPER | {"seed": 3, "draws": 200}))
    seen = jm.judge_table(differ, data)
    assert seen["distance"].argmax() == 0
    assert seen["p_reversed"][0] > 0.7, "0.76 to 0.79 with seeds from 1 to 6"
    assert (seen["own_share"] < 0.3).all(), "each of eight judges gave an eighth of the answers"
    silent = jm.judge_table(differ, data.without(["judge 3"]))
    assert "judge 3" not in silent["judge"].tolist()


def test_chains_that_disagree_say_nothing_of_kinds(odd_judge):
    """One chain is upside down: what the model says of a judge is left out, and other signs are still seen."""
    data, fit = odd_judge
    assert not fit.warnings
    risk = fit.posterior["risk"].copy()
    risk[0] *= -1
    worse = replace(fit.record.diagnostics, rhat_max=1.5)
    unsettled = replace(fit, posterior=fit.posterior.assign(risk=risk), record=replace(fit.record, diagnostics=worse))
    table = jm.judge_table(unsettled, data)
    assert table[["p_little", "p_reversed", "p_another_view", "own_share"]].isna().all(axis=None)
    assert set(table["kind_note"]) == {panel_judges.UNSETTLED}
    assert "perhaps the question was read the other way round" in " ".join(stands_out(table)["judge 0"])
    told = explain.Explanation(unsettled, data).verdict.ground(Subject.JUDGES).text
    assert "For 8 of them we cannot tell" in told


def test_a_judge_on_whom_the_fit_depends_is_compared_with_a_fit_of_the_others(odd_judge, monkeypatch):
    """The others' own fit tells the judge the other way round apart as well as the posterior without the judge does."""
    data, fit = odd_judge
    usual = jm.judge_table(fit, data)["p_reversed"]
    monkeypatch.setattr(panel_judges, "ENTANGLED", -1.0)
    table = jm.judge_table(fit, data)
    assert table["p_reversed"][0] > SURE
    np.testing.assert_allclose(table["p_reversed"][1:], usual[1:], atol=0.1)


def test_few_answers_accuse_nobody(monkeypatch):
    """Eight answers each, as the model says: taken out of a posterior that rests on them, they seem reversed."""
    areas, rng = jm.chicago(), np.random.default_rng([0, 1])
    setting = Setting(areas.graph, jm.prior_covariance(areas, "car"), alpha=3.0, judges=12, comparisons=100)
    answers = truths.judged(rng, setting, 3 * setting.covariance.draw(rng, 1)[0], "differ")
    words = np.array(["tie", "left", "right"])[answers.choice].tolist()
    data = Comparisons.from_words(areas.ids, answers.judge.astype(str).tolist(), answers.left, answers.right, words)
    fit = settled(jm.fit_spatial(data, areas, seed=1, chains=8, draws=200))
    kinds = ["p_little", "p_reversed", "p_another_view"]
    table = jm.judge_table(fit, data)
    assert (table["own_share"] > panel_judges.ENTANGLED).any()
    assert (table[kinds] < 0.5).all(axis=None)
    monkeypatch.setattr(panel_judges, "ENTANGLED", np.inf)
    monkeypatch.setattr(panel_judges, "MOVED", np.inf)
    assert (jm.judge_table(fit, data)[kinds] > SURE).any(axis=None)


def test_reliability_says_what_another_panel_would_give(square):
    data = panel(square, 2)
    fit = jm.fit_spatial(data, square, judges="differ", **PAPER)
    told = jm.reliability(fit, data, seed=1, splits=4)
    assert 0 < told.another_panel < 1
    assert told.population == pytest.approx(told.bayes)
    assert "another panel of the same size" in told.note
    alike = jm.fit_spatial(data, square, **PAPER)
    assert jm.reliability(alike, data, seed=1, splits=4).another_panel is None


def test_the_scale_of_the_map_is_no_part_of_what_another_panel_would_give(square):
    """Draws of which every other has a map twice as large, α too: correlations do not see it."""
    data = panel(square, 0)
    fit = jm.fit_spatial(data, square, judges="differ", **PAPER)
    draws = fit.posterior.assign(alpha2=fit.posterior["alpha2"] * 0 + float(np.median(fit.alpha)) ** 2)
    twice = np.where(np.arange(draws.sizes["draw"]) % 2, 2.0, 1.0)
    larger = draws.assign(
        alpha2=draws["alpha2"] * twice**2, level=draws["level"] * twice, risk=draws["risk"] * twice[:, None]
    )
    known, found = (
        jm.reliability(replace(fit, posterior=each), data, seed=1, splits=4).another_panel for each in (draws, larger)
    )
    assert found == pytest.approx(known, abs=0.02)  # 0.08 apart where the scale is let in
