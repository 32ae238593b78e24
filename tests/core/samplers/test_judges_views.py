"""The compiled posterior of a panel against its equations, slopes against differences, and moves of judges."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from cluster_exactness import plain
from judges_quadrature import log_chances
from scipy import stats
from scipy.special import expit, logsumexp
from synthetic import delaunay_map, kicking_evenly
from test_judges_pilot import MAP, study

from judgemap.core.model.judges import Parts, Reach
from judgemap.core.model.outcomes import TieRule, Wins
from judgemap.core.samplers.judges import compiled, hmc, layout
from judgemap.core.samplers.judges.target import parameters, roughness

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


def bent(parts, chains=5):
    """Make a target whose coordinates swell, dim and shear."""
    target, _ = hmc.first_coordinates(study(parts, 8))
    at, bend = target.coordinates, np.full(len(target.scales), 0.2)
    known = replace(at.known, scales=at.known.scales._replace(swell=bend, dim=-bend))
    shear = 0.1 * np.random.default_rng(3).standard_normal(at.shear.shape)
    target = replace(target, coordinates=replace(at, known=known, shear=shear))
    if not parts.smoothness:
        return target
    rng = np.random.default_rng(4)
    rough = roughness(MAP, rng.standard_normal(chains), rng.gamma(2.0, size=(chains, MAP.n_areas)))
    return replace(target, factor=rough.factor)


@pytest.fixture
def in_double(monkeypatch):
    """More digits than views are kept with, which nobody else needs: in plain Python, as compiling takes seconds."""
    monkeypatch.setattr(layout, "PRECISION", np.float64)

    def use(changes):
        slowly = plain(compiled, changes)
        for name in ("turn", "parameters", "tell", "travel"):
            monkeypatch.setattr(compiled, name, getattr(slowly, name))

    use({})
    return use


def view_error(target):
    """How far rows are from X(λ + σFVw) written out, with the V of every judge; V is a basis of all that they see."""
    point, rows = parameters(target, target.noise(np.random.default_rng(1), 3)), target.layout
    expected = []
    for k, (_, V) in enumerate(target.coordinates.views.each(rows.n_areas)):
        own, mine = rows.met.rows(k), target.coordinates.views.coordinates(k)
        X = np.eye(rows.n_areas)[rows.first[own]] - np.eye(rows.n_areas)[rows.second[own]]
        design = X @ MAP.factor
        np.testing.assert_allclose(design @ V @ V.T, design, atol=1e-5)
        np.testing.assert_allclose(V.T @ V, np.eye(V.shape[1]), atol=1e-5)
        expected.append(X @ point.shared.strengths + point.shared.sigma * (design @ V @ point.views.w[mine]))
    return np.abs(point.e - np.concatenate(expected)).max()


def test_rows_see_each_judges_own_map():
    assert view_error(bent(PARTS["views"])) < 1e-4


def test_rows_see_each_judges_own_map_to_the_last_digits(in_double):
    assert view_error(bent(PARTS["views"])) < 1e-10
    in_double({"by_view[j, c] = sigma[c] * w": "by_view[j, c] = sigma[c] * sigma[c] * w"})
    assert view_error(bent(PARTS["views"])) > 0.1, "views scaled by their variance"


def log_answers(target, point):
    """The log-likelihood in the usual symbols; what judges may know is added up."""
    rows, parts, judges = target.layout, target.model.parts, target.layout.n_judges
    x, chains = target.named(point.shared.x), point.eta.shape[1]
    p, lapse = expit(x.get("tie_chance", np.full(chains, -np.inf))), target.lapse(point.lapse)[rows.judge]

    def of_rows(eta):
        first, second, tie = log_chances(parts.ties, eta, p)
        if isinstance(rows.answers, Wins):
            return rows.answers.n * first + rows.answers.ties / len(eta) * (tie - first - second)
        first, second = (np.log((1 - lapse) * np.exp(each) + lapse / 2) for each in (first, second))
        value = rows.answers.first * first + rows.answers.second * second
        return value + (rows.answers.ties * (np.log1p(-lapse) + tie) if parts.ties is not None else 0.0)

    if parts.reach is None:
        return of_rows(point.eta).sum(axis=0)
    seen, unseen = of_rows(point.eta), of_rows(point.unseen)
    prior, value = parts.reach.log_prior, 0.0
    for judge in range(judges):
        own = rows.met.rows(judge)
        known = parts.reach.known(*np.unravel_index(np.arange(prior.size), prior.shape))
        both = known[:, rows.first[own]] & known[:, rows.second[own]]
        value = value + logsumexp(prior.ravel()[:, None] + both @ seen[own] + ~both @ unseen[own], axis=0)
    return value


def density_error(parts):
    """How far the density is from answers × priors × the volume of the coordinates."""
    target = bent(PARTS[parts])
    q = target.noise(np.random.default_rng(2), 5)
    point, value = parameters(target, q), 0.0
    for scale in target.scales:
        value = value + scale.log_prior(target.named(point.shared.x)[scale.name])
    for effects in (point.shared.map, point.views, point.side, point.attention):
        value = value + np.log(effects.root).sum(axis=0) - (effects.w**2).sum(axis=0) / 2
    value = value - (point.lapse**2).sum(axis=0) / 2
    if target.factor is not None:
        maps = target.coordinates.V @ point.shared.map.w
        whitened = np.linalg.solve(target.factor, maps.T[:, :, None])[:, :, 0]
        value = value + (point.shared.map.w**2).sum(axis=0) / 2 - (whitened**2).sum(axis=1) / 2
    return np.abs(hmc.look(target, q).log_density - value - log_answers(target, point)).max()


@pytest.mark.parametrize("parts", PARTS)
def test_the_density_is_answers_times_priors_times_volume(parts):
    assert density_error(parts) < 1e-9


BUGS = {
    "volume": ("views", {"density[c] += math.log(effects.root[i, c]) - ": "density[c] -= "}),
    "ties of one-sided rows": ("ties", {"math.log(4 * chance[c])": "math.log(2 * chance[c])"}),
    "Davidson's rule": ("all", {"tie = p[c] * S / total if at.davidson": "tie = p[c] / total if at.davidson"}),
    "lapses": ("lapses", {"looks * won + lapse[k, c] / 2,": "looks * won + lapse[k, c],"}),
    "what is not known": ("reach", {"value + others.value.sum(axis=0)": "value"}),
}


@pytest.mark.parametrize("bug", BUGS)
def test_a_wrong_density_is_caught(bug, in_double):
    parts, changes = BUGS[bug]
    in_double(changes)
    assert density_error(parts) > 1e-2


def test_compiled_trajectories_look_at_every_point(monkeypatch):
    target = bent(PARTS["all but reach"])
    start = hmc.start(np.random.default_rng(1), target, target.noise(np.random.default_rng(2), 5))
    moved = hmc.trajectory(np.random.default_rng(3), target, start, 5)

    def looking(posterior, *given):
        return kicking_evenly(lambda q: hmc.look(SimpleNamespace(posterior=posterior), q))(*given)

    monkeypatch.setattr(hmc, "_travel", looking)
    by_steps = hmc.trajectory(np.random.default_rng(3), target, start, 5)
    assert np.any(moved.q != start.q)
    np.testing.assert_allclose(moved.q, by_steps.q, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(moved.acceptance, by_steps.acceptance, rtol=1e-8)


def slope_error(parts):
    """Return the largest error of a slope in one direction for each section, by two points near each other."""
    target = bent(parts, 1)
    rng, sections = np.random.default_rng(2), [part for part in target.sections.values() if part.start < part.stop]
    q, step, ways = rng.standard_normal((target.size, 1)), 1e-4, np.zeros((target.size, len(sections)))
    for column, part in enumerate(sections):
        ways[part, column] = rng.standard_normal(part.stop - part.start)
    slope = ways.T @ (hmc.look(target, q).residual - q)[:, 0]
    if target.factor is not None:
        target = replace(target, factor=np.repeat(target.factor, len(sections), axis=0))
    up, down = (hmc.look(target, q + side * step * ways).log_density for side in (1, -1))
    return (np.abs((up - down) / (2 * step) - slope) / np.linalg.norm(ways, axis=0)).max()


@pytest.mark.usefixtures("in_double")
@pytest.mark.parametrize("parts", PARTS)
def test_slopes_are_those_of_the_density(parts):
    """Differences of nearby densities need many digits."""
    assert slope_error(PARTS[parts]) < 1e-5


def test_catches_a_slope_that_forgets_how_views_follow_the_map(in_double):
    in_double({"own[i, c] -= by_area[i, c]": "own[i, c] -= 0.0"})
    assert slope_error(PARTS["views"]) > 1e-3


def test_coordinates_shear_until_scales_stand_alone():
    """Slopes of map and views along the scales: a fifth of what they are without the shear, or less."""
    target, _ = hmc.first_coordinates(study(PARTS["views"], 24))
    at = target.coordinates
    known = replace(at.known, scales=at.known.scales._replace(factor=0.3 * np.eye(2)))
    target = replace(target, coordinates=replace(at, known=known))

    def lean(target):
        q, step = target.noise(np.random.default_rng(5), 400), np.zeros((target.size, 1))
        step[-1] = 0.5
        up, down = (hmc.look(target, q + side * step).residual for side in (1, -1))
        return np.linalg.norm((up - down)[:-2].mean(axis=1))

    assert lean(hmc.sheared(np.random.default_rng(1), target)) < lean(target) / 3


def turned_round(chains, always=False):
    """Draw effects from their prior and turn judges round; return the target, scales, and effects before and after."""
    target = bent(PARTS["attention"])
    rng, at = np.random.default_rng(6), target.coordinates
    q = rng.standard_normal((target.size, chains))
    x = target.named(parameters(target, q).shared.x) | {"log_attention": np.full(chains, 1.0)}
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
