"""The likelihood of an answer: closed forms, derivatives, and agreement with the Bradley-Terry model."""

import numpy as np
import pytest

from judgemap.core.model import outcomes
from judgemap.core.model.counts import count_judged
from judgemap.core.model.judges import PanelModel, Parts
from judgemap.core.model.outcomes import NO_LAPSE, Answers, TieRule, curvature, log_likelihood, slopes
from judgemap.core.model.prior import InverseGamma, independent
from judgemap.core.samplers.judges.layout import lay_out, one_sided, onto_areas

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

    up, down = (outcomes.log_likelihood(answers, rule, eta + step, p, lapse) for step in (STEP, -STEP))
    assert np.allclose((up - down) / (2 * STEP), outcomes.slopes(answers, rule, eta, p, lapse), atol=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_curvature_is_the_second_derivative(rule):
    answers, eta, p, _ = some_rows(rule)
    up, down = (outcomes.slopes(answers, rule, eta + step, p) for step in (STEP, -STEP))
    assert np.allclose((down - up) / (2 * STEP), outcomes.curvature(answers, rule, eta, p), atol=1e-7)


@pytest.mark.parametrize("rule", RULES)
def test_swapping_the_areas_changes_nothing(rule):
    answers, eta, p, lapse = some_rows(rule)
    swapped = answers._replace(first=answers.second, second=answers.first)
    assert np.allclose(
        outcomes.log_likelihood(answers, rule, eta, p, lapse), outcomes.log_likelihood(swapped, rule, -eta, p, lapse)
    )


def test_one_sided_rows_say_the_same():
    """Rao and Kupper's answers with wins and losses in rows of their own, against rows that hold both."""
    rng = np.random.default_rng(3)
    left = rng.integers(5, size=60)
    right = (left + rng.integers(1, 5, size=60)) % 5
    counts = count_judged(rng.integers(3, size=60), left, right, rng.integers(-1, 2, size=60), n_areas=5, n_judges=3)
    parts = Parts(ties=TieRule.RAO_KUPPER, disagreement=independent(5), side=True)
    both = lay_out(PanelModel(counts, independent(5), InverseGamma(), parts))
    apart = one_sided(both)
    strengths, p, b = rng.normal(size=(5, 2)), np.array([0.2, 0.5]), 0.7
    sums = []
    for layout in (both, apart):
        eta = layout.differences(strengths) + b * layout.x
        slope = slopes(layout.answers, parts.ties, eta, p)
        weight = curvature(layout.answers, parts.ties, eta, p)
        onto = np.stack([onto_areas(layout, column) for column in slope.T])
        value = log_likelihood(layout.answers, parts.ties, eta, p).sum(axis=0)
        sums.append([value, onto, layout.sum_by_judge(layout.x * slope), weight.sum(axis=0)])
    for one, other in zip(*sums, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-12)
