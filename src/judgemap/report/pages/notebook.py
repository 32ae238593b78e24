"""How a notebook shows a value: warnings first, then a sentence, then a small table or map."""

import base64
from collections.abc import Sequence
from functools import singledispatch

import numpy as np

from judgemap.geo.maps import Areas
from judgemap.report.figures.clusters import cluster_map
from judgemap.report.figures.maps import adjacency_map, risk_map
from judgemap.report.figures.picture import Picture
from judgemap.report.figures.plots import FitPlots
from judgemap.report.figures.schedules import exposure_map, how_often
from judgemap.report.pages.page import environment
from judgemap.report.pages.planning import at_planned, sentences
from judgemap.report.words.tables import (
    Cell,
    Table,
    cluster_table,
    columns,
    highest_risk,
)
from judgemap.report.words.text import counted
from judgemap.study.clusters import ClusterFit
from judgemap.study.comparisons import OUTCOMES, Comparisons
from judgemap.study.panel import PanelFit
from judgemap.study.planning import StudyPlan
from judgemap.study.result import Fit
from judgemap.study.schedules import Schedule

SHOWN = 5
"""How many rows of a long list to show."""
DOTS = 110
"""Dots per inch of a map: enough for about 300 pixels on a screen with double resolution."""


def plots(value: Fit) -> FitPlots:
    """Return the plots of a fit."""
    return FitPlots(value)


@singledispatch
def html(value: object) -> str:
    """Return the HTML with which a notebook shows a value.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> "1,848 pairs shown" in html(data)
    True
    """
    raise TypeError(f"a notebook has nothing special to show for a {type(value).__name__}")


@html.register
def _(fit: Fit) -> str:
    return _card(_headline(fit), fit.warnings, risk_map(fit), highest_risk(fit))


@html.register
def _(fit: ClusterFit) -> str:
    return _card(_headline(fit), fit.warnings, cluster_map(fit), cluster_table(fit))


@html.register
def _(fit: PanelFit) -> str:
    whose = f"{_headline(fit)} Map of the {fit.record.view.value}."
    return _card(whose, fit.warnings, risk_map(fit), highest_risk(fit))


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
    made = f"{data.areas:,} areas, {data.comparisons:,} comparisons, {sizes['chain']} × {sizes['draw']:,} draws"
    return f"{fit.record.model.capitalize()} model: {made}." + ("" if fit.warnings else f" {fit.verdict}")


def _first(size: int, things: str) -> str:
    return f"The first {SHOWN} of {size:,} {things}" if size > SHOWN else f"All {size} {things}"


def _card(headline: str, warnings: Sequence[str], picture: Picture | None, table: Table) -> str:
    source = "" if picture is None else base64.b64encode(picture.png(DOTS)).decode()
    template = environment().get_template("notebook.html")
    alt = "" if picture is None else picture.alt
    return template.render(headline=headline, warnings=warnings, source=source, alt=alt, table=table)
