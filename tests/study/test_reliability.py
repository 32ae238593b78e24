from dataclasses import asdict, replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.assess.reliability import pearson
from judgemap.core.model.prior import FixedVariance, InverseGamma, independent
from judgemap.core.simulate.trials import answer, draw_pairs
from judgemap.study.assess.judges import Belief, belief_of, quick_fit
from judgemap.study.assess.reliability import split_half
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.priors import PLAIN


@pytest.fixture(scope="module")
def found(rough, study):
    return jm.reliability(rough, study.data, seed=1, splits=40)


def test_a_long_study_is_reliable_and_says_so(found, rough, study):
    assert (found.answers, found.judges, found.splits) == (1848, 12, 40)
    assert found.bayes_low < found.bayes < found.bayes_high <= 1
    true = pearson(np.median(rough.risk, axis=0), study.true_risk) ** 2
    assert found.bayes_low < true < found.bayes_high
    assert found.split_half_low <= found.split_half <= found.split_half_high < found.bayes_high
    assert found.split_half_full == pytest.approx(2 * found.split_half / (1 + found.split_half))
    assert f"explain {100 * found.bayes:.0f} %" in found.note
    assert "two halves of the 12 judges" in found.note


def test_the_same_seed_gives_the_same_figures(found, rough, study):
    np.testing.assert_equal(asdict(jm.reliability(rough, study.data, seed=1, splits=40)), asdict(found))
    assert jm.reliability(rough, study.data, seed=2, splits=40).split_half != found.split_half


@pytest.mark.parametrize(
    ("judge", "known", "said"), [("4", True, "one judge"), ("9", False, "With 8 decided answers it is too early")]
)
def test_one_judge_and_too_few_answers_are_told_so(rough, study, judge, known, said):
    found = jm.reliability(rough, study.data.only([judge]), seed=1)
    assert found.split_half is None
    assert (found.bayes is not None) == known
    assert said in found.note


@pytest.mark.parametrize(("judges", "splits"), [(["4", "5"], 1), (["4", "5", "8"], 3), (["4", "5", "8", "11"], 3)])
def test_few_judges_are_split_in_every_way_once(study, judges, splits):
    belief = Belief(independent(77), FixedVariance(9.0))
    halves = split_half(np.random.default_rng(1), study.data.only(judges), belief, 100)
    assert len(halves) == len(np.unique(halves.round(9))) == splits


def test_reliability_grows_with_answers_in_their_order(rough, study):
    size = len(study.data)
    order = np.random.default_rng(1).permutation(size)
    found = jm.reliability_over_time(rough, study.data, seed=1, order=order, points=4, splits=6)
    assert found["answers"].tolist() == [462, 924, 1386, 1848]
    assert found["bayes"].is_monotonic_increasing
    assert found["ssr"].is_monotonic_increasing
    assert found["judges"].iloc[0] > 4, "in random order all judges with many answers come early"
    by_table = jm.reliability_over_time(rough, study.data, seed=1, points=4, splits=2)
    assert by_table["judges"].iloc[0] == 5
    whole = jm.reliability(rough, study.data, seed=1, splits=2)
    assert found["bayes"].iloc[-1] == pytest.approx(whole.bayes, abs=0.01)


def test_the_order_says_whose_answers_came_first(rough, study):
    """Judge 4's 344 answers first, shuffled, then the others': after a sixth of them nobody else has answered."""
    own = study.data.judge_names == "4"
    order = np.r_[np.random.default_rng(1).permutation(np.flatnonzero(own)), np.flatnonzero(~own)]
    found = jm.reliability_over_time(rough, study.data, seed=1, order=order, points=6, splits=1)
    assert found["answers"].iloc[0] == 308
    assert found["judges"].tolist()[::5] == [1, 12]
    assert np.isnan(found["split_half"].iloc[0])


def test_an_order_that_is_none_is_refused(rough, study):
    with pytest.raises(jm.StudyError, match="each of the 1,848 comparisons once"):
        jm.reliability_over_time(rough, study.data, seed=1, order=[0, 0, 1])
    with pytest.raises(jm.StudyError, match="at least one point"):
        jm.reliability_over_time(rough, study.data, seed=1, points=0)


def test_the_prior_of_quick_fits_is_the_fits(rough, rough_clusters):
    settings = replace(rough.settings, chi=2.0, omega=3.0)
    spatial = belief_of(replace(rough, record=replace(rough.record, settings=settings)))
    assert (spatial.covariance.name, spatial.variance) == ("communicability", InverseGamma(2, 3))
    clusters = belief_of(rough_clusters)
    assert (clusters.covariance.name, clusters.variance) == (PLAIN, InverseGamma())


def test_a_prior_made_by_hand_is_used_until_the_fit_is_saved(study, tmp_path):
    areas, data, short = study.areas, study.data, {"seed": 1, "chains": 2, "draws": 50, "as_in_paper": True}
    kernel = replace(jm.prior_covariance(areas, "exponential", length=4.0), name="mine", length=None)
    fit = jm.fit_spatial(data, areas, covariance=kernel, alpha=2.0, **short)
    assert belief_of(fit) == (kernel, FixedVariance(4.0))
    saved = jm.load_fit(fit.save(tmp_path / "results"))
    for ask in (lambda: jm.reliability(saved, study.data, seed=1), lambda: jm.judge_table(saved, study.data)):
        with pytest.raises(jm.StudyError, match="the fit's prior, 'mine', was built in Python"):
            ask()


def opposed(seed, turned):
    """Four judges of 100 answers each; ``turned`` of them answer the wrong way round."""
    rng = np.random.default_rng(seed)
    pairs = draw_pairs(rng, 15, 400)
    judge = np.repeat(np.arange(4), 100)
    won = answer(rng, pairs, 1.5 * rng.standard_normal(15)) ^ (judge < turned)
    outcome = tuple(np.where(won, "left", "right").tolist())
    names = tuple(f"j{each}" for each in judge)
    return Comparisons.from_words(tuple(str(each) for each in range(15)), names, *pairs.T, outcome, np.ones(400))


@pytest.mark.statistical
def test_halves_agree_as_theory_says_and_not_where_judges_oppose_each_other():
    """Each half's estimate is the truth plus noise, so r is about R, the squared correlation of one with the truth.

    Over 60 studies: the mean of r less R, |z| < 4. Judges that oppose each other bring r to nothing: the posterior does
    not see it, halves do.
    """
    belief = Belief(independent(15), FixedVariance(2.25))
    gaps, against = [], []
    for seed in range(60):
        rng = np.random.default_rng(1000 + seed)
        answers = opposed(seed, 0)
        gaps.append(split_half(rng, answers, belief, 3).mean() - one_half_with_truth(seed, answers, belief))
        against.append(split_half(rng, opposed(seed, 2), belief, 3).mean())
    z = np.mean(gaps) / (np.std(gaps, ddof=1) / np.sqrt(60))
    assert abs(z) < 4
    assert np.mean(against) < 0.2


def one_half_with_truth(seed, answers, belief):
    rng = np.random.default_rng(seed)
    draw_pairs(rng, 15, 400)
    truth = 1.5 * rng.standard_normal(15)
    halves = [np.isin(answers.judge, half) for half in ([0, 1], [2, 3])]
    return np.mean([pearson(quick_fit(answers.counts_of(half), belief).mean, truth) ** 2 for half in halves])
