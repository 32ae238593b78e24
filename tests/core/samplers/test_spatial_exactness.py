"""Both samplers against brute-force integration, and the planted bugs that this catches.

Limits: 5 Monte Carlo standard errors for each of up to 8 moments, false alarm below 1e-5 a test.
"""

import numpy as np
import pytest
from quadrature import exact_moments

from judgemap.core.model.counts import count_pairs, differences, log_likelihood
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, HalfNormal, InverseGamma, Model, communicability, independent
from judgemap.core.samplers import gibbs, polyagamma
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.run import SAMPLERS, Draws, Plan, sample
from judgemap.core.samplers.spatial import hmc

pytestmark = pytest.mark.statistical

LIMIT = 5.0
LONG = {"hmc": Plan(chains=32, warmup=50, draws=500), "gibbs": Plan(chains=4, warmup=50, draws=4000)}
SHORT = {"hmc": Plan(chains=32, warmup=50, draws=125), "gibbs": Plan(chains=4, warmup=50, draws=1000)}
"""As many draws of each; 32 chains of the first are one batch, and cost no more than one. The short runs find every
planted bug below: each is half as far off again as the limit, or further."""


def two_areas(variance=InverseGamma(3, 3)):  # noqa: B008 - a frozen value
    return Model(count_pairs([0] * 6 + [1] * 2, [1] * 6 + [0] * 2, n_areas=2), independent(2), variance)


def three_areas(variance=InverseGamma(3, 3)):  # noqa: B008
    winners, losers = [0, 0, 0, 1, 1, 2, 0, 1], [1, 1, 2, 2, 2, 1, 2, 0]
    return Model(count_pairs(winners, losers, n_areas=3), communicability(AreaGraph(3, [[0, 1], [1, 2]])), variance)


MODELS = {
    "two areas": two_areas(),
    "two areas, α² fixed": two_areas(FixedVariance(2.0)),
    "two areas, α half-normal": two_areas(HalfNormal(1.5)),
    "three areas, spatial": three_areas(),
    "three areas, α² fixed": three_areas(FixedVariance(1.5)),
}


def moment_errors(draws: Draws, model: Model) -> dict[str, float]:
    """Difference of each moment from the exact one, in Monte Carlo standard errors."""
    exact = exact_moments(model)
    series = {f"strength_{i}": draws.centred[:, :, i] for i in range(model.counts.n_areas)}
    if not isinstance(model.variance, FixedVariance):
        series["log α²"] = draws["log_variance"]
    errors = {}
    for name, x in series.items():
        errors[name] = (x.mean() - exact[name]) / (x.std() / np.sqrt(ess_bulk(x)))
        square = (x - exact[name]) ** 2
        errors[f"{name} sd"] = (square.mean() - exact[f"{name} sd"] ** 2) / (square.std() / np.sqrt(ess_bulk(square)))
    return errors


def largest(errors: dict[str, float]) -> float:
    return max(abs(error) for error in errors.values())


@pytest.mark.parametrize("plans", [SHORT, pytest.param(LONG, marks=pytest.mark.slow)], ids=["short", "long"])
@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("name", MODELS)
def test_moments_are_exact(sampler, name, plans):
    draws = sample(np.random.default_rng(7), MODELS[name], sampler, plans[sampler])
    errors = moment_errors(draws, MODELS[name])
    assert largest(errors) < LIMIT, errors


def centred_variance(rng, prior, inverse, strengths):
    """Feed centred strengths to the update of α², as an R package does."""
    centred = strengths - strengths.mean()
    rate = prior.scale + centred @ inverse @ centred / 2
    return float(np.log(rate) - np.log(rng.standard_gamma(prior.shape + len(centred) / 2)))


def full_variance(rng, prior, inverse, strengths):
    """N where N/2 belongs."""
    rate = prior.scale + strengths @ inverse @ strengths / 2
    return float(np.log(rate) - np.log(rng.standard_gamma(prior.shape + len(strengths))))


def doubled_tilt(rng, n, d, right=polyagamma.draw_polyagamma):
    """PG(n, 2d) in place of PG(n, d)."""
    return right(rng, n, 2 * d)


@pytest.mark.parametrize(
    ("place", "attribute", "bug"),
    [
        (gibbs, "draw_log_variance", centred_variance),
        (gibbs, "draw_log_variance", full_variance),
        (polyagamma, "draw_polyagamma", doubled_tilt),
    ],
)
def test_planted_bugs_in_gibbs_are_caught(monkeypatch, place, attribute, bug):
    monkeypatch.setattr(place, attribute, bug)
    draws = sample(np.random.default_rng(7), MODELS["three areas, spatial"], "gibbs", SHORT["gibbs"])
    assert largest(moment_errors(draws, MODELS["three areas, spatial"])) > LIMIT


