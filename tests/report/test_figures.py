"""Figures show the fit's own numbers, in order, and say them in their captions."""

from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.samplers.diagnostics import GOOD_ESS, GOOD_RHAT, ess_bulk
from judgemap.report.figures import clusters, judges
from judgemap.report.figures import fit as figures


@pytest.fixture(scope="module")
def table(fit, study):
    return jm.judge_table(fit, study.data)


def test_recovery_is_the_librarys(fit, study):
    """Coverage and correlation, computed again from the draws."""
    truth = study.true_risk - study.true_risk.mean()
    low, middle, high = np.quantile(fit.risk, [0.025, 0.5, 0.975], axis=0)
    inside = (low <= truth) & (truth <= high)
    found = figures.recovery(fit, study.true_risk)
    assert np.array_equal(found.covered, inside)
    assert found.correlation == pytest.approx(np.corrcoef(middle, truth)[0, 1])
    picture = figures.truth_against_estimate(fit, study.true_risk)
    share = f"{inside.sum()} of 77 intervals ({100 * inside.mean():.0f} %)"
    for said in (picture.alt, picture.caption):
        assert f"{found.correlation:.3f}" in said
        assert share in said
    assert figures.recovery(fit, -study.true_risk).covered.sum() < 40, "a wrong truth is noticed"
    with pytest.raises(jm.StudyError, match="the fit has 77 areas and the true risk 3"):
        figures.truth_against_estimate(fit, [1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("draw", "middle"), [(figures.risk_intervals, "risk_median"), (figures.rank_intervals, "rank")]
)
def test_intervals_are_in_order(fit, bare_fit, draw, middle):
    low, high = (f"{middle[:4]}_{end}" for end in ("low", "high"))
    axes = draw(fit, top=5).figure.axes[0]
    expected = fit.areas.nlargest(5, "risk_median")
    assert [label.get_text() for label in axes.get_yticklabels()] == expected["name"].tolist()
    segments, points = axes.collections
    assert points.get_offsets()[:, 0].tolist() == expected[middle].tolist()
    assert points.get_offsets()[:, 1].tolist() == [5, 4, 3, 2, 1]
    ends = np.array(segments.get_segments())[:, :, 0]
    assert np.allclose(ends, expected[[low, high]])
    assert len(draw(bare_fit, top=99).figure.axes[0].get_yticks()) == 14
    with pytest.raises(jm.StudyError, match="at least one area"):
        draw(bare_fit, top=0)


def test_convergence_shows_every_area(rough):
    axes = figures.convergence(rough).figure.axes[0]
    shown = {line.get_marker(): line.get_xdata() for line in axes.lines if line.get_marker() in ("o", "D")}
    size, agreement = rough.sampling.ess_bulk, rough.sampling.rhat
    good = (size >= GOOD_ESS) & (agreement <= GOOD_RHAT)
    assert 0 < good.sum() < 77
    assert np.array_equal(shown["o"], size[good])
    assert np.array_equal(shown["D"], size[~good])


def test_alpha_is_summarised_from_its_draws(fit, fixed_fit, clustered):
    low, middle, high = np.quantile(fit.alpha, [0.025, 0.5, 0.975])
    assert f"median {middle:.2f} and 95 % interval {low:.2f} to {high:.2f}" in figures.alpha_posterior(fit).alt
    with pytest.raises(jm.StudyError, match="α was fixed at 3"):
        figures.alpha_posterior(fixed_fit)
    with pytest.raises(jm.StudyError, match="clusters model has no α"):
        figures.alpha_posterior(clustered)


def test_traces_show_alpha_and_the_worst(fit, fixed_fit):
    ess = ess_bulk(fit.posterior["risk"])
    titles = [axes.get_title(loc="left") for axes in figures.traces(fit).figure.axes]
    worst = [fit.map.names[area] for area in np.argsort(ess)[:3]]
    assert [title.split(":")[0] for title in titles] == ["α", *worst]
    assert f"ESS {ess.min():.0f}" in titles[1]
    assert len(figures.traces(fixed_fit).figure.axes) == 3


def test_ranks_of_chains_that_agree_are_level(fit):
    values = np.random.default_rng(1).normal(size=(4, 1000))
    counts = figures._rank_counts(values)
    assert counts.sum(axis=0).tolist() == [200] * 20
    assert counts.sum(axis=1).tolist() == [1000] * 4
    shifted = figures._rank_counts(values + np.array([[0.0], [0.0], [0.0], [3.0]]))
    assert shifted[3, -1] > 3 * counts[3, -1]
    with pytest.raises(jm.StudyError, match="two chains"):
        figures.rank_plot(replace(fit, posterior=fit.posterior.take("chain", slice(1))))


def test_areas_outside_their_interval_are_counted(fit, study):
    check = jm.predictive_check(fit, study.data, seed=1, draws=100)
    moved = check.areas.copy()
    moved.loc[0, "observed"] = moved.loc[0, "high"] + 0.1
    picture = figures.predictive_check(fit, replace(check, areas=moved))
    outside = int(((moved["observed"] < moved["low"]) | (moved["observed"] > moved["high"])).sum())
    assert f"{outside} of 77 areas lie outside" in picture.caption


def test_the_map_of_clusters_counts_areas_as_the_table_does(clustered):
    network = replace(clustered, map=replace(clustered.map, geometry=None))
    for each, kind in ((clustered, "Map"), (network, "Network drawing")):
        alt = clusters.cluster_map(each).alt
        assert alt.startswith(kind)
        for cluster, size in clustered.clusters["cluster"].value_counts().items():
            assert f"cluster {cluster} has {size} areas" in alt


def test_against_the_spatial_model(clustered, fit, bare_fit):
    medians = [each.areas["risk_median"] for each in (clustered, fit)]
    assert f"correlation {np.corrcoef(*medians)[0, 1]:.3f}" in clusters.against_spatial(clustered, fit).alt
    with pytest.raises(jm.StudyError, match="different areas"):
        clusters.against_spatial(clustered, bare_fit)


def test_judges_are_named_with_their_numbers(study, table, words):
    shown = words(judges.times_by_judge(study.data))
    twelve = table.set_index("judge").loc["12"]
    assert f"12: 1063, {twelve['seconds_median']:.1f} s" in shown
    assert {"1", "12"} <= set(words(judges.agreement(table)))


def test_a_judge_who_stands_out_is_named(table, words):
    odd = table.copy()
    odd.loc[3, ["infit", "infit_z", "outfit"]] = [2.5, 9.0, 4.0]
    picture = judges.mean_squares(odd)
    assert "4 answered further from the others" in picture.caption
    assert "4" in words(picture)
    assert "No judge stands out" in judges.mean_squares(table).caption


@pytest.mark.parametrize(
    ("draw", "column", "sentence"),
    [
        (judges.left_shares, "left_share", "sides were not recorded"),
        (judges.mean_squares, "infit", "only one judge"),
        (judges.agreement, "agreement", "agreement with others cannot be drawn"),
    ],
)
def test_what_cannot_be_drawn_of_judges_is_told(table, draw, column, sentence):
    with pytest.raises(jm.StudyError, match=sentence):
        draw(table.assign(**{column: np.nan}))
