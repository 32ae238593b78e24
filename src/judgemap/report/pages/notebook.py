"""How a notebook shows a value: warnings first, then a sentence, then a small table or map."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from judgemap.errors import StudyError
from judgemap.geo.maps import Areas
from judgemap.report.figures import clusters, maps
from judgemap.report.figures import fit as figures
from judgemap.report.figures.clusters import cluster_map
from judgemap.report.figures.maps import adjacency_map, risk_map
from judgemap.report.figures.picture import Picture
from judgemap.report.figures.schedules import exposure_map, how_often
from judgemap.report.pages.page import render
from judgemap.report.pages.planning import at_planned, sentences
from judgemap.report.words.tables import Cell, Table, cluster_table, columns, highest_risk, summary
from judgemap.report.words.text import counted
from judgemap.study.data.comparisons import OUTCOMES, Comparisons
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.result import Fit
from judgemap.study.plan.planning import StudyPlan
from judgemap.study.plan.schedules import Schedule

Size = tuple[float, float] | None
"""Width and height of a figure in inches; None for the usual size."""


@dataclass(frozen=True, slots=True, eq=False)
class FitPlots:
    """The plots of a fit, `fit.plot`: each draws on ``ax``, or on a new figure, and returns the axes.

    ``fit.plot()`` is the map; ``figsize`` is the size of a new figure in inches.

    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> fit.plot.alpha().get_xlabel()
    'α'
    """

    fit: Fit

    def __repr__(self) -> str:
        return f"the plots of {self.fit!r}: {', '.join(name for name in dir(self) if name[0] != '_' and name != 'fit')}"

    def __call__(self, **options: Any) -> Axes:  # noqa: ANN401 - those of `map`
        """Draw the map."""
        return self.map(**options)

    def map(self, *, title: str = "", ax: Axes | None = None, figsize: Size = None) -> Axes:
        """Draw the map: every area's posterior median of risk, with the ten highest numbered."""
        return self._draw(maps.risk_map, (ax, figsize), title=title)

    def uncertainty(self, *, title: str = "", ax: Axes | None = None, figsize: Size = None) -> Axes:
        """Draw the map of every area's posterior standard deviation."""
        return self._draw(maps.uncertainty_map, (ax, figsize), title=title)

    def p_top(self, k: int = 10, *, title: str = "", ax: Axes | None = None, figsize: Size = None) -> Axes:
        """Draw the map of the probability that an area is among the k highest risks."""
        return self._draw(maps.p_top_map, (ax, figsize), k=k, title=title)

    def intervals(self, top: int = 20, *, ax: Axes | None = None, figsize: Size = None) -> Axes:
        """Draw the highest areas' risk with 95 % intervals."""
        return self._draw(figures.risk_intervals, (ax, figsize), top=top)

    def ranks(self, top: int = 20, *, ax: Axes | None = None, figsize: Size = None) -> Axes:
        """Draw the highest areas' ranks with 95 % intervals."""
        return self._draw(figures.rank_intervals, (ax, figsize), top=top)

    def alpha(self, *, ax: Axes | None = None, figsize: Size = None) -> Axes:
        """Draw the posterior of α, the prior's standard deviation."""
        return self._draw(figures.alpha_posterior, (ax, figsize))

    def convergence(self, *, ax: Axes | None = None, figsize: Size = None) -> Axes:
        """Draw every area's R-hat against its effective sample size."""
        return self._draw(figures.convergence, (ax, figsize))

    def variance(self, *, ax: Axes | None = None, figsize: Size = None) -> Axes:
        """Draw every area's posterior variance against its posterior median."""
        return self._draw(figures.variance_against_median, (ax, figsize))

    def clusters(self, *, title: str = "", ax: Axes | None = None, figsize: Size = None) -> Axes:
        """Draw the map of the clusters, for a fit from `fit_clusters`."""
        if not isinstance(self.fit, ClusterFit):
            raise StudyError("only a fit of clusters has clusters to draw; make one with fit_clusters")
        return self._draw(clusters.cluster_map, (ax, figsize), title=title)

    def _draw(
        self,
        figure: Callable[..., Picture],
        where: tuple[Axes | None, Size],
        **options: Any,  # noqa: ANN401 - the figure's own
    ) -> Axes:
        from matplotlib import pyplot as plt

        ax, figsize = where
        if ax is None and figsize is not None:
            ax = plt.subplots(figsize=figsize, layout="constrained")[1]
        picture = figure(self.fit, **options, ax=ax)
        if ax is not None:
            return ax
        plt.figure(picture.figure)  # so that a notebook shows it
        return picture.figure.axes[0]


