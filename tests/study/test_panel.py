"""Fits with ties, judges who differ, side, attention, lapses and smoothness: names, views, files, bad input."""

import json

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.model.car import intrinsic_car
from judgemap.core.simulate.misbehaviour import Setting, own_part
from judgemap.errors import StudyError
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.record import NoteKind
from judgemap.study.fit.settings import View

SHORT = {"seed": 1, "chains": 4, "warmup": 10, "draws": 40, "as_in_paper": True}


def tell(areas, rows):
    """Rows are (judge, left, right, outcome)."""
    judge, left, right, outcome = zip(*rows, strict=True)
    return Comparisons.from_words(areas.ids, judge, areas.index(left), areas.index(right), outcome)


@pytest.fixture(scope="module")
def answers(square):
    """Three judges, the third of whom sees it the other way round; a few ties; one who only skips."""
    rng, rows = np.random.default_rng(1), []
    for judge in ("ann", "bob", "eve"):
        for _ in range(40):
            a, b = (int(each) for each in rng.permutation(4)[:2])
            better = "left" if (a < b) == (judge != "eve") else "right"
            outcome = "tie" if rng.random() < 0.2 else better if rng.random() < 0.8 else "left"
            rows.append((judge, square.ids[a], square.ids[b], outcome))
    return tell(square, [*rows, ("sam", "a", "b", "skipped")])


@pytest.fixture(scope="module")
def fit(answers, square):
    parts = {"side": True, "attention": True, "lapses": True, "smoothness": "infer"}
    return jm.fit_spatial(answers, square, judges="differ", **parts, **SHORT)


def test_everything_is_named(fit):
    by_size = {
        (): {"level", "alpha2", "sigma2", "theta", "rho", "lean", "side_sigma2", "attention_sigma2"},
        ("judge",): {"distance", "side", "attention", "lapse"},
        ("area",): {"risk", "panel_risk"},
    }
    for rest, names in by_size.items():
        assert {name for name, each in fit.posterior.arrays.items() if each.axes == ("chain", "draw", *rest)} == names
    assert fit.judges == ("ann", "bob", "eve")
    assert set(fit.record.diagnostics.ess_bulk_of) == {"α²", "σ²", "θ", "ρ", "b", "σ_b²", "σ_a²"}
    assert 0 < fit.tie_chance.mean() < 1
    np.testing.assert_allclose(fit.sigma**2, fit.posterior["sigma2"].ravel())
    assert "(σ/α)" in fit.words
    assert "(ρ)" in fit.words


def test_the_map_is_the_populations_unless_the_panels_is_asked_for(fit):
    assert fit.record.view is View.POPULATION
    panel = fit.seen_by("panel")
    assert panel.record.view is View.PANEL
    np.testing.assert_array_equal(panel.posterior["risk"], fit.posterior["panel_risk"])
    np.testing.assert_array_equal(panel.seen_by("population").risk, fit.risk)
    pair = np.array([0]), np.array([1])
    np.testing.assert_allclose(panel.choice_chances(*pair), fit.choice_chances(*pair))
    with pytest.raises(StudyError, match="there is no view 'panels'"):
        fit.seen_by("panels")


def test_the_mean_of_the_judges_maps_is_the_panels(fit):
    """Every tenth draw or so of the views is kept; each judge's map averages to the panel's draw for draw."""
    rows = fit.views["sample"]
    kept = fit.views["judge_risk"].mean(axis=1)
    np.testing.assert_allclose(kept, fit.seen_by("panel").risk[rows], atol=1e-5)
    assert fit.judge_maps.groupby("judge").size().to_dict() == {"ann": 4, "bob": 4, "eve": 4}
    assert fit.judge_map("eve").shape == fit.areas.shape
    with pytest.raises(StudyError, match="there is no judge 'sam'"):
        fit.judge_map("sam")


def test_a_folder_says_whose_view_it_is_and_reads_back(fit, tmp_path):
    folder = fit.save(fit.save(tmp_path / "results"))
    told = json.loads((folder / "fit.json").read_text(encoding="utf-8"))
    kept = (told["view"], told["settings"]["judges"], told["data"]["ties"])
    assert kept == ("population", "differ", fit.record.data.ties)
    again = jm.load_fit(folder)
    assert again.record == fit.record
    np.testing.assert_array_equal(again.risk, fit.risk)
    np.testing.assert_array_equal(again.judge_map("eve"), fit.judge_map("eve"))
    saved = jm.load_fit(fit.seen_by("panel").save(tmp_path / "panel"))
    assert saved.record.view is View.PANEL
    np.testing.assert_array_equal(saved.seen_by("population").risk, fit.risk)
    assert {path.name for path in folder.iterdir()} == {"areas.csv", "posterior.nc", "fit.json", "judge_maps.csv"}


def test_notes_count_ties_and_name_the_silent(fit):
    texts = {note.kind: note.text for note in fit.record.notes}
    assert texts[NoteKind.TIES] == f"{fit.record.data.ties} of 120 answers are ties, and are part of the model."
    assert "(1 skipped)" in texts[NoteKind.UNDECIDED]
    assert "'sam'" in texts[NoteKind.SILENT_JUDGES]
    assert [note.names_judges for note in fit.record.notes if note.kind is NoteKind.SILENT_JUDGES] == [True]


def test_ties_are_modelled_where_there_are_any(answers, square):
    fit = jm.fit_standard(answers, square, **SHORT)
    assert fit.record.view is View.POOLED
    assert "theta" in fit.posterior
    davidson = jm.fit_standard(answers, square, ties="davidson", **SHORT)
    assert abs(davidson.tie_chance.mean() - fit.tie_chance.mean()) < 0.15
    assert "nu" in davidson.posterior
    with pytest.raises(StudyError, match="one map for all judges"):
        fit.seen_by("panel")
    with pytest.raises(StudyError, match="it treats judges as alike"):
        _ = fit.judge_maps


