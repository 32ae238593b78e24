"""Geweke's joint test and simulation-based calibration of the two samplers, and the planted bugs that they catch.

False alarms: every test compares its worst statistic with a bound passed with probability 1e-3 by an exact sampler.
"""

import numpy as np
import pytest
from calibration import FALSE_ALARM, Setting, geweke, sbc_ranks, smallest_p, worst

from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, HalfNormal, InverseGamma, communicability
from judgemap.core.samplers import gibbs
from judgemap.core.samplers.spatial import hmc

pytestmark = pytest.mark.statistical

SQUARE = communicability(AreaGraph(4, [[0, 1], [1, 2], [2, 3]]))
SETTINGS = {
    "α² inferred": Setting(SQUARE, InverseGamma(5, 5), comparisons=12),
    "α half-normal": Setting(SQUARE, HalfNormal(1.5), comparisons=12),
    "α² fixed": Setting(SQUARE, FixedVariance(1.5), comparisons=12),
}


def hmc_kernel(model):
    """Two kicks: the pilot that chooses them would cost more than the step, and exactness does not depend on it."""
    return hmc.transition(hmc.build_target(model), kicks=2)


def wide_kernel(model):
    """With the moves for studies that say little about α²."""
    widely = not isinstance(model.variance, FixedVariance)
    return hmc.transition(hmc.build_target(model), kicks=2, widely=widely)


BUILDS = {"gibbs": gibbs.kernel, "hmc": hmc_kernel, "hmc, widely": wide_kernel}


def worst_p(rng, build, setting, replicates):
    ranks = sbc_ranks(rng, build, setting, replicates=replicates, draws=31, steps=30)
    return smallest_p(np.stack(list(ranks.values()), axis=1), draws=31)


def passes_geweke(sampler, name, chains, length):
    setting, rng = SETTINGS[name], np.random.default_rng(13)
    scores = geweke(rng, BUILDS[sampler], setting, chains=chains, length=length, reference=4000)
    return worst(list(scores.values())) < 1


@pytest.mark.parametrize("sampler", BUILDS)
def test_geweke(sampler):
    assert passes_geweke(sampler, "α half-normal", chains=30, length=12)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("sampler", BUILDS)
def test_geweke_long(sampler, name):
    assert passes_geweke(sampler, name, chains=800, length=30)


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("sampler", BUILDS)
def test_calibrated_long(sampler, name):
    assert worst_p(np.random.default_rng(14), BUILDS[sampler], SETTINGS[name], replicates=800) > FALSE_ALARM


@pytest.mark.slow
def test_calibrated_on_a_map():
    """The default sampler as users run it, pilot and all, at ten areas with the study's own kind of prior."""
    ring = communicability(AreaGraph(10, [[i, (i + 1) % 10] for i in range(10)]))
    setting = Setting(ring, InverseGamma(3, 3), comparisons=60)
    assert worst_p(np.random.default_rng(15), hmc.kernel, setting, replicates=300) > FALSE_ALARM


def test_geweke_catches_a_bug(monkeypatch):
    monkeypatch.setattr(gibbs, "draw_log_variance", lambda rng, prior, inverse, strengths: 0.0)
    assert not passes_geweke("gibbs", "α half-normal", chains=30, length=12)


@pytest.mark.slow  # hundreds of fits
def test_calibration_catches_a_bug(monkeypatch):
    monkeypatch.setattr(gibbs, "draw_log_variance", lambda rng, prior, inverse, strengths: 0.0)
    assert worst_p(np.random.default_rng(12), gibbs.kernel, SETTINGS["α² inferred"], replicates=60) < FALSE_ALARM
