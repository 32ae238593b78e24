"""Maps of the same areas side by side: other fits, other priors, or each judge's own; drawn as plain SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import NamedTuple
from urllib.parse import urlencode

import numpy as np
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _

from judgemap.core.assess.reliability import Likeness, likeness
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.report.figures.colours import RISK, round_limits, round_step
from judgemap.report.words.text import number, signed
from judgemap.study.assess.findings import JudgeFinding, RiskRow
from judgemap.study.fit.settings import FitSettings
from judgemap.web.results.actions import GONE, other_priors, try_other_priors
from judgemap.web.results.models import FitRun, FitView
from judgemap.web.results.pages import fit_page, read_findings, show_page, title_of
from judgemap.web.results.risk_map import by_risk
from judgemap.web.server.forms import sentence, whole_number
from judgemap.web.studies.access import researcher_of
from judgemap.web.studies.maps import Ground, lay_ground
from judgemap.web.studies.models import Study

MOVERS = 10
SIDE = 300.0
"""Width and height of a scatter, in its own units."""
CHANGE = ("#542788", "#998ec3", "#d8daeb", "#f2f2f2", "#fee0b6", "#f1a340", "#b35806")
"""From much lower to much higher (Brewer, 2003). Both ends print dark, so signs mark them as well."""
CHANGE_STEPS = (1.0, 2.0, 4.0, 6.0, 10.0)
"""Steps between the limits of a change; half of each is also a short number."""


@dataclass(frozen=True)
class Side:
    """A map to compare: its name in full and in a sentence, its areas, and remarks about it.

    ``beside`` is a few words under the map, ``address`` where the map links to; ``run`` is its own fit.
    """

    title: str
    rows: Sequence[RiskRow]
    short: str
    beside: str = ""
    address: str = ""
    run: FitRun | None = None

    @cached_property
    def risks(self) -> FloatArray:
        """The posterior medians of risk."""
        return np.array([row["risk_median"] for row in self.rows], dtype=np.float64)

    @cached_property
    def order(self) -> list[int]:
        """The areas' positions, with the highest estimated risk first."""
        return by_risk(self.rows)

    @property
    def highest(self) -> list[str]:
        """The names of the three areas of highest estimated risk."""
        return [self.rows[position]["name"] for position in self.order[:3]]


class SmallMap(NamedTuple):
    """A map in classes: the positions of the areas of each colour, and signs (x, y, text) to put on some."""

    side: Side
    fills: list[tuple[str, list[int]]]
    says: str
    signs: Sequence[tuple[float, float, str]] = ()


class SmallMaps(NamedTuple):
    """Maps in the same classes, and their legend."""

    drawn: list[SmallMap]
    ramp: list[tuple[str, str]]
    """Colour and lower limit of each class; the last entry, without a colour, is the upper limit of all."""


class Mover(NamedTuple):
    """An area whose risk differs most between two maps: its row and its place on each, and the change.

    The 95 % interval of the change takes the maps as independent; where two fits share answers it is too wide.
    """

    position: int
    base: RiskRow
    other: RiskRow
    change: str
    interval: str
    base_place: int
    other_place: int


class Against(NamedTuple):
    """Another map compared with the base."""

    base: Side
    side: Side
    alike: Likeness
    scatter: "Scatter"
    change: SmallMaps
    movers: list[Mover]


def compare_maps(ground: Ground, base: Side, others: Sequence[Side]) -> dict[str, object]:
    """Return maps of the same areas on one scale, how alike each pair is, and each of the others against the base."""
    sides = [base, *others]
    return {
        "maps": draw_maps(sides),
        "likeness": [(a, b, likeness(a.risks, b.risks)) for a, b in combinations(sides, 2)],
        "others": [
            Against(
                base, other, likeness(base.risks, other.risks), draw_scatter(base, other),
                draw_change(ground, base, other), _movers(base, other),
            )
            for other in others
        ],
    }  # fmt: skip


def draw_maps(sides: Sequence[Side]) -> SmallMaps:
    """Draw maps of risk on one scale."""
    limits = RISK.limits_for(np.concatenate([side.risks for side in sides]))
    colours = RISK.shades(limits)
    says = _("Map of estimated risk. %(title)s. Highest: %(highest)s.")
    drawn = [
        SmallMap(
            side,
            _groups(side.risks, limits, colours),
            says % {"title": side.title, "highest": ", ".join(side.highest)},
        )
        for side in sides
    ]
    return SmallMaps(drawn, _ramp(colours, limits))


