"""How each judge judged: how much, how fast, with which habits, and how well it agrees with the other judges.

A judge is held against the *other* judges. For each judge the model is fitted to everybody else's answers (quickly, see
`study.answers`), and gives each decided answer of the judge its chance p = P(this area chosen | the others' answers),
strengths being uncertain. It is the chance of an answer not yet seen, so for a judge who answers as the model says
E[(y − p)²] = p(1 − p) exactly, however many of all answers are the judge's own. A p taken from the fit of all answers
would have seen them: residuals come out too small, and a judge with most of the answers could not stand out at all.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import expit
from threadpoolctl import threadpool_limits

from judgemap.core.misfit import mean_squares, share_interval
from judgemap.core.prior import FixedVariance
from judgemap.core.types import FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.study.answers import Answers, Belief, belief_of, check_areas, decided_answers, judge_codes, quick_fit
from judgemap.study.records import Comparisons
from judgemap.study.result import Fit

WORK = 100_000_000
"""Pairs × draws for which chances are computed; of more draws, some evenly spaced ones are used."""
CHUNK = 4_000_000
STEPS = (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0)
"""Widths of a histogram's bins, in seconds."""


def judge_table(fit: Fit, data: Comparisons) -> pd.DataFrame:
    """Give one row a judge; ``data`` are the comparisons that the fit was made of.

    ``comparisons`` (pairs shown), ``decided``, ``ties``, ``skipped``, ``unknown``, and ``undecided``, the share of the
    last three. ``seconds_median`` with quartiles ``seconds_low``, ``seconds_high``. ``left``, and ``left_share`` of the
    decided with Wilson's 95 % interval; nan if nobody's answer is 'right', because a table of winners and losers does
    not tell sides.

    ``infit``, ``outfit``: see `core.misfit.mean_squares`, with chances from the other judges' answers (see the module's
    text); ``infit_z``, ``outfit_z``: (mean square − 1) / standard deviation. ``agreement``: share of decided answers
    that the other judges' fit holds likelier than not, with Wilson's interval; ``agreement_expected``: the mean of
    max(p, 1 − p), what a judge who answers as the model says would reach on average. All are nan for a lone judge.

    ``repeats``: how often a pair came again to the same judge, both times decided; ``consistency``: the share of these
    answered as the time before.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> table = judge_table(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), data)
    >>> table.loc[11, ["comparisons", "infit", "agreement"]].astype(float).round(2).tolist()
    [1063.0, 0.95, 0.79]
    """
    check_areas(fit, data)
    names, code = judge_codes(data)
    answers = decided_answers(data)
    return pd.DataFrame(
        {
            "judge": names,
            **_outcomes(data, code, len(names)),
            **_times(data.seconds, code, len(names)),
            **_against_others(answers, belief_of(fit)),
            **_repeats(answers),
        }
    )


def others_chances(answers: Answers, belief: Belief) -> FloatArray:
    """P(the pair's first area is chosen | all answers of other judges) for every answer; nan for a lone judge's.

    α² is taken from all answers together, strengths are not. Answers without a judge's name have no chance here, but
    count among the others' answers.

    >>> from judgemap.core.prior import FixedVariance, independent
    >>> data = Comparisons(("a", "b"), ("x", "y", "y"), [0, 0, 0], [1, 1, 1], ("left",) * 3, [1, 1, 1])
    >>> others_chances(decided_answers(data), Belief(independent(2), FixedVariance(9.0))).round(2)
    array([0.9 , 0.83, 0.83])
    """
    chance = np.full(len(answers), np.nan)
    if len(answers) == 0:
        return chance
    everybody = quick_fit(answers.counts(answers.everything), belief)
    same_variance = belief._replace(variance=FixedVariance(everybody.variance))
    for own in _groups(answers.judge):
        others = answers.everything.copy()
        others[own] = False
        if others.any():
            fit = quick_fit(answers.counts(others), same_variance, everybody)
            pairs, place = np.unique(answers.pair[own], return_inverse=True)
            chance[own] = fit.chances(answers.first[pairs], answers.second[pairs])[place]
    return chance


