"""How reliable the estimates are: whether other judges, or more answers, would give the same map.

Three figures, all between 0 (noise) and 1 (certain), all estimating the squared correlation over areas between estimate
and truth: the posterior's own (`bayes`), scale separation reliability (`ssr`), and split halves scaled up
(`split_half_full`). `core.reliability` explains each. `bayes` is for the fitted model, including what it borrows from
neighbours; `ssr` is for separate estimates of each area, as other tools report it, and so is lower; only split halves
reflect differences between judges, and they are lower if judges differ.
"""

from dataclasses import asdict, replace
from itertools import combinations
from math import comb

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from judgemap.core.approximate import Gaussian
from judgemap.core.assess.reliability import (
    another_panel,
    pearson,
    separation,
    squared_correlations,
    stepped_up,
    unpooled,
)
from judgemap.core.model.prior import FixedVariance
from judgemap.core.threads import one_thread
from judgemap.core.types import FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.study.assess.findings import FEWEST_ANSWERS, Reliability
from judgemap.study.assess.judges import (
    Belief,
    belief_of,
    quick_fit,
    smoothed,
    whole_fit,
)
from judgemap.study.data.comparisons import Comparisons, check_map
from judgemap.study.fit.result import Fit

QUICK_DRAWS = 400
SSR_LIMIT = 3_000
"""With more areas than this, estimating them one by one would take minutes."""


def reliability(fit: Fit, data: Comparisons, *, seed: int, splits: int = 100) -> Reliability:
    """Say how reliable a fit's estimates are.

    ``bayes`` comes from the fit's own draws. Halves are fitted quickly, with the fit's prior and the α² of all answers;
    if there are no more than ``splits`` different ways to halve the judges, each is used once.

    Parameters
    ----------
    fit
        A fit of these comparisons.
    data
        The comparisons that were fitted.
    seed
        The same seed gives the same numbers.
    splits
        How often the judges are split into halves.

    Returns
    -------
    Reliability
        The figures, and what they mean in words.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> figures = jm.reliability(fit, data, seed=1, splits=4)
    >>> figures.answers, figures.judges, bool(figures.bayes_low < figures.bayes < figures.bayes_high)
    (1848, 12, True)
    """
    check_map(data, fit.map)
    answers = data.where(data.decided)
    with one_thread():
        early, belief, halves = len(answers) < FEWEST_ANSWERS, belief_of(fit), np.empty(0)
        if not early:
            halves = split_half(np.random.default_rng(seed), answers, belief, splits, whole_fit(data, belief))
        measured = _measure(answers, halves, fit.risk)
        if not fit.settings.differ or early:
            return measured
        population, rng = fit.strengths, np.random.default_rng([seed, splits])
        # Uncertainty about the map's scale α makes whole draws larger or smaller, which does not affect correlations.
        precision = np.linalg.inv(np.median(fit.alpha) ** 2 * smoothed(fit)).astype(np.float64, copy=False)
        other = another_panel(rng, population * (np.median(fit.alpha) / fit.alpha)[:, None], precision)
        known = squared_correlations(population)
        return replace(measured, population=float(known.mean()), another_panel=float(other.mean()))


