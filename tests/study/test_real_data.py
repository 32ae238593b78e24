"""Both samplers on the Nottinghamshire study against an independent posterior.

Where the data are absent, `tests/core/samplers/test_spatial_exactness.py` holds the samplers against exact answers, and
`tests/core/samplers/test_spatial_calibration.py` against studies that they simulate.

Statistics compare means or variances of all areas at once: z = difference / combined Monte Carlo error. The largest |z|
of 76 is below 4.5 with a false alarm rate of about 5e-4.
"""

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.model.prior import InverseGamma, Model, communicability
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.run import Plan, sample

pytestmark = pytest.mark.statistical


@pytest.fixture(scope="module")
def notts(nottinghamshire):
    areas = jm.read_edges(nottinghamshire / "edges.csv", nottinghamshire / "areas.csv")
    return areas, jm.read_comparisons(nottinghamshire / "comparisons.csv", areas)


def model_of(areas, data):
    return Model(data.counts(), communicability(areas.graph), InverseGamma())


def moments(draws):
    """Mean and mean square of the centred strengths, with Monte Carlo errors, and the same for log α²."""
    x = np.concatenate([draws.centred, draws["log_variance"][:, :, None]], axis=2)
    mean = x.mean(axis=(0, 1))
    square = (x - mean) ** 2
    error = x.std(axis=(0, 1)) / np.sqrt(ess_bulk(x))
    return mean, error, square.mean(axis=(0, 1)), square.std(axis=(0, 1)) / np.sqrt(ess_bulk(square))


@pytest.mark.parametrize(
    ("sampler", "plan"),
    [
        ("hmc", Plan(chains=16, draws=1000)),
        pytest.param("gibbs", Plan(chains=4, draws=3000), marks=pytest.mark.slow),  # six seconds
    ],
)
def test_nottinghamshire_agrees_with_the_reference(notts, reference, sampler, plan):
    draws = sample(np.random.default_rng(21), model_of(*notts), sampler, plan)
    mean, error, square, square_error = moments(draws)
    z_mean = (mean[:-1] - reference["mean"]) / np.hypot(error[:-1], reference["mcse_mean"])
    variance = reference["sd"] ** 2
    z_square = (square[:-1] - variance) / np.hypot(square_error[:-1], variance * np.sqrt(2 / reference["ess"]))
    assert np.abs(z_mean).max() < 4.5
    assert np.abs(z_square).max() < 4.5
    alpha2 = np.exp(draws["log_variance"])
    half_width = 4.5 * np.sqrt(np.pi / 2) * np.exp(mean[-1]) * error[-1] + 0.2
    assert np.median(alpha2) == pytest.approx(12.58, abs=half_width), "the reference's own error is about 0.04"
    np.testing.assert_allclose(np.quantile(alpha2, [0.025, 0.975]), [6.38, 24.74], rtol=0.12)


def test_a_wrong_prior_would_be_seen(notts, reference):
    """The test above has power: χ = ω = 2 in place of 0.1 moves the strengths enough."""
    areas, data = notts
    wrong = Model(data.counts(), communicability(areas.graph), InverseGamma(2, 2))
    mean, error, *_ = moments(sample(np.random.default_rng(21), wrong, "hmc", Plan(chains=16, draws=1000)))
    assert np.abs((mean[:-1] - reference["mean"]) / np.hypot(error[:-1], reference["mcse_mean"])).max() > 4.5
