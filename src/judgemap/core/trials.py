"""Trials: a whole study, simulated from a known truth and analysed as a real one would be, at several lengths.

The answers come from the model, logit P(i beats j) = λ_i − λ_j with the true λ; after so many of them the posterior is
sampled exactly, with α² inferred, and held against the truth. Risk is −λ, centred: the loser has the higher rate. (With
the other direction of a study nothing changes, since the model is symmetric in winners and losers.)
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from judgemap.core import adaptive
from judgemap.core.comparisons import PairCounts, count_pairs
from judgemap.core.designs import PairDesign
from judgemap.core.model import Model
from judgemap.core.posterior import ranks
from judgemap.core.prior import Covariance, FixedVariance, InverseGamma
from judgemap.core.samplers.run import Plan, sample
from judgemap.core.simulate import answer
from judgemap.core.types import FloatArray, IntArray
from judgemap.core.utility import pair_precision, trace_precision

Asker = Callable[[np.random.Generator, FloatArray, int], tuple[IntArray, IntArray]]
"""(rng, true strengths, number of comparisons) → winners and losers, in the order of the answers."""

SAMPLING = Plan(chains=32, warmup=20, draws=15)
"""480 nearly independent draws; chains start from the Laplace approximation, so twenty steps forget it."""


class Merits(NamedTuple):
    """How much a study taught, and how near it came to the truth."""

    sd: float
    """Posterior standard deviation of risk, mean over the areas."""
    rank_error: float
    """|true rank − estimated rank|, mean over the areas; ranks are of posterior medians of risk."""
    found: float
    """The share of the truly worst areas that are among as many estimated worst."""
    u1: float
    """U1 = 1/tr cov of centred strengths."""
    u2: float
    """U2 = mean over pairs of 1/Var(p_ij)."""
    u2_robust: float
    """1/median over pairs of Var(p_ij)."""


def ask_from(design: PairDesign) -> Asker:
    """Ask pairs drawn independently from a design.

    >>> from judgemap.core.designs import uniform
    >>> winners, losers = ask_from(uniform(3))(np.random.default_rng(1), np.array([9.0, 0.0, -9.0]), 50)
    >>> bool((winners < losers).all())
    True
    """
    return partial(_ask_from, design)


def ask_adaptively(covariance: Covariance, alpha: float, temperature: float = 1.0) -> Asker:
    """Ask pairs of the adaptive design, each chosen after the last answer, α being taken for ``alpha``."""
    return partial(_ask_adaptively, covariance, alpha, temperature)


def trial(
    rng: np.random.Generator,
    strengths: FloatArray,
    asker: Asker,
    lengths: Sequence[int],
    covariance: Covariance,
    top: int,
) -> FloatArray:
    """Simulate one study from the true ``strengths`` and give its `Merits` after each of ``lengths``, one row each.

    The same generator gives the same numbers on any machine with any number of cores.

    >>> from judgemap.core.designs import uniform
    >>> from judgemap.core.prior import independent
    >>> rng, covariance = np.random.default_rng(1), independent(5)
    >>> truth = 3 * covariance.draw(rng, 1)[0]
    >>> few, many = trial(rng, truth, ask_from(uniform(5)), [5, 500], covariance, top=1)
    >>> bool(Merits(*many).sd < Merits(*few).sd)
    True
    """
    with threadpool_limits(limits=1):
        winners, losers = asker(rng, strengths, max(lengths))
        rows = []
        for length in lengths:
            counts = count_pairs(winners[:length], losers[:length], len(strengths))
            draws = sample(rng, Model(counts, covariance, InverseGamma()), plan=SAMPLING)
            rows.append(judge_draws(draws.strengths.reshape(-1, len(strengths)), strengths, top))
    return np.array(rows)


def judge_draws(draws: FloatArray, strengths: FloatArray, top: int) -> Merits:
    """Hold posterior draws of the strengths, shape (draws, areas), against the true ones.

    >>> rng = np.random.default_rng(1)
    >>> truth = np.array([2.0, 1.0, 0.0, -3.0])
    >>> merits = judge_draws(truth + 0.01 * rng.normal(size=(200, 4)), truth, top=1)
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
    pairs = design.draw(rng, size)
    left_won = answer(rng, pairs, strengths)
    return np.where(left_won, pairs[:, 0], pairs[:, 1]), np.where(left_won, pairs[:, 1], pairs[:, 0])


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
