"""The likelihood of an answer: closed forms, derivatives, and agreement with the Bradley-Terry model."""

import numpy as np
import pytest

from judgemap.core import outcomes
from judgemap.core.outcomes import NO_LAPSE, Answers, TieRule

RULES = [None, *TieRule]
STEP = 1e-5


def some_rows(rule):
    rng = np.random.default_rng(1)
    first, second, ties = (rng.integers(0, 4, (6, 1)).astype(float) for _ in range(3))
    answers = Answers(first, second, ties if rule is not None else 0 * ties)
    return answers, 3 * rng.standard_normal((6, 4)), rng.uniform(0.1, 0.8, 4), rng.uniform(0.05, 0.6, (6, 4))


@pytest.mark.parametrize("rule", list(TieRule))
def test_chances_add_up_to_one(rule):
    eta = np.array([[-40.0], [-2.0], [0.0], [0.5], [900.0]])
    logs = outcomes.log_chances(rule, eta, outcomes.odds(eta), np.array([0.3]))
    assert np.allclose(sum(np.exp(each) for each in logs), 1)
    assert np.isfinite(logs).all()
    assert np.isclose(np.exp(logs[2][2, 0]), 0.3), "the chance that equal areas tie"


def test_usual_symbols():
    """σ(η − θ) at θ = 2 artanh p; e^{η/2}/(e^{η/2} + e^{−η/2} + ν) at ν = 2p/(1 − p)."""
    eta, p = np.array([[1.3]]), np.array([0.25])
    theta, nu = 2 * np.arctanh(p), 2 * p / (1 - p)
    rao_kupper = np.exp(outcomes.log_chances(TieRule.RAO_KUPPER, eta, outcomes.odds(eta), p)[0])
    davidson = np.exp(outcomes.log_chances(TieRule.DAVIDSON, eta, outcomes.odds(eta), p)[0])
    assert np.allclose(rao_kupper, 1 / (1 + np.exp(theta - eta)))
    assert np.allclose(davidson, np.exp(eta / 2) / (np.exp(eta / 2) + np.exp(-eta / 2) + nu))


@pytest.mark.parametrize("lapsing", [False, True])
@pytest.mark.parametrize("rule", RULES)
def test_slopes_are_derivatives(rule, lapsing):
    answers, eta, p, lapse = some_rows(rule)
    lapse = lapse if lapsing else NO_LAPSE

    def value(eta=eta, p=p, lapse=lapse):
        return outcomes.log_likelihood(answers, rule, eta, p, lapse)

    slopes = outcomes.slopes(answers, rule, eta, p, lapse)
    assert np.allclose((value(eta=eta + STEP) - value(eta=eta - STEP)) / (2 * STEP), slopes.eta, atol=1e-7)
    in_p = (value(p=p + STEP) - value(p=p - STEP)).sum(axis=0) / (2 * STEP)
    assert np.allclose(in_p, slopes.tie_chance, rtol=1e-6)
    if lapsing:
        in_lapse = (value(lapse=lapse + STEP) - value(lapse=lapse - STEP)) / (2 * STEP)
        assert np.allclose(in_lapse, slopes.lapse, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("rule", RULES)
def test_curvature_is_the_second_derivative(rule):
    answers, eta, p, _ = some_rows(rule)
    up, down = (outcomes.slopes(answers, rule, eta + step, p).eta for step in (STEP, -STEP))
    assert np.allclose((down - up) / (2 * STEP), outcomes.curvature(answers, rule, eta, p), atol=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_swapping_the_areas_changes_nothing(rule):
    answers, eta, p, lapse = some_rows(rule)
    swapped = answers._replace(first=answers.second, second=answers.first)
    assert np.allclose(
        outcomes.log_likelihood(answers, rule, eta, p, lapse), outcomes.log_likelihood(swapped, rule, -eta, p, lapse)
    )
