"""How each judge answered: how much, how fast, with which habits, and whether in agreement with the others.

A judge is compared with the *other* judges. For each judge the model is fitted to all others' answers (quickly, by
`quick_fit`), and gives each of the judge's decided answers a probability p = P(this area chosen | the others'
answers), allowing for uncertain strengths. The fit has not seen the answer, so for a judge who follows the model
E[(y − p)²] = p(1 − p) exactly, however large the judge's share of all answers. If p came from a fit to all answers,
residuals would be too small, and a judge with most of the answers could not stand out at all.

If the model distinguishes judges, it also says how far each is from the population, how
attentive, and to which side they lean. Three kinds that look the same in a table of agreement are distinguished by
their probabilities, which `core.assess.held_out` weighs against a judge like the others:

=================  =============================================================================================
little             answers say little about any map: attention |a_k| < ¼, or more than half of them without looking;
                   if the model has neither, answers by chance
reversed           the judge took the question the other way round: a_k < −¼; without attention, a_k = −1
another view       answers follow a map, but one that has nothing to do with the population's
=================  =============================================================================================

They depend on what a fit without the judge would say, which `core.assess.held_out` works out from this fit's draws; if
much of what is known rests on the judge's own answers, a quick fit of the others' says it. If the chains have not
settled, there are no probabilities, and ``kind_note`` says what to do.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import bdtr

from judgemap.core.approximate import Gaussian, gaussian
from judgemap.core.assess.held_out import Bench, Cloud, Kinds, Shared
from judgemap.core.assess.misfit import mean_squares, share_interval
from judgemap.core.model.counts import PairCounts, information
from judgemap.core.model.prior import (
    Covariance,
    FixedVariance,
    InverseGamma,
    Model,
    VariancePrior,
    covariance_of,
)
from judgemap.core.threads import one_thread
from judgemap.core.types import BoolArray, FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.study.assess.verdict import Grade, judge_convergence
from judgemap.study.data.comparisons import Comparisons, Outcome, check_map
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import with_answers

if TYPE_CHECKING:
    import pandas as pd


SURE = 0.9
"""A statement about a judge is made only if it is more probable than this."""
STEPS = (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""Possible widths of a histogram's bins, in seconds."""


class Belief(NamedTuple):
    """What a quick fit assumes: the covariance of the strengths, and the prior of α²."""

    covariance: Covariance
    variance: VariancePrior


def belief_of(fit: Fit) -> Belief:
    """Return the prior for quick fits of a fit's answers: the fit's own.

    Clusters have a different kind of prior; for them it is the spatial model's, with its default prior of α².
    """
    return Belief(fit.covariance, InverseGamma() if fit.record.model == "clusters" else fit.settings.variance)


def smoothed(fit: Fit) -> FloatArray:
    """Return the prior correlation of areas, with ρ, if it is inferred, at its median."""
    C = fit.covariance.matrix
    if "rho" not in fit.posterior:
        return C
    rho = float(np.median(fit.posterior["rho"]))
    return rho * C + (1 - rho) * np.eye(len(C))


def quick_fit(counts: PairCounts, belief: Belief, near: Gaussian | None = None) -> Gaussian:
    """Fit in milliseconds, starting from a similar fit ``near`` if given."""
    return gaussian(Model(counts, belief.covariance, belief.variance), near)


@lru_cache(maxsize=2)
def whole_fit(data: Comparisons, belief: Belief) -> Gaussian:
    """Quickly fit all decided answers; cached, because judges and halves are both compared with it."""
    return quick_fit(data.counts_of(data.decided), belief)


