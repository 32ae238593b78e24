"""The compiled passes over the judges' views against the same in NumPy, and slopes against differences."""

from dataclasses import replace

import numpy as np
import pytest
from cluster_exactness import plain
from scipy import stats
from synthetic import delaunay_map
from test_judges_pilot import MAP, study

from judgemap.core.model.judges import Parts, Reach
from judgemap.core.model.outcomes import TieRule
from judgemap.core.samplers.judges import compiled, hmc, layout
from judgemap.core.samplers.judges.target import gradient, log_density, parameters, roughness

REACH = Reach.on(delaunay_map(12))
PARTS = {
    "alike": Parts(),
    "ties": Parts(TieRule.RAO_KUPPER),
    "views": Parts(disagreement=MAP),
    "views and ties": Parts(TieRule.RAO_KUPPER, disagreement=MAP),
    "side": Parts(TieRule.RAO_KUPPER, side=True),
    "attention": Parts(disagreement=MAP, attention=True),
    "lapses": Parts(lapses=True),
    "smoothness": Parts(smoothness=True),
    "all but reach": Parts(TieRule.RAO_KUPPER, True, MAP, True, True, True),
    "reach": Parts(TieRule.RAO_KUPPER, reach=REACH),
    "all": Parts(TieRule.DAVIDSON, False, MAP, True, True, True, REACH),
}
PLAIN = [name for name in PARTS if name not in ("all", "reach")]


def bent(parts, chains=5):
    """Make a target whose coordinates swell, dim and shear."""
    target, _ = hmc.first_coordinates(study(parts, 8))
    at, bend = target.coordinates, np.full(len(target.scales), 0.2)
    shear = 0.1 * np.random.default_rng(3).standard_normal(at.shear.shape)
    target = replace(target, coordinates=replace(at, swell=bend, dim=-bend, shear=shear))
    if not parts.smoothness:
        return target
    rng = np.random.default_rng(4)
    rough = roughness(MAP, rng.standard_normal(chains), rng.gamma(2.0, size=(chains, MAP.n_areas)))
    return replace(target, factor=rough.factor)


@pytest.fixture
def in_double(monkeypatch):
    """More digits than views are kept with, which nobody else needs: in plain Python, as compiling takes seconds."""
    monkeypatch.setattr(layout, "PRECISION", np.float64)
    slowly = plain(compiled, {})
    for name in ("turn", "see", "pull"):
        monkeypatch.setattr(compiled, name, getattr(slowly, name))


@pytest.mark.parametrize("precision", [np.float64, np.float32])
def test_rows_see_each_judges_own_map(request, precision):
    """X(λ + σFVw) written out, with the V of every judge; and V is a basis of all that a judge's rows can see."""
    if precision is np.float64:
        request.getfixturevalue("in_double")
    target = bent(PARTS["views"])
    point, rows = parameters(target, target.noise(np.random.default_rng(1), 3)), target.layout
    expected = []
    for k, (_, V) in enumerate(target.coordinates.views.each(rows.n_areas)):
        assert V.dtype == precision
        own, mine = rows.met.rows(k), target.coordinates.views.coordinates(k)
        X = np.eye(rows.n_areas)[rows.first[own]] - np.eye(rows.n_areas)[rows.second[own]]
        design = X @ MAP.factor
        np.testing.assert_allclose(design @ V @ V.T, design, atol=1e-5)
        np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-5)
        expected.append(X @ point.strengths + point.sigma * (design @ V @ point.views.w[mine]))
    np.testing.assert_allclose(point.e, np.concatenate(expected), atol=1e-10 if precision == np.float64 else 1e-4)


