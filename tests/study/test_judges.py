"""Judges: closed forms on tiny tables, calibration on simulated ones, the paper's figures on Nottinghamshire."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import judgemap as jm
from judgemap.core.assess.misfit import mean_squares, share_interval
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, independent
from judgemap.core.simulate.trials import answer, draw_pairs
from judgemap.study.assess.judges import (
    Belief,
    _against_others,
    others_chances,
    quick_fit,
    stands_out,
    surprising_answers,
    time_histogram,
)
from judgemap.study.data.comparisons import Comparisons, Outcome


def tell(areas, rows):
    """Make comparisons from (judge, left, right, outcome, seconds)."""
    judge, left, right, outcome, seconds = zip(*rows, strict=True)
    return Comparisons.from_words(areas.ids, judge, areas.index(left), areas.index(right), outcome, seconds)


def quick(data, areas):
    return jm.fit_standard(data, areas, seed=1, chains=2, draws=100, alpha=2.0, as_in_paper=True)


def table_of(data, areas):
    return jm.judge_table(quick(data, areas), data).set_index("judge")


@pytest.fixture(scope="module")
def told(square):
    return tell(
        square,
        [
            ("ann", "a", "b", "left", 1.0),
            ("bob", "a", "b", "right", 2.0),
            ("ann", "b", "a", "right", 3.0),
            ("ann", "c", "d", "tie", 5.0),
            ("", "a", "d", "left", np.nan),
            ("ann", "a", "b", "right", 7.0),
            ("bob", "c", "d", "skipped", np.nan),
            ("bob", "c", "d", "unknown", np.nan),
            ("eve", "c", "b", "tie", np.nan),
        ],
    )


@pytest.fixture(scope="module")
def table(told, square):
    return table_of(told, square)


def test_counts_shares_and_times(table):
    assert table.index.tolist() == ["ann", "bob", "eve"]
    assert table["comparisons"].tolist() == [4, 3, 1]
    assert table["decided"].tolist() == [3, 1, 0]
    assert table[["ties", "skipped", "unknown"]].to_numpy().tolist() == [[1, 0, 0], [0, 1, 1], [1, 0, 0]]
    np.testing.assert_allclose(table["undecided"], [1 / 4, 2 / 3, 1])
    assert table["left"].tolist() == [1, 0, 0]
    np.testing.assert_allclose(table["left_share"], [1 / 3, 0, np.nan])
    ends = table.loc["ann", ["left_low", "left_high"]].astype(float)
    np.testing.assert_allclose(ends, np.ravel(share_interval(1, 3)))
    np.testing.assert_allclose(table["seconds_median"], [4.0, 2.0, np.nan])
    np.testing.assert_allclose(table["seconds_low"], [2.5, 2.0, np.nan])


def test_a_repeated_pair_is_held_against_the_last_answer(table):
    """Ann chose a, then a again (shown the other way round), then b: two repeats, one the same."""
    assert table["repeats"].tolist() == [2, 0, 0]
    np.testing.assert_allclose(table["consistency"], [0.5, np.nan, np.nan])


def test_a_judge_without_decisions_has_no_mean_squares(table):
    assert table.loc["eve", ["infit", "outfit", "agreement", "agreement_low", "left_low"]].isna().all()


def test_a_lone_judge_has_nobody_to_agree_with(told, square):
    table = table_of(told.only(["ann"]), square)
    assert table[["infit", "outfit", "agreement", "agreement_expected"]].isna().all(axis=None)
    assert table["comparisons"].tolist() == [4]


def test_a_table_of_winners_does_not_tell_sides(square):
    data = tell(square, [("ann", "a", "b", "left", 1.0), ("bob", "c", "b", "left", 1.0)])
    assert table_of(data, square)[["left_share", "left_low", "left_high"]].isna().all(axis=None)


def test_answers_without_names_are_nobodys(square):
    data = tell(square, [("", "a", "b", "left", 1.0), ("", "c", "b", "right", 1.0)])
    assert len(table_of(data, square)) == 0
    assert len(surprising_answers(quick(data, square), data)) == 0, "nothing two answers say is surprising"


def test_comparisons_of_other_areas_are_refused(rough, told):
    with pytest.raises(jm.StudyError, match="different areas"):
        jm.judge_table(rough, told)


def test_chances_come_from_the_other_judges_alone(square):
    """Changing all of a judge's own answers changes none of the judge's chances; it changes the others'."""
    rng = np.random.default_rng(1)
    pairs = draw_pairs(rng, 4, 60)
    judge = tuple("ann" if each < 20 else "bob" if each < 40 else "eve" for each in range(60))
    said = np.where(rng.random(60) < 0.5, "left", "right")
    turned = np.where(np.arange(60) < 20, np.where(said == "left", "right", "left"), said)
    belief = Belief(independent(4), FixedVariance(2.0))
    one, two = (
        others_chances(Comparisons.from_words(square.ids, judge, *pairs.T, outcome.tolist()), belief)
        for outcome in (said, turned)
    )
    np.testing.assert_allclose(one[:20], two[:20], atol=2e-3)
    assert np.abs(one[20:] - two[20:]).max() > 0.05


