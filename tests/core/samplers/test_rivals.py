"""The rival samplers are exact: against quadrature at three areas, and by Geweke's test and calibration at four.

Limits come from Monte Carlo error, Bonferroni over the test functions, with a false-alarm rate of 1e-3 a test; seeds
are fixed. Every kind of test is shown to catch errors that are easily made.
"""

from functools import cache, partial

import numpy as np
import pytest
from calibration import geweke_limit
from scipy import optimize
from scipy.special import digamma, ndtri, polygamma, stdtr

from judgemap.core.model.counts import PairCounts, count_pairs, log_likelihood, score
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability, independent
from judgemap.core.samplers.kernel import Kernel
from judgemap.core.samplers.spatial import rivals
from judgemap.core.samplers.spatial.rivals import (
    block_walk_kernel,
    caron_doucet_kernel,
    estimate,
    quasi_variances,
    single_site_kernel,
    tune_delta,
)
from judgemap.core.simulate.trials import simulate_counts

walk = partial(block_walk_kernel, delta=0.5)
both_samplers = pytest.mark.parametrize("build", [single_site_kernel, walk], ids=["single_site", "block_walk"])

PATH = communicability(AreaGraph(3, [[0, 1], [1, 2]]))
THREE = PairCounts(3, first=[0, 0, 1], second=[1, 2, 2], n=[6, 4, 3], wins=[5, 3, 0])
"""Area 1 beats nobody but area 0, once; area 2 never loses to 1: the likelihood still has a maximum."""

FIXED = FixedVariance(1.5)
INFERRED = InverseGamma(5.0, 5.0)


def grid(low: float, high: float, points: int) -> np.ndarray:
    """Points of a cube, one a column: the trapezoidal rule, which is very exact for smooth densities that fade out."""
    axis = np.linspace(low, high, points)
    return np.stack(np.meshgrid(axis, axis, axis, indexing="ij")).reshape(3, -1)


def weigh(log_density: np.ndarray) -> np.ndarray:
    density = np.exp(log_density - log_density.max())
    return density / density.sum()


def exact_moments(model: Model) -> np.ndarray:
    """First and second moments of the strengths, then of log α², with α² integrated out by hand.

    α² | λ ~ InvGamma(s, t), s = χ + N/2, t = ω + λᵀC⁻¹λ/2: λ has the density t^{−s}, and E log α² = log t − ψ(s).
    """
    strengths = grid(-14.0, 14.0, 141)
    form = np.sum(strengths * (model.covariance.inverse @ strengths), axis=0) / 2
    if isinstance(model.variance, FixedVariance):
        weight = weigh(log_likelihood(model.counts, strengths) - form / model.variance.value)
        return np.r_[strengths @ weight, strengths**2 @ weight]
    shape, scale = model.variance.shape + 3 / 2, model.variance.scale + form
    weight = weigh(log_likelihood(model.counts, strengths) - shape * np.log(scale))
    location = np.log(scale) - digamma(shape)
    second = (location**2 + polygamma(1, shape)) @ weight
    return np.r_[strengths @ weight, strengths**2 @ weight, location @ weight, second]


@cache
def exact_at_three(variance: FixedVariance | InverseGamma) -> np.ndarray:
    """The moments that most tests ask for, integrated once: the cube has millions of points."""
    return exact_moments(Model(THREE, PATH, variance))


def scores(rng: np.random.Generator, kernel: Kernel, exact: np.ndarray) -> np.ndarray:
    """z-scores of the averages of 100 chains, independent of each other, against the exact moments."""
    chains, burn, steps = 100, 60, 120
    state = kernel.init(rng, np.zeros((chains, 3)), np.full(chains, np.log(FIXED.value)))
    _, draws = kernel.advance(rng, kernel.advance(rng, state, burn, burn)[0], steps, 1)
    strengths, log_variance = draws["strengths"], draws["log_variance"][..., None]
    values = np.concatenate([strengths, strengths**2, log_variance, log_variance**2], axis=2)
    mean = values[:, :, : len(exact)].mean(axis=1)
    t = (mean.mean(axis=0) - exact) / (mean.std(axis=0, ddof=1) / np.sqrt(chains))
    return -np.sign(t) * ndtri(stdtr(chains - 1, -np.abs(t)))


def agrees(z: np.ndarray) -> bool:
    return bool(np.all(np.abs(z) < geweke_limit(len(z))))


