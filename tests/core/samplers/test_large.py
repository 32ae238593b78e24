"""The engine for large maps, at sizes where the answer is known: integrals, and the samplers for smaller maps.

Limits as in test_spatial_exactness.py: 5 Monte Carlo standard errors.
"""

import numpy as np
import pytest
from calibration import Setting, geweke, geweke_limit
from synthetic import delaunay_map
from test_spatial_exactness import LIMIT, MODELS, largest, moment_errors

from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.large import hmc as large
from judgemap.core.samplers.large.hmc import Curvature, DenseMass, FreeMass, LargeModel, find_centre
from judgemap.core.samplers.large.smoothers import Communicability, Independent
from judgemap.core.samplers.run import Draws, Plan, run, sample, sample_large
from judgemap.core.simulate.trials import simulate_counts

pytestmark = pytest.mark.statistical

PATH = AreaGraph(3, [[0, 1], [1, 2]])
MASSES = {"dense": DenseMass, "free": FreeMass}


def large_model(model: Model, graph: AreaGraph | None = PATH) -> LargeModel:
    """The same model, its covariance never a matrix."""
    smoother = Independent(model.counts.n_areas) if model.covariance.name == "independent" else Communicability(graph)
    return LargeModel(model.counts, smoother, model.variance)


def draw(model: LargeModel, mass: str, draws: int = 100, kicks: int = 2) -> Draws:
    """Many short chains, all of them one batch: at three areas a step of 64 costs little more than a step of one."""
    centre = find_centre(model)
    target, rng = large.LargeTarget(model, MASSES[mass](centre), centre), np.random.default_rng(7)
    starts, kernel = large.draw_starts(rng, target, 64), large.kernel(target, kicks)._replace(width=64)
    return run(rng, kernel, starts, Plan(chains=64, warmup=20, draws=draws))


@pytest.mark.parametrize("name", ["two areas, α² fixed", "three areas, spatial"])
def test_moments_are_exact(name):
    errors = moment_errors(draw(large_model(MODELS[name]), "dense"), MODELS[name])
    assert largest(errors) < LIMIT, errors


def test_moments_are_exact_without_a_factor():
    model = MODELS["three areas, spatial"]
    errors = moment_errors(draw(large_model(model), "free", draws=40), model)
    assert largest(errors) < LIMIT, errors


def double_step(rng, tau, heights, step):
    """Forget that the slice has a level: take a step of any size."""
    return tau + step * rng.uniform(-1, 1, len(tau))


def without_prior(state):
    """Leave the prior of the strengths out of the energy."""
    return np.zeros_like(state.size)


def half_kinetic(self, momentum):
    return np.einsum("ik,ik->k", momentum, momentum) / 4


BUGS = [(large, "slice_line", double_step), (large, "log_prior", without_prior), (DenseMass, "kinetic", half_kinetic)]


@pytest.mark.parametrize(("where", "name", "bug"), BUGS, ids=lambda each: getattr(each, "__name__", each))
def test_planted_bugs_are_caught(monkeypatch, where, name, bug):
    monkeypatch.setattr(where, name, bug)
    model = MODELS["three areas, spatial"]
    assert largest(moment_errors(draw(large_model(model), "dense"), model)) > LIMIT


def test_a_poor_mass_and_rough_kicks_cost_acceptance_and_nothing_else(monkeypatch):
    """Exactness rests on the energies: a wrong curvature, and kicks that are hardly solved for, change nothing."""
    monkeypatch.setattr(Curvature, "at", classmethod(lambda cls, model, tau, at, kappa: cls(model, tau + 1.0, kappa)))
    monkeypatch.setattr(large, "KICK_TOLERANCE", 0.5)
    model = MODELS["three areas, spatial"]
    for mass in MASSES:
        errors = moment_errors(draw(large_model(model), mass, draws=25), model)
        assert largest(errors) < LIMIT, (mass, errors)


def geweke_kernel(mass):
    def build(model):
        bigger = large_model(model, AreaGraph(4, [[0, 1], [1, 2], [2, 3]]))
        centre = find_centre(bigger)
        return large.kernel(large.LargeTarget(bigger, MASSES[mass](centre), centre), 2)

    return build


@pytest.mark.slow  # thousands of centres; the integrals above are the quick sibling
@pytest.mark.parametrize("mass", MASSES)
def test_geweke(mass):
    setting = Setting(communicability(AreaGraph(4, [[0, 1], [1, 2], [2, 3]])), InverseGamma(5, 5), comparisons=12)
    scores = geweke(np.random.default_rng(11), geweke_kernel(mass), setting, chains=40, length=20, reference=4000)
    assert max(map(abs, scores.values())) < geweke_limit(len(scores)), scores