def judge_table(fit: Fit, data: Comparisons) -> "pd.DataFrame":
    """Return one row per judge.

    ``comparisons`` (pairs shown), ``decided``, ``ties``, ``skipped``, ``unknown``, and ``undecided``, the share of the
    last three in all answers. ``seconds_median`` with quartiles ``seconds_low``, ``seconds_high``. ``left``, and
    ``left_share`` of the decided with Wilson's 95 % interval; nan if no answer is 'right', because a table of winners
    and losers does not record sides.

    ``infit``, ``outfit``: see `core.misfit.mean_squares`, with probabilities from the other judges' answers (see the
    module docstring); ``outfit_z``: (mean square − 1) / standard deviation; ``infit_z``: the same, made normal.
    ``agreement``: share of
    decided answers that the other judges' fit considers more likely than not, with Wilson's interval;
    ``agreement_expected``: the mean of max(p, 1 − p), which a judge who follows the model would reach on average. All
    are nan if there is only one judge.

    ``repeats``: how often the same judge decided a pair again; ``consistency``: the share of these with the same answer
    as before; ``consistency_expected``: the mean of p² + (1 − p)², which a judge who follows the model would reach. If
    the model tells judges apart, the columns of `judge_columns` follow.

    Parameters
    ----------
    fit
        A fit of these comparisons.
    data
        The comparisons that were fitted.

    Returns
    -------
    pandas.DataFrame
        The columns above, one row per judge.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> table = judge_table(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), data)
    >>> table.loc[11, ["comparisons", "infit", "agreement"]].astype(float).round(2).tolist()
    [1063.0, 0.91, 0.79]
    """
    import pandas as pd

    check_map(data, fit.map)
    low, middle, high = time_quartiles(data).T
    return pd.DataFrame(
        {
            "judge": data.judges,
            **_outcomes(data),
            "seconds_median": middle,
            "seconds_low": low,
            "seconds_high": high,
            **_against_others(data, belief_of(fit)),
            **judge_columns(fit, data),
        }
    )


def others_chances(data: Comparisons, belief: Belief) -> FloatArray:
    """P(the pair's first area is chosen | other judges' answers) for every decided answer; nan if there are none.

    α² is estimated from all answers together, strengths are not. Answers without a judge's name get no probability
    here, but count among the others' answers.
    """
    return _held_out(data, belief)[0]


@lru_cache(maxsize=1)
def _held_out(data: Comparisons, belief: Belief) -> tuple[FloatArray, FloatArray]:
    """Return `others_chances`, and by judge the covariance that uncertain strengths give the squares of residuals.

    (y − p)² = p² + (1 − 2p)y, so two of a judge's squares have the covariance (1 − 2p)(1 − 2p′) Cov(y, y′), where
    Cov(y, y′) ≈ w w′ Cov(d, d′), and w = ∂p/∂d. Summed over different answers, this is gᵀVg − Σ (1 − 2p)²w² Var(d)
    with g = Xᵀ(1 − 2p)w.
    """
    chance, shared = np.full(len(data), np.nan), np.zeros(len(data.judges))
    if not data.decided.any():
        return chance, shared
    everybody = whole_fit(data, belief)
    same_variance = belief._replace(variance=FixedVariance(everybody.variance))
    for own in of_each(np.where(data.decided, data.judge, -1)):
        others = data.decided.copy()
        others[own] = False
        if others.any():
            fit = quick_fit(data.counts_of(others), same_variance, everybody)
            pairs, place, n = np.unique(data.pairs.number[own], return_inverse=True, return_counts=True)
            first, second = data.pairs.first[pairs], data.pairs.second[pairs]
            p, spread = fit.chances(first, second), fit.spread(first, second)
            chance[own] = p[place]
            # The logistic function averaged over d ~ N(m, s²) is nearly that of m / √(1 + πs²/8).
            pull = (1 - 2 * p) * p * (1 - p) / np.sqrt(1 + np.pi * spread / 8)
            size = len(fit.mean)
            g = np.bincount(first, n * pull, size) - np.bincount(second, n * pull, size)
            shared[data.judge[own[0]]] = g @ fit.covariance @ g - n @ (pull**2 * spread)
    return chance, shared


SURPRISING = 0.1
"""The probability up to which an answer is surprising."""


def surprising_answers(fit: Fit, data: Comparisons, most: int = 30) -> "pd.DataFrame":
    """List the decided answers that the fit of all answers gave at most one chance in ten, least likely first.

    ``probability`` is the posterior mean of P(this area is chosen); ``row`` is the comparison's position in the table.
    Expect a few: of 1,000 answers with probability 5 %, about fifty occur.

    Parameters
    ----------
    fit
        A fit of these comparisons.
    data
        The comparisons that were fitted.
    most
        How many answers to list at most.

    Returns
    -------
    pandas.DataFrame
        One row per answer: judge, both areas, which was chosen, and how probable that was.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> surprising_answers(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), data, most=1).shape
    (1, 9)
    """
    import pandas as pd

    check_map(data, fit.map)
    first, second, number = data.pairs
    chance = fit.choice_chances(first, second)[number]
    probability = np.where(data.first_won, chance, 1 - chance)
    unlikely = np.flatnonzero(data.decided & (probability <= SURPRISING))
    rows = unlikely[np.argsort(probability[unlikely], kind="stable")[:most]]
    left_won = data.outcome[rows] == Outcome.LEFT
    chosen, other = np.where(left_won, [data.left[rows], data.right[rows]], [data.right[rows], data.left[rows]])
    ids, names = np.array(fit.map.ids, dtype=object), np.array(fit.map.names, dtype=object)
    return pd.DataFrame(
        {
            "row": rows,
            "judge": data.judge_names[rows],
            "chosen": ids[chosen],
            "other": ids[other],
            "chosen_name": names[chosen],
            "other_name": names[other],
            "outcome": data.outcome_words[rows],
            "probability": probability[rows],
            "seconds": data.seconds[rows],
        }
    )