def flat_proposal(value, location, deviation):
    """Hastings' ratio without the proposal density."""
    return np.zeros_like(value)


def variance_with_n(rng, prior, inverse, strengths):
    """N where N/2 belongs."""
    rate = prior.scale + strengths @ inverse @ strengths / 2
    return float(np.log(rate / rng.standard_gamma(prior.shape + len(strengths))))


def shift_to_prior_margin(rng, model, strengths, log_variance):
    """The paper's translation: the mean from its prior margin, as if it were independent of the contrasts."""
    spread = np.exp(log_variance / 2) * np.sqrt(model.covariance.matrix.sum()) / strengths.shape[1]
    level = spread * rng.standard_normal(len(strengths))
    return strengths - strengths.mean(axis=1, keepdims=True) + level[:, None]


def likelihood_and_prior(covariance, variance, counts, strengths):
    """The prior, which the underrelaxed proposal already keeps, counted a second time."""
    return log_likelihood(counts, strengths) - np.sum(strengths * (covariance.inverse @ strengths), axis=0) / (
        2 * variance
    )


def careless_step(strengths, noise, delta):
    """1 − δ where √(1 − δ²) belongs."""
    return (1 - delta) * strengths + delta * noise


PLANTED = [
    pytest.param(single_site_kernel, FIXED, "log_proposal", flat_proposal, id="flat_proposal"),
    pytest.param(single_site_kernel, INFERRED, "draw_log_variance", variance_with_n, id="single_site_variance"),
    pytest.param(single_site_kernel, FIXED, "shift", shift_to_prior_margin, id="single_site_shift"),
    pytest.param(walk, INFERRED, "draw_log_variance", variance_with_n, id="block_walk_variance"),
    pytest.param(walk, FIXED, "log_likelihood", partial(likelihood_and_prior, PATH, 1.5), id="prior_twice"),
    pytest.param(walk, FIXED, "underrelax", careless_step, id="careless_step"),
]


@pytest.mark.statistical
@both_samplers
@pytest.mark.parametrize(
    "variance", [pytest.param(FIXED, id="fixed", marks=pytest.mark.slow), pytest.param(INFERRED, id="inferred")]
)
def test_moments_agree_with_quadrature(build, variance):
    model = Model(THREE, PATH, variance)
    assert agrees(scores(np.random.default_rng(11), build(model), exact_at_three(variance)))


@pytest.mark.statistical
@pytest.mark.parametrize(("build", "variance", "name", "bug"), PLANTED)
def test_quadrature_catches(monkeypatch, build, variance, name, bug):
    model = Model(THREE, PATH, variance)
    monkeypatch.setattr(rivals, name, bug)
    assert not agrees(scores(np.random.default_rng(12), build(model), exact_at_three(variance)))


@pytest.mark.statistical
def test_single_site_is_exact_where_the_likelihood_has_no_maximum():
    unbeaten = count_pairs([0, 0, 0, 0], [1, 1, 1, 1], n_areas=3)
    model = Model(unbeaten, PATH, FIXED)
    assert agrees(scores(np.random.default_rng(13), single_site_kernel(model), exact_moments(model)))


@cache
def gamma_moments(counts: PairCounts, shape: float, rate: float) -> np.ndarray:
    """First and second moments of log w under independent Gamma(shape, rate) priors of w."""
    strengths = grid(-16.0, 4.0, 161)
    prior = np.sum(shape * strengths - rate * np.exp(strengths), axis=0)
    weight = weigh(log_likelihood(counts, strengths) + prior)
    return np.r_[strengths @ weight, strengths**2 @ weight]


def rescale_without_rate(rng, log_w, shape, rate):
    total = np.log(rng.standard_gamma(log_w.shape[1] * shape, len(log_w)))
    return log_w + (total - np.logaddexp.reduce(log_w, axis=1))[:, None]


def careless_gamma(rng, shape):
    """Gamma(a + 1) where Gamma(a) belongs."""
    return np.log(rng.standard_gamma(shape + 1))


@pytest.mark.statistical
def test_caron_doucet_agrees_with_quadrature_under_its_own_prior():
    kernel = caron_doucet_kernel(THREE, shape=2.0, rate=1.7)
    assert agrees(scores(np.random.default_rng(14), kernel, gamma_moments(THREE, 2.0, 1.7)))


