"""Rates from counts: against integration by hand, over simulated studies, and what is refused."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import special, stats

import judgemap as jm
from judgemap.core.assess import rates as core
from judgemap.core.assess.rates import Counts, draw_rates
from judgemap.errors import StudyError
from judgemap.study.export import write_download

B, SIGMA = 0.5, 0.2


def simulate(rng, areas=60, counted=30, noise=0.5, b=B):
    """Truth, draws of a posterior that is right about it, counts of some areas, and every area's rate."""
    truth = rng.normal(0, 1, areas)
    mean = (truth + rng.normal(0, noise, areas)) / (1 + noise**2)
    risk = mean + np.sqrt(noise**2 / (1 + noise**2)) * rng.standard_normal((400, areas))
    exposure = rng.uniform(500, 5000, areas)
    rate = np.exp(-4 + b * truth) * rng.gamma(SIGMA**-2, SIGMA**2, areas)
    y = rng.poisson(exposure * rate).astype(float)
    return risk, Counts(np.arange(counted), y[:counted], exposure[:counted]), rate


def covered(repeats: int) -> tuple[float, float, float]:
    """Return how often rates without and with a count are covered, and b's mean error in standard deviations."""
    rng, found = np.random.default_rng(3), []
    for _ in range(repeats):
        risk, counts, rate = simulate(rng)
        drawn = draw_rates(rng, risk, counts)
        low, high = np.quantile(drawn.rates, [0.025, 0.975], axis=0)
        inside = (low < rate) & (rate < high)
        b = drawn.b / risk.mean(axis=0).std()
        found.append((inside[30:].mean(), inside[:30].mean(), (b.mean() - B) / b.std()))
    return tuple(np.mean(found, axis=0))


def check_coverage(without, with_count, error, repeats):
    # Rates of one study share a and b, so a study counts as about eight independent areas; limits of four sds.
    limit = 4 * np.sqrt(0.05 * 0.95 / (8 * repeats))
    assert abs(without - 0.95) < limit
    assert abs(with_count - 0.95) < limit
    assert abs(error) < 4 / np.sqrt(repeats)


def test_intervals_cover():
    check_coverage(*covered(16), 16)


@pytest.mark.slow
def test_intervals_cover_in_many_studies():
    check_coverage(*covered(200), 200)


@pytest.mark.slow
def test_a_map_taken_as_certain_does_not_pass(monkeypatch):
    """Each draw of risk in the regression as if it were the truth: b is too small."""
    chosen = core.nodes_of
    rng = np.random.default_rng(1)
    monkeypatch.setattr(core, "nodes_of", lambda z: chosen(z[rng.integers(len(z), size=1)]))
    with pytest.raises(AssertionError):
        check_coverage(*covered(60), 60)


def by_hand(y, exposure, z):
    """Moments of a, b and log σ, and of the first area's rate, by a sum over a grid; risk is certain."""
    a, b, t = np.meshgrid(
        np.linspace(-6.5, -2.5, 81), np.linspace(-2, 3, 81), np.linspace(-6.9, 1.6, 60), indexing="ij"
    )
    size = np.exp(-2 * t)
    log = -((b / 2) ** 2) / 2 - np.exp(2 * t) / 2 + t
    for count, people, risk in zip(y, exposure, z, strict=True):
        mean = people * np.exp(a + b * risk)
        log += stats.nbinom.logpmf(count, size, size / (size + mean))
    weights = special.softmax(log)
    first = (size + y[0]) / (size * np.exp(-a - b * z[0]) + exposure[0])
    return [float((weights * each).sum()) for each in (a, b, t, a**2, b**2, first)]


def test_against_integration_by_hand():
    rng = np.random.default_rng(2)
    z = np.linspace(-1.5, 1.5, 10)
    z /= z.std()
    exposure = np.full(10, 800.0)
    y = rng.poisson(exposure * np.exp(-4 + 0.6 * z)).astype(float)
    drawn = [draw_rates(rng, np.tile(z, (3, 1)), Counts(np.arange(10), y, exposure)) for _ in range(4)]
    a, b, sigma, first = (
        np.concatenate(each)
        for each in zip(*((one.a, one.b, one.sigma, one.rates[:, 0]) for one in drawn), strict=True)
    )
    expected = by_hand(y, exposure, z)
    for values, truth in zip((a, b, np.log(sigma), a**2, b**2, first), expected, strict=True):
        # 4,000 draws of which at least a fifth are effective: four standard errors
        assert_allclose(values.mean(), truth, atol=4 * values.std() / np.sqrt(800))


