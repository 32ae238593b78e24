"""Judges misbehave, and true maps look, as they are said to."""

import numpy as np
import pytest

from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import communicability
from judgemap.core.simulate.misbehaviour import BEHAVIOURS, UNEQUAL, Setting
from judgemap.core.simulate.truths import APART, judged, measured, truths

GRAPH = AreaGraph(20, [[area, area + 1] for area in range(19)])
SETTING = Setting(GRAPH, communicability(GRAPH), alpha=3.0, judges=12, comparisons=12_000)


def simulate(name, seed=1):
    return BEHAVIOURS[name].simulate(np.random.default_rng(seed), SETTING)


def right(answers, judges):
    """The share of these judges' decided answers that go with the truth."""
    chosen = np.isin(answers.judge, judges) & (answers.choice != 0)
    truth = np.sign(answers.strengths[answers.left] - answers.strengths[answers.right])
    return float((answers.choice == truth)[chosen].mean())


@pytest.mark.parametrize("name", BEHAVIOURS)
def test_all_are_asked_what_was_wanted_and_have_a_remedy(name):
    answers = simulate(name)
    assert len(answers.choice) == 12_000
    assert set(answers.judge) == set(range(12))
    assert answers.counts(12).n_judges == 12
    assert BEHAVIOURS[name].remedy(SETTING) is not None
    again = simulate(name)
    np.testing.assert_array_equal(again.choice, answers.choice)


def test_careless_and_adversarial_judges():
    assert right(simulate("as-modelled"), range(12)) > 0.75
    careless = simulate("careless")
    assert right(careless, [0, 1]) == pytest.approx(0.5, abs=0.05)
    assert right(careless, range(2, 12)) > 0.75
    adversary = simulate("adversary")
    assert right(adversary, [0]) < 0.25
    assert right(adversary, [1]) > 0.75


def test_a_lean_to_the_left():
    answers = simulate("leaning")
    assert (answers.choice == 1).mean() > 0.55
    assert (simulate("as-modelled").choice == 1).mean() == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("name", ["ties-rao-kupper", "ties-davidson"])
def test_ties_are_27_in_100(name):
    assert (simulate(name).choice == 0).mean() == pytest.approx(0.27, abs=0.02)


def test_answers_as_unequal_as_in_the_paper():
    given = np.bincount(simulate("unequal-views").judge, minlength=12)
    np.testing.assert_allclose(given, np.array(UNEQUAL) / sum(UNEQUAL) * 12_000, atol=1)


@pytest.mark.parametrize("name", ["own-views", "own-smooth-views", "familiar"])
def test_judges_with_views_of_their_own_agree_less(name):
    assert right(simulate(name), range(12)) < right(simulate("as-modelled"), range(12))


def test_judges_guess_outside_their_part():
    answers = simulate("own-part")
    assert 0.55 < right(answers, range(12)) < 0.7


def test_hot_spots_stand_out():
    strengths = simulate("hot-spots").strengths
    assert (strengths < strengths.mean() - 3).sum() == 2


POINTS = np.stack([np.arange(20.0), np.zeros(20)], axis=1)
TRUTHS = truths(GRAPH, POINTS) | {"real": measured(np.arange(20.0) ** 2)}


def roughness(strengths):
    """The mean squared step across a border, relative to the variance: 2 if areas are independent."""
    return float((np.diff(strengths) ** 2).mean() / strengths.var())


def test_maps_are_as_rough_as_they_are_said_to_be():
    drawn = {
        name: np.mean([roughness(truth(np.random.default_rng(seed), SETTING)) for seed in range(200)])
        for name, truth in TRUTHS.items()
    }
    assert sorted(drawn, key=drawn.get)[:2] == ["real", "gradient"], "the real one is a parabola"
    assert drawn["independent"] == pytest.approx(2.1, abs=0.1), "2, and a little for the mean that is taken off"
    assert all(drawn[name] < 1.5 for name in drawn if name not in ("independent", "hot-spots")), drawn


@pytest.mark.parametrize("name", ["hot-spots", "plateaus", "gradient", "covariate", "real"])
def test_shapes_have_the_spread_of_the_prior(name):
    strengths = TRUTHS[name](np.random.default_rng(1), SETTING)
    assert strengths.std() == pytest.approx(SETTING.alpha)
    assert strengths.mean() == pytest.approx(0.0, abs=1e-12)


def test_a_plateau_has_one_sharp_border():
    steps = np.abs(np.diff(TRUTHS["plateaus"](np.random.default_rng(1), SETTING)))
    assert (steps > SETTING.alpha).sum() in (1, 2), "one or two ends of the half of a row of areas that is high"


def test_judges_of_a_map_are_alike_differ_or_answer_unequally_often():
    strengths = np.zeros(20)
    panels = {who: judged(np.random.default_rng(1), SETTING, strengths, who) for who in ("alike", "differ", "unequal")}
    # With equal areas, judges who are alike choose by chance; a view of sd 0.35α makes each judge choose consistently.
    consistent = {}
    for who, answers in panels.items():
        counts = answers.counts(12)
        share = (counts.wins + 1) / (counts.n + 2)
        consistent[who] = float(np.abs(share - 0.5)[counts.n >= 3].mean())
    assert consistent["differ"] > 1.1 * consistent["alike"]
    assert APART == 0.35
    np.testing.assert_allclose(
        np.bincount(panels["unequal"].judge, minlength=12), np.array(UNEQUAL) / sum(UNEQUAL) * 12_000, atol=1
    )
