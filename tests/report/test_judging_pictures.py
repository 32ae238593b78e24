"""Pictures of judges, checks and several fits: what they say is what the tables say."""

import numpy as np
import pytest

import judgemap as jm
from judgemap.report.figures import fit as figures
from judgemap.report.figures import judges
from judgemap.report.figures.picture import WIDTH


@pytest.fixture(scope="module")
def table(fit, study):
    return jm.judge_table(fit, study.data)


def test_every_picture_has_words_and_the_width_of_the_others(fit, study, table):
    check = jm.predictive_check(fit, study.data, seed=1, draws=100)
    pictures = [
        judges.times_by_judge(study.data),
        judges.left_shares(table),
        judges.mean_squares(table),
        judges.agreement(table),
        figures.rank_plot(fit),
        figures.predictive_check(fit, check),
        figures.sensitivity_scatter(fit, {"again": fit}),
        figures.sensitivity_maps({"one": fit, "two": fit, "three": fit}),
    ]
    for picture in pictures:
        assert picture.figure.get_figwidth() * 72 == pytest.approx(WIDTH)
        assert len(picture.alt) > 40
        assert picture.alt.endswith(".")
        assert picture.caption.endswith(".")
        assert picture.svg() == picture.svg()


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


def test_what_cannot_be_drawn_is_told(fit, study, table):
    with pytest.raises(jm.StudyError, match="sides were not recorded"):
        judges.left_shares(table.assign(left_share=np.nan))
    with pytest.raises(jm.StudyError, match="only one judge"):
        judges.mean_squares(table.assign(infit=np.nan))
    with pytest.raises(jm.StudyError, match="agreement with others cannot be drawn"):
        judges.agreement(table.assign(agreement=np.nan))
    one_chain = jm.fit_spatial(study.data, study.areas, seed=1, chains=1, draws=50)
    with pytest.raises(jm.StudyError, match="two chains"):
        figures.rank_plot(one_chain)


def test_ranks_of_chains_that_agree_are_level(fit):
    rng = np.random.default_rng(1)
    values = rng.normal(size=(4, 1000))
    counts = figures._rank_counts(values)
    assert counts.sum(axis=0).tolist() == [200] * 20
    assert counts.sum(axis=1).tolist() == [1000] * 4
    shifted = figures._rank_counts(values + np.array([[0.0], [0.0], [0.0], [3.0]]))
    assert shifted[3, -1] > 3 * counts[3, -1]


def test_areas_outside_their_interval_are_counted(fit, study):
    check = jm.predictive_check(fit, study.data, seed=1, draws=100)
    moved = check.areas.copy()
    moved.loc[0, "observed"] = moved.loc[0, "high"] + 0.1
    picture = figures.predictive_check(fit, type(check)(moved, check.checks))
    outside = int(((moved["observed"] < moved["low"]) | (moved["observed"] > moved["high"])).sum())
    assert f"{outside} of 77 areas lie outside" in picture.caption