__all__ = ["FitPlots", "html", "plots", "summary"]
SHOWN = 5
"""How many rows of a long list to show."""
DOTS = 110
"""Dots per inch of a map: enough for about 300 pixels on a screen with double resolution."""


def plots(value: Fit) -> FitPlots:
    """Return the plots of a fit."""
    return FitPlots(value)


@singledispatch
def html(value: object) -> str:
    """Return the HTML with which a notebook shows a value."""
    raise TypeError(f"a notebook has nothing special to show for a {type(value).__name__}")


@html.register
def _(fit: Fit) -> str:
    whose = f" Map of the {fit.record.view.value}." if fit.settings.differ else ""
    return _card(_headline(fit) + whose, fit.warnings, risk_map(fit), highest_risk(fit))


@html.register
def _(fit: ClusterFit) -> str:
    return _card(_headline(fit), fit.warnings, cluster_map(fit), cluster_table(fit))


@html.register
def _(areas: Areas) -> str:
    size, borders = len(areas), len(areas.graph.edges)
    rows = [(Cell(one), Cell(two)) for one, two in zip(areas.ids[:SHOWN], areas.names[:SHOWN], strict=True)]
    table = Table(_first(size, "areas"), columns(["Id", "Name"], []), tuple(rows))
    where = "no boundaries" if areas.geometry is None else f"{areas.geometry.crs or 'no'} coordinate system"
    return _card(f"{size:,} areas, {borders:,} pairs of neighbours, {where}.", areas.notes, adjacency_map(areas), table)


@html.register
def _(data: Comparisons) -> str:
    counts = np.bincount(data.outcome, minlength=len(OUTCOMES))
    rows = [(Cell(word), Cell(f"{count:,}")) for word, count in zip(OUTCOMES, counts, strict=True) if count]
    table = Table("Answers", columns(["Outcome"], ["Pairs"]), tuple(rows))
    judges = counted(len(data.per_judge()), "judge")
    asked = f"{len(data):,} pairs shown to {judges}, {int(data.decided.sum()):,} decided"
    return _card(f"{asked}. The chosen area has the {data.winner_is} rate.", (), None, table)


@html.register
def _(plan: StudyPlan) -> str:
    return _card(sentences(plan)[0], plan.record.notes, None, at_planned(plan))


@html.register
def _(schedule: Schedule) -> str:
    names = schedule.areas.names
    rows = [(Cell(names[left]), Cell(names[right])) for left, right in schedule.pairs[:SHOWN].tolist()]
    table = Table(_first(len(schedule), "pairs"), columns(["Left", "Right"], []), tuple(rows))
    return _card(how_often(schedule), (), exposure_map(schedule), table)


def _headline(fit: Fit) -> str:
    data, sizes = fit.record.data, fit.posterior.sizes
    made = f"{data.areas:,} areas, {data.used:,} comparisons, {sizes['chain']} × {sizes['draw']:,} draws"
    judged = "" if fit.warnings else f" {' '.join(fit.verdict.lines)}"
    return f"{fit.record.model.capitalize()} model: {made}.{judged}"


def _first(size: int, things: str) -> str:
    return f"The first {SHOWN} of {size:,} {things}" if size > SHOWN else f"All {size} {things}"


def _card(headline: str, warnings: Sequence[str], picture: Picture | None, table: Table) -> str:
    source = "" if picture is None else base64.b64encode(picture.png(DOTS)).decode()
    alt = "" if picture is None else picture.alt
    return render("notebook.html", headline=headline, warnings=warnings, source=source, alt=alt, table=table)
