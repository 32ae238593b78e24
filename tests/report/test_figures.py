"""Figures show the fit's own numbers, in order, and say them in their captions."""

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.report.figures import fit as figures

FIGURES = {
    "intervals": figures.risk_intervals,
    "alpha": figures.alpha_posterior,
    "variance": figures.variance_against_median,
    "traces": figures.traces,
}


@pytest.fixture(scope="module")
def fixed_fit(bare_study):
    return jm.fit_spatial(bare_study.data, bare_study.areas, seed=1, alpha=3.0, chains=2, draws=200)


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_every_figure_draws_on_maps_and_edge_lists(draw, any_fit, words):
    picture = draw(any_fit)
    assert words(picture)
    assert picture.alt
    assert picture.caption
    assert len(picture.svg()) < 150_000
    assert draw(any_fit).svg() == picture.svg()


def test_recovery_is_the_librarys(fit, study):
    """Coverage and correlation, computed again from the draws."""
    truth = study.true_risk - study.true_risk.mean()
    low, middle, high = np.quantile(fit.risk, [0.025, 0.5, 0.975], axis=0)
    inside = (low <= truth) & (truth <= high)
    found = figures.recovery(fit, study.true_risk)
    assert np.array_equal(found.covered, inside)
    assert found.n_covered == inside.sum()
    assert found.correlation == pytest.approx(np.corrcoef(middle, truth)[0, 1])
    picture = figures.truth_against_estimate(fit, study.true_risk)
    share = f"{inside.sum()} of 77 intervals ({100 * inside.mean():.0f} %)"
    for said in (picture.alt, picture.caption):
        assert f"{found.correlation:.3f}" in said
        assert share in said


def test_recovery_notices_a_wrong_truth(fit, study):
    wrong = figures.recovery(fit, -study.true_risk)
    assert wrong.correlation < -0.9
    assert wrong.n_covered < 40


def test_recovery_needs_one_truth_an_area(fit):
    with pytest.raises(jm.StudyError, match="the fit has 77 areas and the true risk 3"):
        figures.truth_against_estimate(fit, [1.0, 2.0, 3.0])


def test_intervals_are_in_order(fit):
    axes = figures.risk_intervals(fit, top=5).figure.axes[0]
    labels = [label.get_text() for label in axes.get_yticklabels()]
    expected = fit.areas.nlargest(5, "risk_median")
    assert labels == expected["name"].tolist()
    assert axes.lines[0].get_xdata().tolist() == expected["risk_median"].tolist()
    segments = np.array(axes.collections[0].get_segments())
    assert np.allclose(segments[:, 0, 0], expected["risk_low"])
    assert np.allclose(segments[:, 1, 0], expected["risk_high"])
    assert np.all(np.diff(axes.lines[0].get_ydata()) < 0)


def test_intervals_of_more_areas_than_there_are(bare_fit):
    assert len(figures.risk_intervals(bare_fit, top=99).figure.axes[0].get_yticks()) == 14
    with pytest.raises(jm.StudyError, match="at least one area"):
        figures.risk_intervals(bare_fit, top=0)


def test_alpha_is_summarised_from_its_draws(fit):
    low, middle, high = np.quantile(fit.alpha, [0.025, 0.5, 0.975])
    assert f"median {middle:.2f} and 95 % interval {low:.2f} to {high:.2f}" in figures.alpha_posterior(fit).alt


def test_a_fixed_alpha_has_no_posterior(fixed_fit):
    with pytest.raises(jm.StudyError, match="α was fixed at 3"):
        figures.alpha_posterior(fixed_fit)


def test_traces_show_alpha_and_the_worst(fit, fixed_fit):
    ess = ess_bulk(fit.posterior["risk"].to_numpy())
    titles = [axes.get_title(loc="left") for axes in figures.traces(fit).figure.axes]
    worst = [fit.map.names[area] for area in np.argsort(ess)[:3]]
    assert [title.split(":")[0] for title in titles] == ["α", *worst]
    assert f"ESS {ess.min():.0f}" in titles[1]
    assert len(figures.traces(fixed_fit).figure.axes) == 3
