"""Simulated studies: answers from the model, whole trials compared with the truth, and curves over their length.

A trial is a study simulated from a known truth and analysed as a real one would be, at several lengths. Answers come
from the model, logit P(i beats j) = λ_i − λ_j with the true λ; at each length the posterior is sampled exactly, with α²
inferred, and compared with the truth. Risk is −λ, centred: the loser has the higher rate. (The other direction would
change nothing, because the model is symmetric in winners and losers.)

A curve is an array (simulations, lengths) of one measure, with increasing lengths. Between lengths a curve is
interpolated as a power of the length, a straight line on log scales, which fits precision very well.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import bdtr, expit, stdtrit

from judgemap.core.assess.posterior import ranks
from judgemap.core.design import adaptive
from judgemap.core.design.designs import PairDesign
from judgemap.core.design.utility import pair_precision, trace_precision
from judgemap.core.model.counts import PairCounts, count_pairs
from judgemap.core.model.prior import (
    Covariance,
    FixedVariance,
    InverseGamma,
    Model,
)
from judgemap.core.samplers.run import Plan, sample
from judgemap.core.threads import one_thread
from judgemap.core.types import BoolArray, FloatArray, IntArray

Asker = Callable[[np.random.Generator, FloatArray, int], tuple[IntArray, IntArray]]
"""(rng, true strengths, number of comparisons) → winners and losers, in the order of the answers."""

SAMPLING = Plan(chains=32, warmup=20, draws=15)
"""480 nearly independent draws; chains start from the Laplace approximation, which twenty steps are enough to
forget."""
LEVEL = 0.95
RESAMPLES = 2_000
TINY = 1e-9
"""Replaces a measure that has fallen to zero, where logarithms are needed."""


def draw_pairs(rng: np.random.Generator, n_areas: int, size: int) -> IntArray:
    """Draw ``size`` pairs of different areas, every ordered pair equally likely: column 0 is shown on the left.

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
    return count_pairs(*_decide(rng, draw_pairs(rng, len(strengths), size), strengths), len(strengths))


def _decide(rng: np.random.Generator, pairs: IntArray, strengths: FloatArray) -> tuple[IntArray, IntArray]:
    """Answer the pairs; return the winners and the losers."""
    won = answer(rng, pairs, strengths)
    return np.where(won, pairs[:, 0], pairs[:, 1]), np.where(won, pairs[:, 1], pairs[:, 0])


class Merits(NamedTuple):
    """How much a study taught us, and how close it came to the truth."""

    sd: float
    """Posterior standard deviation of risk, averaged over the areas."""
    rank_error: float
    """|true rank − estimated rank|, averaged over the areas; estimated ranks are those of posterior median risk."""
    found: float
    """The share of the truly worst areas that are among the same number of estimated worst areas."""
    u1: float
    """U1 = 1/tr cov of centred strengths."""
    u2: float
    """U2 = mean over pairs of 1/Var(p_ij)."""
    u2_robust: float
    """1/median over pairs of Var(p_ij)."""


def ask_from(design: PairDesign) -> Asker:
    """Ask pairs drawn independently from a design.

    >>> from judgemap.core.design.designs import uniform
    >>> winners, losers = ask_from(uniform(3))(np.random.default_rng(1), np.array([9.0, 0.0, -9.0]), 50)
    >>> bool((winners < losers).all())
    True
    """
    return partial(_ask_from, design)


def ask_adaptively(covariance: Covariance, alpha: float, temperature: float = 1.0) -> Asker:
    """Ask pairs from the adaptive design, each chosen after the last answer, assuming that α is ``alpha``."""
    return partial(_ask_adaptively, covariance, alpha, temperature)


def trial(
    rng: np.random.Generator,
    strengths: FloatArray,
    asker: Asker,
    lengths: Sequence[int],
    covariance: Covariance,
    top: int,
) -> FloatArray:
    """Simulate one study from the true ``strengths`` and return its `Merits` after each of ``lengths``, one per row.

    The same generator gives the same numbers on any machine with any number of cores.

    >>> from judgemap.core.design.designs import uniform
    >>> from judgemap.core.model.prior import independent
    >>> rng, covariance = np.random.default_rng(1), independent(5)
    >>> truth = 3 * covariance.draw(rng, 1)[0]
    >>> few, many = trial(rng, truth, ask_from(uniform(5)), [5, 500], covariance, top=1)
    >>> bool(Merits(*many).sd < Merits(*few).sd)
    True
    """
    with one_thread():
        winners, losers = asker(rng, strengths, max(lengths))
        rows = []
        for length in lengths:
            counts = count_pairs(winners[:length], losers[:length], len(strengths))
            draws = sample(rng, Model(counts, covariance, InverseGamma()), plan=SAMPLING)
            rows.append(assess_draws(draws.strengths.reshape(-1, len(strengths)), strengths, top))
    return np.array(rows)


