"""How smooth the map is, and which areas stand out: the updates given the map against brute force, and hot spots."""

import numpy as np
import pytest
from cluster_exactness import plain
from scipy import stats
from scipy.special import expit
from synthetic import delaunay_map, draw_local

from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import PanelModel, Parts
from judgemap.core.model.prior import InverseGamma, communicability
from judgemap.core.samplers.judges import compiled
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.judges.target import redraw, roughness
from judgemap.core.samplers.run import Plan
from judgemap.core.simulate.misbehaviour import Setting, hot_spots

pytestmark = pytest.mark.statistical

PATH = communicability(AreaGraph(3, [[0, 1], [1, 2]]))
RNG = np.random.default_rng


def test_the_precision_is_the_inverse_of_the_covariance():
    local = np.array([[0.3, 1.0, 7.0], [2.0, 2.0, 2.0]])
    found = roughness(PATH, np.array([-1.0, 2.0]), local)
    both = [
        np.linalg.inv(rho * PATH.matrix + (1 - rho) * np.diag(psi)) for rho, psi in zip(found.rho, local, strict=True)
    ]
    assert np.allclose(found.precision, np.mean(both, axis=0))


def test_an_areas_own_part_has_students_distribution():
    local = draw_local(RNG(1), 20_000)
    own = np.sqrt(2 * local) * RNG(2).standard_normal(20_000)
    assert stats.kstest(own, stats.t(4).cdf).pvalue > 1e-3


def joint_ranks(seed, chains=500, steps=4):
    """Draw ρ, ψ and a map, redraw ρ and ψ a few times given the map: their distribution must stay the prior."""
    rng = RNG(seed)
    rho, local = rng.random(chains), np.array([draw_local(rng, 3) for _ in range(chains)])
    smooth, rough = PATH.draw(rng, chains), np.sqrt(local) * rng.standard_normal((chains, 3))
    maps = np.sqrt(rho)[:, None] * smooth + np.sqrt(1 - rho)[:, None] * rough
    now = roughness(PATH, np.log(rho / (1 - rho)), local)
    for _ in range(steps):
        now = redraw(rng, PATH, maps, now)
    away = np.abs(maps[:, 0] - maps[:, 1])
    halves = [now.local[away > np.median(away), 0], local[away > np.median(away), 0]]
    return (
        stats.kstest(expit(now.logit), "uniform").pvalue,
        stats.kstest(1 / now.local[:, 2], stats.gamma(2).cdf).pvalue,
        stats.ks_2samp(*halves).pvalue,
    )


def test_redrawing_leaves_the_prior_unchanged():
    """Three p-values: a false alarm in a thousand."""
    assert min(joint_ranks(3)) > 1e-3 / 3


BUGS = {
    "none": {},
    "ψ as if there were no other part of the map": {
        "LOCAL_SHAPE + 0.5": "LOCAL_SHAPE + 1.0",
        "(LOCAL_SHAPE - 1 +": "(LOCAL_SHAPE - 0.5 +",
    },
    "K without ψ": {"+= rough * psi[i]\n    L": "+= rough\n    L"},
}


@pytest.mark.parametrize("bug", BUGS)
def test_bugs_are_caught(monkeypatch, bug):
    """What is compiled, run as plain Python: with a part of its text replaced, and without."""
    monkeypatch.setattr(compiled, "redraw", plain(compiled, BUGS[bug]).redraw)
    assert bool(min(joint_ranks(3)) < 1e-3 / 3) is (bug != "none")


def test_hot_spots_stand_out():
    """Areas that were made to stand out have larger variances of their own, and the map is found smooth elsewhere."""
    graph = delaunay_map(40)
    C = communicability(graph)
    answers = hot_spots(RNG(1), Setting(graph, C, 3.0, 4, 1500))
    model = PanelModel(answers.counts(4), C, InverseGamma(), Parts(smoothness=True))
    draws = sample_panel(RNG(1), model, plan=Plan(chains=8, warmup=40, draws=60))
    hot = answers.strengths < np.median(answers.strengths) - 3
    local = np.log(draws["local_variance"]).mean(axis=(0, 1))
    assert hot.sum() == 4
    assert local[hot].min() > local[~hot].mean() + 2 * local[~hot].std()
    assert draws.divergences.sum() == 0
