"""The test for judges who differ, on simulated panels: few false alarms, and it sees judges who differ much."""

import numpy as np

from judgemap.core.approximate import gaussian
from judgemap.core.assess.misfit import differ_share
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import Disagreement, Parts, draw_panel
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability
from judgemap.core.simulate.misbehaviour import simulate_panel

RING = communicability(AreaGraph(20, [[i, (i + 1) % 20] for i in range(20)]))
ANSWERS = np.array([150, 60, 40, 30, 30, 20])


def share(rng, ratio):
    """The test's share for a panel with σ/α of this ratio, α = 2."""
    parts = Parts(disagreement=Disagreement(RING)) if ratio else Parts()
    panel = draw_panel(rng, RING, FixedVariance(4.0), parts, len(ANSWERS))
    if ratio:
        views = 2 * ratio * RING.draw(rng, len(ANSWERS))
        panel = panel._replace(views=views)
    counts = simulate_panel(rng, panel, None, ANSWERS)
    fitted = gaussian(Model(counts.pairs(), RING, InverseGamma()))
    return differ_share(rng, counts, fitted.draw(rng, 99), RING.matrix)


def test_false_alarms_are_at_most_one_in_a_hundred():
    """Of 100 panels 5 alarms or more have a chance below 0.4 % at a rate of 1 %."""
    rng = np.random.default_rng(1)
    assert sum(share(rng, 0.0) <= 0.01 for _ in range(100)) < 5


def test_judges_who_differ_are_seen():
    """Of 150 such panels 142 were seen; at that rate, fewer than 15 of 20 have a chance of 0.1 %."""
    rng = np.random.default_rng(2)
    assert sum(share(rng, 0.9) <= 0.01 for _ in range(20)) >= 15
