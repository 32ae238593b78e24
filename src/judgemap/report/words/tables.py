"""A fit for people: tables, as plain text for a terminal or as rows for a page, and the few lines of `judgemap fit`."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from judgemap.errors import StudyError
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
class Column:
    """A column's heading; numbers are aligned right."""

    heading: Cell
    numeric: bool = False


Heading = str | tuple[str, str]
"""A column's heading, or a pair of the heading and what stands beside it in smaller type."""


def columns(texts: Sequence[Heading], numbers: Sequence[Heading]) -> tuple[Column, ...]:
    """Return columns of text, then columns of numbers.

    >>> [str(column.heading) for column in columns(["Area"], [("Risk", "95 % interval")])]
    ['Area', 'Risk (95 % interval)']
    """
    cells = [Cell(each) if isinstance(each, str) else Cell(*each) for each in (*texts, *numbers)]
    return tuple(Column(cell, numeric=place >= len(texts)) for place, cell in enumerate(cells))


@dataclass(frozen=True, slots=True)
class Table:
    """Columns and rows of cells, with a caption that says what they are.

    >>> columns = (Column(Cell("Area")), Column(Cell("Risk"), numeric=True))
    >>> print(Table("Areas", columns, ((Cell("Loop"), Cell("1.20")),)).text())
    Area  Risk
    ----  ----
    Loop  1.20
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def text(self) -> str:
        """Return the table in plain text, with its columns lined up."""
        lines = [[str(column.heading) for column in self.columns], *([str(cell) for cell in row] for row in self.rows)]
        widths = [max(_width(line[place]) for line in lines) for place in range(len(self.columns))]
        lines.insert(1, ["-" * width for width in widths])
        return "\n".join(self._line(line, widths) for line in lines)

    def _line(self, words: Sequence[str], widths: Sequence[int]) -> str:
        padded = []
        for column, word, width in zip(self.columns, words, widths, strict=True):
            space = " " * (width - _width(word))
            padded.append(space + word if column.numeric else word + space)
        return "  ".join(padded).rstrip()


def highest_risk(fit: Fit, count: int = 10) -> Table:
    """List the areas of highest risk, by posterior median, with 95 % intervals of risk and rank, and P(in the top ten).

    An area's rank is its place among the medians, the number that `maps.risk_map` shows. With ten areas or fewer, when
    all are in the top ten, the last column is the probability of having the highest risk.

    >>> areas, data = jm.example_study(seed=1)
    >>> table = highest_risk(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100), count=3)
    >>> [str(column.heading) for column in table.columns]
    ['Rank (95 % interval)', 'Area', 'Risk (95 % interval)', 'P(top ten)']
    """
    if count < 1:
        raise StudyError(f"list at least one area, not {count}")
    few = len(fit.map) <= 10
    chances = (fit.p_top(1) if few else fit.areas.set_index("id")["p_top10"]).to_dict()
    listed = fit.areas.iloc[fit.order[:count]]
    rows = tuple(
        (
            Cell(str(area["rank"]), f"{area['rank_low']}–{area['rank_high']}"),
            Cell(area["name"]),
            Cell(signed(area["risk_median"]), f"{signed(area['risk_low'])} to {signed(area['risk_high'])}"),
            Cell(percentage(chances[area["id"]])),
        )
        for area in listed.to_dict("records")
    )
    columns = (
        Column(Cell("Rank", "95 % interval"), numeric=True),
        Column(Cell("Area")),
        Column(Cell("Risk", "95 % interval"), numeric=True),
        Column(Cell("P(highest)" if few else "P(top ten)"), numeric=True),
    )
    return Table(f"The {len(rows)} areas of highest estimated risk", columns, rows)


def highest_in_words(fit: Fit, count: int = 10) -> Table:
    """List the areas of highest risk for decision makers: how often judges would pick each over an average area."""
    numbers = highest_risk(fit, count)
    rows = tuple(
        (rank, name, Cell(times_in_ten(fit.judged_riskier[area])), chance)
        for (rank, name, _, chance), area in zip(numbers.rows, fit.order, strict=False)
    )
    first, second, _, last = numbers.columns
    picked = Column(Cell("Picked as riskier than an average area"), numeric=True)
    return Table(numbers.caption, (first, second, picked, last), rows)


def _width(text: str) -> int:
    """Count the columns that text takes on a terminal: two for a wide letter, none for a combining mark."""
    wide = sum(unicodedata.east_asian_width(letter) in "WF" for letter in text)
    return len(text) + wide - sum(unicodedata.combining(letter) > 0 for letter in text)


def highest_regions(fit: Fit, regions: ByRegion, count: int = 10) -> Table:
    """List the regions of highest mean risk for decision makers, with the area of highest risk in each."""
    by, names = regions.by, fit.map.names
    picked = dict(zip(by.names, by.means(fit.judged_riskier[None])[0], strict=True))
    rows = tuple(
        (
            Cell(str(group["rank"]), f"{group['rank_low']}–{group['rank_high']}"),
            Cell(group["group"]),
            Cell(times_in_ten(picked[group["group"]])),
            Cell(_within(names[highest[0]], group["group"])),
        )
        for group, highest in zip(regions.table[:count].to_dict("records"), regions.highest, strict=False)
    )
    columns = (
        Column(Cell("Rank", "95 % interval"), numeric=True),
        Column(Cell(capital(by.name))),
        Column(Cell("Picked as riskier than average"), numeric=True),
        Column(Cell("Its highest area")),
    )
    return Table(f"The {len(rows)} of highest mean risk, by {by.name}", columns, rows)


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
    return Table(found.caption, (*found.columns, Column(Cell("Highest areas", "rank among all"))), rows)


def by_group(by: Grouping, found: pd.DataFrame) -> Table:
    """List the groups of areas as `results_by` found them, with 95 % intervals of risk and rank."""
    chance = found.columns[-1]
    rows = tuple(
        (
            Cell(str(group["rank"]), f"{group['rank_low']}–{group['rank_high']}"),
            Cell(group["group"]),
            Cell(f"{group['areas']:,}"),
            Cell(signed(group["risk_median"]), f"{signed(group['risk_low'])} to {signed(group['risk_high'])}"),
            Cell(percentage(group[chance])),
        )
        for group in found.to_dict("records")
    )
    top = chance.removeprefix("p_top")
    columns = (
        Column(Cell("Rank", "95 % interval"), numeric=True),
        Column(Cell(capital(by.name))),
        Column(Cell("Areas"), numeric=True),
        Column(Cell("Mean risk", "95 % interval"), numeric=True),
        Column(Cell("P(highest)" if top == "1" else f"P(top {top})"), numeric=True),
    )
    return Table(f"Risk by {by.name}: the mean of its areas, {by.weighted_words}", columns, rows)


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
        surest = members[np.argsort(-partition.probability[members], kind="stable")][:3]
        named = ", ".join(f"{fit.map.names[area]} ({percentage(partition.probability[area])})" for area in surest)
        interval = f"{signed(group.low)} to {signed(group.high)}"
        rows.append(
            (
                Cell(str(cluster)),
                Cell(str(group.areas)),
                Cell(signed(group.mean), interval),
                Cell(group.level.value),
                Cell(named or "none clearly"),
            )
        )
    columns = (
        Column(Cell("Cluster"), numeric=True),
        Column(Cell("Areas"), numeric=True),
        Column(Cell("Mean risk", "95 % interval"), numeric=True),
        Column(Cell("Level")),
        Column(Cell("Surest members", "probability")),
    )
    shown = partition.grouping
    return Table(f"{number_sentence(shown.numbers)} {partition_sentence(shown)}", columns, tuple(rows))


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
    lines = [f"{asked}, seed {record.seed}.", record.made_by, *panel_lines(fit), "", highest_risk(fit).text(), ""]
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


def panel_lines(fit: Fit) -> list[str]:
    """Say what was found out about judges, ties and smoothness."""
    return [fit.words] if fit.words else []


def between_lines(fit: ClusterFit) -> list[str]:
    """Name up to five areas that could belong to either of two clusters."""
    doubtful = fit.best.between
    if not doubtful:
        return []
    shown = [f"{fit.map.names[each.area]} ({each.cluster} or {each.other})" for each in doubtful[:5]]
    more = f" and {len(doubtful) - 5:,} more" if len(doubtful) > 5 else ""
    return [f"Between two clusters: {', '.join(shown)}{more}.", ""]
