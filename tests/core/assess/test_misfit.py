"""Mean squares, shares and replicated answers, against enumeration and integrals."""

from itertools import combinations, product

import numpy as np
import pytest
from scipy import integrate
from scipy.special import expit

from judgemap.core.approximate import mean_chance
from judgemap.core.assess.misfit import (
    Shown,
    circular_triads,
    mean_squares,
    replicate,
    share_interval,
    tail_share,
)


def moments_by_enumeration(p):
    """Mean and sd of outfit and infit over all answers that there can be, each with its probability."""
    answers = np.array(list(product([0, 1], repeat=len(p))))
    weight = np.where(answers == 1, p, 1 - p).prod(axis=1)
    group = np.zeros(len(p), dtype=np.int64)
    found = np.array([[s.outfit[0], s.infit[0]] for s in (mean_squares(y, p, group, 1) for y in answers)])
    mean = weight @ found
    return mean, np.sqrt(weight @ (found - mean) ** 2)


def test_mean_squares_have_mean_one_and_the_sd_they_say():
    p = np.array([0.05, 0.3, 0.5, 0.62, 0.9, 0.98])
    mean, sd = moments_by_enumeration(p)
    said = mean_squares(np.ones(6), p, np.zeros(6, dtype=np.int64), 1)
    np.testing.assert_allclose(mean, 1.0)
    np.testing.assert_allclose(sd, [said.outfit_sd[0], said.infit_sd[0]])


def test_groups_are_apart_and_an_empty_one_is_nan():
    y, p, group = np.array([1, 0, 1]), np.array([0.2, 0.5, 0.5]), np.array([0, 2, 2])
    squares = mean_squares(y, p, group, 3)
    np.testing.assert_allclose(squares.outfit, [0.64 / 0.16, np.nan, 1.0])
    np.testing.assert_allclose(squares.infit, [0.64 / 0.16, np.nan, 1.0])


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_a_certain_answer_has_no_mean_square(chance):
    with pytest.raises(ValueError, match="between 0 and 1"):
        mean_squares([1], [chance], np.array([0]), 1)


@pytest.mark.parametrize(("mean", "sd"), [(0.3, 0.5), (2.0, 1.5), (-4.0, 3.0)])
def test_mean_chance_is_the_integral(mean, sd):
    def density(x):
        return expit(mean + sd * x) * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    exact = integrate.quad(density, -12, 12)[0]
    assert mean_chance([mean], [sd**2])[0] == pytest.approx(exact, abs=1e-5)


def test_wilson_ends_solve_their_equation():
    k, n, z = np.array([0, 3, 10]), np.array([10, 10, 10]), 1.959964
    low, high = share_interval(k, n)
    for end, rows in ((low, [1, 2]), (high, [0, 1])):
        s = end[rows]
        np.testing.assert_allclose(np.abs(k - n * end)[rows], z * np.sqrt(n[rows] * s * (1 - s)), rtol=1e-5)
    assert low[0] == 0
    assert high[2] == 1
    np.testing.assert_array_equal(np.concatenate(share_interval([0], [0])), [0, 1])


def shown_from(pairs, won):
    """Make `Shown` from (left, right) and whether left won."""
    left, right = np.asarray(pairs).T
    n_areas = int(max(left.max(), right.max())) + 1
    keys, pair = np.unique(np.minimum(left, right) * n_areas + np.maximum(left, right), return_inverse=True)
    forward = left < right
    return Shown(n_areas, pair, keys // n_areas, keys % n_areas, forward, np.asarray(won) == forward)


def count_circles(wins, n_areas):
    beats = {(i, j) for (i, j), margin in wins.items() if margin > 0}
    found = 0
    for i, j, k in combinations(range(n_areas), 3):
        found += {(i, j), (j, k), (k, i)} <= beats or {(j, i), (k, j), (i, k)} <= beats
    return found


def test_circles_are_those_that_counting_finds():
    rng = np.random.default_rng(1)
    left = rng.integers(9, size=120)
    right = (left + rng.integers(1, 9, size=120)) % 9
    won = rng.random(120) < 0.5
    shown = shown_from(np.stack([left, right], axis=1), won)
    margins = {}
    for a, b, y in zip(left.tolist(), right.tolist(), won.tolist(), strict=True):
        step = 1 if y else -1
        margins[a, b] = margins.get((a, b), 0) + step
        margins[b, a] = margins.get((b, a), 0) - step
    expected = count_circles(margins, 9)
    assert expected > 0
    assert circular_triads(shown, shown.wins(shown.first_won)) == expected


def chances_of(shown, strengths):
    return expit(strengths[shown.first] - strengths[shown.second])[shown.pair]


def test_replicates_win_as_often_as_their_chances_say():
    """Means over 4,000 draws within 4 standard errors, 5 measures: false alarm below 1e-3."""
    strengths = np.array([1.0, 0.0, -0.5])
    pairs = [(0, 1)] * 3 + [(2, 0)] * 2 + [(1, 2)] * 4
    shown = shown_from(pairs, [True] * 9)
    made = replicate(np.random.default_rng(2), shown, [chances_of(shown, strengths)] * 4000)
    p = np.array([expit(strengths[a] - strengths[b]) for a, b in pairs])
    won = np.zeros(3)
    for (a, b), chance in zip(pairs, p, strict=True):
        won[a] += chance
        won[b] += 1 - chance
    error = made.wins.std(axis=0) / np.sqrt(4000)
    assert np.all(np.abs(made.wins.mean(axis=0) - won) < 4 * error)
    assert abs(made.left.mean() - p.sum()) < 4 * np.sqrt((p * (1 - p)).sum() / 4000)
    assert made.areas[:, 1].mean() == pytest.approx(3.0, abs=4 * made.areas[:, 1].std() / np.sqrt(4000))


def test_measures_of_a_hand_made_case():
    """Four showings of one pair at p = ½, all won by the first: (4 − 2)²/1 twice, and deviance 2·4·log 2."""
    shown = shown_from([(0, 1), (1, 0), (0, 1), (1, 0)], [True, False, True, False])
    made = replicate(np.random.default_rng(3), shown, [np.full(4, 0.5)] * 30)
    np.testing.assert_allclose(made.areas[:, 0], 8.0)
    np.testing.assert_allclose(made.pairs[:, 0], 8 * np.log(2))
    assert shown.left_won.tolist() == [True, False, True, False]


def test_a_tail_counts_likes_half():
    np.testing.assert_allclose(tail_share(np.array([[1, 5], [2, 5], [3, 5]]), np.array([2, 5])), [0.5, 0.5])