class TimeHistogram(NamedTuple):
    """How many comparisons took how long: ``counts`` (judges, bins); the last bin includes everything longer."""

    judges: tuple[str, ...]
    edges: FloatArray
    counts: IntArray


def time_histogram(data: Comparisons, bins: int = 30) -> TimeHistogram:
    """Count times in bins of a round width, ``bins`` of which cover 97 % of all; answers without a time are left out.

    Parameters
    ----------
    data
        Comparisons with times.
    bins
        How many bins to use.

    Returns
    -------
    TimeHistogram
        Edges of the bins, and counts by judge.

    Examples
    --------
    >>> seconds = np.array([0.4, 2.2, 2.3, 1000.0])
    >>> data = Comparisons.from_words(("a", "b"), ("x",) * 4, [0] * 4, [1] * 4, ("tie",) * 4, seconds)
    >>> time_histogram(data, bins=3).counts
    array([[1, 0, 3]])
    """
    timed = np.isfinite(data.seconds) & (data.judge >= 0)
    seconds, size = data.seconds[timed], len(data.judges)
    if len(seconds) == 0:
        raise StudyError("no comparison has a time (the column 'seconds' is absent or empty), so there is no histogram")
    long = float(np.quantile(seconds, 0.97, method="lower"))
    width = next((step for step in STEPS if step * bins >= long), STEPS[-1])
    place = np.minimum((seconds / width).astype(np.int64), bins - 1)
    counts = np.bincount(data.judge[timed] * bins + place, minlength=size * bins).reshape(size, bins)
    return TimeHistogram(data.judges, width * np.arange(bins + 1.0), counts)


def time_quartiles(data: Comparisons) -> FloatArray:
    """Return the quartiles of each judge's times, one row per judge; nan if a judge has none."""
    quartiles = np.full((len(data.judges), 3), np.nan)
    for own in of_each(np.where(np.isfinite(data.seconds), data.judge, -1)):
        quartiles[data.judge[own[0]]] = np.quantile(data.seconds[own], [0.25, 0.5, 0.75])
    return quartiles


TOO_FAST = 0.5
"""Nobody reads the names of two areas in less than this many seconds, even if all judges are as fast."""


FAR = 2.9
"""The infit_z from which a judge is pointed out: one judge in 500 by chance."""
RARE = 0.0005
"""The probability of being pointed out for any other reason by chance: that of 3.3 standard deviations."""


def unlike_the_others(table: "pd.DataFrame") -> "pd.Series":
    """Say which judges' answers are further from the others' than chance explains, by enough to matter."""
    return (table["infit_z"] > FAR) & (table["infit"] > 1.2)


def stands_out(table: "pd.DataFrame") -> dict[str, list[str]]:
    """Say, in one sentence each, what a researcher should look at in each judge's answers; for most, nothing.

    Whatever is pointed out must be rare in a judge who answers as the model says (`FAR`, `RARE`), and large enough to
    matter; fewer than 1 % of such judges are pointed out at all. Outfit is not used, because a single slip can make it
    large. Not to know an area is no reason.
    """
    usual, rows = float(table["seconds_median"].median()), table.assign(unlike=unlike_the_others(table))
    return {row["judge"]: list(_sentences(row, usual)) for row in rows.to_dict("records")}


