"""The risk map: what it can be coloured by, one area's details, and the table beside it, for small and large maps."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any
from urllib.parse import urlencode

import numpy as np
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.html import escape
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

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
    round_step,
)
from judgemap.report.words.text import (
    number,
    number_sentence,
    partition_sentence,
    percentage,
    signed,
    times_in_ten,
)
from judgemap.study.assess.findings import AreaFinding, Findings, Level, RiskRow, is_placed, rough_levels
from judgemap.web.results.models import FitRun
from judgemap.web.results.pages import (
    SeenMap,
    fit_page,
    pictures_of,
    read_area_findings,
    read_findings,
    seen_map,
    show_page,
    view_links,
)
from judgemap.web.studies.maps import (
    BADGE,
    Badge,
    Ground,
    has_tiles,
    lay_ground,
    neighbours_of,
    picture,
    picture_response,
    stored_rings,
)
from judgemap.web.studies.models import Study

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
    values = [row["rank"] for row in rows]
    limits = (*(limit for limit in RANK_LIMITS if limit < len(rows)), len(rows) + 0.5)
    words = ("rank", "Rank", _("The darker an area, the higher it ranks. Rank 1 is the highest risk."))
    scale = replace(RANK, limits=limits, low="highest", high="lowest")
    layer = _layer(
        words,
        scale,
        values,
        lambda: [f"{row['rank']} ({row['rank_low']} to {row['rank_high']})" for row in rows],
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
    order: list[int] = posterior.by_risk([row["risk_median"] for row in rows]).tolist()
    return order


WIDE, HIGH = 320.0, 96.0
"""Width and height of the drawing of a posterior, in its own units."""


@require_safe
@fit_page
def area(request: HttpRequest, study: Study, run: FitRun, position: int) -> HttpResponse:
    """Return what is known about an area, for the map's page to show beside the map."""
    seen = seen_map(run, request.GET.dict())
    if position >= len(seen.rows):
        raise Http404
    keep = f"{seen.address}&" if seen.address else ""
    context = {"study": study, "run": run, "detail": describe_area(seen, position), "keep": keep}
    return render(request, "results/detail.html", context)


@dataclass(frozen=True, slots=True)
class Opponent:
    """Another area that this one was compared with."""

    position: int
    name: str
    won: int
    lost: int


@dataclass(frozen=True, slots=True)
class Posterior:
    """A drawing of the posterior of risk: the bell, the interval below it, the axis."""

    bell: str
    low: float
    median: float
    high: float
    zero: float
    ticks: list[tuple[float, str]]
    says: str


@dataclass(frozen=True, slots=True)
class Detail:
    """An area, in words and numbers as the page shows them."""

    position: int
    name: str
    code: str
    count: int
    risk: str
    interval: str
    sd: str
    rank: int
    rank_low: int
    rank_high: int
    top: int
    chance: str
    cluster: str
    between: str
    won: int
    lost: int
    chosen_as: str
    posterior: Posterior
    met: list[Opponent]
    neighbours: list[tuple[int, str]]
    unexpected: str
    picked: str

    @property
    def compared(self) -> int:
        """How many of its comparisons had a winner."""
        return self.won + self.lost

    @property
    def won_share(self) -> float:
        """The percentage of its comparisons that it won."""
        return round(100 * self.won / self.compared, 1) if self.compared else 0.0


def describe_area(seen: SeenMap, position: int) -> Detail:
    """Put together what is known about an area on a map."""
    run, rows = seen.run, seen.rows
    row = rows[position]
    kept = read_area_findings(run, position)
    met = [Opponent(each.other, rows[each.other]["name"], each.won, each.lost) for each in kept.met]
    return Detail(
        position=position,
        name=row["name"],
        code=row["id"],
        count=len(rows),
        risk=signed(row["risk_median"]),
        interval=interval(row),
        sd=f"{row['risk_sd']:.2f}",
        rank=row["rank"],
        rank_low=row["rank_low"],
        rank_high=row["rank_high"],
        top=min(10, len(rows)),
        chance=percentage(row["p_top10"]),
        cluster=_cluster(run, rows, position),
        between=f"{kept.between[0]} ({percentage(kept.between[1])})" if kept.between else "",
        won=sum(each.won for each in met),
        lost=sum(each.lost for each in met),
        chosen_as=run.record.winner_is,
        posterior=draw_posterior(rows, position, *seen.density(position, kept.area)),
        met=met,
        neighbours=[(other, rows[other]["name"]) for other in neighbours_of(run.version, position)],
        unexpected=_unexpected(kept.area),
        picked="" if kept.area.riskier is None or seen.address else times_in_ten(kept.area.riskier),
    )