def without_volume(density):
    """Forget the Jacobian of the coordinates."""

    def bug(target, point):
        tau = target.laplace.log_variance_mean + target.laplace.log_variance_sd * point.q[-1]
        return density(target, point) + np.log(target.laplace.g[:, None] + np.exp(-tau)).sum(axis=0) / 2

    return bug


def without_prior_shape(density):
    """Forget χ."""

    def bug(target, point):
        tau = target.laplace.log_variance_mean + target.laplace.log_variance_sd * point.q[-1]
        return density(target, point) + target.model.variance.shape * tau

    return bug


def ties_counted_twice(density):
    """Count every pair as if it had been compared once more, without a winner."""

    def bug(target, point):
        d = differences(target.model.counts, target.laplace.V @ point.w)
        return density(target, point) - np.log(2 * np.cosh(d / 2)).sum(axis=0)

    return bug


@pytest.mark.parametrize("bug", [without_volume, without_prior_shape, ties_counted_twice])
def test_planted_bugs_in_hmc_are_caught(monkeypatch, bug):
    monkeypatch.setattr(hmc, "log_density", bug(hmc.log_density))
    draws = sample(np.random.default_rng(7), MODELS["three areas, spatial"], "hmc", SHORT["hmc"])
    assert largest(moment_errors(draws, MODELS["three areas, spatial"])) > LIMIT


def test_a_half_normal_prior_of_the_wrong_quantity_is_caught(monkeypatch):
    """e^{−α²/(2s²)} taken for the density of α² and not of α: its Jacobian forgotten."""
    name, right = "two areas, α half-normal", HalfNormal.terms
    monkeypatch.setattr(HalfNormal, "terms", property(lambda prior: right.fget(prior)._replace(power=1.0)))
    draws = sample(np.random.default_rng(7), MODELS[name], "hmc", SHORT["hmc"])
    assert largest(moment_errors(draws, MODELS[name])) > LIMIT


def test_hmc_gradient_is_that_of_its_density():
    """A wrong gradient would still be exact, by the Metropolis step, but slow, so it has its own test."""
    for model in MODELS.values():
        target = hmc.build_target(model)
        q = np.random.default_rng(1).normal(size=(model.counts.n_areas + 1, 3))
        slope = hmc.evaluate(target, q).residual - q
        step = 1e-5
        for row in range(len(q)):
            up, down = q.copy(), q.copy()
            up[row] += step
            down[row] -= step
            rise = hmc.log_density(target, hmc.evaluate(target, up)) - hmc.log_density(
                target, hmc.evaluate(target, down)
            )
            np.testing.assert_allclose(rise / (2 * step), slope[row], atol=1e-6)


def test_hmc_density_is_likelihood_times_prior():
    """The density in the coordinates q equals that in (λ, τ) times the Jacobian, up to one constant."""
    model = MODELS["three areas, spatial"]
    target = hmc.build_target(model)
    rng = np.random.default_rng(2)
    q = rng.normal(size=(4, 6))
    point = hmc.evaluate(target, q)
    strengths, tau, *_ = hmc.read(target, hmc.start(target, q)).values()
    inverse = model.covariance.inverse
    direct = (
        log_likelihood(model.counts, strengths.T)
        - np.einsum("ki,ij,kj->k", strengths, inverse, strengths) * np.exp(-tau) / 2
        - 3 * tau / 2
        - model.variance.shape * tau
        - model.variance.scale * np.exp(-tau)
        - np.log(target.laplace.g[:, None] + np.exp(-tau)).sum(axis=0) / 2
    )
    difference = hmc.log_density(target, point) - direct
    np.testing.assert_allclose(difference, difference[0], atol=1e-9)


def test_hmc_coordinates_and_back():
    target = hmc.build_target(MODELS["three areas, spatial"])
    rng = np.random.default_rng(3)
    strengths, log_variance = rng.normal(size=(5, 3)), rng.normal(size=5)
    back = hmc.read(target, hmc.start(target, hmc.to_coordinates(target, strengths, log_variance)))
    np.testing.assert_allclose(back["strengths"], strengths, atol=1e-10)
    np.testing.assert_allclose(back["log_variance"], log_variance, atol=1e-12)