def test_agreement_of_a_hand_made_case(square):
    """Bob and Eve say ten times that a beats b; Ann says once so, and twice the opposite."""
    rows = [("bob", "a", "b", "left", 1.0)] * 10 + [("eve", "b", "a", "right", 1.0)] * 10
    rows += [("ann", "a", "b", "left", 1.0), ("ann", "a", "b", "right", 1.0), ("ann", "b", "a", "left", 1.0)]
    table = table_of(tell(square, rows), square)
    np.testing.assert_allclose(table["agreement"], [1.0, 1.0, 1 / 3])
    assert table.loc["ann", "infit"] > 3


def test_surprises_are_sorted_and_name_what_was_chosen(square):
    rows = [("bob", "a", "b", "left", 1.0)] * 15 + [("ann", "b", "a", "left", 9.0), ("ann", "c", "d", "left", 2.0)]
    data = tell(square, rows)
    fit = quick(data, square)
    found = surprising_answers(fit, data, most=3)
    first = found.iloc[0]
    assert (first["row"], first["judge"], first["chosen"], first["other_name"]) == (15, "ann", "b", "Ash")
    assert len(found) == 1, "the other answers are not surprising"
    assert first["probability"] <= 0.1
    chance = fit.choice_chances(np.array([0]), np.array([1]))[0]
    assert first["probability"] == pytest.approx(1 - chance)


def test_direction_changes_no_chance(square):
    rows = [("bob", "a", "b", "left", 1.0)] * 15 + [("ann", "b", "a", "left", 9.0)]
    lower = tell(square, rows)
    both = (lower, replace(lower, winner_is="higher"))
    one, two = (surprising_answers(quick(each, square), each) for each in both)
    assert len(one) == 1
    np.testing.assert_allclose(one["probability"], two["probability"])


def test_histogram_holds_every_time_once():
    seconds = np.random.default_rng(1).gamma(2, 3, 500)
    data = Comparisons.from_words(("a", "b"), ("x", "y") * 250, [0] * 500, [1] * 500, ("tie",) * 500, seconds)
    found = time_histogram(data)
    assert found.counts.shape == (2, 30)
    assert found.counts.sum(axis=1).tolist() == [250, 250]
    inside = data.seconds[::2] < found.edges[1]
    assert found.counts[0, 0] == inside.sum()


def test_no_times_no_histogram():
    data = Comparisons.from_words(("a", "b"), ("x",), [0], [1], ("tie",), [np.nan])
    with pytest.raises(jm.StudyError, match="no comparison has a time"):
        time_histogram(data)


def simulated(seed, answers=(40,) * 8, n_areas=20, alpha=1.5):
    rng = np.random.default_rng(seed)
    strengths = alpha * rng.standard_normal(n_areas)
    pairs = draw_pairs(rng, n_areas, sum(answers))
    outcome = np.where(answer(rng, pairs, strengths), "left", "right").tolist()
    judge = np.repeat([f"j{each}" for each in range(len(answers))], answers).tolist()
    return Comparisons.from_words(tuple(map(str, range(n_areas))), judge, *pairs.T, outcome)


def from_all_answers(answers, belief):
    """The planted bug: chances from a fit that has seen the judge's own answers."""
    first, second, number = answers.pairs
    return quick_fit(answers.counts(), belief).chances(first, second)[number]


