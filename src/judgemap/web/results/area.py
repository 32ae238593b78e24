"""One area: its posterior, its place, the comparisons it won and lost, its neighbours."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from judgemap.report.figures.colours import round_step
from judgemap.report.words.text import (
    number,
    percentage,
    signed,
    times_in_ten,
)
from judgemap.study.assess.findings import AreaFinding, RiskRow
from judgemap.study.assess.grouping import is_placed
from judgemap.web.results.layers import by_risk, cluster_text, interval, levels_of
from judgemap.web.results.models import FitRun
from judgemap.web.results.pages import fit_page, read_area_findings, read_findings
from judgemap.web.results.whose import SeenMap, seen_map
from judgemap.web.studies.maps import neighbours_of
from judgemap.web.studies.models import Study

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
    place: int
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
        place=by_risk(rows).index(position) + 1,
        count=len(rows),
        risk=signed(row["risk_median"]),
        interval=interval(row),
        sd=f"{row['risk_sd']:.2f}",
        rank=row["rank_median"],
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
