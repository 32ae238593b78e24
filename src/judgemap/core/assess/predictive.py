"""Posterior prediction: answers the model would have given to the same pairs, and measures to compare them by.

For every draw of the strengths the same pairs are answered again. The judges' answers are then compared with these
replicates by some measure T; the Bayesian p-value is P(T(replicate) > T(answers)), with equal values counting half.
Some measures depend on the draw of the strengths as well as on the answers (realised discrepancies, Gelman, Meng and
Stern, 1996).
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, xlogy

from judgemap.core.types import BoolArray, FloatArray, IntArray

TRIAD_WORK = 2e10
"""The most multiplications spent on counting circular triads; with more areas, fewer replicates are counted."""
FEWEST_TRIADS = 50

EXTREME = 0.01
"""A p-value closer to 0 or 1 than this counts as unusual."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Pairs as they were shown and answered, one entry each; ``pair`` numbers the distinct pairs, ignoring sides.

    For a distinct pair, ``first`` and ``second`` are the areas and ``n`` how often it was shown; ``forward`` says for
    each entry whether the pair's first area was on the left.
    """

    n_areas: int
    pair: IntArray
    first: IntArray
    second: IntArray
    forward: BoolArray
    first_won: BoolArray

    @property
    def left_won(self) -> BoolArray:
        """Which answers are for the left area."""
        return np.equal(self.first_won, self.forward)

    @property
    def n(self) -> IntArray:
        """How often each distinct pair was shown."""
        return np.bincount(self.pair, minlength=len(self.first)).astype(np.int64)

    def wins(self, first_won: BoolArray) -> IntArray:
        """How often the first area of each distinct pair won."""
        return np.bincount(self.pair[first_won], minlength=len(self.first)).astype(np.int64)

    def onto_areas(self, of_first: FloatArray | IntArray, of_second: FloatArray | IntArray) -> FloatArray:
        """Add up one value per pair by its first area, and another by its second."""
        onto: FloatArray = np.bincount(self.first, of_first, self.n_areas).astype(np.float64)
        return onto + np.bincount(self.second, of_second, self.n_areas)


class Replicates(NamedTuple):
    """Measures of the answers and of their replicates, one value per draw."""

    wins: IntArray
    """Wins of each area, (draws, areas), in the replicates."""
    areas: FloatArray
    """Σ (wins − expected)² / variance over the areas: (draws, 2), of the answers and of the replicate."""
    pairs: FloatArray
    """Deviance over the pairs, likewise."""
    left: IntArray
    """Answers for the left area in the replicates."""
    triads: IntArray
    """Circular triads in the replicates of some of the draws; empty if there are too many areas."""


def replicate(rng: np.random.Generator, shown: Shown, chances: Iterable[FloatArray]) -> Replicates:
    """Answer the pairs again for each draw, and compute the measures.

    ``chances`` has one array per draw: P(the pair's first area is chosen), with one entry per pair shown.

    >>> yes = np.ones(50, bool)
    >>> shown = Shown(2, np.zeros(50, int), np.array([0]), np.array([1]), forward=yes, first_won=yes)
    >>> replicate(np.random.default_rng(1), shown, [np.full(50, 0.5)] * 3).left
    array([22, 25, 25])
    """
    n, observed = shown.n, shown.wins(shown.first_won)
    answered = shown.onto_areas(observed, n - observed)
    size = np.arange(n.max(initial=0) + 1)
    by_log: FloatArray = xlogy(size, size).astype(np.float64)
    every, best = n.astype(np.float64), _saturated(by_log, n, observed)
    counted = int(TRIAD_WORK / (2 * shown.n_areas**3))
    wins, areas, pairs, left, circles = [], [], [], [], []
    for each, chance in enumerate(chances):
        first_won = rng.random(len(shown.pair)) < chance
        won = shown.wins(first_won)
        gained = shown.onto_areas(won, n - won)
        wins.append(gained)
        p = np.clip(np.bincount(shown.pair, chance, len(n)) / np.maximum(n, 1), 1e-300, 1 - 1e-16)
        spread = np.bincount(shown.pair, chance * (1 - chance), len(n))
        variance = shown.onto_areas(spread, spread)
        expected = shown.onto_areas(every * p, every * (1 - p))
        areas.append([_area_distance(w - expected, variance) for w in (answered, gained)])
        lost = np.log1p(-p)
        odds, never = np.log(p) - lost, float(every @ lost)
        saturated = (best, _saturated(by_log, n, won))
        # Σ w log p + (n − w) log(1 − p), w the wins of a pair's first area
        likely = (float(w.astype(np.float64) @ odds) + never for w in (observed, won))
        pairs.append([2 * (most - found) for most, found in zip(saturated, likely, strict=True)])
        left.append((first_won == shown.forward).sum())
        if counted >= FEWEST_TRIADS and each < counted:
            circles.append(circular_triads(shown, won))
    whole = (np.array(each, dtype=np.int64) for each in (wins, left, circles))
    return Replicates(next(whole), np.array(areas), np.array(pairs), next(whole), next(whole))


def chosen_first(shown: Shown, strengths: FloatArray) -> Iterator[FloatArray]:
    """P(the pair's first area is chosen) for each entry, at each draw of the strengths, (draws, areas)."""
    for draw in strengths:
        yield np.clip(expit(draw[shown.first] - draw[shown.second]), 1e-300, 1 - 1e-16)[shown.pair]


def circular_triads(shown: Shown, wins: IntArray) -> int:
    """Count circular triads: three areas, each of which beat the next, by majority if a pair came up more than once.

    ``wins`` counts the wins of the first area of each distinct pair. With M_ij = 1 if i beat j, this is trace(M³)/3.
    Source: Kendall and Babington Smith (1940).

    >>> yes = np.ones(3, bool)
    >>> shown = Shown(3, np.arange(3), np.array([0, 1, 0]), np.array([1, 2, 2]), forward=yes, first_won=yes)
    >>> circular_triads(shown, np.array([1, 1, 0])), circular_triads(shown, np.array([1, 1, 1]))
    (1, 0)
    """
    margin = 2 * wins - shown.n
    beats = np.zeros((shown.n_areas, shown.n_areas), dtype=np.float32)
    beats[shown.first[margin > 0], shown.second[margin > 0]] = 1
    beats[shown.second[margin < 0], shown.first[margin < 0]] = 1
    return round(float(((beats @ beats) * beats.T).sum(dtype=np.float64)) / 3)


def tail_share(replicates: FloatArray | IntArray, observed: FloatArray | IntArray | float) -> FloatArray:
    """P(replicate > observed) + P(replicate = observed)/2 over the first axis.

    >>> tail_share(np.array([1, 2, 3, 4]), 3)
    array(0.375)
    """
    higher, like = (replicates > observed).mean(axis=0), (replicates == observed).mean(axis=0)
    return np.asarray(higher + like / 2, dtype=np.float64)


def _area_distance(excess: FloatArray, variance: FloatArray) -> float:
    """Σ (wins − expected)² / variance over the compared areas."""
    there = variance > 0
    return float((excess[there] ** 2 / variance[there]).sum())


def _saturated(by_log: FloatArray, n: IntArray, w: IntArray) -> float:
    """Σ w log(w/n) + (n − w) log((n − w)/n), the highest possible log-likelihood.

    The deviance is twice the amount by which a model's log-likelihood, Σ w log p + (n − w) log(1 − p), falls short of
    it. ``by_log`` is k log k for k = 0, 1, …, computed once for all replicates.
    """
    return float((by_log[w] + by_log[n - w] - by_log[n]).sum())
