"""What the draws say about each area: risk, rank, and probabilities a planner can use.

Draws of risk are an array (draws, areas); a high value is a high risk. Rank 1 is the highest risk.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray

INTERVAL = (0.025, 0.975)
AT_A_TIME = 4_000_000
"""The most values (draws × areas) processed at a time."""


def summarise(risk: FloatArray, top: int = 10) -> dict[str, FloatArray | IntArray]:
    """Summarise draws of risk, (draws, areas), by the columns of areas.csv, with 95 % intervals.

    ``rank`` is the place by median risk, the one order that every table and map uses; ``p_top`` is P(among the ``top``
    highest).
    """
    rank, parts = ranks(risk), []
    for part in pieces(risk.shape[1], AT_A_TIME // max(len(risk), 1)):  # so that all draws are never copied at once
        drawn, places = np.asarray(risk[:, part], dtype=np.float64), rank[:, part]
        low, median, high = np.quantile(drawn, [INTERVAL[0], 0.5, INTERVAL[1]], axis=0)
        ends = np.quantile(places, INTERVAL, axis=0, method="nearest")
        middle = (median, drawn.mean(axis=0), drawn.std(axis=0, ddof=1))
        parts.append((*middle, low, high, *ends, (places <= top).mean(axis=0)))
    median, mean, sd, low, high, first, last, p_top = (np.concatenate(each) for each in zip(*parts, strict=True))
    place = ranks(median[None])[0]
    return {
        "risk_median": median,
        "risk_mean": mean,
        "risk_sd": sd,
        "risk_low": low,
        "risk_high": high,
        "rank": place,
        # If little is known, the medians can put an area where hardly any draw does: its interval takes that in.
        "rank_low": np.minimum(first, place).astype(int),
        "rank_high": np.maximum(last, place).astype(int),
        "p_top": p_top,
    }


def risk_sign(winner_is: str) -> float:
    """Risk = sign × centred strength: if judges choose the area with the lower rate, a strong area has a low risk.

    >>> risk_sign("lower"), risk_sign("higher")
    (-1.0, 1.0)
    """
    return -1.0 if winner_is == "lower" else 1.0


def by_risk(risk: ArrayLike) -> IntArray:
    """Return the areas' positions along the last axis, the highest risk first; equal risks stay in their order.

    >>> by_risk([0.5, 2.0, 0.5])
    array([1, 0, 2])
    """
    return np.argsort(-np.asarray(risk), axis=-1, kind="stable")


def ranks(risk: FloatArray) -> IntArray:
    """Rank the areas within every draw, 1 for the highest risk.

    >>> ranks(np.array([[0.5, 2.0, -1.0]]))
    array([[2, 1, 3]])
    """
    rank = np.empty(risk.shape, dtype=np.int64 if risk.size <= AT_A_TIME else np.int32)
    places = np.arange(1, risk.shape[1] + 1)[None, :]
    for part in pieces(len(risk), AT_A_TIME // risk.shape[1]):
        np.put_along_axis(rank[part], by_risk(risk[part]), places, axis=1)
    return rank


def p_top(risk: FloatArray, k: int) -> FloatArray:
    """P(area is among the k areas of highest risk), for each area."""
    if not 1 <= k <= risk.shape[1]:
        raise ValueError(f"k must lie in 1 … {risk.shape[1]}, received {k}")
    return (ranks(risk) <= k).mean(axis=0)


def p_tops(risk: FloatArray, sizes: Sequence[int]) -> dict[int, FloatArray]:
    """P(area is among the k of highest risk) for several k, all below the number of areas; sorts only the top.

    >>> p_tops(np.array([[3.0, 1.0, 2.0], [1.0, 3.0, 2.0]]), [1, 2])
    {1: array([0.5, 0.5, 0. ]), 2: array([0.5, 0.5, 1. ])}
    """
    draws, areas = risk.shape
    most = max(sizes, default=1)
    counts = {k: np.zeros(areas) for k in sizes}
    for part in pieces(draws, AT_A_TIME // areas):
        highest = np.argpartition(-risk[part], most - 1, axis=1)[:, :most]
        order = by_risk(np.take_along_axis(risk[part], highest, axis=1))
        highest = np.take_along_axis(highest, order, axis=1)
        for k in sizes:
            counts[k] += np.bincount(highest[:, :k].ravel(), minlength=areas)
    return {k: count / draws for k, count in counts.items()}


def p_riskier(risk: FloatArray) -> FloatArray:
    """P(risk_i > risk_j) in row i, column j; one half on the diagonal."""
    n = risk.shape[1]
    chance = np.full((n, n), 0.5)
    for area in range(n):
        chance[area] = (risk[:, [area]] > risk).mean(axis=0)
        chance[area, area] = 0.5
    return chance