def _sentences(row: dict[Any, Any], usual: float) -> Iterator[str]:
    yield from _kind_sentences(row)
    told = np.isfinite(row.get("p_reversed", np.nan))  # a model of judges says what kind this one is
    if row["agreement_high"] < 0.5 and _rarely(row, "agreement", "decided") and not told:
        yield (
            f"Disagreed with the other judges in {100 * (1 - row['agreement']):.0f} % of answers: perhaps the question "
            "was read the other way round."
        )
    elif row["unlike"] and not told:
        yield f"Answers are further from the other judges' than chance explains (infit {row['infit']:.2f}; 1 is usual)."
    if abs(row["left_share"] - 0.5) * 2 * np.sqrt(row["decided"]) > 3.3 and abs(row["left_share"] - 0.5) > 0.1:
        side = "left" if row["left_share"] > 0.5 else "right"
        yield f"Chose the {side} area in {100 * max(row['left_share'], 1 - row['left_share']):.0f} % of answers."
    if row["comparisons"] >= 10 and row["seconds_median"] < max(min(usual / 3, 2.0), TOO_FAST):
        yield f"Half of the answers took less than {row['seconds_median']:.1f} seconds."
    if _rarely(row, "consistency", "repeats"):
        same, expected = 100 * row["consistency"], 100 * row["consistency_expected"]
        yield (
            f"Saw {row['repeats']:,} pairs again, and answered only {same:.0f} % of them the same way, where the other "
            f"judges' answers suggest {expected:.0f} %."
        )
    answered = row["comparisons"] - row["unknown"]
    if answered >= 10 and row["ties"] + row["skipped"] > answered / 2:
        yield f"Left undecided {100 * (row['ties'] + row['skipped']) / answered:.0f} % of the pairs."


def _rarely(row: dict[Any, Any], share: str, of: str) -> bool:
    """Say whether a share is rarely as low by chance. A binomial tail is the longest that these expectations allow."""
    n, expected = int(row[of]), row[f"{share}_expected"]
    return bool(n > 0 and bdtr(round(row[share] * n), n, expected) < RARE)


def _kind_sentences(row: dict[Any, Any]) -> Iterator[str]:
    """Say what kind of judge a model of judges who differ considers this one to be; nan if it does not know them."""
    if row.get("p_reversed", 0.0) > SURE:
        sure = 100 * row["p_reversed"]
        yield f"Answers the other way round (probability {sure:.0f} %): perhaps the question was misread."
    if row.get("p_little", 0.0) > SURE:
        yield f"Answers carry little information about any map (probability {100 * row['p_little']:.0f} %)."
    if row.get("p_another_view", 0.0) > SURE:
        yield f"Answers follow a map unrelated to the other judges' (probability {100 * row['p_another_view']:.0f} %)."


def of_each(code: IntArray) -> Iterator[IntArray]:
    """Yield the positions of each judge's code; −1 means no judge."""
    order = np.argsort(code, kind="stable")
    cuts = np.flatnonzero(np.diff(code[order])) + 1
    yield from (own for own in np.split(order, cuts) if len(own) and code[own[0]] >= 0)


def _outcomes(data: Comparisons) -> dict[str, FloatArray | IntArray]:
    left, right, ties, skipped, unknown, still_open = data.outcomes_by_judge().T
    shown, decided, undecided = data.outcomes_by_judge().sum(axis=1), left + right, ties + skipped + unknown
    low, high = share_interval(left, decided)
    sides = np.where((decided > 0) & data.sides, 1.0, np.nan)
    with np.errstate(invalid="ignore"):
        share = undecided / (shown - still_open)
    return {
        "comparisons": shown,
        "decided": decided,
        "ties": ties,
        "skipped": skipped,
        "unknown": unknown,
        "undecided": share,
        "left": left,
        "left_share": sides * left / np.maximum(decided, 1),
        "left_low": sides * low,
        "left_high": sides * high,
    }


def _as_normal(z: FloatArray, skew: FloatArray) -> FloatArray:
    """Turn a standardised value of a skewed distribution into one of a normal distribution (Wilson and Hilferty, 1931).

    >>> _as_normal(np.array([-1.0, 4.0]), np.array([1.0, 1.0])).round(2)
    array([-1.07,  2.82])
    """
    return 6 / skew * (np.cbrt(np.maximum(1 + skew * z / 2, 0.0)) - 1) + skew / 6


