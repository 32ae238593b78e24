"""Pareto smoothed importance weights, against ArviZ and against a mean that is known."""

import numpy as np
import pytest
from scipy.special import logsumexp

from judgemap.core.assess import held_out as importance
from judgemap.core.assess.held_out import GOOD_K, smooth_weights

RATIOS = {
    "light": lambda rng, n: rng.standard_normal(n),
    "heavy": lambda rng, n: np.log(rng.pareto(0.8, n)),
    "bounded": lambda rng, n: np.log(rng.random(n)),
    "repeated": lambda rng, n: np.repeat(rng.standard_normal(-(-n // 4)), 4)[:n],
    "enormous": lambda rng, n: 400 * rng.standard_normal(n),
}


@pytest.mark.parametrize("draws", [7, 100, 1000])
@pytest.mark.parametrize("kind", list(RATIOS))
def test_weights_and_k_are_those_of_arviz(kind, draws):
    import arviz as az  # three seconds, which no other worker has to spend

    log_ratios = RATIOS[kind](np.random.default_rng(draws), draws)
    kept = log_ratios.copy()
    weights, k = smooth_weights(log_ratios)
    expected, expected_k = az.psislw(log_ratios.copy())
    np.testing.assert_allclose(k, float(expected_k), rtol=1e-6)
    order = np.argsort(log_ratios, kind="stable")  # among equal ratios each may take another's place
    np.testing.assert_allclose(np.sort(weights), np.sort(expected), rtol=1e-6, atol=1e-9)
    assert (np.diff(weights[order]) > -1e-9).all()
    np.testing.assert_array_equal(log_ratios, kept)


def mean_error():
    """Estimate E[x] = ½ under N(½, 1) from 200 draws of N(0, 1), 200 times: the mean of the estimates less ½, in sd."""
    rng = np.random.default_rng(1)
    estimates = []
    for _ in range(200):
        x = rng.standard_normal(200)
        weights, k = smooth_weights(x / 2)
        assert k < GOOD_K
        estimates.append(np.exp(weights) @ x)
    return (np.mean(estimates) - 0.5) / (np.std(estimates) / np.sqrt(200))


def test_the_mean_is_right():
    assert abs(mean_error()) < 4


def test_a_wrong_tail_is_caught(monkeypatch):
    """The planted bug forgets the threshold under the tail."""
    right = importance._pareto_quantile
    monkeypatch.setattr(importance, "_pareto_quantile", lambda p, k, scale: right(p, k, scale) / 3)
    with pytest.raises(AssertionError):
        test_weights_and_k_are_those_of_arviz("light", 1000)
    assert abs(mean_error()) > 4


@pytest.mark.parametrize("draws", [1, 4])
def test_too_few_draws_say_so(draws):
    weights, k = smooth_weights(np.zeros(draws))
    assert k == np.inf
    assert logsumexp(weights) == pytest.approx(0)
