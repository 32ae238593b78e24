"""The risk map: its page for small and large maps, what it can be coloured by, and the map as a single picture."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, zip_longest
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _

from judgemap.core.assess import posterior
from judgemap.core.types import IntArray
from judgemap.geo.drawing import svg_path
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
from judgemap.report.pages.finish import add_streets
from judgemap.report.words.text import number, number_sentence, partition_sentence, percentage, signed, times_in_ten
from judgemap.study.assess.findings import Findings, Level, RiskRow, is_placed, rough_levels
from judgemap.web.judge.places import gazetteer, region_names
from judgemap.web.results.models import FitRun, FitView
from judgemap.web.results.pages import (
    SeenMap,
    fit_page,
    pictures_of,
    read_area_findings,
    read_findings,
    seen_map,
    show_page,
)
from judgemap.web.server.filters import interval
from judgemap.web.server.forms import whole_number
from judgemap.web.studies.basemap.pictures import Frame, layers
from judgemap.web.studies.maps import (
    BADGE,
    Ground,
    has_tiles,
    lay_ground,
    neighbours_of,
    picture,
    picture_response,
    stored_rings,
)
from judgemap.web.studies.models import Area, Study

CHANCES = ["0", "5", "25", "50", "75", "95", "100 %"]
NOTHING = Findings()
RANK_LIMITS = (0.5, 5.5, 10.5, 20.5, 40.5, 80.5, 160.5)
LABELS = {
    "risk": "Risk", "sd": "Uncertainty", "rank": "Rank", "width": "Rank interval", "cluster": "Cluster",
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
    """Return the functions that make a fit's layers, by name: risk, sd, rank, width, top1 … top50, cluster.

    ``rows`` is the table of areas; ``top`` has P(among the k highest) by k, and is empty until it is worked out, as are
    ``grouping`` and ``between`` of what was ``found``.
    """
    makers: dict[str, Callable[[], Layer]] = {
        "risk": partial(_risk, rows), "sd": partial(_uncertainty, rows), "rank": partial(_rank, rows),
        "width": partial(_width, rows),
    }  # fmt: skip
    makers |= {f"top{k}": partial(_top, k, chances) for k, chances in sorted(top_chances(rows, top).items())}
    if "cluster" in rows[0]:
        makers["cluster"] = partial(_clusters, rows, found)
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
        marked=[position for position, other in enumerate(found.between) if other],
    )


SLIDE = 1600
"""The width of a map for slides, in pixels."""
PIXELS = 700
"""The width that a map over streets is drawn for: about that of a printed page."""


def draw_whole(study: Study, seen: SeenMap, layer: Layer) -> HttpResponse:
    """Draw a whole map, coloured by a layer; one that is not large, with its title and legend, for slides."""
    if has_tiles(study):
        return picture_response(picture(stored_rings(study.pk), layer.classes, layer.colours))
    ground = lay_ground(study, seen.run.version, read_findings(seen.run, "layout").layout)
    west, north, width, height = ground.box
    step = min(90.0, (width - 60) / len(layer.colours))
    names = [name for _, name, _ in layer.steps] if layer.key else layer.ticks
    legend = [
        (round(step * place, 1), 54 + 28 * place, colour, name)
        for place, (colour, name) in enumerate(zip_longest([colour for colour, *_ in layer.steps], names))
    ]
    whole = height + 100 + (20 + 28 * len(legend) if layer.key else 70)
    context = _drawn(ground, layer, seen.rows) | {
        "title": seen.run.version.title, "layer": layer, "legend": legend, "step": step, "slide": SLIDE, "west": west,
        "top": north - 60, "width": width, "height": whole, "tall": round(SLIDE * whole / width), "left": west + 8,
        "below": north + height,
    }  # fmt: skip
    return picture_response(render_to_string("results/slide.svg", context))


def _drawn(ground: Ground, layer: Layer, rows: Sequence[RiskRow]) -> dict[str, object]:
    """Return what every picture of a map draws: the areas in their colours, and numbers on the ten highest."""
    shapes = list(zip(ground.places, layer.fills, strict=True))
    return {"ground": ground, "shapes": shapes, "badges": ground.badges(by_risk(rows)[:10])}


def with_streets(html: str, run: FitRun) -> str:
    """Show the map over its streets in a briefing, if the researcher has switched them on."""
    study = run.study
    if not html or study.base_map is None or not study.base_map.in_results or not study.outline:
        return html
    alt = f"Map of {len(run.rows):,} areas shaded by estimated risk, over streets and places."
    caption = (
        "Numbered as on the first page, with paler colours so that the streets show through. Streets and places: "
        f"{study.base_map.credit}."
    )
    ground = lay_ground(study, run.version)
    badges = ground.badges(by_risk(run.rows)[:10])
    taken = [(each.x - BADGE, each.y - BADGE, each.x + BADGE, each.y + BADGE) for each in badges]
    under, names = layers(study.base_map.pk, Frame(*json.loads(study.outline)["box"]), PIXELS, taken)
    context = _drawn(ground, _risk(run.rows), run.rows) | {"under": SafeString(under), "names": SafeString(names)}
    return add_streets(html, render_to_string("results/over_streets.svg", context), alt, caption)


WIDE, HIGH = 320.0, 96.0
"""Width and height of the drawing of a posterior, in its own units."""
LONGEST = 100
COLUMNS = ("place", "name", "risk", "sd", "chance", "cluster")
FALLING = ("risk", "sd", "chance")
"""Columns whose first click puts the largest value first."""
A_PAGE = 100
"""How many rows of the table of a large map a page shows."""


@fit_page
def show_map(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the risk map with the table of areas and what is known about the area that was chosen."""
    given = request.GET.dict()
    seen = seen_map(run, given)
    found = read_findings(run, "layout", "between", "grouping", "top")
    makers = layer_makers(seen.rows, seen.top(found), found)
    asked = replace(Asked.read(given, makers, len(seen.rows)), view=seen.address)
    shared = {
        "asked": asked,
        "keep": asked.keep("area"),
        "named": [(name, LABELS[name]) for name in makers if name in LABELS],
        "tops": [name.removeprefix("top") for name in makers if name.startswith("top")],
        "highest": highest(seen.rows),
        "sure": sum(row["p_top10"] > 0.95 for row in seen.rows),
        "ten": min(10, len(seen.rows)),
        "detail": describe_area(seen, asked.area) if asked.area is not None else None,
        "seen": seen,
        "whose": seen.words,
        "has_views": FitView.objects.filter(fit=run).exists(),
    }
    if has_tiles(study):
        regions = region_names(study.pk)
        asked = replace(asked, region=region) if (region := given.get("region", "")) in regions else asked
        shared |= {"asked": asked, "keep": asked.keep("area"), "regions": regions}
        inside = gazetteer(study.pk).regions[asked.region] if asked.region else None
        more = _large(seen, makers, asked, given.get("page", ""), inside)
        return show_page(request, "results/large_map.html", study, run, shared | more)
    more = _small(study, seen, {name: make() for name, make in makers.items()}, asked, found)
    return show_page(request, "results/map.html", study, run, shared | more)