def reliability_over_time(
    fit: Fit,
    data: Comparisons,
    *,
    seed: int,
    order: ArrayLike | None = None,
    points: int = 10,
    splits: int = 20,
    last: Reliability | None = None,
) -> pd.DataFrame:
    """Show how reliability grew: `Reliability` after 1/points, 2/points … of the decided answers, one row each.

    Every row comes from quick fits with the fit's prior, so the last differs slightly from `reliability`; with that as
    ``last``, it is the last row.

    Parameters
    ----------
    fit, data, seed, splits
        As for `reliability`.
    order
        The rows of ``data`` in the order in which they were answered; by default, the table's order.
    points
        How many rows.
    last
        The result of `reliability`, to be the last row.

    Returns
    -------
    pandas.DataFrame
        One row for each number of answers.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> reliability_over_time(fit, data, seed=1, points=2, splits=4)["answers"].tolist()
    [924, 1848]
    """
    check_map(data, fit.map)
    if points < 1:
        raise StudyError(f"there must be at least one point in time, not {points}")
    answers, belief, rng = data.where(data.decided), belief_of(fit), np.random.default_rng(seed)
    when = _moments(data, order)
    lengths = np.unique([-(-len(answers) * point // points) for point in range(1, points + 1)])
    rows, whole = [], None
    with one_thread():
        for length in lengths if last is None else lengths[:-1]:
            early = answers.where(when < length)
            whole = quick_fit(early.counts_of(early.decided), belief, whole)
            draws = whole.draw(rng, QUICK_DRAWS)
            rows.append(_measure(early, split_half(rng, early, belief, splits, whole), draws))
    if last is not None:
        rows.append(last)
    known = ({name: np.nan if each is None else each for name, each in asdict(row).items()} for row in rows)
    return pd.DataFrame(known)


def split_half(
    rng: np.random.Generator, answers: Comparisons, belief: Belief, splits: int, whole: Gaussian | None = None
) -> FloatArray:
    """Correlate the estimates of random halves of the judges, many times; empty if there are fewer than two judges.

    ``whole`` is a quick fit of all answers. Halves have equal numbers of judges (if their number is odd, one half has
    one more), not of answers. Source: Bisson et al. (2016), who use a hundred splits.
    """
    active = np.unique(answers.judge[answers.judge >= 0])
    if len(active) < 2:
        return np.empty(0)
    whole = whole or whole_fit(answers, belief)
    same = belief._replace(variance=FixedVariance(whole.variance))
    correlations = []
    for half in _halves(rng, active, splits):
        inside = np.isin(answers.judge, half)
        sides = (inside, ~inside & (answers.judge >= 0))
        one, two = (quick_fit(answers.counts_of(side), same, whole).mean for side in sides)
        correlations.append(pearson(one, two))
    return np.array(correlations)


def _measure(answers: Comparisons, halves: FloatArray, draws: FloatArray) -> Reliability:
    """Compute the figures, given the correlations of halves and draws of the strengths."""
    n_judges = len(np.unique(answers.judge[answers.judge >= 0]))
    if len(answers) < FEWEST_ANSWERS:
        return Reliability(answers=len(answers), judges=n_judges)
    squared = squared_correlations(draws)
    low, middle, high = np.quantile(halves, [0.025, 0.5, 0.975]) if len(halves) else [np.nan] * 3
    bayes_low, bayes_high = np.quantile(squared, [0.025, 0.975])
    counts = answers.counts_of(answers.decided)
    return Reliability(
        answers=len(answers),
        judges=n_judges,
        bayes=_known(squared.mean()),
        bayes_low=_known(bayes_low),
        bayes_high=_known(bayes_high),
        ssr=_known(separation(*unpooled(counts))) if len(answers.ids) <= SSR_LIMIT else None,
        split_half=_known(middle),
        split_half_low=_known(low),
        split_half_high=_known(high),
        split_half_full=_known(stepped_up(middle)),
        splits=len(halves),
    )


def _known(figure: float | FloatArray) -> float | None:
    return float(figure) if np.isfinite(figure) else None


def _halves(rng: np.random.Generator, judges: IntArray, splits: int) -> list[IntArray]:
    """Choose one half of the judges, ``splits`` times, or every possible split once if there are no more than that."""
    size, half = len(judges), len(judges) // 2
    distinct = comb(size, half) // (2 if size % 2 == 0 else 1)
    if distinct > splits:
        return [rng.permutation(judges)[:half] for _ in range(splits)]
    chosen = [np.array(each) for each in combinations(judges.tolist(), half)]
    # For an even number of judges, every half's complement comes up in the second half of the list.
    return chosen[:distinct]


def _moments(data: Comparisons, order: ArrayLike | None) -> IntArray:
    """Return each decided answer's position in time, starting from 0."""
    rows = np.arange(len(data)) if order is None else np.asarray(order, dtype=np.int64)
    if not np.array_equal(np.sort(rows), np.arange(len(data))):
        raise StudyError(f"the order of answers must name each of the {len(data):,} comparisons once")
    when = np.empty(len(data), dtype=np.int64)
    when[rows] = np.arange(len(data))
    return np.argsort(np.argsort(when[data.decided]))
