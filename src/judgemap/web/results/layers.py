"""What the map can be coloured by: each layer's values in classes, with the words that say the same as the colours."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from django.utils.translation import gettext as _

from judgemap.report.figures.colours import (
    CHANCE,
    RANK,
    RANK_WIDTH,
    RISK,
    UNCERTAINTY,
    UNPLACED,
    UNPLACED_WORDS,
    Scale,
    area_colour,
    cluster_colours,
)
from judgemap.report.words.text import number, percentage, signed
from judgemap.study.assess.findings import Findings, RiskRow
from judgemap.study.assess.grouping import Level, is_placed, rough_levels

CHANCES = ["0", "5", "25", "50", "75", "95", "100 %"]
NOTHING = Findings()
RANK_LIMITS = (0.5, 5.5, 10.5, 20.5, 40.5, 80.5, 160.5)


@dataclass(frozen=True, slots=True)
class Layer:
    """A quantity on the map: `values`, `texts` and `classes` have one entry per area, `colours` one per class.

    `ticks` are the limits of the classes, one more than there are classes; empty if the classes are `named`.
    """

    name: str
    label: str
    scale: Scale
    says: str
    values: list[float]
    write: Callable[[], list[str]]
    """Writes the texts, which the pages of large maps do not need."""
    classes: list[int]
    colours: list[str]
    ticks: list[str]
    key: Sequence[tuple[str, str, int]] = ()
    """The legend, if classes have names: colour, name, how many areas."""
    marked: Sequence[int] = ()
    """Areas marked with a dot: those between two clusters."""

    @property
    def texts(self) -> list[str]:
        """The value of each area in words."""
        return self.write()

    @property
    def named(self) -> bool:
        """Whether classes have names, not limits."""
        return bool(self.key)

    @property
    def fills(self) -> list[str]:
        """The colour of each area."""
        return [self.colours[each] for each in self.classes]

    @property
    def steps(self) -> list[tuple[str, str, int]]:
        """The legend, one step per class: colour, limit or name, how many areas."""
        if self.key:
            return list(self.key)
        counts = np.bincount(self.classes, minlength=len(self.colours)).tolist()
        return list(zip(self.colours, self.ticks[: len(self.colours)], counts, strict=True))

    def plain(self) -> dict[str, Any]:
        """Return what the page's script needs."""
        values = [round(value, 5) for value in self.values]
        return {"label": self.label, "values": values, "texts": self.texts, "classes": self.classes,
                "colours": self.colours, "says": self.says, "marks": bool(self.marked)}  # fmt: skip


def layer_makers(
    rows: Sequence[RiskRow], top: Mapping[int, Sequence[float]], found: Findings = NOTHING
) -> dict[str, Callable[[], Layer]]:
    """Return the functions that make a fit's layers, by name: risk, sd, rank, width, top1 … top50, cluster, membership.

    ``rows`` is the table of areas; ``top`` has P(among the k highest) by k, and is empty until it is worked out, as are
    ``grouping`` and ``between`` of what was ``found``.
    """
    makers: dict[str, Callable[[], Layer]] = {
        "risk": partial(_risk, rows), "sd": partial(_uncertainty, rows), "rank": partial(_rank, rows),
        "width": partial(_width, rows),
    }  # fmt: skip
    makers |= {f"top{k}": partial(_top, k, chances) for k, chances in sorted(top_chances(rows, top).items())}
    if "cluster" in rows[0]:
        makers |= {"cluster": partial(_clusters, rows, found), "membership": partial(_membership, rows, found)}
    return makers


def make_layers(
    rows: Sequence[RiskRow], top: Mapping[int, Sequence[float]], found: Findings = NOTHING
) -> dict[str, Layer]:
    """Make every layer that a fit has, by name; see `layer_makers`."""
    return {name: make() for name, make in layer_makers(rows, top, found).items()}


def top_chances(rows: Sequence[RiskRow], top: Mapping[int, Sequence[float]]) -> dict[int, Sequence[float]]:
    """Return P(among the k highest) for each k that was worked out; the one for 10 is in the table itself."""
    return {**top, min(10, len(rows)): [row["p_top10"] for row in rows]}


def interval(row: RiskRow) -> str:
    """Write the 95 % interval of an area's risk."""
    return f"{signed(row['risk_low'])} to {signed(row['risk_high'])}"


def places(row: RiskRow) -> str:
    """Write the 95 % interval of an area's rank."""
    return f"{row['rank_low']:,}–{row['rank_high']:,}"


def _risk(rows: Sequence[RiskRow]) -> Layer:
    values = [row["risk_median"] for row in rows]
    says = _(
        "The darker an area, the higher its estimated risk; grey is the average, blue is below it and red above it."
    )
    return _layer(
        ("risk", "Risk", says),
        RISK,
        values,
        lambda: [f"{signed(row['risk_median'])} ({interval(row)})" for row in rows],
    )


def _uncertainty(rows: Sequence[RiskRow]) -> Layer:
    values = [row["risk_sd"] for row in rows]
    words = ("sd", "Uncertainty", _("The darker an area, the less the answers tell us about it."))
    return _layer(words, UNCERTAINTY, values, lambda: [f"{value:.2f}" for value in values])