def test_without_ties_nothing_changes(answers, square):
    decided = answers.where(answers.decided)
    plain = jm.fit_spatial(decided, square, **SHORT)
    left_out = jm.fit_spatial(answers, square, ties="leave-out", **SHORT)
    assert left_out.settings.ties == "leave-out"
    np.testing.assert_array_equal(plain.risk, left_out.risk)


def test_checks_and_surprises_take_a_panel(fit, answers):
    check = jm.predictive_check(fit, answers, seed=1, draws=40)
    assert check.areas["expected"].between(0, 1).all()
    assert len(jm.predictive_check(fit, seed=1, draws=20).checks) == 3
    assert (jm.surprising_answers(fit, answers, most=5)["probability"] <= 0.1).all()


DIFFER, BY_GIBBS = {"judges": "differ"}, "--sampler gibbs is for one shared view without ties; leave it out"


@pytest.mark.parametrize(
    ("judges", "outcomes", "options", "text"),
    [
        (("ann", "ann"), ("left", "right"), DIFFER, "one judge ('ann')"),
        (("ann", "bob"), ("left", "right"), DIFFER, "each of the 2 answers has a different judge"),
        (("ann", "", "bob"), ("left", "right", "right"), {"attention": True}, "attention: 1 of 3 answers do not name"),
        (("ann", "ann", "bob"), ("left", "left", "left"), {"side": True}, "side: no answer is 'right'"),
        (("ann", "bob"), ("tie", "tie"), DIFFER, "none of the 2 comparisons"),
        (("ann", "ann", "bob"), ("left", "left", "skipped"), DIFFER, "all answers come from one judge"),
        (("ann",), ("left",), {"judges": "differ!"}, "there is no judges 'differ!'"),
        (("ann",), ("left",), {"side": "yes"}, "side must be true or false"),
        (("ann", "bob"), ("left", "tie"), {"sampler": "gibbs"}, BY_GIBBS),
        (("ann", "bob"), ("left", "right"), {**DIFFER, "sampler": "gibbs"}, BY_GIBBS),
    ],
)
def test_bad_input_is_told_in_a_sentence(square, judges, outcomes, options, text):
    rows = zip(judges, "aba", "bcc", outcomes, strict=False)
    with pytest.raises(StudyError) as told:
        jm.fit_spatial(tell(square, rows), square, **options, **SHORT)
    assert text in str(told.value)
    assert "\n" not in str(told.value)


def test_the_log_likelihood_is_that_of_each_judges_own_answers(square):
    """By hand, from the draws: the judge's map, attention, side, lapses, reach, and ties by Rao and Kupper's rule."""
    data = Comparisons.from_words(
        square.ids, list("abcabcabcabc"), [0, 1, 2] * 4, [1, 2, 3] * 4, ["left", "right", "tie", "left"] * 3
    )
    plan = {"seed": 1, "chains": 2, "warmup": 5, "draws": 10}
    fit = jm.fit_spatial(data, square, judges="differ", side=True, attention=True, lapses=True, reach=True, **plan)
    logs = fit.log_likelihood(data)
    assert logs.sizes == {"chain": 2, "draw": 10, "answer": 12}
    samples, theta = fit.posterior, fit.posterior["theta"]
    for chain, draw, answer in ((0, 0, 0), (1, 7, 1), (1, 9, 2), (0, 5, 11)):
        judge, at = int(data.judge[answer]), (chain, draw)
        map_of = -fit.views["judge_risk"][chain * 10 + draw, judge].astype(float)
        gap = map_of[data.left[answer]] - map_of[data.right[answer]]
        centre, reach = (int(samples[name][at][judge]) for name in ("centre", "reach"))
        known = all(abs(area - centre) <= reach for area in (data.left[answer], data.right[answer]))  # in a row
        eta = known * gap * samples["attention"][at][judge] + samples["side"][at][judge]
        left, right = (1 / (1 + np.exp(theta[at] - sign * eta)) for sign in (1, -1))
        lapse = samples["lapse"][at][judge]
        chances = [(1 - lapse) * left + lapse / 2, (1 - lapse) * right + lapse / 2, (1 - lapse) * (1 - left - right)]
        assert logs.to_numpy()[chain, draw, answer] == pytest.approx(np.log(chances[data.outcome[answer]]), abs=1e-6)


@pytest.mark.slow  # its quick siblings: the likelihood above, and the judges of `test_checks.py` who guess
def test_judges_who_know_half_of_the_map_are_found_out():
    """Twelve judges guess outside their half: the fit sees what each knows, and the map is far better for it."""
    areas = jm.chicago()
    setting = Setting(areas.graph, intrinsic_car(areas.graph), 3.0, 12, 2000)
    told = own_part(np.random.default_rng(2), setting)
    words = np.array(["tie", "left", "right"])[told.choice].tolist()
    data = Comparisons.from_words(areas.ids, [f"j{each}" for each in told.judge], told.left, told.right, words)
    plain = jm.fit_spatial(data, areas, seed=1, judges="alike", chains=8, warmup=50, draws=50)
    fit = jm.fit_spatial(data, areas, seed=1, judges="alike", reach=True, chains=4, warmup=20, draws=30)
    closeness = [np.corrcoef(each.risk.mean(axis=0), told.strengths)[0, 1] ** 2 for each in (plain, fit)]
    assert closeness[1] > closeness[0] + 0.05
    known = fit.known_areas()
    assert known.shape == (12, 77)
    assert 0.2 < known.mean() < 0.8
