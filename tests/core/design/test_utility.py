"""Utilities against plain definitions and exact answers."""

import numpy as np
import pytest
from scipy.special import expit

from judgemap.core.design import utility
from judgemap.core.design.utility import pair_precision, pair_variances, trace_precision


def draws(size=300, n_areas=7, seed=1):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(size, n_areas)) @ rng.normal(size=(n_areas, n_areas)) + rng.normal(size=n_areas)


def test_trace_precision_is_the_trace_of_the_centred_covariance():
    K = np.eye(7) - 1 / 7
    assert trace_precision(draws()) == pytest.approx(1 / np.trace(K @ np.cov(draws().T) @ K))


def test_pair_variances_are_the_variances_in_order():
    sample = draws()
    expected = [np.var(expit(sample[:, i] - sample[:, j]), ddof=1) for i in range(7) for j in range(i + 1, 7)]
    np.testing.assert_allclose(pair_variances(sample), expected, rtol=1e-10)


def test_chunks_do_not_matter(monkeypatch):
    whole = pair_variances(draws())
    for chunk in (1, 700, 1_000):
        monkeypatch.setattr(utility, "CHUNK", chunk)
        np.testing.assert_array_equal(pair_variances(draws()), whole)


def test_one_certain_pair_rules_the_mean_but_not_the_robust_companion():
    sample = draws()
    certain = sample + np.array([0, 0, 0, 0, 0, 0, 60.0])
    assert pair_precision(certain).mean > 1e6 * pair_precision(sample).mean
    assert pair_precision(certain).robust < 10 * pair_precision(sample).robust


def test_a_nearly_certain_pair_keeps_its_variance():
    d = np.random.default_rng(1).normal(50.0, 0.3, size=400)
    found = pair_variances(np.stack([d, np.zeros(400)], axis=1))[0]
    assert found == pytest.approx(np.exp(-d).var(ddof=1), rel=1e-9)


@pytest.mark.statistical
def test_utilities_of_a_gaussian_posterior():
    """Limits are 4.5 Monte Carlo standard errors: a false alarm in 150,000 runs."""
    rng, size, sd = np.random.default_rng(5), 40_000, 0.5
    sample = rng.normal(scale=sd, size=(size, 4))
    exact = 1 / (3 * sd**2)
    limit = 4.5 * np.sqrt(2 / (3 * size))
    assert abs(trace_precision(sample) / exact - 1) < limit
    without_centring = 1 / np.cov(sample.T).trace()
    assert abs(without_centring / exact - 1) > limit
    z, weights = np.polynomial.hermite_e.hermegauss(60)
    p = expit(np.sqrt(2) * sd * z)
    moments = [(weights * (p - 0.5) ** k).sum() / weights.sum() for k in (2, 4)]
    error = np.sqrt((moments[1] - moments[0] ** 2) / size)
    np.testing.assert_allclose(pair_variances(sample), moments[0], atol=4.5 * error)
    assert abs(pair_variances(1.02 * sample) - moments[0]).min() > 4.5 * error, "a wrong scale must be caught"


@pytest.mark.parametrize("bad", [np.zeros(5), np.zeros((1, 5)), np.zeros((5, 1)), np.array([[1.0, np.nan], [0, 0]])])
def test_bad_draws_are_refused(bad):
    for function in (trace_precision, pair_precision):
        with pytest.raises(ValueError, match="utilities need"):
            function(bad)