def _rank(rows: Sequence[RiskRow]) -> Layer:
    values = [row["rank_median"] for row in rows]
    limits = (*(limit for limit in RANK_LIMITS if limit < len(rows)), len(rows) + 0.5)
    words = ("rank", "Rank", _("The darker an area, the higher it ranks. Rank 1 is the highest risk."))
    scale = replace(RANK, limits=limits, low="highest", high="lowest")
    layer = _layer(
        words,
        scale,
        values,
        lambda: [f"{row['rank_median']} ({row['rank_low']} to {row['rank_high']})" for row in rows],
    )
    ticks = [number(limit + 0.5) for limit in limits[:-1]] + [str(len(rows))]
    return replace(layer, colours=layer.colours[::-1], ticks=ticks)


def _width(rows: Sequence[RiskRow]) -> Layer:
    values = [row["rank_high"] - row["rank_low"] for row in rows]
    words = ("width", "Rank interval", _("The darker an area, the wider the range of ranks it could have."))

    def write() -> list[str]:
        widths = zip(rows, values, strict=True)
        return [f"{value} places ({row['rank_low']} to {row['rank_high']})" for row, value in widths]

    return _layer(words, RANK_WIDTH, values, write)


def _top(k: int, chances: Sequence[float]) -> Layer:
    says = _("The darker an area, the more likely it is to be among the %(k)s with the highest risk.") % {"k": k}
    scale = replace(CHANCE, title=f"Probability of being among the {k} highest")
    layer = _layer((f"top{k}", f"Top {k}", says), scale, chances, lambda: [percentage(chance) for chance in chances])
    return replace(layer, ticks=CHANCES)


def levels_of(rows: Sequence[RiskRow], found: Findings) -> list[Level]:
    """Return the level of each cluster: a rough one, until it has been worked out."""
    if found.grouping is not None:
        return [group.level for group in found.grouping.groups]
    return rough_levels([row["cluster"] for row in rows], [row["risk_median"] for row in rows])


def _clusters(rows: Sequence[RiskRow], found: Findings) -> Layer:
    """Make the layer of clusters: the less certain an area's cluster, the fainter it is; without a clear one, white."""
    levels = levels_of(rows, found)
    own = cluster_colours(levels)
    placed = [is_placed(levels[row["cluster"] - 1], row["risk_median"], row["probability"]) for row in rows]
    fills = [
        area_colour(own[row["cluster"] - 1], row["probability"], placed=shown)
        for row, shown in zip(rows, placed, strict=True)
    ]
    colours = sorted(set(fills))
    clusters = [row["cluster"] if shown else 0 for row, shown in zip(rows, placed, strict=True)]
    key = [
        (colour, f"{place}, {level}", clusters.count(place))
        for place, (colour, level) in enumerate(zip(own, levels, strict=True), start=1)
    ]
    key += [(UNPLACED, UNPLACED_WORDS, clusters.count(0))] if 0 in clusters else []
    return Layer(
        name="cluster",
        label="Cluster",
        scale=replace(RISK, title="Clusters of neighbouring areas of similar risk"),
        says=_("The fainter an area, the less certain that it belongs to its cluster; a dot marks areas between two."),
        values=[float(each) for each in clusters],
        write=lambda: [cluster_text(row, placed=shown) for row, shown in zip(rows, placed, strict=True)],
        classes=[colours.index(fill) for fill in fills],
        colours=colours,
        ticks=[],
        key=key,
        marked=_marked(found),
    )


def cluster_text(row: RiskRow, *, placed: bool) -> str:
    """Write an area's cluster with its probability, or that it has no clear one."""
    own = f"{row['cluster']} ({percentage(row['probability'])})"
    return own if placed else f"{UNPLACED_WORDS}: {own}"


def _membership(rows: Sequence[RiskRow], found: Findings) -> Layer:
    """Make the layer of the probability that each area belongs to its cluster."""
    chances = [row["probability"] for row in rows]
    words = (
        "membership",
        "Cluster certainty",
        _("The darker an area, the more certain that it belongs to its cluster."),
    )
    scale = replace(CHANCE, title="Probability of belonging to its cluster")
    layer = _layer(
        words, scale, chances, lambda: [f"{percentage(row['probability'])} in cluster {row['cluster']}" for row in rows]
    )
    return replace(layer, ticks=CHANCES, marked=_marked(found))


def _marked(found: Findings) -> list[int]:
    return [position for position, other in enumerate(found.between) if other]


def _layer(words: tuple[str, str, str], scale: Scale, values: Sequence[float], write: Callable[[], list[str]]) -> Layer:
    classes, limits = scale.classify(np.asarray(values, dtype=np.float64))
    ticks = [number(limit) for limit in limits.tolist()]
    name, label, says = words
    colours = scale.shades(limits)
    return Layer(name, label, scale, says, list(values), write, classes.tolist(), colours, ticks)


def by_risk(rows: Sequence[RiskRow]) -> list[int]:
    """Return the areas' positions, with the highest estimated risk first."""
    risks = np.array([row["risk_median"] for row in rows], dtype=np.float64)
    order: list[int] = np.argsort(-risks, kind="stable").tolist()
    return order
