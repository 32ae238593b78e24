"""Curves over the number of comparisons: means with Monte Carlo intervals, and where a curve reaches a level.

A curve is an array (simulations, lengths) of one measure; lengths grow. Between lengths a curve is taken as a power of
the length, a straight line in logarithms, which precision very nearly is.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, stdtrit

from judgemap.core.types import FloatArray

LEVEL = 0.95
RESAMPLES = 2_000
TINY = 1e-9
"""What a measure that has come down to zero is taken for, where logarithms are needed."""


class Interval(NamedTuple):
    """An estimate with its 95 % Monte Carlo interval."""

    middle: float
    low: float
    high: float


def mean_interval(values: FloatArray) -> Interval:
    """Give the mean of independent values, with Student's interval.

    >>> mean_interval(np.array([1.0, 2.0, 3.0]))
    Interval(middle=2.0, low=-0.48..., high=4.48...)
    """
    size, mean = len(values), float(values.mean())
    half = float(stdtrit(size - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(size)) if size > 1 else np.inf
    return Interval(mean, mean - half, mean + half)


def median_interval(values: FloatArray) -> Interval:
    """Give the median, with the interval between two order statistics that holds the true one in 95 % or more.

    The k-th smallest and the k-th largest value miss it on a side with probability P(Bin(n, ½) < k).

    >>> median_interval(np.arange(1.0, 21.0))
    Interval(middle=10.5, low=6.0, high=15.0)
    """
    ordered, size = np.sort(values), len(values)
    misses = bdtr(np.arange(size), size, 0.5)
    k = int(np.searchsorted(misses, (1 - LEVEL) / 2, side="right"))
    if k == 0:
        return Interval(float(np.median(values)), -np.inf, np.inf)
    return Interval(float(np.median(values)), float(ordered[k - 1]), float(ordered[size - k]))


def reach(lengths: FloatArray, curve: FloatArray, level: float) -> float:
    """Say at which length a falling mean curve is down to a level; 0 if it is at the first, inf if not by the last.

    Small rises by chance are ironed out first: more comparisons are never taken to teach less.

    >>> round(reach(np.array([100.0, 400.0]), np.array([2.0, 1.0]), level=np.sqrt(2)))
    200
    >>> reach(np.array([100.0, 400.0]), np.array([2.0, 1.0]), level=0.9)
    inf
    """
    steady = np.maximum(np.minimum.accumulate(curve), TINY)
    level = max(level, TINY)
    reached = steady <= level * (1 + 1e-9)
    if reached[0]:
        return 0.0
    if not reached.any():
        return np.inf
    after = int(np.argmax(reached))
    x, y = np.log(lengths[after - 1 : after + 1]), np.log(steady[after - 1 : after + 1])
    share = min((y[0] - np.log(level)) / (y[0] - y[1]), 1.0)
    return float(np.exp(x[0] + share * (x[1] - x[0])))


def length_for_the_same(
    rng: np.random.Generator, lengths: FloatArray, curve: FloatArray, reference: FloatArray, at: int
) -> Interval:
    """Say how many comparisons on ``curve`` do what ``lengths[at]`` do on ``reference``, with a bootstrap interval.

    Both curves fall. Row s of both comes from the same truth, and simulations are resampled whole, so that what the
    truths have in common cancels out. Where a curve leaves the lengths, 0 or inf stand for "fewer than the first",
    "more than the last".

    >>> lengths, noise = np.array([100.0, 200.0, 400.0]), np.random.default_rng(1).normal(size=(30, 1))
    >>> slow = 10 / np.sqrt(lengths) + 0.01 * noise
    >>> fast = 10 / np.sqrt(2 * lengths) + 0.01 * noise
    >>> round(length_for_the_same(np.random.default_rng(1), lengths, fast, slow, at=2).middle)
    200
    """
    middle = reach(lengths, curve.mean(axis=0), float(reference[:, at].mean()))
    size = len(curve)
    found = np.empty(RESAMPLES)
    for each in range(RESAMPLES):
        rows = rng.integers(size, size=size)
        found[each] = reach(lengths, curve[rows].mean(axis=0), float(reference[rows, at].mean()))
    ends = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2]) * (RESAMPLES - 1)
    low, high = np.sort(found)[ends.round().astype(int)].tolist()
    return Interval(middle, low, high)
