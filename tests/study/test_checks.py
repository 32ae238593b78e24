import numpy as np
import pytest
from scipy.special import expit

import judgemap as jm
from judgemap.core.simulate import misbehaviour
from judgemap.core.simulate.misbehaviour import Setting
from judgemap.core.simulate.trials import answer, draw_pairs
from judgemap.study.assess.findings import DIFFER
from judgemap.study.data.comparisons import Comparisons, Outcome

SHORT = {"seed": 1, "chains": 4, "draws": 200}


@pytest.fixture(scope="module")
def other_study():
    return jm.simulate_study(np.random.default_rng(2), jm.chicago())


def answered(areas, pairs, won):
    return Comparisons.from_words(areas.ids, ("j",) * len(won), *pairs.T, np.where(won, "left", "right").tolist())


def checked(data, areas, **options):
    fit = jm.fit_spatial(data, areas, **SHORT, **options, as_in_paper=True)
    return jm.predictive_check(fit, data, seed=1, draws=300)


def test_observed_rates_are_those_of_the_table(study, rough):
    found = jm.predictive_check(rough, study.data, seed=1, draws=300)
    won = np.where(study.data.outcome == Outcome.LEFT, study.data.left, study.data.right)
    wins = np.bincount(won, minlength=77)
    assert found.areas["wins"].tolist() == wins.tolist()
    assert found.areas["comparisons"].sum() == 2 * len(study.data)
    np.testing.assert_allclose(found.areas["observed"], wins / study.data.counts().per_area())
    assert (found.areas["low"] <= found.areas["expected"]).all()
    assert found.checks["name"].tolist() == ["areas", "pairs", "left", "triads", "borders", "smooth", "parts"]


def test_counts_alone_give_the_same_but_for_sides(study, rough):
    with_data, without = jm.predictive_check(rough, study.data, seed=1), jm.predictive_check(rough, seed=1)
    assert without.checks["name"].tolist() == ["areas", "pairs", "triads", "borders", "smooth"]
    for column in ("comparisons", "wins", "observed"):
        np.testing.assert_array_equal(without.areas[column], with_data.areas[column])
    np.testing.assert_allclose(without.checks["p"], with_data.checks["p"].to_numpy()[[0, 1, 3, 4, 5]], atol=0.12)


def test_an_area_never_compared_has_no_rate(square):
    data = Comparisons.from_words(square.ids, ("j",) * 3, [0, 1, 0], [1, 2, 2], ("left", "right", "left"))
    fit = jm.fit_standard(data, square, seed=1, chains=2, draws=50, as_in_paper=True)
    found = jm.predictive_check(fit, data, seed=1, draws=50)
    assert found.areas[["observed", "low", "p"]].iloc[3].isna().all()
    assert found.n_outside == 0


def test_bad_requests_are_told_so(study, rough):
    with pytest.raises(jm.StudyError, match="at least 20"):
        jm.predictive_check(rough, study.data, seed=1, draws=3)
    ties = Comparisons.from_words(study.data.ids, ("j",), [0], [1], ("tie",))
    with pytest.raises(jm.StudyError, match="nothing to check"):
        jm.predictive_check(rough, ties, seed=1)


@pytest.mark.slow  # a fit for each of many simulated studies
@pytest.mark.statistical
def test_the_model_passes_its_own_check():
    """Of ten simulated studies none is called a misfit by any measure.

    p-values of measures that were fitted are conservative; that of sides is not, so the false alarm rate is 0.2.
    """
    areas = jm.chicago()
    for seed in range(10, 20):
        study = jm.simulate_study(np.random.default_rng(seed), areas)
        found = checked(study.data, areas)
        assert found.misfits == []
        assert found.n_outside <= 5
        assert "could have produced" in found.note


@pytest.mark.statistical
def test_a_favour_for_the_left_is_caught(other_study):
    """Answers from logit P = λ_left − λ_right + 1."""
    rng = np.random.default_rng(1)
    pairs = draw_pairs(rng, 77, 1848)
    won = rng.random(1848) < expit(other_study.true_risk[pairs[:, 1]] - other_study.true_risk[pairs[:, 0]] + 1.0)
    found = checked(answered(other_study.areas, pairs, won), other_study.areas)
    assert found.misfits == ["left"]
    assert "whatever the pair" in found.note
    assert found.note.endswith("Fit again with --side.")