@dataclass(frozen=True, slots=True)
class High:
    """One of the areas of highest risk, with its interval on a scale that they all share."""

    position: int
    name: str
    risk: str
    interval: str
    low: float
    median: float
    high: float


def highest(rows: Sequence[RiskRow], count: int = 10) -> list[High]:
    """Return the areas of highest estimated risk, with their intervals drawn on one scale."""
    first = by_risk(rows)[:count]
    least = min(rows[position]["risk_low"] for position in first)
    span = max(max(rows[position]["risk_high"] for position in first) - least, 1e-9)
    return [
        High(
            position,
            rows[position]["name"],
            signed(rows[position]["risk_median"]),
            interval(rows[position]),
            *(round(WIDE * (risk - least) / span, 1) for risk in _ends(rows[position])),
        )
        for position in first
    ]


def draw_posterior(
    rows: Sequence[RiskRow], position: int, density: Sequence[float], edges: Sequence[float]
) -> Posterior:
    """Draw an area's posterior on the scale of all areas; without a density, only its interval."""
    row = rows[position]
    least = edges[0] if edges else min(each["risk_low"] for each in rows)
    most = edges[-1] if edges else max(each["risk_high"] for each in rows)
    span = max(most - least, 1e-9)

    def across(risk: float) -> float:
        return round(WIDE * min(max((risk - least) / span, 0.0), 1.0), 1)

    bell = ""
    if density and edges:
        highest = max(density) or 1.0
        middles = [(a + b) / 2 for a, b in pairwise(edges)]
        points = [(across(x), round(HIGH * (1 - y / highest), 1)) for x, y in zip(middles, density, strict=True)]
        bell = f"M0 {HIGH:g}L" + " ".join(f"{x} {y}" for x, y in points) + f" {WIDE:g} {HIGH:g}z"
    step = round_step(span / 8, (1, 2, 5, 10))
    ticks = [(across(step * each), number(step * each)) for each in range(-50, 51) if least <= step * each <= most]
    name, middle = row["name"], signed(row["risk_median"])
    says = _(
        "Posterior of the risk of %(name)s: median %(middle)s, 95 %% interval %(interval)s, on "
        "the scale of all areas, %(least)s to %(most)s."
    ) % {"name": name, "middle": middle, "interval": interval(row), "least": signed(least), "most": signed(most)}
    low, median, high = (across(risk) for risk in _ends(row))
    return Posterior(bell, low, median, high, across(0.0), ticks, says)


def _cluster(run: FitRun, rows: Sequence[RiskRow], position: int) -> str:
    """Write the area's cluster, as the map's layer does; empty if there are none."""
    row = rows[position]
    if "cluster" not in row:
        return ""
    level = levels_of(rows, read_findings(run, "grouping"))[row["cluster"] - 1]
    return cluster_text(row, placed=is_placed(level, row["risk_median"], row["probability"]))


def _unexpected(area: AreaFinding) -> str:
    """Say that an area was chosen more or less often than the fit expects; empty if it was not."""
    if area.unexpected is None:
        return ""
    rate, low, high = area.unexpected
    shown = {"rate": percentage(rate), "low": percentage(low), "high": percentage(high)}
    if rate > high:
        return _("It was chosen more often (%(rate)s) than this fit expects (%(low)s to %(high)s).") % shown
    return _("It was chosen less often (%(rate)s) than this fit expects (%(low)s to %(high)s).") % shown


