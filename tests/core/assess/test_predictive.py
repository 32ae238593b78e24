from itertools import combinations

import numpy as np
import pytest
from scipy.special import expit

from judgemap.core.assess.misfit import Shown, chosen_first, circular_triads, replicate, tail_share


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


def test_replicates_win_as_often_as_their_chances_say():
    """Means over 4,000 draws within 4 standard errors, 5 measures: false alarm below 1e-3."""
    strengths = np.array([1.0, 0.0, -0.5])
    pairs = [(0, 1)] * 3 + [(2, 0)] * 2 + [(1, 2)] * 4
    shown = shown_from(pairs, [True] * 9)
    made = replicate(np.random.default_rng(2), shown, chosen_first(shown, np.tile(strengths, (4000, 1))))
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
    made = replicate(np.random.default_rng(3), shown, chosen_first(shown, np.zeros((30, 2))))
    np.testing.assert_allclose(made.areas[:, 0], 8.0)
    np.testing.assert_allclose(made.pairs[:, 0], 8 * np.log(2))
    assert shown.left_won.tolist() == [True, False, True, False]


def test_a_tail_counts_likes_half():
    np.testing.assert_allclose(tail_share(np.array([[1, 5], [2, 5], [3, 5]]), np.array([2, 5])), [0.5, 0.5])