def counts_of(fit) -> np.ndarray:
    """Counts that follow the fit's map."""
    rate = np.exp(-4 + 0.6 * fit.areas["risk_median"].to_numpy())
    return np.random.default_rng(1).poisson(2000 * rate)


def with_columns(fit, **columns) -> jm.Fit:
    half = ["North" if place < 40 else "South" for place in range(77)]
    cases = ["" if place % 2 else int(count) for place, count in enumerate(counts_of(fit))]
    table = {"id": fit.map.ids, "cases": cases, "people": 2000, "half": half, "known": "", **columns}
    return replace(fit, map=fit.map.with_figures(pd.DataFrame(table)))


def test_rates_of_every_area(rough, tmp_path):
    fit = with_columns(rough)
    told = jm.rates(fit, "cases", "people")
    assert (told.areas, told.per) == (39, 1000)
    table = told.table
    assert table["recorded"].notna().sum() == 39
    assert ((table["rate_low"] < table["rate_median"]) & (table["rate_median"] < table["rate_high"])).all()
    assert_allclose(table["cases_median"], table["rate_median"] * 2)
    pd.testing.assert_frame_equal(table, jm.rates(fit, "cases", "people").table)
    path = write_download(fit, "csv", tmp_path / "rates.csv", told)
    assert {"risk_median", "rate_median", "cases_high"} <= set(pd.read_csv(path).columns)


def test_cases_that_are_not_recorded_are_added(rough):
    fit = with_columns(rough)
    plain, more = jm.rates(fit, "cases", "people"), jm.rates(fit, "cases", "people", missed=(0.2, 0.6))
    ratio = more.table["rate_median"] / plain.table["rate_median"]
    assert 1.5 < ratio.median() < 1.85  # E 1/(1 − u) is 1.73, and its median 1.67
    assert (more.table["rate_high"] / more.table["rate_low"]).median() > 1.2 * (
        plain.table["rate_high"] / plain.table["rate_low"]
    ).median()


def test_districts_have_their_totals(rough):
    known = [3000 if place < 40 else "" for place in range(77)]
    fit = with_columns(rough, known=known)
    plain = jm.rates(fit, "cases", "people").table
    table = jm.rates(fit, "cases", "people", by="half", totals="known").table
    assert_allclose(table["cases_median"][:40].sum(), 3000, rtol=0.03)
    assert_allclose(table["rate_median"][40:], plain["rate_median"][40:])


@pytest.mark.parametrize(
    ("columns", "options", "said"),
    [
        ({"cases": [*range(7), *[""] * 70]}, {}, "7 areas have both"),
        ({"cases": 0}, {}, "is 0 in every area"),
        ({"cases": [*[3] * 40, *[""] * 37]}, {}, "do not clearly rise"),
        ({"cases": 2.5}, {}, "not whole"),
        ({"people": 0}, {}, "must be above 0"),
        ({"cases": -1}, {}, "is negative"),
        ({}, {"missed": (0.4, 0.1)}, "the lower first"),
        ({}, {"by": "half"}, "need two columns"),
        ({"known": 3}, {"by": "half", "totals": "known"}, "correct it"),
        ({"known": range(1000, 1077)}, {"by": "half", "totals": "known"}, "several numbers"),
    ],
)
def test_what_gives_no_rates(rough, columns, options, said):
    with pytest.raises(StudyError, match=said):
        jm.rates(with_columns(rough, **columns), "cases", "people", **options)


def test_counts_that_fall_are_refused(rough):
    y = counts_of(rough)
    with pytest.raises(StudyError, match="fall as the judged risk rises"):
        jm.rates(with_columns(rough, cases=y.max() - y), "cases", "people")
