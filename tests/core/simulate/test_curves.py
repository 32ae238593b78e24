import numpy as np
import pytest
from scipy import stats

from judgemap.core.simulate import trials as simulation
from judgemap.core.simulate.trials import length_for_the_same, mean_interval, reach

LENGTHS = np.array([100.0, 200.0, 300.0, 400.0, 600.0])


def test_mean_interval_is_students():
    values = np.array([3.0, 1.0, 4.0, 1.0, 5.0])
    low, high = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    np.testing.assert_allclose(mean_interval(values), [values.mean(), low, high])


@pytest.mark.parametrize("power", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("at", [100.5, 250.0, 400.0, 600.0])
def test_reach_is_exact_on_powers_of_the_length(power, at):
    assert reach(LENGTHS, 7 * LENGTHS**-power, 7 * at**-power) == pytest.approx(at)


def test_reach_beyond_what_was_simulated():
    curve = LENGTHS**-0.5
    assert reach(LENGTHS, curve, curve[0]) == 0
    assert reach(LENGTHS, curve, 0.99 * curve[-1]) == np.inf
    assert reach(LENGTHS, np.array([0.2, 0.1, 0.0, 0.0, 0.0]), 0.0) == pytest.approx(300)


def test_reach_irons_out_rises_by_chance():
    assert reach(LENGTHS, np.array([5.0, 3.0, 3.5, 2.0, 1.9]), 3.2) < 200
    assert 300 < reach(LENGTHS, np.array([5.0, 3.0, 3.5, 2.0, 1.9]), 2.5) < 400


def simulated(rng, sims, factor):
    """Two designs on the same truths: what truths have in common is ten times the rest."""
    common = 0.3 * rng.standard_normal((sims, 1))
    curve = 10 * (factor * LENGTHS) ** -0.5 * np.exp(common + 0.03 * rng.standard_normal((sims, 5)))
    reference = 10 * LENGTHS**-0.5 * np.exp(common + 0.03 * rng.standard_normal((sims, 5)))
    return curve, reference


@pytest.mark.slow  # hundreds of bootstrapped curves
@pytest.mark.statistical
def test_intervals_of_savings_hold_the_truth(monkeypatch):
    """300 comparisons stand for 400 in 93 to 95 % of intervals; fewer than 132 of 150 has probability 3e-4 at 94 %.

    The planted bug, a curve compared with that of other truths, must give intervals many times as wide.
    """
    monkeypatch.setattr(simulation, "RESAMPLES", 300)
    rng = np.random.default_rng(8)
    held, paired, mixed = 0, [], []
    for _ in range(150):
        curve, reference = simulated(rng, 40, 4 / 3)
        middle, low, high = length_for_the_same(rng, LENGTHS, curve, reference, at=3)
        assert low <= middle <= high
        held += low <= 300 <= high
        paired.append(high - low)
        wrong = length_for_the_same(rng, LENGTHS, curve, np.roll(reference, 1, axis=0), at=3)
        mixed.append(min(wrong.high, 600) - max(wrong.low, 100))
    assert held >= 132
    assert np.median(mixed) > 4 * np.median(paired)