@pytest.mark.parametrize("parts", PLAIN)
def test_one_compiled_look_is_the_slope_and_the_density(parts):
    target = bent(PARTS[parts])
    q = target.noise(np.random.default_rng(2), 5)
    point, seen = parameters(target, q), hmc.look(target, q)
    np.testing.assert_allclose(seen.residual, gradient(target, q, point) + q, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(seen.log_density, log_density(target, point), rtol=1e-12)


def test_a_compiled_trajectory_is_that_of_numpy(monkeypatch):
    target = bent(PARTS["all but reach"])
    start = hmc.start(np.random.default_rng(1), target, target.noise(np.random.default_rng(2), 5))
    moved = hmc.trajectory(np.random.default_rng(3), target, start, 5)
    monkeypatch.setitem(target.__dict__, "plain", None)
    in_numpy = hmc.trajectory(np.random.default_rng(3), target, start, 5)
    assert np.any(moved.q != start.q)
    np.testing.assert_allclose(moved.q, in_numpy.q, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(moved.acceptance, in_numpy.acceptance, rtol=1e-8)


def test_only_what_is_plain_is_compiled():
    assert bent(PARTS["reach"]).plain is None
    davidson = replace(PARTS["all"], side=None, attention=None, lapses=None, reach=None)
    assert bent(davidson).plain is None


def slope_error(parts):
    """Return the largest error of a slope, compared with the difference between two points near each other."""
    target = bent(parts, 1)
    rng = np.random.default_rng(2)
    q, step = rng.standard_normal((target.size, 1)), 1e-4
    slope = gradient(target, q, parameters(target, q))[:, 0]
    apart = np.eye(target.size) * step
    if target.factor is not None:
        target = replace(target, factor=np.repeat(target.factor, target.size, axis=0))
    up, down = (log_density(target, parameters(target, q + side * apart)) for side in (1, -1))
    return np.abs((up - down) / (2 * step) - slope).max() / np.abs(slope).max()


@pytest.mark.usefixtures("in_double")
@pytest.mark.parametrize("parts", PARTS)
def test_slopes_are_those_of_the_density(parts):
    """Differences of nearby densities need many digits."""
    assert slope_error(PARTS[parts]) < 1e-5


@pytest.mark.usefixtures("in_double")
def test_catches_a_slope_that_forgets_how_views_follow_the_map(monkeypatch):
    right = compiled.pull

    def forgetful(met, views, M, *others):
        return right(met, views, np.zeros_like(M), *others)

    monkeypatch.setattr(compiled, "pull", forgetful)
    assert slope_error(PARTS["views"]) > 1e-3


def test_coordinates_shear_until_scales_stand_alone():
    """Slopes of map and views along the scales: a fifth of what they are without the shear, or less."""
    target, _ = hmc.first_coordinates(study(PARTS["views"], 24))
    target = replace(target, coordinates=replace(target.coordinates, scale_factor=0.3 * np.eye(2)))

    def lean(target):
        q, step = target.noise(np.random.default_rng(5), 400), np.zeros((target.size, 1))
        step[-1] = 0.5
        up, down = (hmc.look(target, q + side * step, height=False).residual for side in (1, -1))
        return np.linalg.norm((up - down)[:-2].mean(axis=1))

    assert lean(hmc.sheared(np.random.default_rng(1), target)) < lean(target) / 3


def turned_round(chains, always=False):
    """Draw effects from their prior and turn judges round; return the target, scales, and effects before and after."""
    target = bent(PARTS["attention"])
    rng, at = np.random.default_rng(6), target.coordinates
    q = rng.standard_normal((target.size, chains))
    x = dict(parameters(target, q).x) | {"log_attention": np.full(chains, 1.0)}
    sizes = {"log_variance": MAP.n_areas, "log_disagreement": at.views.size, "log_attention": target.layout.n_judges}
    before = {name: rng.standard_normal((size, chains)) for name, size in sizes.items()}
    after = dict(before)
    chance = Certain() if always else rng
    hmc.turn_round(chance, target, at.V @ (np.exp(x["log_variance"] / 2) * before["log_variance"]), x, after)
    return target, q, x, before, after


class Certain:
    """Chances that accept whatever is proposed."""

    def random(self, shape):
        return np.zeros(shape) + 1e-300


def test_judges_who_turn_round_answer_as_they_did():
    target, q, x, before, after = turned_round(5, always=True)
    told = [parameters(target, hmc._back(target, q, x, w)).eta for w in (before, after)]
    assert (before["log_attention"] != after["log_attention"]).all()
    np.testing.assert_allclose(told[1], told[0], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("always", [False, True], ids=["by chance", "always, which is a bug"])
def test_turning_round_leaves_the_prior_as_it_is(always):
    """Kolmogorov and Smirnov's test of attention, and that of the first coordinate of every view: 1 in 1,000 each."""
    *_, before, after = turned_round(2000, always)
    assert (before["log_attention"] != after["log_attention"]).any()
    found = [stats.kstest(after[name].ravel(), "norm").pvalue for name in ("log_attention", "log_disagreement")]
    assert bool(min(found) < 1e-3) is always
