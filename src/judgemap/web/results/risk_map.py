"""The risk map's page: the map, one area's details, and the table beside it, for small and large maps."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple
from urllib.parse import urlencode

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from judgemap.core.types import IntArray
from judgemap.report.figures.colours import round_step
from judgemap.report.words.text import (
    number,
    number_sentence,
    partition_sentence,
    percentage,
    signed,
    times_in_ten,
)
from judgemap.study.assess.findings import AreaFinding, AreaFindings, Findings, RiskRow
from judgemap.web.judge.places import gazetteer
from judgemap.web.results.layers import (
    LABELS,
    Layer,
    by_risk,
    cluster_text,
    layer_makers,
    levels_of,
    top_chances,
)
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
from judgemap.web.results.pictures import draw_slide
from judgemap.web.server.filters import interval
from judgemap.web.studies.maps import (
    has_tiles,
    lay_ground,
    neighbours_of,
    picture,
    picture_response,
    stored_rings,
)
from judgemap.web.studies.models import Study

WIDE, HIGH = 320.0, 96.0
"""Width and height of the drawing of a posterior, in its own units."""
LONGEST = 100
COLUMNS = ("place", "name", "risk", "sd", "chance", "cluster")
FALLING = ("risk", "sd", "chance")
"""Columns whose first click puts the largest value first."""
A_PAGE = 100
"""How many rows of the table of a large map a page shows."""


@require_safe
@fit_page
def show_map(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the risk map with the table of areas and what is known about the area that was chosen."""
    given = request.GET.dict()
    seen = seen_map(run, given)
    found = read_findings(run, "layout", "between", "grouping")
    makers = layer_makers(seen.rows, seen.top, found)
    asked = replace(Asked.read(given, makers, len(seen.rows)), view=seen.address)
    shared = {
        "asked": asked,
        "keep": asked.keep("area"),
        "tops": [name.removeprefix("top") for name in makers if name.startswith("top")],
        "highest": highest(seen.rows),
        "sure": sum(row["p_top10"] > 0.95 for row in seen.rows),
        "ten": min(10, len(seen.rows)),
        "detail": describe_area(seen, asked.area) if asked.area is not None else None,
        "seen": seen,
        "whose": seen.words,
        "view_links": view_links(study, run, seen),
    }
    if has_tiles(study):
        regions = gazetteer(study.pk).regions
        asked = replace(asked, region=region) if (region := given.get("region", "")) in regions else asked
        shared |= {"asked": asked, "keep": asked.keep("area"), "regions": regions}
        more = _large(seen, makers, asked, given.get("page", ""), regions.get(asked.region))
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
    seen: SeenMap,
    makers: Mapping[str, Callable[[], Layer]],
    asked: "Asked",
    page: str,
    inside: IntArray | None,
) -> dict[str, object]:
    """Return what only a page of very many areas shows: a picture, and some rows of the table, all or of one region."""
    chances = top_chances(seen.rows, seen.top)[int(asked.top.removeprefix("top"))]
    there = range(len(seen.rows)) if inside is None else frozenset(inside.tolist())
    wanted = [at for at in table_order(seen.rows, chances, asked) if at in there and asked.matches(seen.rows[at])]
    shown = Paginator(wanted, A_PAGE).get_page(page)
    return {
        "layers": [(name, LABELS[name]) for name in makers if name in LABELS],
        "layer": makers[asked.layer](),
        "headings": headings(asked, clusters=False),
        "lines": make_lines(seen.rows, list(shown), chances),
        "shown": shown,
        "n_areas": len(seen.rows),
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
        area = given.get("area", "")
        inside = area.isascii() and area.isdecimal() and len(area) < 9 and int(area) < count
        return cls(
            layer=top if layer == "top" else layer if layer in layers else "risk",
            top=top,
            sort=sort if sort.removeprefix("-") in COLUMNS else "place",
            words=given.get("q", "").replace("\0", "").strip()[:LONGEST],
            area=int(area) if inside else None,
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


class Posterior(NamedTuple):
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
    """What is known about an area on a map: its row of the table, what was found about it, and the areas around it."""

    position: int
    count: int
    row: RiskRow
    known: AreaFindings
    posterior: Posterior
    met: list[tuple[int, str, int, int]]
    """The areas it was compared with: position, name, how often it won and lost."""
    neighbours: list[tuple[int, str]]
    cluster: str
    unexpected: str
    picked: str

    @property
    def won(self) -> int:
        """How often it won."""
        return sum(each.won for each in self.known.met)

    @property
    def lost(self) -> int:
        """How often it lost."""
        return sum(each.lost for each in self.known.met)

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
    row, known = rows[position], read_area_findings(run, position)
    clustered = "cluster" in row
    return Detail(
        position=position,
        count=len(rows),
        row=row,
        known=known,
        posterior=draw_posterior(rows, position, *seen.density(position, known.area)),
        met=[(each.other, rows[each.other]["name"], each.won, each.lost) for each in known.met],
        neighbours=[(other, rows[other]["name"]) for other in neighbours_of(run.version, position)],
        cluster=cluster_text(row, levels_of(rows, read_findings(run, "grouping"))) if clustered else "",
        unexpected=_unexpected(known.area),
        picked="" if known.area.riskier is None or seen.address else times_in_ten(known.area.riskier),
    )


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
    says = _(
        "Posterior of the risk of %(name)s: median %(middle)s, 95 %% interval %(interval)s, on "
        "the scale of all areas, %(least)s to %(most)s."
    ) % {
        "name": row["name"],
        "middle": signed(row["risk_median"]),
        "interval": interval(row),
        "least": signed(least),
        "most": signed(most),
    }
    low, median, high = map(across, _ends(row))
    return Posterior(bell, low, median, high, across(0.0), ticks, says)


def _unexpected(area: AreaFinding) -> str:
    """Say that an area was chosen more or less often than the fit expects; empty if it was not."""
    if area.unexpected is None:
        return ""
    rate, low, high = area.unexpected
    shown = {"rate": percentage(rate), "low": percentage(low), "high": percentage(high)}
    if rate > high:
        return _("It was chosen more often (%(rate)s) than this fit expects (%(low)s to %(high)s).") % shown
    return _("It was chosen less often (%(rate)s) than this fit expects (%(low)s to %(high)s).") % shown


@require_safe
@fit_page
def map_picture(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Draw the whole map, coloured by one layer; for a map that is not large, with title and legend, for slides."""
    seen, layer = _wanted(run, request)
    if has_tiles(study):
        return picture_response(picture(stored_rings(study.pk), layer.classes, layer.colours))
    ground = lay_ground(study, run.version, read_findings(run, "layout").layout)
    badges = ground.badges(by_risk(seen.rows)[:10])
    response = picture_response(draw_slide(ground, layer, badges, study.version.title))
    if "download" in request.GET:
        response["Content-Disposition"] = f'attachment; filename="{study.slug}-fit-{run.number}-{layer.name}.svg"'
    return response


@require_safe
@fit_page
def map_colours(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:  # noqa: ARG001 - a page
    """Return the colour of each area in one layer, for the tiles."""
    _seen, layer = _wanted(run, request)
    return JsonResponse({"colours": layer.colours, "classes": layer.classes})


def _wanted(run: FitRun, request: HttpRequest) -> tuple[SeenMap, Layer]:
    seen = seen_map(run, request.GET.dict())
    makers = layer_makers(seen.rows, seen.top, read_findings(run, "between", "grouping"))
    name = request.GET.get("layer", "risk")
    if name not in makers:
        raise Http404
    return seen, makers[name]()
