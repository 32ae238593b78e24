"""The Gaussian approximation against quadrature, and Newton's search for a mode."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import judgemap as jm
from judgemap.core import approximate
from judgemap.core.approximate import climb, find_mode, gaussian
from judgemap.core.model.counts import count_pairs
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability, independent
from judgemap.core.simulate.trials import simulate_counts


def two_areas(wins, losses, variance):
    counts = count_pairs([0] * wins + [1] * losses, [1] * wins + [0] * losses, n_areas=2)
    return Model(counts, independent(2), FixedVariance(variance))


def exact_difference(wins, losses, variance):
    """Mean and variance of λ_0 − λ_1 by quadrature; under the prior it is N(0, 2α²)."""

    d = np.linspace(-60, 60, 200_001)
    log_weight = -wins * np.logaddexp(0, -d) - losses * np.logaddexp(0, d) - d**2 / (4 * variance)
    weight = np.exp(log_weight - log_weight.max())
    mean = (weight @ d) / weight.sum()
    return mean, (weight @ (d - mean) ** 2) / weight.sum()


@pytest.mark.parametrize(("wins", "losses"), [(5, 0), (9, 1), (20, 15)])
def test_the_mean_is_nearer_to_the_exact_one_than_the_mode(wins, losses):
    model = two_areas(wins, losses, 4.0)
    mean, variance = exact_difference(wins, losses, 4.0)
    found = gaussian(model)
    mode = find_mode(model, np.log(4.0), np.zeros(2))
    assert found.mean[0] - found.mean[1] == pytest.approx(mean, abs=0.08 * np.sqrt(variance))
    assert found.spread(np.array([0]), np.array([1]))[0] == pytest.approx(variance, rel=0.2)
    assert abs(mode[0] - mode[1] - mean) > 2 * abs(found.mean[0] - found.mean[1] - mean)


def test_without_answers_it_is_the_prior():
    nothing = np.empty(0, dtype=np.int64)
    found = gaussian(Model(count_pairs(nothing, nothing, 3), independent(3), FixedVariance(4.0)))
    np.testing.assert_allclose(found.mean, 0.0)
    np.testing.assert_allclose(found.covariance, 4 * np.eye(3))


def test_the_variance_agrees_with_the_strengths():
    rng = np.random.default_rng(2)
    prior = InverseGamma(2.0, 3.0)
    model = Model(simulate_counts(rng, 2 * rng.normal(size=20), 300), independent(20), prior)
    found = gaussian(model)
    size = found.mean @ found.mean + np.trace(found.covariance)
    assert found.variance == pytest.approx((3.0 + size / 2) / (2.0 + 10), rel=0.01)


def test_laplace_knows_the_variance_as_gaussian_data_do():
    """Where g says how much is known about a direction, r ~ N(0, g + g²α²)."""
    model, g, r = two_areas(1, 1, 1.0), np.array([0.3, 2.0, 9.0]), np.array([1.0, -3.0, 20.0])
    model, tau = replace(model, variance=InverseGamma(2.0, 3.0)), np.linspace(-12, 14, 5001)
    log_density = stats.norm.logpdf(r, scale=np.sqrt(g + g**2 * np.exp(tau)[:, None])).sum(axis=1)
    log_density += stats.invgamma.logpdf(np.exp(tau), 2.0, scale=3.0) + tau
    weight = np.exp(log_density - log_density.max()) / np.exp(log_density - log_density.max()).sum()
    mean = weight @ tau
    expected = mean, np.sqrt(weight @ (tau - mean) ** 2)
    assert approximate._log_variance_moments(model, g, r) == pytest.approx(expected, abs=1e-3)


def test_draws_have_its_moments():
    model = two_areas(3, 1, 1.0)
    found = gaussian(model)
    draws = found.draw(np.random.default_rng(3), 40_000)
    np.testing.assert_allclose(draws.mean(axis=0), found.mean, atol=0.02)
    np.testing.assert_allclose(np.cov(draws.T), found.covariance, atol=0.03)


@pytest.mark.statistical
def test_nottinghamshire_means_are_the_exact_ones(nottinghamshire, reference):
    """Within 0.08 posterior sd of the reference's means (whose own error is 0.01); Laplace's mode misses by 0.6."""
    areas = jm.read_edges(nottinghamshire / "edges.csv", nottinghamshire / "areas.csv")
    data = jm.read_comparisons(nottinghamshire / "comparisons.csv", areas)
    model = Model(data.counts(), communicability(areas.graph), InverseGamma())
    found = gaussian(model)
    off = (found.mean - found.mean.mean() - reference["mean"]) / reference["sd"]
    mode = find_mode(model, np.log(found.variance), np.zeros(76))
    off_mode = (mode - mode.mean() - reference["mean"]) / reference["sd"]
    assert np.abs(off).max() < 0.08
    assert np.abs(off_mode).max() > 0.3
    assert found.variance == pytest.approx(12.58, rel=0.05)


def test_a_search_that_fails_gives_laplace():
    """With α² in the hundreds and clear winners, the search does not end: Laplace's approximation stands in."""
    rng = np.random.default_rng(1)
    counts = simulate_counts(rng, 20 * rng.standard_normal(6), 3000)
    model = Model(counts, independent(6), FixedVariance(2000.0))
    result = gaussian(model)
    np.testing.assert_allclose(result.mean, find_mode(model, np.log(2000.0), np.zeros(6)), atol=1e-3)


def parabola(x):
    return -float(x @ x) / 2


def test_steps_that_overshoot_are_halved():
    """Newton's own steps on −√(1 + x²) run away from any start beyond 1."""

    def ascent(x):
        slope, curvature = -x / np.sqrt(1 + x**2), (1 + x**2) ** -1.5
        return slope, slope / curvature

    top = climb(lambda x: -float(np.sqrt(1 + x**2).sum()), ascent, np.array([5.0, -3.0]), close=1e-16)
    np.testing.assert_allclose(top, 0.0, atol=1e-7)


def test_rounding_at_the_top_counts_as_reached():
    """At a height of 1e9, gains below 1e-7 are lost in rounding; the search ends all the same."""
    top = climb(lambda x: parabola(x) - 1e9, lambda x: (-x, -x / 2 - 1e-8), np.ones(2), close=0.0)
    np.testing.assert_allclose(top, 0.0, atol=1e-3)


@pytest.mark.parametrize(
    ("ascent", "said"),
    [
        (lambda x: (-x, -1e-6 * x), "did not find"),
        (lambda x: (x, x), "did not find"),
        (lambda x: (x, np.linalg.cholesky(-np.eye(2)) @ x), "not positive definite"),
    ],
    ids=["too slow", "downhill", "no curvature"],
)
def test_a_search_that_leads_nowhere_raises(ascent, said):
    with pytest.raises(FloatingPointError, match=said):
        climb(parabola, ascent, np.ones(2), close=1e-12)
