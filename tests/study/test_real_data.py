"""Both samplers on real studies: against an independent posterior, and against each other.

Where the real data are absent, `tests/core/samplers/test_spatial_exactness.py` holds the samplers against exact ones,
and `tests/core/samplers/test_spatial_calibration.py` against studies that they simulate.

Statistics compare means or variances of many areas at once: z = difference / combined Monte Carlo error. The largest
|z| of 76 (452) is below 4.5 (4.8) with a false alarm rate of about 5e-4 (7e-4).
"""

import csv

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.model.counts import count_pairs
from judgemap.core.model.prior import InverseGamma, Model, communicability
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.run import Plan, sample

pytestmark = pytest.mark.statistical


@pytest.fixture(scope="module")
def notts(nottinghamshire):
    areas = jm.read_edges(nottinghamshire / "edges.csv", nottinghamshire / "areas.csv")
    return areas, jm.read_comparisons(nottinghamshire / "comparisons.csv", areas)


@pytest.fixture(scope="module")
def example():
    """A simulated study, for what holds of any: it is tested where the real data are absent, too."""
    return jm.example_study(seed=1)


def model_of(areas, data):
    return Model(data.counts(), communicability(areas.graph), InverseGamma())


def moments(draws):
    """Mean and mean square of the centred strengths, with Monte Carlo errors, and the same for log α²."""
    x = np.concatenate([draws.centred, draws["log_variance"][:, :, None]], axis=2)
    mean = x.mean(axis=(0, 1))
    square = (x - mean) ** 2
    error = x.std(axis=(0, 1)) / np.sqrt(ess_bulk(x))
    return mean, error, square.mean(axis=(0, 1)), square.std(axis=(0, 1)) / np.sqrt(ess_bulk(square))


def z_between(a, b):
    return np.r_[(a[0] - b[0]) / np.hypot(a[1], b[1]), (a[2] - b[2]) / np.hypot(a[3], b[3])]


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


def test_high_risk_is_in_the_city(notts, nottinghamshire):
    """The paper: the ten highest-risk wards are all in the city; the public file gives nine of ten."""
    areas, data = notts
    fit = jm.fit_spatial(data, areas, seed=1, as_in_paper=True)
    with (nottinghamshire / "areas.csv").open(encoding="utf-8", newline="") as file:
        authority = {row["id"]: row["authority"] for row in csv.DictReader(file)}
    highest = fit.areas.nlargest(10, "risk_median")["id"]
    assert sum("CITY" in authority[area] for area in highest) >= 9
    assert fit.warnings == []


@pytest.mark.slow
def test_samplers_agree_on_dar_es_salaam(dar_es_salaam):
    """452 subwards, ties left out; `subward1` was judged the poorer, so it wins with the higher rate."""
    areas = jm.read_edges(dar_es_salaam / "edges.csv")
    with (dar_es_salaam / "comparisons.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["outcome"] == "1"]
    winners, losers = (areas.index([row[column] for row in rows]) for column in ("subward1", "subward2"))
    model = Model(count_pairs(winners, losers, len(areas)), communicability(areas.graph), InverseGamma())
    one = moments(sample(np.random.default_rng(1), model, "hmc", Plan(chains=8, draws=400), cores=2))
    two = moments(sample(np.random.default_rng(2), model, "gibbs", Plan(chains=4, draws=2000), cores=2))
    assert np.abs(z_between(one, two)).max() < 4.8