def _ends(row: RiskRow) -> tuple[float, float, float]:
    """Return the ends of an area's interval with the median between them."""
    return row["risk_low"], row["risk_median"], row["risk_high"]


LONGEST = 100
COLUMNS = ("place", "name", "risk", "sd", "chance", "cluster")
FALLING = ("risk", "sd", "chance")
"""Columns whose first click puts the largest value first."""


def show_small(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the risk map of a study whose areas fit on one page, each a shape of its own."""
    given = request.GET.dict()
    seen = seen_map(run, given)
    rows = seen.rows
    found = read_findings(run, "layout", "between", "grouping")
    layers = make_layers(rows, seen.top, found)
    asked = replace(Asked.read(given, layers, len(rows)), view=seen.address)
    ground = lay_ground(study, run.version, found.layout)
    order, layer = by_risk(rows), layers[asked.layer]
    lines = make_lines(rows, ground, layers, asked, order=order)
    context = {
        "layers": layers.values(),
        "layer": layer,
        "tops": [each for name, each in layers.items() if name.startswith("top")],
        "asked": asked,
        "keep": asked.keep("area"),
        "headings": headings(asked, clusters="cluster" in layers),
        "ground": ground,
        "areas": list(zip(ground.places, layer.fills, layer.texts, strict=True)),
        "marks": [ground.places[position] for position in layers["cluster"].marked] if "cluster" in layers else [],
        "clusters": cluster_sentences(run, found),
        "badges": ground.badges(order[:10]),
        "lines": lines,
        "n_shown": sum(line.shown for line in lines),
        "script": {name: each.plain() for name, each in layers.items()},
        "highest": highest(rows),
        "sure": sum(row["p_top10"] > 0.95 for row in rows),
        "ten": min(10, len(rows)),
        "chosen_path": ground.places[asked.area].path if asked.area is not None else "",
        "detail": describe_area(seen, asked.area) if asked.area is not None else None,
        "seen": seen,
        "whose": seen.words,
        "view_links": view_links(study, run, seen),
        "pictures": pictures_of(run, "cluster-violins", "cluster-number", "co-clustering"),
    }
    return show_page(request, "results/map.html", study, run, context)


def cluster_sentences(run: FitRun, found: Findings) -> str:
    """Say how many clusters there may be, and how probable the map's clusters are."""
    numbers = sorted((run.record.n_clusters or {}).items())
    if not numbers:
        return ""
    return " ".join([number_sentence(numbers), *([partition_sentence(found.grouping)] if found.grouping else [])])


@dataclass(frozen=True, slots=True)
class Line:
    """An area's row in the table, as the page shows it."""

    position: int
    code: str
    name: str
    place: int
    """Its place by estimated risk, 1 for the highest: the number on the map."""
    ranks: str
    risk: str
    interval: str
    sd: str
    chance: str
    cluster: str
    shown: bool


@dataclass(frozen=True, slots=True)
class Asked:
    """What the address asks for: the layer, the order, the filter, an area. Whatever makes no sense is ignored."""

    layer: str
    top: str
    sort: str
    words: str
    area: int | None
    view: str = ""
    """Whose map it is, as the address has it; empty for the fit's own."""

    @classmethod
    def read(cls, given: Mapping[str, str], layers: Collection[str], count: int) -> "Asked":
        """Read the address."""
        tops = [name for name in layers if name.startswith("top")]
        k = f"top{given.get('k', '')}"
        layer = given.get("layer", "")
        if layer.startswith("top") and layer not in layers:
            layer = k if layer == "top" and k in layers else layer
        top = layer if layer in tops else k if k in tops else "top10" if "top10" in tops else tops[-1]
        sort = given.get("sort", "")
        area = given.get("area", "")
        inside = area.isascii() and area.isdecimal() and len(area) < 9 and int(area) < count
        return cls(
            layer=top if layer == "top" else layer if layer in layers else "risk",
            top=top,
            sort=sort if sort.removeprefix("-") in COLUMNS else "place",
            words=given.get("q", "").replace("\0", "").strip()[:LONGEST],
            area=int(area) if inside else None,
        )

    def keep(self, leave_out: str) -> str:
        """Write the address's query again without one of its parts, ready for another to follow.

        >>> Asked("risk", "top10", "-sd", "a b", None).keep("area")
        'k=10&sort=-sd&q=a+b&'
        """
        parts = {"layer": self.layer, "k": self.top.removeprefix("top"), "sort": self.sort, "q": self.words}
        parts |= {"area": "" if self.area is None else str(self.area)}
        usual = {"layer": "risk", "sort": "place", "q": "", "area": "", leave_out: parts[leave_out]}
        query = urlencode({name: value for name, value in parts.items() if usual.get(name) != value})
        return "".join(f"{each}&" for each in (self.view, query) if each)


@dataclass(frozen=True, slots=True)
class Heading:
    """A column's heading: its name, which way it is sorted, and the address that sorts by it."""

    column: str
    text: str
    beside: str
    sorted: str
    address: str


def headings(asked: Asked, *, clusters: bool) -> list[Heading]:
    """Return the table's headings; another click reverses the order."""
    k = asked.top.removeprefix("top")
    texts = [("place", "Rank", "95 %"), ("name", "Area", ""), ("risk", "Risk", "95 %"), ("sd", "SD", ""),
             ("chance", f"P(top {k})", "")]  # fmt: skip
    texts += [("cluster", "Cluster", "")] if clusters else []
    made = []
    for column, text, beside in texts:
        usual, turned = (f"-{column}", column) if column in FALLING else (column, f"-{column}")
        now = {column: "ascending", f"-{column}": "descending"}.get(asked.sort, "none")
        then = turned if asked.sort == usual else usual
        made.append(Heading(column, text, beside, now, f"?{asked.keep('sort')}sort={then}"))
    return made


def make_lines(
    rows: Sequence[RiskRow], ground: Ground, layers: Mapping[str, Layer], asked: Asked, *, order: Sequence[int]
) -> list[Line]:
    """Return one line per area, sorted as asked; those that the filter hides are marked, for a script to find."""
    place = {position: number for number, position in enumerate(order, start=1)}
    chances, clusters = layers[asked.top].values, layers.get("cluster")
    lines = [
        replace(
            make_line(position, row, place[position], chances[position]),
            cluster=(str(int(clusters.values[position])) if clusters.values[position] else "unclear")
            if clusters
            else "",
            shown=matches(asked.words, at.name, at.code),
        )
        for position, (row, at) in enumerate(zip(rows, ground.places, strict=True))
    ]
    return _sorted(lines, rows, layers, asked)


def make_line(position: int, row: RiskRow, place: int, chance: float) -> Line:
    """Write an area's row of the table, without its cluster."""
    return Line(
        position=position,
        code=row["id"],
        name=row["name"],
        place=place,
        ranks=places(row),
        risk=signed(row["risk_median"]),
        interval=interval(row),
        sd=f"{row['risk_sd']:.2f}",
        chance=percentage(chance),
        cluster="",
        shown=True,
    )


def matches(words: str, name: str, code: str) -> bool:
    """Say whether an area matches what was typed: part of its name or of its id.

    >>> matches("cast", "Castle", "E01"), matches("e01", "Castle", "E01"), matches("x", "Castle", "E01")
    (True, True, False)
    """
    return words.casefold() in name.casefold() or words.casefold() in code.casefold()


def _sorted(lines: list[Line], rows: Sequence[RiskRow], layers: Mapping[str, Layer], asked: Asked) -> list[Line]:
    column = asked.sort.removeprefix("-")
    keys: dict[str, Sequence[Any]] = {
        "place": [line.place for line in lines],
        "name": [line.name.casefold() for line in lines],
        "risk": [row["risk_median"] for row in rows],
        "sd": [row["risk_sd"] for row in rows],
        "chance": layers[asked.top].values,
        "cluster": layers["cluster"].values if "cluster" in layers else [line.place for line in lines],
    }
    first = sorted(lines, key=lambda line: line.place)
    return sorted(first, key=lambda line: keys[column][line.position], reverse=asked.sort.startswith("-"))


SLIDE = 1600
"""The width of a map for slides, in pixels."""
A_PAGE = 100
"""How many rows of the table a page shows."""
LABELS = {
    "risk": "Risk", "sd": "Uncertainty", "rank": "Rank", "width": "Rank interval", "cluster": "Cluster",
    "membership": "Cluster certainty",
}  # fmt: skip


@require_safe
@fit_page
def show_map(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the risk map with the table of areas and what is known about the area that was chosen."""
    return (show_large if has_tiles(study) else show_small)(request, study, run)


def show_large(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the risk map of a study with very many areas."""
    given = request.GET.dict()
    seen = seen_map(run, given)
    rows, top = seen.rows, seen.top
    makers = layer_makers(rows, top, read_findings(run, "between", "grouping"))
    asked = replace(Asked.read(given, makers, len(rows)), view=seen.address)
    chances = top_chances(rows, top)[int(asked.top.removeprefix("top"))]
    wanted = chosen_positions(rows, chances, asked)
    pages = max(1, -(-len(wanted) // A_PAGE))
    page = min(_page_number(given.get("page", "")) or 1, pages)
    context = {
        "layers": [(name, LABELS[name]) for name in makers if name in LABELS],
        "tops": [name.removeprefix("top") for name in makers if name.startswith("top")],
        "layer": makers[asked.layer](),
        "asked": asked,
        "k": asked.top.removeprefix("top"),
        "keep": asked.keep("area"),
        "headings": [each for each in headings(asked, clusters=False) if each.column != "cluster"],
        "lines": table_page(rows, chances, wanted[A_PAGE * (page - 1) : A_PAGE * page]),
        "n_found": len(wanted),
        "n_areas": len(rows),
        "page": page,
        "pages": pages,
        "earlier": page - 1 if page > 1 else None,
        "later": page + 1 if page < pages else None,
        "highest": highest(rows),
        "sure": sum(row["p_top10"] > 0.95 for row in rows),
        "ten": min(10, len(rows)),
        "detail": describe_area(seen, asked.area) if asked.area is not None else None,
        "seen": seen,
        "whose": seen.words,
        "view_links": view_links(study, run, seen),
        "address": "".join(f"&{each}" for each in [seen.address] if each),
    }
    return show_page(request, "results/large_map.html", study, run, context)


def chosen_positions(rows: Sequence[RiskRow], chances: Sequence[float], asked: Asked) -> list[int]:
    """Return the positions of the areas that the table shows, in its order."""
    column = asked.sort.removeprefix("-")
    order = by_risk(rows)
    keys: Mapping[str, Callable[[int], str | float]] = {
        "name": lambda position: rows[position]["name"].casefold(),
        "risk": lambda position: rows[position]["risk_median"],
        "sd": lambda position: rows[position]["risk_sd"],
        "chance": chances.__getitem__,
    }
    if column in keys:
        order = sorted(order, key=keys[column])
    if asked.sort.startswith("-"):
        order = order[::-1]
    if not asked.words:
        return order
    return [place for place in order if matches(asked.words, rows[place]["name"], rows[place]["id"])]


def table_page(rows: Sequence[RiskRow], chances: Sequence[float], positions: Sequence[int]) -> list[Line]:
    """Write some rows of the table."""
    place = {position: number for number, position in enumerate(by_risk(rows), start=1)}
    return [make_line(each, rows[each], place[each], chances[each]) for each in positions]


@require_safe
@fit_page
def map_picture(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Draw the whole map, coloured by one layer; for a map that is not large, with title and legend, for slides."""
    layer = _wanted_layer(run, request)
    if has_tiles(study):
        return picture_response(picture(stored_rings(study.pk), layer.classes, layer.colours))
    ground = lay_ground(study, run.version, read_findings(run, "layout").layout)
    badges = ground.badges(by_risk(seen_map(run, request.GET.dict()).rows)[:10])
    response = picture_response(draw_slide(ground, layer, badges, study.version.title))
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{study.slug}-fit-{run.number}-{layer.name}.svg"'
    return response


def draw_slide(ground: Ground, layer: Layer, badges: Sequence[Badge], title: str) -> str:
    """Draw a map as one picture that needs no other file: its title above, its legend below."""
    west, north, width, height = ground.box
    below = north + height
    foot = 40 + (28 * len(layer.steps) if layer.named else 70)
    lines = "".join('<path d="M{} {}L{} {}" stroke="#8b97a3"/>'.format(*line) for line in ground.lines)
    areas = "".join(f'<path d="{at.path}" fill="{fill}"/>' for at, fill in zip(ground.places, layer.fills, strict=True))
    legend = _named_key(layer, west, below + 70) if layer.named else _ramp(layer, (west, below + 66), width)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{SLIDE}" height="{SLIDE * (height + 60 + foot) / width:.0f}" '
        f'viewBox="{west} {north - 60} {width} {height + 60 + foot}" font-size="18" '
        f'font-family="system-ui, sans-serif">'
        f'<rect x="{west}" y="{north - 60}" width="100%" height="100%" fill="#fff"/>'
        f'<text x="{west + 8}" y="{north - 24}" font-size="28" font-weight="700">{escape(title)}</text>'
        f'{lines}<g stroke="#75828f" stroke-width=".8" stroke-linejoin="round">{areas}</g>'
        f'<g text-anchor="middle" dominant-baseline="central">{"".join(map(draw_badge, badges))}</g>'
        f'<text x="{west + 8}" y="{below + 50}" font-weight="600">{escape(layer.scale.title)}</text>{legend}</svg>'
    )


def _ramp(layer: Layer, corner: tuple[float, float], width: float) -> str:
    """Draw the legend of a layer whose classes have limits."""
    (x, y), step = (corner[0] + 8, corner[1]), min(90.0, (width - 60) / len(layer.colours))
    boxes = [
        f'<rect x="{x + step * place:.1f}" y="{y}" width="{step:.1f}" height="16" fill="{colour}"/>'
        for place, colour in enumerate(layer.colours)
    ]
    ticks = [f'<text x="{x + step * place:.1f}" y="{y + 36}">{tick}</text>' for place, tick in enumerate(layer.ticks)]
    return "".join(boxes + ticks)


def _named_key(layer: Layer, x: float, y: float) -> str:
    return "".join(
        f'<rect x="{x + 8}" y="{y + 28 * place - 16}" width="26" height="18" fill="{colour}" stroke="#75828f"/>'
        f'<text x="{x + 44}" y="{y + 28 * place}">{escape(name)}</text>'
        for place, (colour, name, _areas) in enumerate(layer.steps)
    )


def draw_badge(badge: Badge) -> str:
    """Draw a numbered circle, with a line to its area if it stands beside it."""
    line = f'<path d="M{badge.area_x} {badge.area_y}L{badge.x} {badge.y}" stroke="#14212e"/>' if badge.apart else ""
    place = f'cx="{badge.x}" cy="{badge.y}" r="{BADGE:g}"'
    circle = f'<circle {place} fill="#fff" stroke="#14212e" stroke-width="1.6"/>'
    return f'{line}{circle}<text x="{badge.x}" y="{badge.y}" font-weight="700">{badge.text}</text>'


@require_safe
@fit_page
def map_colours(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:  # noqa: ARG001 - a page
    """Return the colour of each area in one layer, for the tiles."""
    layer = _wanted_layer(run, request)
    return JsonResponse({"colours": layer.colours, "classes": layer.classes})


def _wanted_layer(run: FitRun, request: HttpRequest) -> Layer:
    seen: SeenMap = seen_map(run, request.GET.dict())
    makers = layer_makers(seen.rows, seen.top, read_findings(run, "between", "grouping"))
    name = request.GET.get("layer", "risk")
    if name not in makers:
        raise Http404
    return makers[name]()


def _page_number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 7 else 0
