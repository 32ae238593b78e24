"""Judges who differ, on the Nottinghamshire study against figures computed elsewhere, and on a simulated sibling.

The figures came from a Pólya-Gamma sampler written apart from this code; its own Monte Carlo error is most of the
tolerance.
"""

import numpy as np
import pandas as pd
import pytest
from synthetic import delaunay_map, draw_panel, simulate_panel

from judgemap.core.model.counts import count_judged
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import PanelModel, Parts
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, InverseGamma, communicability, independent
from judgemap.core.samplers.diagnostics import rhat
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Plan

pytestmark = pytest.mark.statistical

PLAN = Plan(chains=16, warmup=40, draws=150)
ELSEWHERE = {"map": (24.7, 6.9, 1.06, 0.84), "independent": (16.7, 9.9, 1.13, 1.21)}
"""Medians of α² and σ², mean posterior sd of a ward for the population and for the panel."""


@pytest.fixture(scope="module")
def study(nottinghamshire):
    graph = AreaGraph(76, pd.read_csv(nottinghamshire / "edges.csv").to_numpy() - 1)
    judge, winner, loser = (
        pd.read_csv(nottinghamshire / "comparisons.csv")[["judge", "winner", "loser"]].to_numpy().T - 1
    )
    counts = count_judged(judge, winner, loser, np.ones_like(judge), n_areas=76, n_judges=12, sides=False)
    return counts, communicability(graph)


@pytest.mark.slow  # five seconds each; the simulated panel below is the quick sibling
@pytest.mark.parametrize("kind", ELSEWHERE)
def test_nottinghamshire(study, kind):
    counts, C = study
    parts = Parts(disagreement=C if kind == "map" else independent(76))
    draws = sample_panel(np.random.default_rng(1), PanelModel(counts, C, InverseGamma(), parts), plan=PLAN, cores=2)
    alpha2, sigma2 = (np.exp(np.median(draws[name])) for name in ("log_variance", "log_disagreement"))
    panel = draws["panel_strengths"] - draws["panel_strengths"].mean(axis=2, keepdims=True)
    figures = (alpha2, sigma2, draws.centred.std(axis=(0, 1)).mean(), panel.std(axis=(0, 1)).mean())
    assert np.abs(np.log(np.array(figures) / ELSEWHERE[kind])).max() < 0.12, figures
    assert rhat(draws.centred).max() < 1.1
    assert draws.divergences.sum() == 0


def sibling():
    """Make a map of 24 areas and 8 judges with unequal numbers of answers, σ/α = 0.5, a tie in six of equal areas."""
    rng = np.random.default_rng(5)
    C = communicability(delaunay_map(24))
    parts = Parts(ties=TieRule.RAO_KUPPER, disagreement=C)
    panel = draw_panel(rng, C, FixedVariance(9.0), parts, n_judges=8)
    panel = panel._replace(views=1.5 * C.draw(rng, 8), scales=panel.scales | {"tie_chance": 1 / 6})
    answers = np.array([200, 90, 60, 60, 40, 30, 12, 3])
    return panel, PanelModel(simulate_panel(rng, panel, TieRule.RAO_KUPPER, answers), C, InverseGamma(), parts)


def test_a_simulated_panel_is_recovered():
    """The truth is within four posterior sds everywhere, and the busiest judge's own map is found."""
    panel, model = sibling()
    draws = sample_panel(np.random.default_rng(1), model, plan=PLAN, cores=2)
    truth = panel.strengths - panel.strengths.mean()
    assert np.abs((draws.centred.mean(axis=(0, 1)) - truth) / draws.centred.std(axis=(0, 1))).max() < 4
    for name, true in (("log_variance", np.log(9)), ("log_disagreement", np.log(2.25)), ("tie_chance", 1 / 6)):
        assert abs(draws[name].mean() - true) < 4 * draws[name].std(), name
    own, population = draws["views"][:, :, 0].mean(axis=(0, 1)), draws.strengths.mean(axis=(0, 1))
    true = panel.strengths + panel.views[0]
    assert np.corrcoef(population + own, true)[0, 1] > max(0.9, np.corrcoef(population, true)[0, 1])
