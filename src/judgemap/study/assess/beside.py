"""The map beside other boundaries and other figures: results by district, and whether the map follows a figure.

Both are worked out draw by draw, so that what is uncertain on the map is uncertain here too.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import ndtri

from judgemap.core.assess.posterior import INTERVAL, ranks, summarise
from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.geo.adjacency import in_metres
from judgemap.geo.figures import MAPS, Figures, read_figures, regions_of
from judgemap.geo.maps import Areas
from judgemap.study.assess.findings import EQUAL, Beside, Follows, StandsOut
from judgemap.study.fit.draws import evenly
from judgemap.study.fit.result import Fit

if TYPE_CHECKING:
    import geopandas

__all__ = ["Follows", "Grouping", "StandsOut", "follows", "group_areas", "results_by"]

SURFACE = "area"
"""Weights by surface, which need no column; nor does `EQUAL`, every area alike."""
AT_A_TIME = 4_000_000
FEWEST = 5
"""Areas with a figure without which a correlation says nothing."""
SURE = 0.9
"""The least probability with which an area is said to stand out."""
MOST_NAMED = 10
BINS = 40
WORK, LEAST_DRAWS = 10_000_000, 400
"""The most draws × areas that are held against a figure; with more, that many evenly spaced draws, but no fewer than
these."""


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """Areas put into groups: each area's group, empty for none, its weight, and what the groups and weights are called.

    >>> Grouping("town", ("Ash", "Ash", "", "Elm"), np.array([3.0, 1.0, 1.0, 2.0])).names
    ('Ash', 'Elm')
    """

    name: str
    labels: tuple[str, ...]
    weights: FloatArray
    weighted_by: str = EQUAL
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The groups, in alphabetical order."""
        return tuple(sorted({label for label in self.labels if label}))

    @property
    def weighted_words(self) -> str:
        """How areas count in their group, in a few words."""
        words = {EQUAL: "each counted alike", SURFACE: "weighted by surface"}
        return words.get(self.weighted_by, f"weighted by {self.weighted_by}")

    @property
    def shares(self) -> sparse.csr_array:
        """The weight of each area (column) in each group (row); every row sums to 1."""
        row = {name: at for at, name in enumerate(self.names)}
        inside = np.flatnonzero(np.array(self.labels) != "")
        groups = np.array([row[self.labels[at]] for at in inside])
        weights = self.weights[inside] / np.bincount(groups, self.weights[inside])[groups]
        return sparse.csr_array((weights, (groups, inside)), shape=(len(row), len(self.labels)))

    def means(self, values: FloatArray) -> FloatArray:
        """Return the mean of each group (column) in every row of values of the areas, a few rows at a time."""
        shares, (rows, areas) = self.shares, values.shape
        parts = [shares @ values[part].T for part in pieces(rows, max(1, AT_A_TIME // areas))]
        return np.concatenate(parts, axis=1).T


def group_areas(areas: Areas, by: "str | Path | Sequence[str]", *, weights: str = EQUAL) -> Grouping:
    """Put areas into groups, with notes on areas that are in no group, or in several.

    ``by`` is a boundary file of larger places, such as districts: an area belongs to the one that has most of its
    surface. Or it is a column of the figures, or a list with the group of each area, empty for none. ``weights`` says
    how areas count in their group: "equal", "area" (by surface), or a column of the figures, such as the population.
    """
    name, notes = "group", list[str]()
    if isinstance(by, str | Path):
        name = str(by)
        if Path(by).suffix.lower() in MAPS:
            read = read_figures(by, areas)
            name, notes, areas = Path(by).stem, list(read.notes), areas.with_figures(read)
        labels = _given(areas, name).groups(name)
        if without := [areas.names[place] for place, label in enumerate(labels) if not label]:
            notes.append(f"{len(without):,} of {len(areas):,} areas are in no group: {', '.join(without[:5])}.")
    else:
        labels = tuple(str(label) for label in by)
        if len(labels) != len(areas):
            raise StudyError(f"give a group for each of the {len(areas):,} areas, not {len(labels):,}")
    if len(set(labels) - {""}) < 2:
        raise StudyError(f"{name!r} puts all areas into one group; results by group need at least two")
    return _weighted(areas, name, labels, weights, notes)


def _weighted(areas: Areas, name: str, labels: tuple[str, ...], weights: str, notes: list[str]) -> Grouping:
    if weights == EQUAL:
        values = np.ones(len(areas))
    elif weights == SURFACE:
        if areas.geometry is None:
            raise StudyError("these areas have no outlines, so they cannot be weighted by surface; use weights 'equal'")
        values = in_metres(areas.geometry).area.to_numpy()
    else:
        values = _given(areas, weights).numbers(weights)
        if (values < 0).any():
            raise StudyError(f"the weights {weights!r} have negative numbers; choose another column")
    unknown = ~np.isfinite(values) & (np.array(labels) != "")
    if unknown.any():
        named = ", ".join(areas.names[place] for place in np.flatnonzero(unknown)[:5])
        notes.append(f"{int(unknown.sum()):,} areas have no {weights!r} and count nothing in their group: {named}.")
    values = np.nan_to_num(values)
    total = pd.Series(values).groupby(np.array(labels)).sum().drop("", errors="ignore")
    if (total <= 0).any():
        raise StudyError(f"the areas of {total.idxmin()!r} have no weight by {weights!r}; choose other weights")
    return Grouping(name, labels, values, weights, tuple(notes))


def _given(areas: Areas, column: str) -> Figures:
    if areas.figures is None:
        raise StudyError(
            f"{column!r} is not a boundary file such as districts.gpkg, and these areas have no figures in which it "
            "could be a column; give their table too (--figures areas.csv, in Python Areas.with_figures)"
        )
    return areas.figures


def results_by(
    fit: Fit,
    by: "str | Path | Sequence[str] | Grouping",
    *,
    weights: str = EQUAL,
    top: int | None = None,
) -> pd.DataFrame:
    """Return the results by district, partnership or any other group of areas.

    The risk of a group is the weighted mean of its areas' risks, in every draw; intervals, ranks and probabilities are
    those of that mean.

    Parameters
    ----------
    fit
        The fit.
    by, weights
        How areas are grouped and weighted: see `group_areas`.
    top
        The last column is P(among the ``top`` groups of highest risk): of the ten highest or, if there are no more than
        ten groups, P(the highest).

    Returns
    -------
    pandas.DataFrame
        A row for each group, the highest median first, with the columns of areas.csv and how many areas it has.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> sides = ["north" if int(area) < 30 else "south" for area in areas.ids]
    >>> jm.results_by(fit, sides).columns.to_list()[:5], len(jm.results_by(fit, sides))
    (['group', 'areas', 'risk_median', 'risk_mean', 'risk_sd'], 2)
    """
    if not isinstance(by, Grouping):
        by = group_areas(fit.map, by, weights=weights)
    risk, count = by.means(fit.risk), len(by.names)
    top = min(top or (10 if count > 10 else 1), count)
    told, size = summarise(risk, top), Counter(by.labels)
    told[f"p_top{top}"] = told.pop("p_top")
    frame = pd.DataFrame(
        {
            "group": by.names,
            "areas": [size[name] for name in by.names],
            **told,
        }
    )
    return frame.sort_values("rank", ignore_index=True)


HIGHEST = 3
"""How many areas of each region are named."""


@dataclass(frozen=True, slots=True, eq=False)
class ByRegion:
    """The results of a large map by its regions, the highest first."""

    by: Grouping
    table: pd.DataFrame
    """As `results_by` returns it."""
    highest: tuple[IntArray, ...]
    """The areas of highest risk in each region, by position."""


def by_region(fit: Fit, groups: Sequence[Grouping] = ()) -> ByRegion | None:
    """Return the results by region, of a map whose list of areas nobody would read; None for any other.

    The regions are the first of ``groups``, or what the map itself has: see `geo.figures.regions_of`.
    """
    from judgemap.geo.drawing import LARGE  # brings shapely, which a fit without a map does without

    if len(fit.map) <= LARGE:
        return None
    found = None if groups else regions_of(fit.map)
    if not groups and found is None:
        return None
    by = groups[0] if found is None else Grouping(*found, np.ones(len(fit.map)))
    members: dict[str, list[int]] = {}
    for area in fit.order.tolist():
        if len(chosen := members.setdefault(by.labels[area], [])) < HIGHEST:
            chosen.append(area)
    table = results_by(fit, by)
    return ByRegion(by, table, tuple(np.array(members[name]) for name in table["group"]))


def outlines_by(areas: Areas, by: Grouping) -> "geopandas.GeoDataFrame":
    """Join the outlines of each group's areas: ``group`` and geometry, in the map's reference system."""
    frame = areas.to_frame().assign(group=by.labels)
    return frame[frame["group"] != ""].dissolve("group").reset_index()[["group", "geometry"]]


def follows(fit: Fit, figures: Figures, column: str) -> Follows:
    """Say how far the map follows a figure, over the draws and not only by the medians.

    In every draw, Spearman's rank correlation of risk and figure is taken, and the straight line of risk on the
    figure's normal scores, which a few extreme figures cannot bend. An area stands out if it lies on the same side of
    the line in at least 90 % of the draws; those farthest from it come first.

    Parameters
    ----------
    fit
        The fit whose map is compared.
    figures
        Figures of the same areas.
    column
        Which of them.

    Returns
    -------
    Follows
        The correlation with its interval, and the areas that stand out.

    Examples
    --------
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> same = Figures(areas.ids, {"same": tuple(map(str, fit.areas["risk_median"]))})
    >>> told = follows(fit, same, "same")
    >>> told.low > 0.9, told.areas, sum(told.counts)
    (True, 77, 200)
    """
    values = figures.numbers(column)
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < FEWEST or len(np.unique(values[known])) < 2:
        raise StudyError(
            f"{column!r} has {len(known):,} numbers for these areas; a correlation needs {FEWEST} or more, which differ"
        )
    draws = fit.risk
    risk = draws[np.ix_(evenly(len(draws), max(LEAST_DRAWS, WORK // len(known))), known)]
    place = np.asarray(pd.Series(values[known]).rank(), dtype=np.float64)
    correlation = _rank_correlation(risk, place)
    score = ndtri((place - 0.5) / len(known))
    score = (score - score.mean()) / score.std()
    slope, level = risk @ score / len(known), risk.mean(axis=1)
    above = risk - level[:, None] - slope[:, None] * score
    low, median, high = np.quantile(correlation, [INTERVAL[0], 0.5, INTERVAL[1]])
    order = np.argsort(values[known], kind="stable")
    suggested = level.mean() + slope.mean() * score
    return Follows(
        column=column,
        areas=len(known),
        median=float(median),
        low=float(low),
        high=float(high),
        counts=np.histogram(correlation, bins=BINS, range=(-1, 1))[0].tolist(),
        line=[(float(values[known][each]), float(suggested[each])) for each in order[:: max(1, len(order) // 100)]],
        out=_standing_out(above, known, fit.map.names),
    )


def _rank_correlation(risk: FloatArray, place: FloatArray) -> FloatArray:
    """Return Spearman's correlation of each draw of risk with a figure's ranks; a high risk has a high rank."""
    score = place - place.mean()
    score /= np.linalg.norm(score)
    parts = []
    for part in pieces(len(risk), AT_A_TIME // risk.shape[1]):
        drawn = -ranks(risk[part]).astype(np.float64)
        drawn -= drawn.mean(axis=1, keepdims=True)
        parts.append(drawn @ score / np.linalg.norm(drawn, axis=1))
    return np.concatenate(parts)


def _standing_out(above: FloatArray, known: IntArray, names: Sequence[str]) -> list[StandsOut]:
    share = (above > 0).mean(axis=0)
    sure = np.maximum(share, 1 - share)
    far = np.argsort(-np.abs(np.median(above, axis=0)), kind="stable")
    chosen = [at for at in far if sure[at] >= SURE][:MOST_NAMED]
    return [StandsOut(int(known[at]), names[known[at]], bool(share[at] > 0.5), float(sure[at])) for at in chosen]


def beside(fit: Fit, figures: Figures, weights: str = EQUAL) -> Beside:
    """Hold a fit against every column of its figures that allows it."""
    told, groups, notes = {}, {}, list(figures.notes)
    areas = replace(fit.map, figures=figures)
    for column in figures.numeric:
        try:
            told[column] = follows(fit, figures, column)
        except StudyError as error:
            notes.append(f"{error}.")
    for column in figures.groupings:
        grouping = group_areas(areas, column, weights=weights)
        groups[column] = [
            {str(name): value for name, value in row.items()} for row in results_by(fit, grouping).to_dict("records")
        ]
        notes += grouping.notes
    return Beside(follows=told, groups=groups, weighted_by=weights, notes=tuple(dict.fromkeys(notes)))