def _small(
    study: Study, seen: SeenMap, layers: Mapping[str, Layer], asked: "Asked", found: Findings
) -> dict[str, object]:
    """Return what only a page shows on which each area is a shape of its own."""
    rows, layer = seen.rows, layers[asked.layer]
    ground = lay_ground(study, seen.run.version, found.layout)
    clusters = layers.get("cluster")
    lines = make_lines(rows, table_order(rows, layers[asked.top].values, asked, clusters), layers[asked.top].values)
    if clusters is not None:
        unclear = {0: "unclear"}
        lines = [
            line._replace(cluster=unclear.get(at := int(clusters.values[line.position]), str(at))) for line in lines
        ]
    return {
        "layers": layers.values(),
        "layer": layer,
        "headings": headings(asked, clusters=clusters is not None),
        "ground": ground,
        "areas": list(zip(ground.places, layer.fills, layer.texts, strict=True)),
        "marks": [ground.places[position] for position in clusters.marked] if clusters else [],
        "clusters": cluster_sentences(seen.run, found),
        "badges": ground.badges(by_risk(rows)[:10]),
        "lines": [(line, asked.matches(line.row)) for line in lines],
        "n_shown": sum(map(asked.matches, rows)),
        "script": {name: each.plain() for name, each in layers.items()},
        "chosen_path": ground.places[asked.area].path if asked.area is not None else "",
        "pictures": pictures_of(seen.run, "cluster-violins", "cluster-number", "co-clustering"),
    }


def _large(
    seen: SeenMap, makers: Mapping[str, Callable[[], Layer]], asked: "Asked", page: str, inside: IntArray | None
) -> dict[str, object]:
    """Return what only a page of very many areas shows: a picture, and some rows of the table, all or of one region."""
    rows, chances = seen.rows, makers[asked.top]().values
    wanted = table_order(rows, chances, asked)
    if inside is not None:
        there = frozenset(inside.tolist())
        wanted = [at for at in wanted if at in there]
    if asked.words:
        wanted = [at for at in wanted if asked.matches(rows[at])]
    shown = Paginator(wanted, A_PAGE).get_page(page)
    return {
        "layer": makers[asked.layer](),
        "headings": headings(asked, clusters=False),
        "lines": make_lines(rows, list(shown), chances),
        "shown": shown,
        "n_areas": len(rows),
        "address": f"&{seen.address}" if seen.address else "",
    }


