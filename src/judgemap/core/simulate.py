"""Simulated studies: strengths from the prior, pairs, and answers from the model."""

import numpy as np
from scipy.special import expit

from judgemap.core.comparisons import PairCounts, count_pairs
from judgemap.core.types import BoolArray, FloatArray, IntArray


def draw_pairs(rng: np.random.Generator, n_areas: int, size: int) -> IntArray:
    """Draw ``size`` pairs of different areas, each ordered pair alike: column 0 is shown left.

    >>> pairs = draw_pairs(np.random.default_rng(1), n_areas=5, size=100)
    >>> bool((pairs[:, 0] != pairs[:, 1]).all())
    True
    """
    if n_areas < 2:
        raise ValueError("a pair needs two areas")
    left = rng.integers(n_areas, size=size)
    right = (left + rng.integers(1, n_areas, size=size)) % n_areas
    return np.stack([left, right], axis=1)


def answer(rng: np.random.Generator, pairs: IntArray, strengths: FloatArray) -> BoolArray:
    """Say for each pair whether its left area wins: P = logit⁻¹(λ_left − λ_right)."""
    chance = expit(strengths[pairs[:, 0]] - strengths[pairs[:, 1]])
    won: BoolArray = rng.random(len(pairs)) < chance
    return won


def simulate_counts(rng: np.random.Generator, strengths: FloatArray, size: int) -> PairCounts:
    """Simulate ``size`` comparisons of uniformly drawn pairs.

    >>> simulate_counts(np.random.default_rng(1), np.zeros(4), size=50).total
    50
    """
    pairs = draw_pairs(rng, len(strengths), size)
    won = answer(rng, pairs, strengths)
    winners = np.where(won, pairs[:, 0], pairs[:, 1])
    losers = np.where(won, pairs[:, 1], pairs[:, 0])
    return count_pairs(winners, losers, len(strengths))