def test_turning_every_pair_round_turns_sides_alone(rough, study):
    """Left and right swapped with their outcomes: sides change, nothing else does."""
    data = study.data
    turned = replace(data, left=data.right, right=data.left, outcome=Outcome.RIGHT - data.outcome)
    one, two = (jm.judge_table(rough, each) for each in (data, turned))
    np.testing.assert_allclose(two["left_share"], 1 - one["left_share"])
    np.testing.assert_allclose(two["left_low"], 1 - one["left_high"])
    for column in ("infit", "outfit", "agreement", "agreement_expected", "repeats", "consistency", "seconds_median"):
        np.testing.assert_allclose(two[column], one[column])


def test_relabelled_areas_change_no_judge(rough, study):
    areas, data = study.areas, study.data
    order = np.random.default_rng(5).permutation(len(areas))
    place = np.argsort(order)
    moved = jm.Areas(
        tuple(areas.ids[i] for i in order),
        tuple(areas.names[i] for i in order),
        AreaGraph(len(areas), place[areas.graph.edges]),
    )
    again = replace(data, ids=moved.ids, left=place[data.left], right=place[data.right])
    one = jm.judge_table(rough, data)
    two = jm.judge_table(jm.fit_spatial(again, moved, seed=1, chains=2, draws=50, as_in_paper=True), again)
    for column in ("infit", "outfit", "agreement", "repeats", "left_share"):
        np.testing.assert_allclose(two[column], one[column], rtol=5e-3)


@pytest.mark.statistical
@pytest.mark.parametrize("studies", [30, pytest.param(150, marks=pytest.mark.slow)])  # eight fits of the others each
@pytest.mark.parametrize(("chances", "right"), [(others_chances, True), (from_all_answers, False)])
def test_judges_who_answer_as_the_model_says_have_mean_square_one(chances, right, studies):
    """Over many studies of 8 judges, mean infit, outfit, and agreement less expected: |z| < 4, false alarm 2e-4."""
    found = []
    for seed in range(studies):
        data = simulated(seed)
        p = chances(data, Belief(independent(20), FixedVariance(1.5**2)))
        squares = mean_squares(data.first_won, p, data.judge, len(data.judges))
        agreed = (data.first_won == (p > 0.5)).mean() - np.maximum(p, 1 - p).mean()
        found.append([squares.infit.mean() - 1, squares.outfit.mean() - 1, agreed])
    gap = np.array(found)
    z = gap.mean(axis=0) / (gap.std(axis=0, ddof=1) / np.sqrt(len(gap)))
    assert (np.abs(z).max() < 4) == right


@pytest.mark.statistical
def test_judges_who_answer_at_random_or_the_wrong_way_round_stand_out():
    study = jm.simulate_study(np.random.default_rng(5), jm.chicago())
    code, outcome = study.data.judge, study.data.outcome.copy()
    rng = np.random.default_rng(6)
    random, inverted, lefty = code == 4, code == 7, code == 10
    outcome[random] = np.where(rng.random(random.sum()) < 0.5, Outcome.LEFT, Outcome.RIGHT)
    outcome[inverted] = Outcome.RIGHT - outcome[inverted]
    outcome[lefty] = Outcome.LEFT
    data = replace(study.data, outcome=outcome)
    short = {"seed": 1, "chains": 2, "draws": 200, "as_in_paper": True}
    said = stands_out(jm.judge_table(jm.fit_spatial(data, study.areas, **short), data))
    assert "chance explains" in said["5"][0]
    assert "other way round" in said["8"][0]
    assert any("left area in 100 %" in sentence for sentence in said["11"])
    assert [judge for judge, sentences in said.items() if sentences] == ["5", "8", "11"]
    clean = jm.judge_table(jm.fit_spatial(study.data, study.areas, **short), study.data)
    assert not any(stands_out(clean).values())
    hasty = stands_out(clean.assign(seconds_median=0.1, comparisons=50))
    assert all("0.1 seconds" in " ".join(sentences) for sentences in hasty.values()), "even if all are as fast"


