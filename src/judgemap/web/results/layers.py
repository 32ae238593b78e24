"""What a fit's map can be coloured by: risk, its uncertainty, ranks, probabilities, clusters."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from django.utils.translation import gettext as _

from judgemap.core.assess import posterior
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
from judgemap.study.assess.findings import Findings, Level, RiskRow, is_placed, rough_levels
from judgemap.web.server.filters import interval

CHANCES = ["0", "5", "25", "50", "75", "95", "100 %"]
NOTHING = Findings()
RANK_LIMITS = (0.5, 5.5, 10.5, 20.5, 40.5, 80.5, 160.5)
LABELS = {
    "risk": "Risk", "sd": "Uncertainty", "rank": "Rank", "width": "Rank interval", "cluster": "Cluster",
    "membership": "Cluster certainty",
}  # fmt: skip
"""What the layers are called, besides those of the k highest."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A quantity on the map: `values` and `classes` have one entry per area, `colours` one per class.

    `ticks` are the limits of the classes, one more than there are classes; empty if the classes have names.
    """

    name: str
    says: str
    scale: Scale
    values: Sequence[float]
    text: Callable[[int], str]
    """Writes the value of the area at a position."""
    classes: list[int]
    colours: list[str]
    ticks: list[str]
    key: Sequence[tuple[str, str, int]] = ()
    """The legend, if classes have names: colour, name, how many areas."""
    marked: Sequence[int] = ()
    """Areas marked with a dot: those between two clusters."""

    @property
    def label(self) -> str:
        """What it is called."""
        return LABELS.get(self.name) or f"Top {self.name.removeprefix('top')}"

    @property
    def texts(self) -> list[str]:
        """The value of each area in words."""
        return [self.text(position) for position in range(len(self.values))]

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

    def plain(self) -> dict[str, object]:
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


def top_chances(rows: Sequence[RiskRow], top: Mapping[int, Sequence[float]]) -> dict[int, Sequence[float]]:
    """Return P(among the k highest) for each k that was worked out; the one for 10 is in the table itself."""
    return {**top, min(10, len(rows)): [row["p_top10"] for row in rows]}


def by_risk(rows: Sequence[RiskRow]) -> list[int]:
    """Return the areas' positions, with the highest estimated risk first."""
    order: list[int] = posterior.by_risk([row["risk_median"] for row in rows]).tolist()
    return order


def _layer(name: str, says: str, scale: Scale, values: Sequence[float], text: Callable[[int], str]) -> Layer:
    classes, limits = scale.classify(np.asarray(values, dtype=np.float64))
    ticks = [number(limit) for limit in limits.tolist()]
    return Layer(name, says, scale, values, text, classes.tolist(), scale.shades(limits), ticks)


def _risk(rows: Sequence[RiskRow]) -> Layer:
    says = _(
        "The darker an area, the higher its estimated risk; grey is the average, blue is below it and red above it."
    )
    values = [row["risk_median"] for row in rows]
    return _layer("risk", says, RISK, values, lambda at: f"{signed(values[at])} ({interval(rows[at])})")


def _uncertainty(rows: Sequence[RiskRow]) -> Layer:
    says = _("The darker an area, the less the answers tell us about it.")
    values = [row["risk_sd"] for row in rows]
    return _layer("sd", says, UNCERTAINTY, values, lambda at: f"{values[at]:.2f}")


def _rank(rows: Sequence[RiskRow]) -> Layer:
    says = _("The darker an area, the higher it ranks. Rank 1 is the highest risk.")
    limits = (*(limit for limit in RANK_LIMITS if limit < len(rows)), len(rows) + 0.5)
    scale = replace(RANK, limits=limits, low="highest", high="lowest")
    layer = _layer(
        "rank", says, scale, [row["rank"] for row in rows], lambda at: f"{rows[at]['rank']} ({_range(rows[at])})"
    )
    ticks = [number(limit + 0.5) for limit in limits[:-1]] + [str(len(rows))]
    return replace(layer, colours=layer.colours[::-1], ticks=ticks)


def _width(rows: Sequence[RiskRow]) -> Layer:
    says = _("The darker an area, the wider the range of ranks it could have.")
    values = [row["rank_high"] - row["rank_low"] for row in rows]
    return _layer("width", says, RANK_WIDTH, values, lambda at: f"{values[at]} places ({_range(rows[at])})")


def _range(row: RiskRow) -> str:
    return f"{row['rank_low']} to {row['rank_high']}"


def _top(k: int, chances: Sequence[float]) -> Layer:
    says = _("The darker an area, the more likely it is to be among the %(k)s with the highest risk.") % {"k": k}
    scale = replace(CHANCE, title=f"Probability of being among the {k} highest")
    return replace(_layer(f"top{k}", says, scale, chances, lambda at: percentage(chances[at])), ticks=CHANCES)


def levels_of(rows: Sequence[RiskRow], found: Findings) -> list[Level]:
    """Return the level of each cluster: a rough one, until it has been worked out."""
    if found.grouping is not None:
        return [group.level for group in found.grouping.groups]
    return rough_levels([row["cluster"] for row in rows], [row["risk_median"] for row in rows])


def cluster_text(row: RiskRow, levels: Sequence[Level]) -> str:
    """Write an area's cluster with its probability, or that it has no clear one."""
    own = f"{row['cluster']} ({percentage(row['probability'])})"
    return own if _placed(row, levels) else f"{UNPLACED_WORDS}: {own}"


def _placed(row: RiskRow, levels: Sequence[Level]) -> bool:
    return is_placed(levels[row["cluster"] - 1], row["risk_median"], row["probability"])


def _clusters(rows: Sequence[RiskRow], found: Findings) -> Layer:
    """Make the layer of clusters: the less certain an area's cluster, the fainter it is; without a clear one, white."""
    levels = levels_of(rows, found)
    own = cluster_colours(levels)
    placed = [_placed(row, levels) for row in rows]
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
    return Layer(
        name="cluster",
        scale=replace(RISK, title="Clusters of neighbouring areas of similar risk"),
        says=_("The fainter an area, the less certain that it belongs to its cluster; a dot marks areas between two."),
        values=clusters,
        text=lambda at: cluster_text(rows[at], levels),
        classes=[colours.index(fill) for fill in fills],
        colours=colours,
        ticks=[],
        key=[*key, *([(UNPLACED, UNPLACED_WORDS, clusters.count(0))] if 0 in clusters else [])],
        marked=_marked(found),
    )


def _membership(rows: Sequence[RiskRow], found: Findings) -> Layer:
    """Make the layer of the probability that each area belongs to its cluster."""
    chances = [row["probability"] for row in rows]
    says = _("The darker an area, the more certain that it belongs to its cluster.")
    scale = replace(CHANCE, title="Probability of belonging to its cluster")
    layer = _layer(
        "membership", says, scale, chances, lambda at: f"{percentage(chances[at])} in cluster {rows[at]['cluster']}"
    )
    return replace(layer, ticks=CHANCES, marked=_marked(found))


def _marked(found: Findings) -> list[int]:
    return [position for position, other in enumerate(found.between) if other]