def surprising_answers(fit: Fit, data: Comparisons, most: int = 30) -> pd.DataFrame:
    """List the decided answers that the fit of all answers holds least likely, the least likely first.

    ``probability`` is the posterior mean of P(this area is chosen); ``row`` the comparison's place in the table. A few
    are to be expected: of 1,000 answers with probability 5 %, fifty are given.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> surprising_answers(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), data, most=1).shape
    (1, 9)
    """
    check_areas(fit, data)
    answers = decided_answers(data)
    chance = pair_chances(fit, answers.first, answers.second)[answers.pair]
    probability = np.where(answers.first_won, chance, 1 - chance)
    place = np.argsort(probability, kind="stable")[:most]
    first, second = answers.first[answers.pair[place]], answers.second[answers.pair[place]]
    won = answers.first_won[place]
    chosen, other = np.where(won, first, second), np.where(won, second, first)
    rows = answers.row[place]
    ids, names = np.array(fit.map.ids, dtype=object), np.array(fit.map.names, dtype=object)
    return pd.DataFrame(
        {
            "row": rows,
            "judge": [data.judge[row] for row in rows],
            "chosen": ids[chosen],
            "other": ids[other],
            "chosen_name": names[chosen],
            "other_name": names[other],
            "outcome": [data.outcome[row] for row in rows],
            "probability": probability[place],
            "seconds": data.seconds[rows],
        }
    )


