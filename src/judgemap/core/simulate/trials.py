"""Simulated studies: answers from the model, whole trials compared with the truth, and curves over their length.

A trial is a study with a known truth: judges with their own views of it are drawn, a design says which pairs each is
asked, and they answer by their own views, logit P(i beats j) = μ_i − μ_j. How uncertain the population's map then is
follows from the information in these answers (`core.design.utility`), and how close to the truth it comes is seen from
the mode of the posterior of all answers taken together. Nothing is sampled by Markov chains, so a trial takes a
fraction of a second. Two things are approximate: the Gaussian shape, and taking α and σ as known. Risk is −λ, centred:
the loser has the higher rate. (The other direction would change nothing, because the model is symmetric in winners and
losers.)

A curve is an array (simulations, lengths) of one measure, with increasing lengths. Between lengths a curve is
interpolated as a power of the length, a straight line on log scales, which fits precision very well.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit, stdtrit

from judgemap.core.approximate import inverse
from judgemap.core.assess.posterior import ranks
from judgemap.core.assess.reliability import pearson
from judgemap.core.design import adaptive
from judgemap.core.design.designs import PairDesign
from judgemap.core.design.utility import Population, centred, known_by
from judgemap.core.model.counts import PairCounts, count_pairs
from judgemap.core.model.prior import Covariance, FixedVariance, Model
from judgemap.core.threads import one_thread
from judgemap.core.types import BoolArray, FloatArray, IntArray

Asker = Callable[[np.random.Generator, FloatArray, int], IntArray]
"""(rng, each judge's own strengths, answers each) → the pairs asked, (judges, answers, 2), in order."""

LEVEL = 0.95
RESAMPLES = 2_000
TINY = 1e-9
"""Replaces a measure that has fallen to zero, where logarithms are needed."""


def draw_pairs(rng: np.random.Generator, n_areas: int, size: int) -> IntArray:
    """Draw ``size`` pairs of different areas, every ordered pair equally likely: column 0 is shown on the left."""
    if n_areas < 2:
        raise ValueError("a pair needs two areas")
    left = rng.integers(n_areas, size=size)
    right = (left + rng.integers(1, n_areas, size=size)) % n_areas
    return np.stack([left, right], axis=1)


def answer(rng: np.random.Generator, pairs: IntArray, strengths: FloatArray) -> BoolArray:
    """Say for each pair whether its left area wins: P = logit⁻¹(λ_left − λ_right)."""
    chance = expit(strengths[pairs[:, 0]] - strengths[pairs[:, 1]])
    return rng.random(len(pairs)) < chance


def simulate_counts(
    rng: np.random.Generator, strengths: FloatArray, size: int, design: PairDesign | None = None
) -> PairCounts:
    """Simulate ``size`` comparisons of pairs from a design, or of uniformly drawn ones."""
    pairs = draw_pairs(rng, len(strengths), size) if design is None else design.draw(rng, size)
    return count_pairs(*_decide(rng, pairs, strengths), len(strengths))


def _decide(rng: np.random.Generator, pairs: IntArray, strengths: FloatArray) -> tuple[IntArray, IntArray]:
    """Answer the pairs; return the winners and the losers."""
    won = answer(rng, pairs, strengths)
    return np.where(won, pairs[:, 0], pairs[:, 1]), np.where(won, pairs[:, 1], pairs[:, 0])


class Merits(NamedTuple):
    """How much a study taught us, and how close it came to the truth."""

    sd: float
    """Posterior standard deviation of risk, averaged over the areas."""
    rank_error: float
    """|true rank − estimated rank|, averaged over the areas."""
    found: float
    """The share of the truly worst areas that are among the same number of estimated worst areas."""
    correlation: float
    """Correlation of estimate and truth, over the areas."""


def ask_from(design: PairDesign) -> Asker:
    """Ask every judge pairs drawn independently from a design."""
    return partial(_ask_from, design)


def ask_adaptively(covariance: Covariance, alpha: float, temperature: float = 1.0) -> Asker:
    """Ask pairs from the adaptive design, each chosen after the last answer, assuming that α is ``alpha``."""
    return partial(_ask_adaptively, covariance, alpha, temperature)


def trial(
    rng: np.random.Generator,
    strengths: FloatArray,
    people: Population,
    asker: Asker,
    sizes: tuple[Sequence[int], Sequence[int]],
    top: int,
) -> FloatArray:
    """Simulate a study of a population whose true strengths are known, and return its `Merits`.

    ``sizes`` are the numbers of judges and of answers each to consider, both increasing; larger studies extend smaller
    ones. The result has the shape (answers each and, last, unlimited answers; judges; measures). The same generator
    gives the same numbers on any machine with any number of cores.
    """
    judges, per_judge = sizes
    n_areas = len(strengths)
    merits = np.empty((len(per_judge) + 1, len(judges), len(Merits._fields)))
    with one_thread():
        factor = linalg.cholesky(people.views + 1e-12 * np.eye(n_areas), lower=True)
        own = strengths + rng.standard_normal((max(judges), n_areas)) @ factor.T
        pairs = asker(rng, own, max(per_judge))
        won = np.array([answer(rng, *each) for each in zip(pairs, own, strict=True)])
        for column, known in enumerate(known_by(pairs, own, people.views, judges, per_judge)):
            for row, information in enumerate(known):
                # With unlimited answers, the judges' own maps are known, and so is their mean.
                if row == len(per_judge):
                    estimate = own[: judges[column]].mean(axis=0)
                else:
                    estimate = pooled_mode(pairs, won, people, judges[column], per_judge[row])
                merits[row, column] = assess(people, information, estimate, strengths, top)
    return merits


def pooled_mode(pairs: IntArray, won: BoolArray, people: Population, judges: int, per_judge: int) -> FloatArray:
    """Return the posterior mode of the strengths, from the first answers of the first judges taken together."""
    asked = pairs[:judges, :per_judge].reshape(-1, 2)
    left = won[:judges, :per_judge].ravel()[:, None]
    winners, losers = np.where(left, asked, asked[:, ::-1]).T
    counts = count_pairs(winners, losers, len(people.views))
    return adaptive.init(Model(counts, people.covariance, FixedVariance(people.alpha**2))).mode


def assess(
    people: Population, information: FloatArray, estimate: FloatArray, strengths: FloatArray, top: int
) -> Merits:
    """Compare an estimate from answers with this information with the true strengths."""
    V = inverse(people.covariance.inverse / people.alpha**2 + information)
    true_rank, rank = ranks(-np.stack([strengths, estimate]))
    return Merits(
        sd=float(np.sqrt(np.diagonal(centred(V))).mean()),
        rank_error=float(abs(rank - true_rank).mean()),
        found=float(((rank <= top) & (true_rank <= top)).sum() / top),
        correlation=pearson(estimate, strengths),
    )


def _ask_from(design: PairDesign, rng: np.random.Generator, own: FloatArray, size: int) -> IntArray:
    return design.draw(rng, len(own) * size).reshape(len(own), size, 2)


def _ask_adaptively(
    covariance: Covariance, alpha: float, temperature: float, rng: np.random.Generator, own: FloatArray, size: int
) -> IntArray:
    nothing = np.empty(0, dtype=np.int64)
    counts = PairCounts(own.shape[1], nothing, nothing, nothing, nothing)
    state = adaptive.init(Model(counts, covariance, FixedVariance(alpha**2)))
    pairs = np.empty((len(own), size, 2), dtype=np.int64)
    for judge, place in np.ndindex(len(own), size):
        left, right, _ = adaptive.next_pair(rng, state, temperature)
        pairs[judge, place] = left, right
        (left_won,) = answer(rng, pairs[judge, place : place + 1], own[judge])
        state = adaptive.update(state, *((left, right) if left_won else (right, left)))
    return pairs


class Interval(NamedTuple):
    """An estimate and its 95 % Monte Carlo interval."""

    middle: float
    low: float
    high: float


def mean_interval(values: FloatArray) -> Interval:
    """Return the mean of independent values, with Student's interval."""
    size, mean = len(values), float(values.mean())
    half = float(stdtrit(size - 1, (1 + LEVEL) / 2) * values.std(ddof=1) / np.sqrt(size)) if size > 1 else np.inf
    return Interval(mean, mean - half, mean + half)


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
    return np.where(reached[:, 0], 0.0, np.where(reached.any(axis=1), between, np.inf))


def length_for_the_same(
    rng: np.random.Generator, lengths: FloatArray, curve: FloatArray, reference: FloatArray, at: int
) -> Interval:
    """Return how many comparisons on ``curve`` match ``lengths[at]`` on ``reference``, with a bootstrap interval.

    Both curves fall. Row s of both comes from the same truth, and simulations are resampled whole, so that what the
    truths have in common cancels out. Outside the range of lengths, 0 stands for "fewer than the first" and inf for
    "more than the last".
    """
    middle = reach(lengths, curve.mean(axis=0), float(reference[:, at].mean()))
    rows = rng.integers(len(curve), size=(RESAMPLES, len(curve)))
    resampled = _reach(lengths, curve[rows].mean(axis=1), reference[rows, at].mean(axis=1))
    ends = np.array([(1 - LEVEL) / 2, (1 + LEVEL) / 2]) * (RESAMPLES - 1)
    low, high = np.sort(resampled)[ends.round().astype(int)].tolist()
    return Interval(middle, low, high)
