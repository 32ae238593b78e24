"""The risk map, and the table of areas beside it: every area with its risk, rank and chances, sorted and filtered."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse

from judgemap.report.words.text import number_sentence, partition_sentence, percentage, signed
from judgemap.study.assess.findings import Findings, RiskRow
from judgemap.web.results.area import describe_area, highest
from judgemap.web.results.layers import Layer, by_risk, interval, make_layers, places
from judgemap.web.results.models import FitRun
from judgemap.web.results.pages import pictures_of, read_findings, show_page
from judgemap.web.results.whose import seen_map, view_links
from judgemap.web.studies.maps import Ground, lay_ground
from judgemap.web.studies.models import Study

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
