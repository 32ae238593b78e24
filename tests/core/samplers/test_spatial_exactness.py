"""Both samplers against brute-force integration, and the planted bugs that this catches.

Limits: 5 Monte Carlo standard errors for each of up to 8 moments, false alarm below 1e-5 a test.
"""

import numpy as np
import pytest
from cluster_exactness import plain
from quadrature import exact_moments, log_prior_of_variance

from judgemap.core.model.counts import count_pairs, log_likelihood
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, HalfNormal, InverseGamma, Model, communicability, independent
from judgemap.core.samplers import gibbs, polyagamma
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.run import SAMPLERS, Draws, Plan, sample
from judgemap.core.samplers.spatial import compiled, hmc

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


def without_prior_shape(posterior):
    """Forget χ."""
    return posterior._replace(prior=posterior.prior._replace(power=0.0))


def ties_counted_twice(posterior):
    """Count every pair as if it had been compared once more, without a winner."""
    return posterior._replace(rows=posterior.rows._replace(half=posterior.rows.half + 0.5))


@pytest.mark.parametrize("bug", [without_prior_shape, ties_counted_twice])
def test_planted_bugs_in_hmc_are_caught(monkeypatch, bug):
    right = compiled.build_posterior
    monkeypatch.setattr(compiled, "build_posterior", lambda model, laplace: bug(right(model, laplace)))
    draws = sample(np.random.default_rng(7), MODELS["three areas, spatial"], "hmc", SHORT["hmc"])
    assert largest(moment_errors(draws, MODELS["three areas, spatial"])) > LIMIT


def test_a_half_normal_prior_of_the_wrong_quantity_is_caught(monkeypatch):
    """e^{−α²/(2s²)} taken for the density of α² and not of α: its Jacobian forgotten."""
    name, right = "two areas, α half-normal", HalfNormal.terms
    monkeypatch.setattr(HalfNormal, "terms", property(lambda prior: right.fget(prior)._replace(power=1.0)))
    draws = sample(np.random.default_rng(7), MODELS[name], "hmc", SHORT["hmc"])
    assert largest(moment_errors(draws, MODELS[name])) > LIMIT


@pytest.mark.parametrize("name", MODELS)
def test_hmc_gradient_is_that_of_its_density(name):
    """A wrong gradient would still be exact, by the Metropolis step, but slow, so it has its own test."""
    posterior = hmc.build_target(MODELS[name]).posterior
    q, step = np.random.default_rng(1).normal(size=(len(posterior.g) + 1, 3)), 1e-5
    slope = compiled.look(posterior, q).residual - q
    for row, away in enumerate(step * np.eye(len(q))):
        up, down = (compiled.look(posterior, q + side * away[:, None]).log_density for side in (1, -1))
        np.testing.assert_allclose((up - down) / (2 * step), slope[row], atol=1e-6)


def density_error(name, look=compiled.look):
    """How far the density in the coordinates q is from that in (λ, τ) times the Jacobian, up to one constant."""
    model, target = MODELS[name], hmc.build_target(MODELS[name])
    state = look(target.posterior, np.random.default_rng(2).normal(size=(model.counts.n_areas + 1, 6)))
    strengths, tau, *_ = hmc.read(target, state).values()
    fixed = isinstance(model.variance, FixedVariance)
    direct = (
        log_likelihood(model.counts, strengths.T)
        - np.einsum("ki,ij,kj->k", strengths, model.covariance.inverse, strengths) * np.exp(-tau) / 2
        - model.counts.n_areas * tau / 2
        + (-(state.q[-1] ** 2) / 2 if fixed else log_prior_of_variance(model.variance, tau))
        - np.log(target.laplace.g[:, None] + np.exp(-tau)).sum(axis=0) / 2
    )
    return np.ptp(state.log_density - direct)


@pytest.mark.parametrize("name", MODELS)
def test_hmc_density_is_likelihood_times_prior(name):
    assert density_error(name) < 1e-9


BUGS = {
    "the volume": {" + logs[k]) / 2": ") / 2"},
    "the prior": {" else fall\n": " else 0.0\n"},
    "that α² is fixed": {"v[k] * v[k] / 2 if": "0.0 if"},
}


@pytest.mark.parametrize("forgotten", BUGS)
def test_a_density_that_forgets_something_is_caught(forgotten):
    look = plain(compiled, BUGS[forgotten]).look
    assert max(density_error(name, look) for name in MODELS) > 1e-3


def test_hmc_coordinates_and_back():
    target = hmc.build_target(MODELS["three areas, spatial"])
    rng = np.random.default_rng(3)
    strengths, log_variance = rng.normal(size=(5, 3)), rng.normal(size=5)
    back = hmc.read(target, compiled.look(target.posterior, hmc.to_coordinates(target, strengths, log_variance)))
    np.testing.assert_allclose(back["strengths"], strengths, atol=1e-10)
    np.testing.assert_allclose(back["log_variance"], log_variance, atol=1e-12)