def agreement(one: Draws, other: Draws) -> float:
    """Compare means and deviations of areas and log α²: the root mean square difference, in standard errors."""
    series = [
        np.concatenate([each.centred.astype(float), each["log_variance"][..., None]], axis=2) for each in (one, other)
    ]
    sizes = [ess_bulk(each) for each in series]
    sd = [each.std(axis=(0, 1)) for each in series]
    means = series[0].mean(axis=(0, 1)) - series[1].mean(axis=(0, 1))
    error = np.sqrt(sum(s**2 / size for s, size in zip(sd, sizes, strict=True)))
    squares = (sd[0] - sd[1]) / (error / np.sqrt(2))
    return float(np.sqrt(np.mean(np.concatenate([means / error, squares]) ** 2)))


def study(n_areas: int, comparisons: int) -> tuple[Model, AreaGraph]:
    """Answers to random pairs on a synthetic map, the last part of which is an island, and its last area alone."""
    whole = delaunay_map(n_areas)
    crossing = (whole.edges < n_areas - 5).sum(axis=1) == 1
    graph = AreaGraph(n_areas, whole.edges[~crossing & (whole.edges != n_areas - 1).all(axis=1)])
    covariance, rng = communicability(graph), np.random.default_rng(3)
    counts = simulate_counts(rng, 3 * covariance.draw(rng, 1)[0], comparisons)
    return Model(counts, covariance, InverseGamma()), graph


@pytest.mark.parametrize(
    ("n_areas", "comparisons", "draws"),
    [
        (76, 1500, 150),
        pytest.param(452, 9000, 300, marks=pytest.mark.slow),
        pytest.param(2000, 40_000, 100, marks=pytest.mark.slow),
    ],
)
def test_it_agrees_with_the_sampler_for_smaller_maps(n_areas, comparisons, draws):
    """The root mean square of all z-scores: 1 on average where both are right, and more or less as areas correlate."""
    model, graph = study(n_areas, comparisons)
    assert len(np.unique(graph.components())) > 2
    plan = Plan(chains=16, warmup=30, draws=draws)
    exact = sample(np.random.default_rng(5), model, plan=plan, cores=2)
    drawn = sample_large(np.random.default_rng(6), large_model(model, graph), plan, dense=True, cores=2)
    assert agreement(drawn, exact) < 1.5
    shifted = Draws({**drawn.arrays, "log_variance": drawn["log_variance"], "strengths": 1.05 * drawn.strengths})
    assert agreement(shifted, exact) > 1.5, "strengths that are 5 % too large would be seen"


def test_the_number_of_cores_does_not_matter():
    model, graph = study(120, 1500)
    one, two = (
        sample_large(
            np.random.default_rng(1), large_model(model, graph), Plan(chains=4, draws=5), dense=True, cores=cores
        )
        for cores in (1, 2)
    )
    assert np.array_equal(one.strengths, two.strengths)
    assert one.strengths.dtype == np.float32


def test_areas_that_nobody_compared_have_their_prior():
    """Half of the areas never came up; α² is fixed, so that an island among them is N(0, α²)."""
    graph = AreaGraph(6, [[0, 1], [1, 2], [3, 4]])
    first = simulate_counts(np.random.default_rng(1), np.array([1.0, 0.0, -1.0]), 60)
    counts = type(first)(6, first.first, first.second, first.n, first.wins)
    alone = LargeModel(counts, Communicability(graph), FixedVariance(4.0))
    draws = sample_large(np.random.default_rng(2), alone, Plan(chains=16, draws=300), dense=True)
    island = draws.strengths[:, :, 5].astype(float)
    assert abs(island.mean()) < 5 * 2 / np.sqrt(ess_bulk(island))
    assert abs(island.var() - 4) < 5 * 4 * np.sqrt(2 / ess_bulk(island))


def test_the_factor_is_that_of_the_curvature(monkeypatch):
    """With panels and chunks that do not divide the areas."""
    monkeypatch.setattr(large, "PANEL", 32)
    monkeypatch.setattr(large, "CHUNK", 50)
    model, graph = study(150, 2000)
    centre = find_centre(large_model(model, graph))
    mass, rng = DenseMass(centre), np.random.default_rng(1)
    x = rng.standard_normal((150, 3))
    strengths = mass.strengths(x)
    assert np.allclose((strengths * centre.curvature.times(strengths)).sum(axis=0), (x * x).sum(axis=0), rtol=1e-4)
    assert np.allclose(mass.position(strengths), x, atol=1e-3)
    assert np.allclose(mass.strengths(mass.pull(x)), centre.curvature.solve(x, 1e-10), atol=1e-3)