@pytest.mark.statistical
@pytest.mark.parametrize(("name", "bug"), [("rescale", rescale_without_rate), ("log_gamma", careless_gamma)])
def test_quadrature_catches_in_caron_doucet(monkeypatch, name, bug):
    monkeypatch.setattr(rivals, name, bug)
    kernel = caron_doucet_kernel(THREE, shape=2.0, rate=1.7)
    assert not agrees(scores(np.random.default_rng(16), kernel, gamma_moments(THREE, 2.0, 1.7)))


def test_the_estimate_is_the_maximum():
    counts = simulate_counts(np.random.default_rng(1), np.linspace(-1, 1, 6), size=300)
    strengths, q = estimate(counts)
    assert np.allclose(score(counts, strengths), 0, atol=1e-6)
    assert abs(strengths.mean()) < 1e-12
    assert np.all(q > 0)


@pytest.mark.parametrize(
    "counts",
    [
        pytest.param(count_pairs([0, 1], [1, 0], n_areas=3), id="an_area_without_comparisons"),
        pytest.param(count_pairs([0, 0, 1, 2], [1, 2, 2, 1], n_areas=3), id="an_area_never_beaten"),
        pytest.param(count_pairs([0, 1, 2, 3], [1, 0, 3, 2], n_areas=4), id="two_parts"),
        pytest.param(count_pairs([0, 1, 1, 2], [1, 0, 2, 1], n_areas=3), id="a_chain"),
        pytest.param(count_pairs([], [], n_areas=3), id="nothing"),
    ],
)
def test_an_estimate_exists_whatever_the_comparisons(counts):
    strengths, q = estimate(counts)
    assert np.all(np.isfinite(strengths))
    assert np.all((q > 1e-3) & (q < 100))


def test_quasi_variances_minimise_the_log_ratio_errors():
    root = np.random.default_rng(2).standard_normal((5, 8))
    covariance = root @ root.T
    contrasts = np.add.outer(np.diag(covariance), np.diag(covariance)) - 2 * covariance
    i, j = np.triu_indices(5, 1)

    def errors(log_q):
        return np.log(np.exp(log_q[i]) + np.exp(log_q[j])) - np.log(contrasts[i, j])

    best = optimize.least_squares(errors, np.zeros(5), xtol=1e-12, ftol=1e-12, gtol=1e-12)
    assert np.sum(errors(np.log(quasi_variances(contrasts))) ** 2) == pytest.approx(2 * best.cost, rel=1e-6)


def test_the_same_seed_gives_the_same_draws_and_leaves_the_state_alone():
    model = Model(THREE, PATH, INFERRED)
    for kernel in (single_site_kernel(model), block_walk_kernel(model), caron_doucet_kernel(THREE)):
        state = kernel.init(np.random.default_rng(4), np.ones((2, 3)), np.zeros(2))
        draws = [kernel.advance(np.random.default_rng(5), state, 3, 1)[1]["strengths"] for _ in range(2)]
        assert np.array_equal(*draws)


def test_tuning_brings_the_acceptance_near_its_goal():
    rng = np.random.default_rng(6)
    truth = rng.standard_normal(10)
    model = Model(simulate_counts(rng, truth, size=500), independent(10), FixedVariance(1.0))
    starts = truth[None, :], np.zeros(1)
    kernel = block_walk_kernel(model, tune_delta(rng, model, starts))
    _, draws = kernel.advance(rng, kernel.init(rng, *starts), 1000, 1)
    assert 0.15 < draws["acceptance"].mean() < 0.33


def test_gamma_draws_do_not_underflow_at_small_shapes():
    draws = rivals.log_gamma(np.random.default_rng(7), np.full(1000, 1e-3))
    assert np.all(np.isfinite(draws))
    assert draws.min() < np.log(np.finfo(float).tiny)


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: block_walk_kernel(Model(THREE, PATH, FIXED), 1.5), "delta must lie in"),
        (lambda: caron_doucet_kernel(THREE, shape=0.0), "shape a"),
        (lambda: caron_doucet_kernel(THREE, rate=np.inf), "rate b"),
        (lambda: estimate(count_pairs([], [], n_areas=1)), "two areas"),
    ],
)
def test_what_cannot_be_is_refused(build, sentence):
    with pytest.raises(ValueError, match=sentence):
        build()