def cluster_sentences(run: FitRun, found: Findings) -> str:
    """Say how many clusters there may be, and how probable the map's clusters are."""
    numbers = sorted((run.record.n_clusters or {}).items())
    if not numbers:
        return ""
    return " ".join([number_sentence(numbers), *([partition_sentence(found.grouping)] if found.grouping else [])])


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
    region: str = ""
    """The only region whose areas the table of a large map lists; empty for all."""

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
        return cls(
            layer=top if layer == "top" else layer if layer in layers else "risk",
            top=top,
            sort=sort if sort.removeprefix("-") in COLUMNS else "place",
            words=given.get("q", "").replace("\0", "").strip()[:LONGEST],
            area=whole_number(given.get("area", ""), most=count - 1),
        )

    @property
    def k(self) -> str:
        """How many areas the table's probability of being among the highest is about."""
        return self.top.removeprefix("top")

    def keep(self, leave_out: str) -> str:
        """Write the address's query again without one of its parts, ready for another to follow.

        >>> Asked("risk", "top10", "-sd", "a b", None).keep("area")
        'k=10&sort=-sd&q=a+b&'
        """
        parts = {"layer": self.layer, "k": self.k, "sort": self.sort, "q": self.words}
        parts |= {"region": self.region, "area": "" if self.area is None else str(self.area)}
        usual = {"layer": "risk", "sort": "place", "q": "", "region": "", "area": "", leave_out: parts[leave_out]}
        query = urlencode({name: value for name, value in parts.items() if usual.get(name) != value})
        return "".join(f"{each}&" for each in (self.view, query) if each)

    def matches(self, row: RiskRow) -> bool:
        """Say whether an area matches what was typed: part of its name or of its id."""
        words = self.words.casefold()
        return not words or words in row["name"].casefold() or words in row["id"].casefold()


class Line(NamedTuple):
    """An area in the table; ``place`` is its place by estimated risk, 1 for the highest: the number on the map."""

    position: int
    row: RiskRow
    place: int
    chance: float
    cluster: str = ""


def make_lines(rows: Sequence[RiskRow], positions: Sequence[int], chances: Sequence[float]) -> list[Line]:
    """Return the table's rows for some areas."""
    place = {position: number for number, position in enumerate(by_risk(rows), start=1)}
    return [Line(each, rows[each], place[each], chances[each]) for each in positions]


def table_order(
    rows: Sequence[RiskRow], chances: Sequence[float], asked: Asked, clusters: Layer | None = None
) -> list[int]:
    """Return the areas' positions in the order of the table; areas alike in its column stand by risk."""
    keys: dict[str, Callable[[int], str | float]] = {
        "name": lambda at: rows[at]["name"].casefold(),
        "risk": lambda at: rows[at]["risk_median"],
        "sd": lambda at: rows[at]["risk_sd"],
        "chance": chances.__getitem__,
    }
    if clusters is not None:
        keys["cluster"] = clusters.values.__getitem__
    order, falls = by_risk(rows), asked.sort.startswith("-")
    if key := keys.get(asked.sort.removeprefix("-")):
        return sorted(order, key=key, reverse=falls)
    return order[::-1] if falls else order


def headings(asked: Asked, *, clusters: bool) -> list[tuple[str, str, str, str, str]]:
    """Return the table's headings: column, text, text beside it, how it is sorted, the address that sorts by it.

    Another click reverses the order.
    """
    texts = [("place", "Rank", "95 %"), ("name", "Area", ""), ("risk", "Risk", "95 %"), ("sd", "SD", ""),
             ("chance", f"P(top {asked.k})", "")]  # fmt: skip
    texts += [("cluster", "Cluster", "")] if clusters else []
    made = []
    for column, text, beside in texts:
        usual, turned = (f"-{column}", column) if column in FALLING else (column, f"-{column}")
        now = {column: "ascending", f"-{column}": "descending"}.get(asked.sort, "none")
        then = turned if asked.sort == usual else usual
        made.append((column, text, beside, now, f"?{asked.keep('sort')}sort={then}"))
    return made