def _ramp(colours: Sequence[str], limits: FloatArray) -> list[tuple[str, str]]:
    return list(zip([*colours, ""], map(number, limits.tolist()), strict=True))


def _classes(values: FloatArray, limits: FloatArray) -> list[int]:
    classes: list[int] = np.clip(np.searchsorted(limits, values, side="right") - 1, 0, len(limits) - 2).tolist()
    return classes


def _groups(values: FloatArray, limits: FloatArray, colours: Sequence[str]) -> list[tuple[str, list[int]]]:
    classes = _classes(values, limits)
    members = [[position for position, each in enumerate(classes) if each == place] for place in range(len(colours))]
    return [(colour, own) for colour, own in zip(colours, members, strict=True) if own]


def change_limits(largest: float) -> FloatArray:
    """Return eight round limits, symmetric about 0, that contain every change; the middle class is hardly any.

    >>> change_limits(0.6).tolist()
    [-0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7]
    """
    step = round_step(max(largest, 0.035) / 3.5, CHANGE_STEPS)
    limits: FloatArray = np.round(step * (np.arange(8) - 3.5), 9)
    return limits


def draw_change(ground: Ground, base: Side, other: Side) -> SmallMaps:
    """Draw how risk changes from one map to another."""
    change = other.risks - base.risks
    limits = change_limits(float(np.abs(change).max()))
    classes = _classes(change, limits)
    signs = [
        (at.x, at.y, "+" if each > 3 else "−")
        for at, each in zip(ground.places, classes, strict=True)
        if each in (0, 1, 5, 6)
    ]
    up, down = (base.rows[int(place)]["name"] for place in (change.argmax(), change.argmin()))
    says = _(
        "Map of the change in risk. It rises most in %(up)s (%(rise)s) and falls most in "
        "%(down)s (%(fall)s); %(unchanged)s of %(areas)s areas hardly change."
    ) % {
        "up": up,
        "rise": signed(float(change.max())),
        "down": down,
        "fall": signed(float(change.min())),
        "unchanged": f"{classes.count(3):,}",
        "areas": f"{len(classes):,}",
    }
    drawn = SmallMap(Side(_("Change of risk"), [], ""), _groups(change, limits, CHANGE), says, signs)
    return SmallMaps([drawn], _ramp(CHANGE, limits))


class Scatter(NamedTuple):
    """Points of two maps' risks: x, y and the name of each, and the ticks of both axes: x, y and the number."""

    points: list[tuple[float, float, str]]
    ticks: list[tuple[float, float, str]]


def draw_scatter(base: Side, other: Side) -> Scatter:
    """Draw other risks against the base's, with the same scale on both axes."""
    risks = np.concatenate([base.risks, other.risks])
    limits = round_limits(float(risks.min()), float(risks.max()))

    def along(values: FloatArray) -> FloatArray:
        return np.asarray(SIDE * (values - limits[0]) / (limits[-1] - limits[0]))

    x, y, at = (np.round(each, 1).tolist() for each in (along(base.risks), SIDE - along(other.risks), along(limits)))
    points = list(zip(x, y, (row["name"] for row in base.rows), strict=True))
    return Scatter(points, [(each, SIDE - each, number(tick)) for each, tick in zip(at, limits, strict=True)])


def _movers(base: Side, other: Side) -> list[Mover]:
    change = other.risks - base.risks
    sd, other_sd = ([row["risk_sd"] for row in side.rows] for side in (base, other))
    spread = 1.96 * np.hypot(sd, other_sd)
    return [
        Mover(
            position,
            base.rows[position],
            other.rows[position],
            ("+" if round(float(change[position]), 2) > 0 else "") + signed(float(change[position])),
            " to ".join(signed(float(change[position] + side * spread[position])) for side in (-1, 1)),
            base.order.index(position) + 1,
            other.order.index(position) + 1,
        )
        for position in np.argsort(-np.abs(change), kind="stable")[:MOVERS].tolist()
    ]


MOST_COMPARED = 6
LISTED = 40


