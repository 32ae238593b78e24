import numpy as np
import pytest
from scipy import optimize, stats

from judgemap.core.assess.reliability import (
    another_panel,
    pearson,
    separation,
    spearman,
    squared_correlations,
    stepped_up,
    unpooled,
)
from judgemap.core.model.counts import log_likelihood
from judgemap.core.model.prior import FixedVariance, Model, independent
from judgemap.core.samplers.run import Plan, sample
from judgemap.core.simulate.trials import simulate_counts


def test_unpooled_is_the_maximum_it_says_it_is():
    counts = simulate_counts(np.random.default_rng(1), np.array([2.0, 1.0, 0.0, -1.0, -2.0]), 60)

    def depth(at):
        return -float(log_likelihood(counts, at)) - (at / 2 - np.logaddexp(0, at)).sum()

    found = optimize.minimize(depth, np.zeros(5), method="BFGS", options={"gtol": 1e-8})
    estimates = unpooled(counts)
    np.testing.assert_allclose(estimates.strengths, found.x - found.x.mean(), atol=1e-4)
    K = np.eye(5) - 1 / 5
    hessian = optimize.approx_fprime(found.x, lambda x: optimize.approx_fprime(x, depth, 1e-5), 1e-4)
    np.testing.assert_allclose(estimates.errors, np.sqrt(np.diag(K @ np.linalg.inv(hessian) @ K)), rtol=1e-2)


def test_separation_is_the_share_of_variance_that_is_no_error():
    assert separation([3.0, 0.0, -3.0], [1.5, 1.5, 1.5]) == pytest.approx(0.75)
    assert separation([1.0, 0.0, -1.0], [2.0, 2.0, 2.0]) == pytest.approx(-3.0)
    assert np.isnan(separation([1.0, 1.0], [1.0, 1.0]))


def test_spearman_and_brown():
    np.testing.assert_allclose(stepped_up([0.0, 0.5, 1.0, -0.2]), [0.0, 2 / 3, 1.0, -0.5])


def test_correlations_are_those_of_scipy():
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=30), rng.integers(0, 5, size=30)
    assert pearson(a, b) == pytest.approx(stats.pearsonr(a, b).statistic)
    assert spearman(a, b) == pytest.approx(stats.spearmanr(a, b).statistic)
    assert np.isnan(pearson(a, np.ones(30)))


def test_squared_correlation_of_hand_made_draws():
    draws = np.array([[1.0, 0.0, -1.0], [1.0, 0.0, -1.0], [3.0, 0.0, -3.0]])
    np.testing.assert_allclose(squared_correlations(draws), 1.0)
    np.testing.assert_allclose(squared_correlations(draws + np.array([[5.0], [-2.0], [0.0]])), 1.0)


def simulated(seed, size, believed):
    """The reliability claimed, and the squared correlation with the truth, of one study with α = 1.5."""
    rng = np.random.default_rng(seed)
    truth = 1.5 * rng.standard_normal(12)
    counts = simulate_counts(rng, truth, size)
    model = Model(counts, independent(12), FixedVariance(believed**2))
    draws = sample(rng, model, plan=Plan(chains=32, warmup=15, draws=10)).strengths.reshape(-1, 12)
    return squared_correlations(draws).mean(), pearson(draws.mean(axis=0), truth) ** 2


@pytest.mark.statistical
@pytest.mark.parametrize(("believed", "right"), [(1.5, True), pytest.param(6.0, False, marks=pytest.mark.slow)])
def test_the_posterior_says_how_well_it_knows_the_truth(believed, right):
    """Over 100 studies the claimed r² is on average the true one: |z| < 4, false alarm 6e-5.

    Planted bug: a prior four times too wide, whose posterior claims too much, is seen.
    """
    claimed, true = np.array([simulated(seed, 40, believed) for seed in range(100)]).T
    gap = claimed - true
    z = gap.mean() / (gap.std(ddof=1) / 10)
    assert (abs(z) < 4) == right


@pytest.mark.statistical
def test_separation_nears_the_squared_correlation_with_the_truth():
    """40 answers an area, 60 studies of 30 areas: SSR and r² differ by less than 0.03 on average (measured 0.014).

    Standard errors that are a third too small would make it miss: 1 − SSR would be 0.04 in place of 0.09.
    """
    gaps, small = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = 1.5 * rng.standard_normal(30)
        found = unpooled(simulate_counts(rng, truth, 600))
        true = pearson(found.strengths, truth) ** 2
        gaps.append(separation(*found) - true)
        small.append(separation(found.strengths, found.errors * 2 / 3) - true)
    assert abs(np.mean(gaps)) < 0.03
    assert abs(np.mean(small)) > 0.03


def test_another_panel_estimates_as_its_own_answers_say():
    """λ ~ N(0, I), and a panel knows j about each area: m′ = (jλ + √j z)/(1 + j)."""
    rng, n, j = np.random.default_rng(5), 40, 1.0
    mean = np.sqrt(j / (1 + j)) * rng.standard_normal(n)
    draws = mean + rng.standard_normal((6000, n)) / np.sqrt(1 + j)
    theirs = (j * draws + np.sqrt(j) * rng.standard_normal(draws.shape)) / (1 + j)
    expected = np.mean([np.corrcoef(mean, each)[0, 1] ** 2 for each in theirs])
    assert another_panel(rng, draws, np.eye(n)).mean() == pytest.approx(expected, abs=0.02)


def test_another_panel_with_fewer_draws_than_areas():
    """Estimate and error have equal variances, so that the two panels' r² is about 0.2; 30 draws of 40 areas say so."""
    rng = np.random.default_rng(1)
    estimate = rng.normal(scale=np.sqrt(0.5), size=40)
    draws = estimate + rng.normal(scale=np.sqrt(0.5), size=(4000, 40))
    many, few, four = (float(another_panel(rng, draws[:n], np.eye(40)).mean()) for n in (4000, 30, 4))
    assert few == pytest.approx(many, abs=0.1)
    assert 0 <= four <= 1
    stuck = another_panel(rng, np.tile(estimate, (30, 1)), np.eye(40))
    assert np.isfinite(stuck).all()


def test_a_few_enormous_draws_do_not_decide_what_is_known():
    """One draw in a hundred is a million times as large, as an improper prior of the scale allows: r² is scale-free."""
    rng = np.random.default_rng(2)
    draws = rng.normal(size=50) + rng.normal(size=(1000, 50))
    wild = draws * np.where(rng.random(1000) < 0.01, 1e6, 1.0)[:, None]
    assert squared_correlations(wild).mean() == pytest.approx(squared_correlations(draws).mean(), abs=0.01)
