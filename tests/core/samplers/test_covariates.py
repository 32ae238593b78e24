"""Covariates: λ = Zβ + u as one normal prior, and β given λ, against the joint model written out."""

import numpy as np
import pytest
from calibration import Setting, advance, uniformity
from numpy.testing import assert_allclose
from scipy.stats import norm

from judgemap.core.model.counts import count_pairs
from judgemap.core.model.covariates import carried, draw_effects, standardised, with_covariates
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability, independent
from judgemap.core.samplers import gibbs
from judgemap.core.samplers.run import Plan, sample

G = 1.7


@pytest.fixture(scope="module")
def rest():
    return communicability(AreaGraph(5, [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]]))


@pytest.fixture(scope="module")
def covariates():
    return standardised(np.random.default_rng(3).normal(size=(5, 2)) ** 2)


def test_the_prior_is_that_of_the_sum(rest, covariates):
    both = with_covariates(rest, covariates, G)
    assert_allclose(both.matrix, rest.matrix + G * covariates @ covariates.T)
    assert_allclose(both.factor @ both.factor.T, both.matrix)
    assert_allclose(both.inverse @ both.matrix, np.eye(5), atol=1e-10)
    assert (both.name, both.length) == (rest.name, rest.length)


class Still(np.random.Generator):
    """Gives no noise, so that draws are means; and then one column of the identity, so that they show a factor."""

    def __init__(self, column: int | None = None) -> None:
        super().__init__(np.random.PCG64(1))
        self.column = column

    def standard_normal(self, shape):
        noise = np.zeros(shape)
        if self.column is not None:
            noise[self.column] = 1
        return noise


def test_effects_have_the_conditional_distribution_of_the_joint_normal(rest, covariates):
    """(β, λ) is normal with covariance α² [[gI, gZᵀ], [gZ, C + gZZᵀ]]: condition it by the textbook."""
    strengths, variance = np.array([[0.3, -1.2, 0.8, 2.0, -0.5]]), np.array([2.5])
    total = rest.matrix + G * covariates @ covariates.T
    gain = G * covariates.T @ np.linalg.inv(total)
    mean = draw_effects(Still(), rest, covariates, strengths, variance, G)
    assert_allclose(mean[0], gain @ strengths[0])
    factor = np.stack(
        [draw_effects(Still(column), rest, covariates, strengths, variance, G)[0] - mean[0] for column in range(2)],
        axis=1,
    )
    assert_allclose(factor @ factor.T, 2.5 * (G * np.eye(2) - gain @ (G * covariates)))


def test_effects_given_answers_by_quadrature():
    """Two areas, one covariate: E(β | y) and its variance by integrating β and u₁ − u₂ on a grid."""
    counts, alpha = count_pairs([0, 0, 0, 1], [1, 1, 1, 0], n_areas=2), 1.3
    both, rest = np.array([[1.0], [-1.0]]), independent(2)
    grid = np.linspace(-12, 12, 801)
    beta, own = np.meshgrid(grid, grid, indexing="ij")
    d = 2 * beta + own
    weight = norm.pdf(beta, scale=alpha * np.sqrt(G)) * norm.pdf(own, scale=alpha * np.sqrt(2))
    weight *= (1 / (1 + np.exp(-d))) ** 3 / (1 + np.exp(d))
    mean = (weight * beta).sum() / weight.sum()
    sd = np.sqrt((weight * (beta - mean) ** 2).sum() / weight.sum())
    model = Model(counts, with_covariates(rest, both, G), FixedVariance(alpha**2))
    rng = np.random.default_rng(1)
    draws = sample(rng, model, "hmc", Plan(chains=8, warmup=200, draws=2000))
    strengths = draws.strengths.reshape(-1, 2)
    found = draw_effects(rng, rest, both, strengths, np.full(len(strengths), alpha**2), G).ravel()
    # 16,000 draws worth at least 4,000: both within 4 standard errors, a false alarm once in 10,000 runs.
    assert abs(found.mean() - mean) < 4 * sd / np.sqrt(4000)
    assert abs(found.std() / sd - 1) < 4 / np.sqrt(2 * 4000)


def calibrated(rest, covariates, *, wrong: bool = False, replicates: int = 400, draws: int = 31) -> float:
    """Simulation-based calibration of β: the p-value that the truth looks like one more draw of its posterior."""
    setting = Setting(with_covariates(rest, covariates, G), InverseGamma(5, 5), comparisons=120)
    rng, found = np.random.default_rng(7), []
    for _ in range(replicates):
        variance = 5 / rng.standard_gamma(5)
        beta = np.sqrt(G * variance) * rng.standard_normal(2)
        strengths = covariates @ beta + np.sqrt(variance) * rest.draw(rng, 1)[0]
        kernel = gibbs.kernel(setting.model(setting.data(rng, (strengths, 0.0))))
        drawn, log_variance = advance(rng, kernel, setting.draw_prior(rng, draws), steps=60)
        noise = np.zeros(draws) if wrong else np.exp(log_variance)
        found.append(int((draw_effects(rng, rest, covariates, drawn, noise, G)[:, 0] < beta[0]).sum()))
    return uniformity(np.array(found), draws)


@pytest.mark.slow  # the closed form above is the quick sibling
@pytest.mark.statistical
def test_effects_are_calibrated(covariates):
    assert calibrated(independent(5), covariates) > 1e-3


@pytest.mark.slow  # the closed form above is the quick sibling
@pytest.mark.statistical
def test_calibration_finds_effects_without_their_own_noise(covariates):
    assert calibrated(independent(5), covariates, wrong=True) < 1e-3


def test_the_share_that_covariates_carry(covariates):
    effects = np.array([[2.0, -1.0], [0.0, 0.0]])
    strengths = np.array([2 * covariates[:, 0] - covariates[:, 1], np.arange(5.0)])
    assert_allclose(carried(covariates, effects, strengths), [1, 0], atol=1e-12)


def test_a_constant_is_no_covariate():
    with pytest.raises(ValueError, match="not the same for all"):
        standardised(np.ones((4, 1)))