def _against_others(data: Comparisons, belief: Belief) -> dict[str, FloatArray]:
    with one_thread():
        chance, shared = _held_out(data, belief)
    known, size = np.isfinite(chance), len(data.judges)
    p, won, judge = np.clip(chance[known], 1e-12, 1 - 1e-12), data.first_won[known], data.judge[known]
    squares = mean_squares(won, p, judge, size)
    n = np.bincount(judge, minlength=size)
    agreed = np.bincount(judge, won == (p > 0.5), size)
    low, high = share_interval(agreed, n)
    there = np.where(n > 0, 1.0, np.nan)
    rows, _ = data.repeated()
    again, same = data.repeats()
    alike = np.bincount(data.judge[rows], chance[rows] ** 2 + (1 - chance[rows]) ** 2, size)
    v, information = p * (1 - p), np.bincount(judge, p * (1 - p), size)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = np.sqrt(squares.infit_sd**2 + shared / information**2)
        # Few answers make infit skewed to the right; the third cumulant of (1 − 2p)y is (1 − 2p)⁴v.
        skew = np.maximum(np.bincount(judge, (1 - 4 * v) ** 2 * v, size) / (spread * information) ** 3, 1e-6)
        return {
            "infit": squares.infit,
            "infit_z": _as_normal((squares.infit - 1) / spread, skew),
            "outfit": squares.outfit,
            "outfit_z": (squares.outfit - 1) / squares.outfit_sd,
            "agreement": agreed / n,
            "agreement_low": there * low,
            "agreement_high": there * high,
            "agreement_expected": np.bincount(judge, np.maximum(p, 1 - p), size) / n,
            "repeats": again.astype(np.float64),
            "consistency": same / again,
            "consistency_expected": alike / again,
        }


NEAR_NOTHING = 0.25
"""Attention closer to 0 than this says little."""
MOSTLY = 0.5
ENTANGLED = 0.3
"""If more than this share of what is known in some direction rests on the judge's own answers, taking them out of the
posterior is too rough, and the others' answers are fitted by themselves."""
MOVED = 2.0
"""The same if taking them out would move any area by more than this many posterior standard deviations: with attention
in the model, a judge's answers are nearly as probable on the map turned upside down, and the search can end there."""
UNSETTLED = "Not enough draws to tell: the chains have not settled. Fit again with more draws."
CHANCES = ("p_reversed", "p_little", "p_another_view")
PARTS = ("distance", "attention", "side", "lapse", "reach")


def judge_columns(fit: Fit, data: Comparisons) -> dict[str, FloatArray | list[str]]:
    """Return those columns of `jm.judge_table` that the model has; nan for judges it does not know.

    ``distance`` is the root mean square of u_k over areas, in units of risk; it, ``attention``, ``side``, ``lapse`` and
    ``reach`` are medians with 95 % intervals ``…_low``, ``…_high``. ``p_little``, ``p_reversed`` and ``p_another_view``
    are probabilities, nan if they cannot be determined, for the reason in ``kind_note``; ``own_share`` is the share of
    what is known about the map that rests on this judge's answers, where it is largest. See the module docstring.
    """
    place = {name: code for code, name in enumerate(fit.judges)}
    if not place:
        return {}
    known = np.array([name in place for name in data.judges], dtype=np.bool_)
    codes = np.array([place.get(name, 0) for name in data.judges], dtype=np.int64)

    def spread(values: FloatArray) -> FloatArray:
        return np.where(known, values[codes], np.nan)

    columns: dict[str, FloatArray | list[str]] = {}
    for part in PARTS:
        if part in fit.posterior:
            low, middle, high = np.quantile(_draws(fit, part), [0.025, 0.5, 0.975], axis=0)
            columns |= {part: spread(middle), f"{part}_low": spread(low), f"{part}_high": spread(high)}
    if judge_convergence(fit.warnings, stopped=not fit.record.complete).grade is Grade.NO:
        nothing = np.full(len(data.judges), np.nan)
        columns |= dict.fromkeys((*CHANCES, "own_share"), nothing)
        return columns | {"kind_note": np.where(known, UNSETTLED, "").tolist()}
    kinds, share = _weighed(fit, data)
    chances = _chances(fit, kinds)
    columns |= {name: spread(each) for name, each in zip(CHANCES, chances, strict=True)}
    return columns | {"own_share": spread(share), "kind_note": [""] * len(data.judges)}


