"""A fit for people: tables, as plain text for a terminal or as rows for a page, and the few lines of `judgemap fit`."""

import unicodedata
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from judgemap.report.words.text import capital, number_sentence, partition_sentence, percentage, signed, times_in_ten
from judgemap.study.assess.beside import ByRegion, Grouping, beside
from judgemap.study.assess.comparing import compare_many
from judgemap.study.assess.findings import NOT_CAUSE
from judgemap.study.assess.verdict import Verdict
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.record import NoteKind
from judgemap.study.fit.result import Fit


@dataclass(frozen=True, slots=True)
class Cell:
    """A value, and what goes beside it in smaller type, such as an interval."""

    text: str
    beside: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.beside})" if self.beside else self.text


@dataclass(frozen=True, slots=True)
class Column(Cell):
    """A column's heading; numbers are aligned right."""

    numeric: bool = False


def columns(texts: Sequence[str], numbers: Sequence[str]) -> tuple[Column, ...]:
    """Return columns of text, then columns of numbers."""
    return (*map(Column, texts), *(Column(each, numeric=True) for each in numbers))


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of cells, with a caption that says what they are.

    >>> print(Table("Areas", columns(["Area"], ["Risk"]), ((Cell("Loop"), Cell("1.20")),)).text())
    Area  Risk
    ----  ----
    Loop  1.20
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def text(self) -> str:
        """Return the table in plain text, with its columns lined up."""
        lines = [[str(cell) for cell in row] for row in (self.columns, *self.rows)]
        widths = [max(_width(line[place]) for line in lines) for place in range(len(self.columns))]
        lines.insert(1, ["-" * width for width in widths])
        for line in lines:
            for place, (column, word, width) in enumerate(zip(self.columns, line, widths, strict=True)):
                space = " " * (width - _width(word))
                line[place] = space + word if column.numeric else word + space
        return "\n".join("  ".join(line).rstrip() for line in lines)


INTERVAL = "95 % interval"
RANK = Column("Rank", INTERVAL, numeric=True)


def _rank(row: Mapping[Hashable, Any]) -> Cell:
    return Cell(str(row["rank"]), f"{row['rank_low']}–{row['rank_high']}")


def _risk(row: Mapping[Hashable, Any]) -> Cell:
    return Cell(signed(row["risk_median"]), f"{signed(row['risk_low'])} to {signed(row['risk_high'])}")


def highest_risk(fit: Fit) -> Table:
    """List the ten areas of highest risk: posterior median and rank, with 95 % intervals, and P(in the top ten).

    An area's rank is its place among the medians, the number that `maps.risk_map` shows. With ten areas or fewer, when
    all are in the top ten, the last column is the probability of having the highest risk.
    """
    few = len(fit.map) <= 10
    chances = (fit.p_top(1) if few else fit.areas.set_index("id")["p_top10"]).to_dict()
    listed = fit.areas.iloc[fit.order[:10]]
    rows = tuple(
        (_rank(area), Cell(area["name"]), _risk(area), Cell(percentage(chances[area["id"]])))
        for area in listed.to_dict("records")
    )
    chance = Column("P(highest)" if few else "P(top ten)", numeric=True)
    heads = (RANK, Column("Area"), Column("Risk", INTERVAL, numeric=True), chance)
    return Table(f"The {len(rows)} areas of highest estimated risk", heads, rows)


def highest_in_words(fit: Fit) -> Table:
    """List the areas of highest risk for decision makers: how often judges would pick each over an average area."""
    numbers = highest_risk(fit)
    rows = tuple(
        (rank, name, Cell(times_in_ten(fit.judged_riskier[area])), chance)
        for (rank, name, _, chance), area in zip(numbers.rows, fit.order, strict=False)
    )
    first, second, _, last = numbers.columns
    picked = Column("Picked as riskier than an average area", numeric=True)
    return Table(numbers.caption, (first, second, picked, last), rows)


def _width(text: str) -> int:
    """Count the columns that text takes on a terminal: two for a wide letter, none for a combining mark."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def highest_regions(fit: Fit, regions: ByRegion) -> Table:
    """List the regions of highest mean risk for decision makers, with the area of highest risk in each."""
    by, names = regions.by, fit.map.names
    picked = dict(zip(by.names, by.means(fit.judged_riskier[None])[0], strict=True))
    rows = tuple(
        (_rank(row), Cell(name), Cell(times_in_ten(picked[name])), Cell(_within(names[highest[0]], name)))
        for row, highest in zip(regions.table[:10].to_dict("records"), regions.highest, strict=False)
        for name in [row["group"]]
    )
    picks = Column("Picked as riskier than average", numeric=True)
    heads = (RANK, Column(capital(by.name)), picks, Column("Its highest area"))
    return Table(f"The {len(rows)} of highest mean risk, by {by.name}", heads, rows)


def _within(name: str, region: str) -> str:
    """Leave a region's name out of the name of its area."""
    return name.removeprefix(region).lstrip(" ,.–-") or name


MOST_ROWS = 400
"""How many regions a briefing lists."""


def with_highest(fit: Fit, regions: ByRegion) -> Table:
    """List the regions as `by_group` does, with the areas of highest risk in each and their ranks among all areas."""
    found = by_group(regions.by, regions.table[:MOST_ROWS])
    rank, names = fit.areas["rank"].to_numpy(), fit.map.names
    rows = tuple(
        (*row, Cell(", ".join(f"{_within(names[at], row[1].text)}\u00a0({rank[at]:,})" for at in each)))
        for row, each in zip(found.rows, regions.highest, strict=False)
    )
    return Table(found.caption, (*found.columns, Column("Highest areas", "rank among all")), rows)