@pytest.mark.statistical
def test_circles_are_caught(other_study):
    """Areas on a ring, each preferred with chance 0.9 to the half of it that follows: no scale can say that."""
    rng = np.random.default_rng(2)
    pairs = draw_pairs(rng, 77, 3000)
    ahead = (pairs[:, 1] - pairs[:, 0]) % 77 < 39
    won = rng.random(3000) < np.where(ahead, 0.9, 0.1)
    found = checked(answered(other_study.areas, pairs, won), other_study.areas)
    assert "triads" in found.misfits
    assert next(each for each in found.measures if each.name == "triads").remedy == DIFFER


@pytest.mark.statistical
def test_judges_with_two_minds_are_caught():
    """Every pair is always answered alike, by a coin tossed once: the same pairs agree more than any scale allows."""
    rng = np.random.default_rng(3)
    areas = jm.chicago()
    pairs = np.repeat(draw_pairs(rng, 77, 400), 5, axis=0)
    won = np.repeat(rng.random(400) < 0.5, 5)
    assert "pairs" in checked(answered(areas, pairs, won), areas).misfits


@pytest.mark.statistical
def test_a_prior_that_pulls_too_hard_is_caught(other_study):
    rng = np.random.default_rng(4)
    pairs = draw_pairs(rng, 77, 1848)
    won = answer(rng, pairs, -other_study.true_risk)
    found = checked(answered(other_study.areas, pairs, won), other_study.areas, alpha=0.1)
    assert "areas" in found.misfits
    assert found.n_outside > 20


def of(areas, rng, strengths, prior="communicability", n=1500):
    """Check a fit of answers that follow the model, given the strengths."""
    pairs = draw_pairs(rng, len(strengths), n)
    return checked(answered(areas, pairs, answer(rng, pairs, strengths)), areas, prior=prior)


@pytest.mark.statistical
@pytest.mark.parametrize("prior", ["communicability", "car"])
def test_plateaus_with_sharp_borders_are_found(prior):
    """Half of Chicago, grown from one area, is high, the rest low; 19 and 20 of 20 such sets are found."""
    areas, rng = jm.chicago(), np.random.default_rng(7)
    near = np.argsort(areas.graph.distances()[rng.integers(77)], kind="stable")
    found = of(areas, rng, np.where(np.argsort(near) < 38, 2.5, -2.5), prior)
    assert "borders" in found.misfits
    assert "--model clusters" in found.note


@pytest.mark.statistical
@pytest.mark.parametrize(("truth", "misfits"), [("communicability", []), ("car", ["smooth"])])
def test_a_prior_that_is_too_smooth_is_found_with_its_remedy(truth, misfits):
    """Neighbours less alike than the paper's prior assumes make its intervals too narrow: `--prior car` is right."""
    areas, rng = jm.chicago(), np.random.default_rng(8)
    found = of(areas, rng, 2.5 * jm.prior_covariance(areas, truth).draw(rng, 1)[0])
    assert found.misfits == misfits
    assert ("--prior car" in found.note) == bool(misfits)


@pytest.mark.statistical
@pytest.mark.parametrize(("behave", "found"), [(misbehaviour.own_part, True), (misbehaviour.careless, False)])
def test_judges_who_guess_beyond_their_part_are_told_from_those_who_guess_everywhere(behave, found):
    """In 30 studies of each kind the log Bayes factor was 14 to 74 for half-known maps, and at most −7 otherwise."""
    areas = jm.chicago()
    setting = Setting(areas.graph, jm.prior_covariance(areas, "car"), alpha=3.0, judges=12, comparisons=2000)
    answers = behave(np.random.default_rng(1), setting)
    words = np.array(["tie", "left", "right"])[answers.choice].tolist()
    data = Comparisons.from_words(areas.ids, answers.judge.astype(str).tolist(), answers.left, answers.right, words)
    check = jm.predictive_check(jm.fit_spatial(data, areas, **SHORT, judges="alike"), data, seed=1, draws=50)
    assert ("parts" in check.misfits) == found
    assert ("--reach" in check.note) == found


@pytest.mark.statistical
def test_a_prior_without_neighbours_is_the_remedy_of_the_last_resort():
    areas, rng = jm.chicago(), np.random.default_rng(9)
    found = of(areas, rng, 2.5 * rng.standard_normal(77), prior="car")
    assert found.misfits == ["smooth"]
    assert "--smoothness infer" in found.note