@fit_page
def compare(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show fits of the study beside this one: correlations, scatters, maps on one scale, and the largest changes."""
    numbers = {number for each in request.GET.getlist("with") if (number := whole_number(each)) is not None}
    fits = FitRun.objects.filter(study=study).exclude(pk=run.pk).defer("findings", "log", "rows")
    chosen = list(
        fits.filter(number__in=sorted(numbers)[:MOST_COMPARED]).defer(None).defer("findings", "log").order_by("number")
    )
    done = [each for each in chosen if each.status == FitRun.Status.DONE and len(each.rows) == len(run.rows)]
    there = fits.exclude(status__in=GONE)
    context = {
        "choices": [(each, title_of(each), each.number in numbers) for each in there.order_by("-number")[:LISTED]],
        "waiting": [(each, title_of(each), round(100 * each.progress)) for each in chosen if not each.over],
        "gone": [(each, title_of(each)) for each in chosen if each.over and each not in done],
        "variations": len(other_priors(FitSettings.from_dict(run.settings))),
        "here_again": request.get_full_path(),
    }
    if done:
        ground = lay_ground(study, run.version, read_findings(run, "layout").layout)
        here = Side(title_of(run), run.rows, _("this fit"), run=run)
        others = [Side(title_of(each), each.rows, _("the other"), run=each) for each in done]
        context |= {"ground": ground, **compare_maps(ground, here, others)}
    return show_page(request, "results/compare.html", study, run, context)


@fit_page.act
def sensitivity(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Ask for the fit with other priors, and redirect to their comparison."""
    address = reverse("results:compare", args=[study.slug, run.number])
    try:
        made = try_other_priors(run, researcher_of(request))
    except StudyError as error:
        messages.error(request, sentence(error))
        return redirect(address)
    return redirect(f"{address}?{urlencode([('with', each.number) for each in made])}")


MANY, FEW = 18, 6
"""How many judges' maps a page shows; fewer if a map has many areas."""


@fit_page
def judge_maps(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the judges' maps, those farthest from the population's first."""
    findings = read_findings(run, "judges", "parameters", "layout")
    ground = lay_ground(study, run.version, findings.layout)
    here = reverse("results:judge_maps", args=[study.slug, run.number])
    fitted = {each.judge: each for each in findings.judges}
    far = {name: each.distance or 0.0 for name, each in fitted.items()}
    there = FitView.objects.filter(fit=run)
    names = there.exclude(judge="").values_list("judge", flat=True)
    judges = sorted(names, key=lambda name: (-far.get(name, 0.0), name))
    chosen = request.GET.get("judge", "")
    if chosen and chosen not in judges:
        raise Http404
    context = {
        "judges": judges,
        "chosen": chosen,
        "ground": ground,
        "ratio": next((each for each in findings.parameters if each.symbol == "σ/α"), None),
        "fitted": fitted.get(chosen),
    }
    if chosen:
        shown = {"words": run.record.made_by, "chosen": chosen}
        context["whose"] = _("%(words)s Beside it is the view of judge %(chosen)s alone.") % shown
        population = Side(_("The population of judges"), run.rows, _("the population’s map"), address=here)
        context |= compare_maps(ground, population, [_side(there.get(judge=chosen), None, "")])
    elif there.exists():
        pages = Paginator(judges, FEW if ground.crowded else MANY).get_page(request.GET.get("page"))
        kept = {each.judge: each for each in there.filter(judge__in=["", *pages.object_list])}
        sides = [
            Side(_("The population of judges"), run.rows, ""),
            Side(_("These judges, each with equal weight"), kept[""].rows, ""),
        ]
        sides += [_side(kept[name], fitted.get(name), f"{here}?judge={name}") for name in pages.object_list]
        whose = _("%(words)s Beside it are those of the panel and of each judge.") % {"words": run.record.made_by}
        context |= {"shown": pages, "maps": draw_maps(sides), "whose": whose}
    return show_page(request, "results/judge_maps.html", study, run, context)


def _side(kept: FitView, fitted: JudgeFinding | None, address: str) -> Side:
    beside = ""
    if fitted is not None and fitted.distance is not None:
        beside = f"distance {fitted.distance:.2f} ({fitted.distance_low:.2f} to {fitted.distance_high:.2f})"
    return Side(
        _("Judge %(name)s") % {"name": kept.judge}, kept.rows, _("this judge’s map"), beside=beside, address=address
    )