def assess_draws(draws: FloatArray, strengths: FloatArray, top: int) -> Merits:
    """Compare posterior draws of the strengths, shape (draws, areas), with the true ones.

    >>> rng = np.random.default_rng(1)
    >>> truth = np.array([2.0, 1.0, 0.0, -3.0])
    >>> merits = assess_draws(truth + 0.01 * rng.normal(size=(200, 4)), truth, top=1)
    >>> merits.rank_error, merits.found
    (0.0, 1.0)
    """
    risk = draws.mean(axis=1, keepdims=True) - draws
    true_rank, rank = ranks(np.stack([-strengths, np.median(risk, axis=0)]))
    precision = pair_precision(draws)
    return Merits(
        sd=float(risk.std(axis=0, ddof=1).mean()),
        rank_error=float(abs(rank - true_rank).mean()),
        found=float(((rank <= top) & (true_rank <= top)).sum() / top),
        u1=trace_precision(draws),
        u2=precision.mean,
        u2_robust=precision.robust,
    )


def _ask_from(
    design: PairDesign, rng: np.random.Generator, strengths: FloatArray, size: int
) -> tuple[IntArray, IntArray]:
    return _decide(rng, design.draw(rng, size), strengths)


def _ask_adaptively(
    covariance: Covariance,
    alpha: float,
    temperature: float,
    rng: np.random.Generator,
    strengths: FloatArray,
    size: int,
) -> tuple[IntArray, IntArray]:
    nothing = np.empty(0, dtype=np.int64)
    counts = PairCounts(len(strengths), nothing, nothing, nothing, nothing)
    state = adaptive.init(Model(counts, covariance, FixedVariance(alpha**2)))
    winners, losers = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
    for place in range(size):
        left, right, _ = adaptive.next_pair(rng, state, temperature)
        (left_won,) = answer(rng, np.array([[left, right]]), strengths)
        winners[place], losers[place] = (left, right) if left_won else (right, left)
        state = adaptive.update(state, int(winners[place]), int(losers[place]))
    return winners, losers


class Interval(NamedTuple):
    """An estimate and its 95 % Monte Carlo interval."""

    middle: float
    low: float
    high: float


def mean_interval(values: FloatArray) -> Interval:
    """Return the mean of independent values, with Student's interval.

    >>> mean_interval(np.array([1.0, 2.0, 3.0]))
    Interval(middle=2.0, low=-0.48..., high=4.48...)
    """
    size, mean = len(values), float(values.mean())
    half = float(stdtrit(size - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(size)) if size > 1 else np.inf
    return Interval(mean, mean - half, mean + half)


def median_interval(values: FloatArray) -> Interval:
    """Return the median, and an interval between two order statistics with a coverage of at least 95 %.

    The k-th smallest and the k-th largest value each miss it with probability P(Bin(n, ½) < k).

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
    """Return the length at which a falling mean curve reaches a level; 0 if at the first, inf if not by the last.

    Chance rises are flattened, so the curve never goes up.

    >>> round(reach(np.array([100.0, 400.0]), np.array([2.0, 1.0]), level=np.sqrt(2)))
    200
    >>> reach(np.array([100.0, 400.0]), np.array([2.0, 1.0]), level=0.9)
    inf
    """
    return float(_reach(lengths, curve[None], np.array([level]))[0])


def _reach(lengths: FloatArray, curves: FloatArray, levels: FloatArray) -> FloatArray:
    """Do the same for many curves, one per row, each with its own level."""
    steady = np.maximum(np.minimum.accumulate(curves, axis=1), TINY)
    levels = np.maximum(levels, TINY)
    reached = steady <= levels[:, None] * (1 + 1e-9)
    after = np.argmax(reached, axis=1)
    rows, before = np.arange(len(curves)), np.maximum(after - 1, 0)
    from_x, from_y = np.log(lengths[before]), np.log(steady[rows, before])
    with np.errstate(
        divide="ignore", invalid="ignore"
    ):  # for a curve that starts below its level; the result is 0 whatever comes out here
        share = np.minimum((from_y - np.log(levels)) / (from_y - np.log(steady[rows, after])), 1.0)
        between = np.exp(from_x + share * (np.log(lengths[after]) - from_x))
    found: FloatArray = np.where(reached[:, 0], 0.0, np.where(reached.any(axis=1), between, np.inf))
    return found


def length_for_the_same(
    rng: np.random.Generator, lengths: FloatArray, curve: FloatArray, reference: FloatArray, at: int
) -> Interval:
    """Return how many comparisons on ``curve`` match ``lengths[at]`` on ``reference``, with a bootstrap interval.

    Both curves fall. Row s of both comes from the same truth, and simulations are resampled whole, so that what the
    truths have in common cancels out. Outside the range of lengths, 0 stands for "fewer than the first" and inf for
    "more than the last".

    >>> lengths, noise = np.array([100.0, 200.0, 400.0]), np.random.default_rng(1).normal(size=(30, 1))
    >>> slow = 10 / np.sqrt(lengths) + 0.01 * noise
    >>> fast = 10 / np.sqrt(2 * lengths) + 0.01 * noise
    >>> round(length_for_the_same(np.random.default_rng(1), lengths, fast, slow, at=2).middle)
    200
    """
    middle = reach(lengths, curve.mean(axis=0), float(reference[:, at].mean()))
    rows = rng.integers(len(curve), size=(RESAMPLES, len(curve)))
    resampled = _reach(lengths, curve[rows].mean(axis=1), reference[rows, at].mean(axis=1))
    ends = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2]) * (RESAMPLES - 1)
    low, high = np.sort(resampled)[ends.round().astype(int)].tolist()
    return Interval(middle, low, high)
