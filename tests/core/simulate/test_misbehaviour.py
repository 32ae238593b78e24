"""Judges misbehave as they are said to."""

import numpy as np
import pytest

from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import communicability
from judgemap.core.simulate.misbehaviour import BEHAVIOURS, UNEQUAL, Setting

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
    assert BEHAVIOURS[name].remedy(SETTING.covariance) is not None
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
