import numpy as np
import pytest
from matplotlib.ticker import MaxNLocator

from judgemap.report.figures.colours import STEPS, round_limits, round_step


def test_limits_are_those_of_matplotlib():
    rng = np.random.default_rng(1)
    locator = MaxNLocator(nbins=7, steps=STEPS)
    for _ in range(500):
        least, most = np.sort(rng.normal(size=2) * 10 ** rng.uniform(-3, 3))
        np.testing.assert_allclose(round_limits(least, most), locator.tick_values(least, most), atol=1e-12 * most)


@pytest.mark.parametrize("steps", [STEPS, (1, 2, 5, 10), (1, 1.2, 1.6, 2, 3, 4, 5, 6, 8, 10)])
def test_the_step_is_the_smallest_round_one(steps):
    for least in 10 ** np.random.default_rng(2).uniform(-4, 4, size=300):
        step = round_step(least, steps)
        locator = MaxNLocator(nbins=1, steps=steps, min_n_ticks=1)
        assert step == pytest.approx(locator.tick_values(0, least)[1])