ROW = {
    "judge": "ann", "comparisons": 60, "decided": 40, "ties": 5, "skipped": 5, "unknown": 10, "left_share": 0.5,
    "agreement": 0.8, "agreement_high": 0.9, "agreement_expected": 0.8, "infit": 1.0, "infit_z": 0.0,
    "seconds_median": 5.0, "repeats": 5, "consistency": 0.8, "consistency_expected": 0.8,
}  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, 0),
        ({"consistency": 0.4}, 0),  # happens to one judge in twenty
        ({"repeats": 20, "consistency": 0.4}, 1),
        ({"repeats": 20, "consistency": 0.4, "consistency_expected": 0.55}, 0),  # close pairs
        ({"unknown": 55, "decided": 5, "ties": 0, "skipped": 0}, 0),  # not to know is no offence
        ({"ties": 30, "decided": 10}, 1),
        ({"decided": 5, "agreement": 0.0, "agreement_high": 0.43, "agreement_expected": 0.55}, 0),
        ({"decided": 15, "agreement": 0.1, "agreement_high": 0.3}, 1),
        ({"infit": 1.3, "infit_z": 2.5}, 0),  # happens to one judge in 150
        ({"infit": 1.3, "infit_z": 3.0}, 1),
    ],
)
def test_only_what_chance_cannot_explain_stands_out(changed, said):
    assert len(stands_out(pd.DataFrame([{**ROW, **changed}]))["ann"]) == said


@pytest.mark.statistical
def test_a_judge_with_most_of_the_answers_stands_out_no_more_often():
    """infit_z of a judge with four times the answers of all others has standard deviation 1: 60 studies, |z| < 4.

    Without the covariance that the others' few answers leave between this judge's, it is above 1.6.
    """
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        strengths, pairs = 1.5 * rng.standard_normal(12), draw_pairs(rng, 12, 250)
        outcome = np.where(answer(rng, pairs, strengths), "left", "right").tolist()
        judge = tuple("much" if each < 200 else f"j{each % 5}" for each in range(250))
        data = Comparisons.from_words(tuple("abcdefghijkl"), judge, *pairs.T, outcome)
        found.append(_against_others(data, Belief(independent(12), FixedVariance(2.25)))["infit_z"][0])
    assert np.std(found) == pytest.approx(1.0, abs=4 / np.sqrt(2 * len(found)))


@pytest.mark.parametrize(("size", "judges"), [(5_000, 40), pytest.param(100_000, 200, marks=pytest.mark.slow)])
def test_a_hundred_thousand_comparisons(square, size, judges):
    """Ready for large studies: nothing is done a row at a time that could be done at once, which the long one shows."""
    rng = np.random.default_rng(1)
    pairs = draw_pairs(rng, 4, size)
    won = answer(rng, pairs, np.array([1.0, 0.5, 0.0, -0.5]))
    names = [f"j{each}" for each in rng.integers(judges, size=size)]
    outcome = np.where(won, "left", "right").tolist()
    table = table_of(Comparisons.from_words(square.ids, names, *pairs.T, outcome, rng.gamma(2, 3, size)), square)
    assert table["comparisons"].sum() == size
    assert table["infit"].mean() == pytest.approx(1, abs=4 * table["infit"].std() / np.sqrt(judges))
    assert np.abs(table["infit_z"]).max() < 4.5


def timed(folder, areas):
    """Nottinghamshire with seconds from one answer of a judge to the next; the file has times of day only."""
    rows = pd.read_csv(folder / "comparisons.csv")
    seconds = pd.to_timedelta(rows["time_of_day"]).groupby(rows["judge"]).diff().dt.total_seconds()
    return replace(jm.read_comparisons(folder / "comparisons.csv", areas), seconds=seconds.to_numpy())


@pytest.mark.statistical
def test_nottinghamshire_judges_are_the_papers(nottinghamshire):
    """Table 3 of the paper: comparisons, and median times, which the paper rounds to half seconds.

    Pauses and pairs without a winner make the times from one answer to the next longer for judges 1, 2, 3, 9 and 10.
    """
    areas = jm.read_edges(nottinghamshire / "edges.csv", nottinghamshire / "areas.csv")
    data = timed(nottinghamshire, areas)
    fit = jm.fit_spatial(data, areas, seed=1, chains=4, draws=250, as_in_paper=True)
    table = jm.judge_table(fit, data)
    assert table["comparisons"].tolist() == [11, 27, 62, 344, 130, 1, 36, 80, 8, 3, 81, 1063]
    same = table.set_index("judge").loc[["4", "5", "7", "8", "11", "12"], "seconds_median"]
    np.testing.assert_allclose(same, [4, 8, 7.5, 6, 4, 4], atol=0.5)
    assert np.nanmedian(data.seconds) == pytest.approx(4, abs=0.5)
    twelve = table.set_index("judge").loc["12"]
    assert twelve["agreement"] > twelve["agreement_expected"]
    assert set(stands_out(table)) == set(data.per_judge())
    assert [judge for judge, said in stands_out(table).items() if said] == ["1", "8", "9", "11"]
