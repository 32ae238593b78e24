import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgemap.core.model.counts import (
    JudgedCounts,
    PairCounts,
    count_judged,
    count_pairs,
    information,
    laplacian,
    log_likelihood,
    score,
)

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)).filter(lambda pair: pair[0] != pair[1]), max_size=40)


@given(ROWS)
def test_counts_keep_every_comparison(rows):
    winners, losers = [w for w, _ in rows], [loser for _, loser in rows]
    counts = count_pairs(winners, losers, n_areas=6)
    assert counts.total == len(rows)
    assert counts.per_area().sum() == 2 * len(rows)
    won = np.bincount(np.array(winners, dtype=int), minlength=6)
    lost = np.bincount(np.array(losers, dtype=int), minlength=6)
    np.testing.assert_allclose(counts.excess(), (won - lost) / 2)


@given(ROWS, st.integers(0, 2**31))
def test_order_of_rows_does_not_matter(rows, seed):
    shuffled = [rows[i] for i in np.random.default_rng(seed).permutation(len(rows))]
    a, b = (count_pairs([w for w, _ in r], [loser for _, loser in r], 6) for r in (rows, shuffled))
    for field in ("first", "second", "n", "wins"):
        np.testing.assert_array_equal(getattr(a, field), getattr(b, field))


@given(ROWS, st.integers(0, 2**31))
def test_likelihood_is_that_of_single_comparisons(rows, seed):
    strengths = np.random.default_rng(seed).normal(size=6)
    counts = count_pairs([w for w, _ in rows], [loser for _, loser in rows], 6)
    single = -sum(np.log1p(np.exp(strengths[loser] - strengths[w])) for w, loser in rows)
    np.testing.assert_allclose(log_likelihood(counts, strengths), single, atol=1e-10)
    np.testing.assert_allclose(log_likelihood(counts, strengths + 3.0), single, atol=1e-9)


def test_score_and_information_are_derivatives():
    rng = np.random.default_rng(1)
    winners = rng.integers(5, size=60)
    counts = count_pairs(winners, (winners + rng.integers(1, 5, size=60)) % 5, 5)
    at, step = rng.normal(size=5), 1e-5
    for k in range(5):
        up, down = at.copy(), at.copy()
        up[k] += step
        down[k] -= step
        slope = (log_likelihood(counts, up) - log_likelihood(counts, down)) / (2 * step)
        assert slope == pytest.approx(score(counts, at)[k], abs=1e-6)
        curve = (score(counts, up) - score(counts, down)) / (2 * step)
        np.testing.assert_allclose(-curve, information(counts, at)[k], atol=1e-6)


def test_laplacian_is_the_product_it_stands_for():
    counts = count_pairs([0, 0, 3], [1, 2, 1], 4)
    weights = np.array([0.5, 2.0, 1.5])
    X = np.zeros((3, 4))
    X[np.arange(3), counts.first], X[np.arange(3), counts.second] = 1, -1
    np.testing.assert_allclose(laplacian(counts, weights), X.T @ np.diag(weights) @ X)


@pytest.mark.parametrize(
    ("winners", "losers", "sentence"),
    [
        ([0, 1], [1, 1], "comparison 1 compares an area with itself"),
        ([0], [3], r"areas must lie in 0 … 2"),
        ([-1], [0], r"areas must lie in 0 … 2"),
        ([0, 1], [1], "same length"),
    ],
)
def test_bad_comparisons(winners, losers, sentence):
    with pytest.raises(ValueError, match=sentence):
        count_pairs(winners, losers, n_areas=3)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"first": [1], "second": [0], "n": [1], "wins": [0]}, "first < second"),
        ({"first": [0, 0], "second": [1, 1], "n": [1, 1], "wins": [0, 0]}, "stored once"),
        ({"first": [0], "second": [1], "n": [1], "wins": [2]}, "0 ≤ wins ≤ n"),
        ({"first": [0], "second": [1], "n": [0], "wins": [0]}, "n . ties ≥ 1"),
        ({"first": [0], "second": [1], "n": [1], "wins": [0], "ties": [-1]}, "ties ≥ 0"),
        ({"first": [0], "second": [1], "n": [1, 2], "wins": [0]}, "same length"),
    ],
)
def test_bad_counts(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        PairCounts(n_areas=3, **fields)


def test_counts_are_copied_and_frozen():
    wins = np.array([1])
    counts = PairCounts(2, [0], [1], [2], wins)
    wins[0] = 2
    assert counts.wins[0] == 1
    with pytest.raises(ValueError, match="read-only"):
        counts.wins[0] = 2


@given(ROWS, ROWS)
def test_ties_are_counted_beside_the_decided(rows, ties):
    winners, losers = [w for w, _ in rows], [loser for _, loser in rows]
    counts = count_pairs(winners, losers, 6, ties)
    assert (counts.total, counts.ties.sum()) == (len(rows), len(ties))
    assert counts.per_area().sum() == 2 * len(rows)
    plain = count_pairs(winners, losers, 6)
    for field in ("first", "second", "n", "wins", "ties"):
        np.testing.assert_array_equal(getattr(counts.decided(), field), getattr(plain, field))


JUDGED = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 5), st.integers(0, 5), st.integers(-1, 1)).filter(
        lambda row: row[1] != row[2]
    ),
    max_size=40,
)


@given(JUDGED, st.booleans())
def test_counts_by_judge_are_those_of_a_loop(rows, sides):
    columns = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    counts = count_judged(*columns, n_areas=6, n_judges=4, sides=sides)
    expected = {}
    for judge, left, right, choice in rows:
        first_left = int(left < right) if sides else -1
        tally = expected.setdefault((judge, min(left, right), max(left, right), first_left), [0, 0, 0])
        tally[0] += choice != 0
        tally[1] += choice != 0 and (choice == 1) == (left < right)
        tally[2] += choice == 0
    keys = zip(*(getattr(counts, name).tolist() for name in ("judge", "first", "second", "first_left")), strict=True)
    values = zip(counts.n.tolist(), counts.wins.tolist(), counts.ties.tolist(), strict=True)
    assert {key: list(value) for key, value in zip(keys, values, strict=True)} == expected
    assert counts.pairs().total == sum(choice != 0 for *_, choice in rows)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"judge": [0, 2]}, "judges must lie in 0 … 1"),
        ({"first_left": [1, 2]}, "first_left must be"),
        ({"judge": [0, 0]}, "stored once"),
        ({"n": [1]}, "same length"),
    ],
)
def test_bad_counts_by_judge(changes, sentence):
    usual = {"judge": [0, 1], "first": [0, 0], "second": [1, 1], "first_left": [1, 1], "n": [1, 1], "wins": [0, 1]}
    with pytest.raises(ValueError, match=sentence):
        JudgedCounts(n_areas=3, n_judges=2, **usual | changes)
