"""Answers that the model would have given to the same pairs, and what to compare them by: posterior prediction.

For every draw of the strengths the same pairs are answered anew. What was answered in truth is then held against these
replicates by some measure T; the Bayesian p-value is P(T(replicate) > T(answers)), likes counting half. Some measures
use the draw of the strengths as well as the answers (realised discrepancies, Gelman, Meng and Stern, 1996).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, xlogy

from judgemap.core.types import BoolArray, FloatArray, IntArray

TRIAD_WORK = 2e10
"""Multiplications spent on counting circles; of many areas, fewer replicates are counted."""
FEWEST_TRIADS = 50


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Pairs as they were shown and answered, one entry each: ``pair`` numbers the distinct pairs, on whichever side.

    ``sign`` is 1 where the area on the left is the pair's first (the smaller number), −1 where it is the second.
    """

    n_areas: int
    left: IntArray
    right: IntArray
    pair: IntArray
    left_won: BoolArray

    @property
    def sign(self) -> IntArray:
        """1 where the left area is the pair's first, −1 where its second."""
        return np.where(self.left < self.right, 1, -1)


class Replicates(NamedTuple):
    """Measures of the answers and of their replicates, a value a draw."""

    wins: IntArray
    """Wins of each area, (draws, areas), in the replicates."""
    areas: FloatArray
    """Σ (wins − expected)² / variance over the areas: (draws, 2), of the answers and of the replicate."""
    pairs: FloatArray
    """Deviance over the pairs, likewise."""
    left: IntArray
    """Answers for the left area in the replicates."""
    triads: IntArray
    """Circles in the replicates, of some of the draws; empty where there are too many areas."""


def replicate(rng: np.random.Generator, shown: Shown, strengths: FloatArray) -> Replicates:
    """Answer the pairs anew with each draw of the strengths, (draws, areas), and measure.

    >>> shown = Shown(2, np.zeros(50, int), np.ones(50, int), np.zeros(50, int), np.ones(50, bool))
    >>> replicate(np.random.default_rng(1), shown, np.zeros((3, 2))).left
    array([22, 25, 25])
    """
    n_draws, size = len(strengths), shown.n_areas
    n_pairs = int(shown.pair.max()) + 1
    wins = np.empty((n_draws, size), dtype=np.int64)
    areas, pairs = np.empty((n_draws, 2)), np.empty((n_draws, 2))
    left = np.empty(n_draws, dtype=np.int64)
    counted = int(min(n_draws, TRIAD_WORK / (2 * size**3)))
    circles = []
    observed = area_wins(shown, shown.left_won)
    for each, draw in enumerate(strengths):
        p = expit(draw[shown.left] - draw[shown.right])
        again = rng.random(len(p)) < p
        wins[each] = area_wins(shown, again)
        areas[each] = [_area_distance(shown, p, won) for won in (observed, wins[each])]
        pairs[each] = [_pair_deviance(shown, p, won, n_pairs) for won in (shown.left_won, again)]
        left[each] = again.sum()
        if counted >= FEWEST_TRIADS and each < counted:
            circles.append(circular_triads(shown, again))
    return Replicates(wins, areas, pairs, left, np.array(circles, dtype=np.int64))


def area_wins(shown: Shown, left_won: BoolArray) -> IntArray:
    """Count the wins of each area.

    >>> area_wins(Shown(3, np.array([0]), np.array([2]), np.array([0]), np.array([True])), np.array([False]))
    array([0, 0, 1])
    """
    return np.bincount(np.where(left_won, shown.left, shown.right), minlength=shown.n_areas).astype(np.int64)


def circular_triads(shown: Shown, left_won: BoolArray) -> int:
    """Count the circles: three areas, each of which beat the next, by the majority where a pair came more than once.

    With M_ij = 1 where i beat j, trace(M³)/3. Source: Kendall and Babington Smith (1940).

    >>> left, right = np.array([0, 1, 2]), np.array([1, 2, 0])
    >>> circular_triads(Shown(3, left, right, np.arange(3), np.ones(3, bool)), np.ones(3, bool))
    1
    """
    size = shown.n_areas
    margin = np.bincount(shown.pair, np.where(left_won, 1, -1) * shown.sign)
    first, second = np.empty(len(margin), dtype=np.int64), np.empty(len(margin), dtype=np.int64)
    first[shown.pair], second[shown.pair] = np.minimum(shown.left, shown.right), np.maximum(shown.left, shown.right)
    beats = np.zeros((size, size), dtype=np.float32)
    beats[first[margin > 0], second[margin > 0]] = 1
    beats[second[margin < 0], first[margin < 0]] = 1
    return round(float(np.einsum("ij,ji->", beats @ beats, beats, dtype=np.float64)) / 3)


def tail_share(replicates: FloatArray | IntArray, observed: FloatArray | IntArray | float) -> FloatArray:
    """P(replicate > observed) + P(replicate = observed)/2 over the first axis.

    >>> tail_share(np.array([1, 2, 3, 4]), 3)
    array(0.375)
    """
    higher, like = (replicates > observed).mean(axis=0), (replicates == observed).mean(axis=0)
    return np.asarray(higher + like / 2, dtype=np.float64)


def _area_distance(shown: Shown, p: FloatArray, wins: IntArray) -> float:
    size = shown.n_areas
    expected = np.bincount(shown.left, p, size) + np.bincount(shown.right, 1 - p, size)
    v = p * (1 - p)
    variance = np.bincount(shown.left, v, size) + np.bincount(shown.right, v, size)
    there = variance > 0
    return float(((wins - expected)[there] ** 2 / variance[there]).sum())


def _pair_deviance(shown: Shown, p: FloatArray, left_won: BoolArray, n_pairs: int) -> float:
    """2Σ[w log(w/np) + (n − w) log((n − w)/n(1 − p))], w the wins of a pair's first area in n answers."""
    forward = shown.sign > 0
    chance = np.empty(n_pairs)
    chance[shown.pair] = np.where(forward, p, 1 - p)
    chance = np.clip(chance, 1e-300, 1 - 1e-16)
    n = np.bincount(shown.pair, minlength=n_pairs)
    w = np.bincount(shown.pair, left_won == forward, n_pairs)
    return float(2 * (xlogy(w, w / (n * chance)) + xlogy(n - w, (n - w) / (n * (1 - chance)))).sum())
