"""Compare two fits of the same areas: what changes with another model or prior, or without a judge."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgemap.core.assess.posterior import p_riskier, ranks
from judgemap.core.assess.reliability import likeness, pearson, spearman
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.study.fit.result import Fit

DRAWS = 1_000
"""Probabilities about the order of areas use at least this many evenly spaced draws of each fit, if it has them."""


@dataclass(frozen=True, slots=True, eq=False)
class FitComparison:
    """What changes from one fit to another.

    ``pearson`` and ``spearman`` compare posterior median risks. ``reordered`` is the share of pairs of areas whose
    medians change order. ``p_reordered`` is the probability that a random pair is ordered differently in a draw of the
    other fit than in a draw of the base; ``p_reordered_base`` is the same for two draws of the base itself, which shows
    how much is due to uncertainty alone. ``same_top`` of the ``top`` highest areas are the same.

    ``areas`` has one row per area: id, name, ``risk_base``, ``risk_other``, ``change``, ``rank_base``, ``rank_other``
    (by median, 1 is the highest risk), ``rank_change``, and ``p_higher``, the probability that a draw of the other fit
    is above a draw of the base. The two fits share answers, so p_higher is not a test; it says whether a change is
    large relative to the uncertainty.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> same = jm.compare_fits(fit, fit)
    >>> same.same_top, same.top, same.reordered
    (10, 10, 0.0)
    """

    pearson: float
    spearman: float
    reordered: float
    p_reordered: float
    p_reordered_base: float
    same_top: int
    top: int
    areas: pd.DataFrame

    def movers(self, most: int = 10) -> pd.DataFrame:
        """Return the areas whose rank changes most; among equals, those whose risk changes most."""
        ranked, moved = self.areas["rank_change"].abs().to_numpy(), self.areas["change"].abs().to_numpy()
        return self.areas.iloc[np.lexsort((-moved, -ranked))[:most]]

    @property
    def words(self) -> str:
        """What changes, in a sentence or two."""
        first = self.movers(1).iloc[0]
        return (
            f"The two estimates have correlation {self.pearson:.3f} (Pearson) and {self.spearman:.3f} (Spearman); "
            f"{self.same_top} of the {self.top} areas of highest risk are the same. {first['name']} moves most, from "
            f"rank {first['rank_base']} to {first['rank_other']}."
        )


def compare_fits(base: Fit, other: Fit) -> FitComparison:
    """Compare another fit of the same areas with a base fit.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> base = jm.fit_spatial(data, areas, seed=1, chains=2, draws=200)
    >>> other = jm.fit_spatial(data.without(["12"]), areas, seed=1, chains=2, draws=200)
    >>> change = compare_fits(base, other)
    >>> change.pearson > 0.9, change.same_top, change.top
    (True, 8, 10)
    """
    if base.map.ids != other.map.ids:
        raise StudyError("the two fits are of different areas; compare fits of one study")
    medians = [np.median(each.risk, axis=0) for each in (base, other)]
    rank = ranks(np.stack(medians))
    alike = likeness(medians[0], medians[1])
    draws = [_some(each.risk) for each in (base, other)]
    chances = [_upper(p_riskier(each)) for each in draws]
    change = medians[1] - medians[0]
    areas = pd.DataFrame(
        {
            "id": base.map.ids,
            "name": base.map.names,
            "risk_base": medians[0],
            "risk_other": medians[1],
            "change": change,
            "rank_base": rank[0],
            "rank_other": rank[1],
            "rank_change": rank[1] - rank[0],
            "p_higher": _p_higher(*draws),
        }
    )
    before, after = (_upper(np.sign(each[:, None] - each[None, :])) for each in medians)
    return FitComparison(
        pearson=alike.pearson,
        spearman=alike.spearman,
        reordered=_mean(before * after < 0),
        p_reordered=_mean(chances[0] * (1 - chances[1]) + (1 - chances[0]) * chances[1]),
        p_reordered_base=_mean(2 * chances[0] * (1 - chances[0])),
        same_top=alike.same_top,
        top=alike.top,
        areas=areas,
    )


def leaders(one: Fit, other: Fit) -> tuple[str, str] | None:
    """Return the names of the areas that two fits put first if they disagree; None if they agree.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> leaders(fit, fit) is None
    True
    """
    first, second = (each.map.names[int(np.median(each.risk, axis=0).argmax())] for each in (one, other))
    return None if first == second else (first, second)


def compare_many(fits: dict[str, Fit]) -> pd.DataFrame:
    """Correlate the medians of every two fits, by name, as in the paper's table of judges left out or alone.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> parts = {"all": data, "only 12": data.only(["12"])}
    >>> fits = {name: jm.fit_spatial(part, areas, seed=1, chains=2, draws=100) for name, part in parts.items()}
    >>> compare_many(fits).columns.tolist()
    ['base', 'other', 'pearson', 'spearman']
    """
    names = list(fits)
    if len({fit.map.ids for fit in fits.values()}) > 1:
        raise StudyError("these fits are of different areas; compare fits of one study")
    medians = {name: np.median(fit.risk, axis=0) for name, fit in fits.items()}
    rows = [
        {
            "base": a,
            "other": b,
            "pearson": pearson(medians[a], medians[b]),
            "spearman": spearman(medians[a], medians[b]),
        }
        for place, a in enumerate(names)
        for b in names[place + 1 :]
    ]
    return pd.DataFrame(rows, columns=["base", "other", "pearson", "spearman"])


def _some(draws: FloatArray) -> FloatArray:
    return draws[:: max(1, len(draws) // DRAWS)]


def _upper(matrix: FloatArray) -> FloatArray:
    values: FloatArray = matrix[np.triu_indices(len(matrix), 1)]
    return values


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _p_higher(base: FloatArray, other: FloatArray) -> FloatArray:
    """P(a draw of the other is above a draw of the base), equal values counting half, area by area."""
    chances = []
    for a, b in zip(base.T, other.T, strict=True):
        ordered = np.sort(a)
        below = np.searchsorted(ordered, b, side="left") + np.searchsorted(ordered, b, side="right")
        chances.append(below.mean() / (2 * len(a)))
    return np.array(chances)