def highest(rows: Sequence[RiskRow], count: int = 10) -> list[tuple[int, RiskRow, list[float]]]:
    """Return the areas of highest estimated risk: position, row, and low, median and high on a scale they share."""
    first = by_risk(rows)[:count]
    least = min(rows[position]["risk_low"] for position in first)
    span = max(max(rows[position]["risk_high"] for position in first) - least, 1e-9)
    return [
        (position, rows[position], [round(WIDE * (risk - least) / span, 1) for risk in _ends(rows[position])])
        for position in first
    ]


def _ends(row: RiskRow) -> tuple[float, float, float]:
    """Return the ends of an area's interval with the median between them."""
    return row["risk_low"], row["risk_median"], row["risk_high"]


@fit_page
def area(request: HttpRequest, study: Study, run: FitRun, position: int) -> HttpResponse:
    """Return what is known about an area, for the map's page to show beside the map."""
    seen = seen_map(run, request.GET.dict())
    if position >= len(seen.rows):
        raise Http404
    keep = f"{seen.address}&" if seen.address else ""
    context = {"study": study, "run": run, "detail": describe_area(seen, position), "keep": keep}
    return render(request, "results/detail.html", context)


def draw_around(seen: SeenMap, position: int, neighbours: Sequence[int]) -> list[dict[str, object]]:
    """Draw an area of a large map as judges saw it, among its neighbours, all coloured by risk; the area is last.

    A shape has a path, a colour and, if it is a neighbour, a name and where that stands; there is little room, so names
    are without the area's own region. Where the page's own map shows them, there is none.
    """
    scene, region = "", ""
    if has_tiles(seen.run.study):
        places = Area.objects.filter(study_id=seen.run.study_id, position=position)
        scene, region = places.values_list("scene", "region").get()
    if not scene:
        return []
    drawn, rows = json.loads(scene), seen.rows
    fills = _risk(rows).fills
    colours = {rows[other]["name"]: fills[other] for other in neighbours}
    others: list[dict[str, object]] = []
    for each in drawn["others"]:
        name = each.get("name", "")
        named = {"name": name.removeprefix(f"{region} "), "at": each["at"]} if name in colours else {}
        others.append({"path": svg_path(each["rings"]), "fill": colours.get(name, "none"), **named})
    return [*others, {"path": svg_path(drawn["own"]), "fill": fills[position]}]


def describe_area(seen: SeenMap, position: int) -> dict[str, object]:
    """Put together what is known about an area on a map: its row of the table, what was found, the areas around it."""
    run, rows = seen.run, seen.rows
    row, known = rows[position], read_area_findings(run, position)
    neighbours = neighbours_of(run.version, position)
    won, lost = sum(each.won for each in known.met), sum(each.lost for each in known.met)
    return {
        "position": position,
        "count": len(rows),
        "row": row,
        "known": known,
        "posterior": draw_posterior(rows, position, *seen.density(position, known.area)),
        "won": won,
        "lost": lost,
        "compared": won + lost,
        "met": [(rows[each.other]["name"], each) for each in known.met],
        "neighbours": [(other, rows[other]["name"]) for other in neighbours],
        "around": draw_around(seen, position, neighbours),
        "cluster": cluster_text(row, levels_of(rows, read_findings(run, "grouping"))) if "cluster" in row else "",
        "picked": "" if known.area.riskier is None or seen.address else times_in_ten(known.area.riskier),
    }


def draw_posterior(
    rows: Sequence[RiskRow], position: int, density: Sequence[float], edges: Sequence[float]
) -> dict[str, object]:
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
    low, median, high = map(across, _ends(row))
    return {
        "bell": bell, "low": low, "median": median, "high": high, "zero": across(0.0), "ticks": ticks, "least": least,
        "most": most,
    }  # fmt: skip


@fit_page
def map_picture(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Draw the whole map, coloured by one layer; for a map that is not large, with title and legend, for slides."""
    seen, layer = _wanted(run, request)
    response = draw_whole(study, seen, layer)
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{study.slug}-fit-{run.number}-{layer.name}.svg"'
    return response


@fit_page
def map_colours(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:  # noqa: ARG001 - a page
    """Return the colour of each area in one layer, for the tiles."""
    _seen, layer = _wanted(run, request)
    return JsonResponse({"colours": layer.colours, "classes": layer.classes})


def _wanted(run: FitRun, request: HttpRequest) -> tuple[SeenMap, Layer]:
    seen = seen_map(run, request.GET.dict())
    found = read_findings(run, "between", "grouping", "top")
    makers = layer_makers(seen.rows, seen.top(found), found)
    name = request.GET.get("layer", "risk")
    if name not in makers:
        raise Http404
    return seen, makers[name]()