def pair_chances(fit: Fit, first: IntArray, second: IntArray) -> FloatArray:
    """E[P(first is chosen over second)] over the posterior, for each pair."""
    sign = fit.record.sign
    draws = fit.risk
    step = -(-len(draws) * max(len(first), 1) // WORK)
    strengths = np.ascontiguousarray(sign * draws[::step].T)
    chance = np.empty(len(first))
    size = max(1, CHUNK // strengths.shape[1])
    for start in range(0, len(first), size):
        part = slice(start, start + size)
        chance[part] = expit(strengths[first[part]] - strengths[second[part]]).mean(axis=1)
    return chance


class TimeHistogram(NamedTuple):
    """How many comparisons took how long: ``counts`` (judges, bins); the last bin also holds all that took longer."""

    judges: tuple[str, ...]
    edges: FloatArray
    counts: IntArray


def time_histogram(data: Comparisons, bins: int = 30) -> TimeHistogram:
    """Count times in bins of a round width, of which ``bins`` hold 97 % of all; answers without a time are left out.

    >>> seconds = np.array([0.4, 2.2, 2.3, 1000.0])
    >>> data = Comparisons(("a", "b"), ("x",) * 4, [0] * 4, [1] * 4, ("tie",) * 4, seconds)
    >>> time_histogram(data, bins=3).counts
    array([[1, 0, 3]])
    """
    names, code = judge_codes(data)
    timed = np.isfinite(data.seconds) & (code >= 0)
    seconds = data.seconds[timed]
    if len(seconds) == 0:
        raise StudyError("no comparison has a time (the column 'seconds' is absent or empty), so there is no histogram")
    long = float(np.quantile(seconds, 0.97, method="lower"))
    width = next((step for step in STEPS if step * bins >= long), STEPS[-1])
    place = np.minimum((seconds / width).astype(np.int64), bins - 1)
    counts = np.bincount(code[timed] * bins + place, minlength=len(names) * bins).reshape(len(names), bins)
    return TimeHistogram(names, width * np.arange(bins + 1.0), counts.astype(np.int64))


def stands_out(table: pd.DataFrame) -> dict[str, list[str]]:
    """Say of each judge, a sentence each, what a researcher should look at; nothing for most judges.

    An infit or a share of left choices must be more than 3.3 standard deviations off, and by enough to matter. Of
    judges who answer as the model says, under 1 % are pointed out; 3 % where they gave most of all answers themselves.
    Outfit is not used: a single slip can make it large.
    """
    usual = float(table["seconds_median"].median())
    return {row["judge"]: list(_sentences(row, usual)) for row in table.to_dict("records")}


def _sentences(row: dict[Any, Any], usual: float) -> Iterator[str]:
    if row["agreement_high"] < 0.5:
        yield (
            f"Chose against the other judges in {1 - row['agreement']:.0%} of answers: perhaps the question was taken "
            "the other way round."
        )
    elif row["infit_z"] > 3.3 and row["infit"] > 1.2:
        yield f"Answers are further from the other judges' than chance explains (infit {row['infit']:.2f}; 1 is usual)."
    if abs(row["left_share"] - 0.5) * 2 * np.sqrt(row["decided"]) > 3.3 and abs(row["left_share"] - 0.5) > 0.1:
        side = "left" if row["left_share"] > 0.5 else "right"
        yield f"Chose the {side} area in {max(row['left_share'], 1 - row['left_share']):.0%} of answers."
    if row["comparisons"] >= 10 and row["seconds_median"] < min(usual / 3, 2.0):
        yield f"Half of the answers took less than {row['seconds_median']:.1f} seconds."
    if row["repeats"] >= 5 and row["consistency"] <= 0.5:
        yield f"Answered {row['repeats']} pairs again, and only {row['consistency']:.0%} of them the same way."
    if row["comparisons"] >= 10 and row["undecided"] > 0.5:
        yield f"Gave no decision on {row['undecided']:.0%} of the pairs."


def _groups(code: IntArray) -> Iterator[IntArray]:
    """Yield the positions of each judge's code; −1 is no judge."""
    order = np.argsort(code, kind="stable")
    cuts = np.flatnonzero(np.diff(code[order])) + 1
    yield from (own for own in np.split(order, cuts) if len(own) and code[own[0]] >= 0)


def _outcomes(data: Comparisons, code: IntArray, n_judges: int) -> dict[str, FloatArray | IntArray]:
    named = code >= 0
    outcome: NDArray[np.str_] = np.array(data.outcome, dtype=np.str_)

    def count(kind: str) -> IntArray:
        return np.bincount(code[named & (outcome == kind)], minlength=n_judges).astype(np.int64)

    left, right, ties, skipped, unknown = (count(kind) for kind in ("left", "right", "tie", "skipped", "unknown"))
    shown, decided = np.bincount(code[named], minlength=n_judges), left + right
    low, high = share_interval(left, decided)
    sides = np.where((decided > 0) & bool((outcome == "right").any()), 1.0, np.nan)
    return {
        "comparisons": shown,
        "decided": decided,
        "ties": ties,
        "skipped": skipped,
        "unknown": unknown,
        "undecided": (ties + skipped + unknown) / shown,
        "left": left,
        "left_share": sides * left / np.maximum(decided, 1),
        "left_low": sides * low,
        "left_high": sides * high,
    }


def _times(seconds: FloatArray, code: IntArray, n_judges: int) -> dict[str, FloatArray]:
    quartiles = np.full((n_judges, 3), np.nan)
    timed = np.flatnonzero(np.isfinite(seconds))
    for own in _groups(code[timed]):
        quartiles[code[timed[own[0]]]] = np.quantile(seconds[timed[own]], [0.25, 0.5, 0.75])
    return {"seconds_median": quartiles[:, 1], "seconds_low": quartiles[:, 0], "seconds_high": quartiles[:, 2]}


def _against_others(answers: Answers, belief: Belief) -> dict[str, FloatArray]:
    with threadpool_limits(limits=1):
        chance = others_chances(answers, belief)
    known = np.isfinite(chance) & (answers.judge >= 0)
    p, won, judge, size = chance[known], answers.first_won[known], answers.judge[known], len(answers.judges)
    p = np.clip(p, 1e-12, 1 - 1e-12)
    squares = mean_squares(won, p, judge, size)
    n = np.bincount(judge, minlength=size)
    agreed = np.bincount(judge, won == (p > 0.5), size)
    low, high = share_interval(agreed, n)
    there = np.where(n > 0, 1.0, np.nan)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {
            "infit": squares.infit,
            "infit_z": (squares.infit - 1) / squares.infit_sd,
            "outfit": squares.outfit,
            "outfit_z": (squares.outfit - 1) / squares.outfit_sd,
            "agreement": agreed / n,
            "agreement_low": there * low,
            "agreement_high": there * high,
            "agreement_expected": np.bincount(judge, np.maximum(p, 1 - p), size) / n,
        }


def _repeats(answers: Answers) -> dict[str, FloatArray | IntArray]:
    """Hold each answer against the same judge's last one to the same pair."""
    named = np.flatnonzero(answers.judge >= 0)
    key = answers.judge[named] * max(len(answers.first), 1) + answers.pair[named]
    order = named[np.argsort(key, kind="stable")]
    again = (np.diff(answers.judge[order]) == 0) & (np.diff(answers.pair[order]) == 0)
    same = again & (answers.first_won[order][1:] == answers.first_won[order][:-1])
    judge, size = answers.judge[order][1:], len(answers.judges)
    repeats = np.bincount(judge[again], minlength=size).astype(np.int64)
    with np.errstate(invalid="ignore"):
        return {"repeats": repeats, "consistency": np.bincount(judge[same], minlength=size) / repeats}