def _chances(fit: Fit, kinds: FloatArray) -> FloatArray:
    """Return `CHANCES` by judge; what the model says about attention and lapses applies to a judge as modelled."""
    modelled, guessing, upside_down, another_view = kinds.T
    little: list[BoolArray] = []
    turned = np.zeros(len(fit.judges))
    if "attention" in fit.posterior:
        attention = _draws(fit, "attention")
        little.append(np.abs(attention) < NEAR_NOTHING)
        turned = (attention < -NEAR_NOTHING).mean(axis=0)
    if "lapse" in fit.posterior:
        little.append(_draws(fit, "lapse") > MOSTLY)
    idle = np.any(little, axis=0).mean(axis=0) if little else np.zeros(len(fit.judges))
    return np.array([upside_down + modelled * turned, guessing + modelled * idle, another_view])


SHARED = ("sigma2", "lean", "side_sigma2", "attention_sigma2")


def bench_of(fit: Fit, data: Comparisons) -> Bench:
    """Return what says how probable the answers of each judge of ``data`` were, given the others', by this fit.

    What all judges share is taken at the medians of the draws.
    """
    parts, draws = fit.settings.parts(data, fit.covariance, fit.map.graph), fit.strengths
    sigma2, lean, side, attention = (
        float(np.median(fit.posterior[name])) if name in fit.posterior else 0.0 for name in SHARED
    )
    chance = float(np.median(fit.tie_chance))
    shared = Shared(np.median(draws, axis=0), chance, sigma2**0.5, lean, side**0.5, attention**0.5)
    return Bench(data.by_judge(), parts, shared, Cloud.of(draws - draws.mean(axis=1, keepdims=True)))


def _weighed(fit: Fit, data: Comparisons) -> tuple[FloatArray, FloatArray]:
    """Weigh the `Kinds`, one row per judge of the fit, and return each judge's share; nan for those without answers.

    Answers about areas that a judge is unlikely to know say nothing about the judge.
    """
    if fit.settings.reach:
        row = {name: code for code, name in enumerate(fit.judges)}
        likely = np.vstack([fit.known_areas() > 0.5, np.zeros((1, len(fit.map)), np.bool_)])
        judge = np.array([row.get(name, -1) for name in [*data.judges, ""]])[data.judge]
        data = data.where(likely[judge, data.left] & likely[judge, data.right])
    used, _ = with_answers(data)
    place = {name: code for code, name in enumerate(used.judges)}
    kinds, share = np.full((len(fit.judges), len(Kinds._fields)), np.nan), np.full(len(fit.judges), np.nan)
    with one_thread():
        bench, prior = bench_of(fit, used), np.median(fit.alpha) ** 2 * smoothed(fit)
        own = covariance_of(prior + bench.shared.sigma**2 * fit.view_covariance.matrix).factor
        belief = Belief(covariance_of(prior), FixedVariance(1.0))
        for code, name in enumerate(fit.judges):
            if name in place:
                rng = np.random.default_rng(code)
                others, share[code] = bench.set_aside(place[name])
                moved = np.abs(others.mean - bench.known.mean) > MOVED * np.linalg.norm(bench.known.root, axis=1)
                if share[code] > ENTANGLED or moved.any():
                    others = _fit_others(fit, bench.shared.sigma, used, place[name], belief)
                kinds[code] = bench.kind_chances(rng, place[name], own, others)
    return kinds, np.minimum(share, 1.0)


def _fit_others(fit: Fit, sigma: float, data: Comparisons, judge: int, belief: Belief) -> Cloud:
    """Return what the other judges' answers say about the map, by a quick fit V that pools them.

    Where judges differ, an error of one judge's view moves all of their answers: with I_j what judge j's answers know
    about the map, the pooled estimate is off by V Σ_j I_j u_j, so V Σ_j I_j Cov(u_j) I_j V is added to V.
    """
    others = data.decided & (data.judge != judge)
    if not others.any():
        return Cloud(np.zeros(len(fit.map)), belief.covariance.factor)
    found = quick_fit(data.counts_of(others), belief)
    V, spread = found.covariance, found.covariance.copy()
    if fit.settings.differ:
        view = sigma * fit.view_covariance.factor
        for each in np.unique(data.judge[others & (data.judge >= 0)]):
            known = information(data.counts_of(others & (data.judge == each)), found.mean)
            moved = V @ known @ view
            spread += moved @ moved.T
    return Cloud.around(found.mean, spread)


def _draws(fit: Fit, name: str) -> FloatArray:
    values: FloatArray = fit.posterior[name]
    return values.reshape(-1, values.shape[2])