def by_group(by: Grouping, found: pd.DataFrame) -> Table:
    """List the groups of areas as `results_by` found them, with 95 % intervals of risk and rank."""
    chance = found.columns[-1]
    rows = tuple(
        (_rank(group), Cell(group["group"]), Cell(f"{group['areas']:,}"), _risk(group), Cell(percentage(group[chance])))
        for group in found.to_dict("records")
    )
    top = chance.removeprefix("p_top")
    last = Column("P(highest)" if top == "1" else f"P(top {top})", numeric=True)
    risk = Column("Mean risk", INTERVAL, numeric=True)
    heads = (RANK, Column(capital(by.name)), Column("Areas", numeric=True), risk, last)
    return Table(f"Risk by {by.name}: the mean of its areas, {by.weighted_words}", heads, rows)


def correlations(fits: dict[str, Fit]) -> Table:
    """List the correlations between the posterior medians of every pair of fits, Pearson's and Spearman's."""
    rows = tuple(
        (Cell(row["base"]), Cell(row["other"]), Cell(f"{row['pearson']:.3f}"), Cell(f"{row['spearman']:.3f}"))
        for row in compare_many(fits).to_dict("records")
    )
    heads = columns(["Fit", "Against"], ["Pearson", "Spearman"])
    return Table("Correlation of the areas' risks between fits", heads, rows)


def cluster_table(fit: ClusterFit) -> Table:
    """List the clusters of the partition shown, highest risk first: number of areas, mean risk with 95 % interval."""
    partition = fit.best
    rows = []
    for cluster, group in enumerate(partition.grouping.groups, start=1):
        members = np.flatnonzero((partition.labels == cluster) & partition.placed)
        first = members[np.argsort(-partition.probability[members], kind="stable")][:3]
        named = ", ".join(f"{fit.map.names[area]} ({percentage(partition.probability[area])})" for area in first)
        mean = Cell(signed(group.mean), f"{signed(group.low)} to {signed(group.high)}")
        others = map(Cell, (group.level.value, named or "none clearly"))
        rows.append((Cell(str(cluster)), Cell(str(group.areas)), mean, *others))
    mean_risk, surest = Column("Mean risk", INTERVAL, numeric=True), Column("Surest members", "probability")
    heads = (*columns([], ["Cluster", "Areas"]), mean_risk, Column("Level"), surest)
    shown = partition.grouping
    return Table(f"{number_sentence(shown.numbers)} {partition_sentence(shown)}", heads, tuple(rows))


class Lines(str):
    """Text that a notebook shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def summary(fit: Fit) -> Lines:
    """Say in a few lines what came out: the ten highest risks, clusters, how it was sampled, and the verdict."""
    record, data = fit.record, fit.record.data
    judges = {0: "", 1: " by 1 judge"}.get(data.judges, f" by {data.judges:,} judges")
    asked = f"{data.used:,} comparisons of {data.areas:,} areas{judges}"
    drawn = f"{fit.posterior.sizes['chain']} × {fit.posterior.sizes['draw']:,} draws in {record.seconds:.1f} s"
    judged = f"effective sample size at least {record.diagnostics.ess_bulk_min:,.0f}"
    words = [fit.words] if fit.words else []
    lines = [f"{asked}, seed {record.seed}.", record.made_by, *words, "", highest_risk(fit).text(), ""]
    if isinstance(fit, ClusterFit):
        table = cluster_table(fit)
        lines += [table.caption, table.text(), "", *between_lines(fit)]
    lines += [
        f"{drawn}; {judged}, largest R-hat {record.diagnostics.rhat_max:.3f}.",
        *(f"{'Warning' if note.kind is NoteKind.JUDGES_DIFFER else 'Note'}: {note.text}" for note in record.notes),
        *figure_lines(fit),
        "",
        *verdict_lines(fit.verdict),
    ]
    return Lines("\n".join(lines).rstrip())


def figure_lines(fit: Fit) -> list[str]:
    """Say how far the map follows each figure, what stands out from the one it follows most, and what that is not."""
    if fit.map.figures is None:
        return []
    told = beside(fit, fit.map.figures)
    lines = [f"Note: {note}" for note in told.notes]
    for each in told.follows.values():
        lines += [each.sentence, *(f"- {area.words(each.column)}" for area in each.out[:3])]
    return [*lines, *([NOT_CAUSE] if told.follows else [])]


def verdict_lines(verdict: Verdict) -> list[str]:
    """Write the verdict, a line for each reason, and an empty line."""
    headline, *reasons = verdict.lines
    return [f"Verdict: {headline}", *(f"- {reason}" for reason in reasons), ""]


def between_lines(fit: ClusterFit) -> list[str]:
    """Name up to five areas that could belong to either of two clusters."""
    doubtful = fit.best.between
    if not doubtful:
        return []
    shown = [f"{fit.map.names[each.area]} ({each.cluster} or {each.other})" for each in doubtful[:5]]
    more = f" and {len(doubtful) - 5:,} more" if len(doubtful) > 5 else ""
    return [f"Between two clusters: {', '.join(shown)}{more}.", ""]
