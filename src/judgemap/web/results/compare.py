"""Maps of the same areas side by side: other fits, other priors, or each judge's own; drawn as plain SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from urllib.parse import urlencode

import numpy as np
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from judgemap.core.assess.reliability import likeness
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.report.figures.colours import RISK, round_limits, round_step
from judgemap.report.words.text import number, signed
from judgemap.study.assess.findings import Findings, JudgeFinding, RiskRow
from judgemap.study.fit.settings import FitSettings
from judgemap.web.results.actions import GONE, other_priors, try_other_priors
from judgemap.web.results.models import FitRun, FitView
from judgemap.web.results.pages import fit_page, read_findings, show_page, title_of
from judgemap.web.results.risk_map import by_risk, interval
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of
from judgemap.web.studies.maps import Ground, Point, lay_ground
from judgemap.web.studies.models import Study

MOVERS = 10
SIDE = 300.0
"""Width and height of a scatter, in its own units."""
CHANGE = ("#542788", "#998ec3", "#d8daeb", "#f2f2f2", "#fee0b6", "#f1a340", "#b35806")
"""From much lower to much higher (Brewer, 2003). Both ends print dark, so signs mark them as well."""
CHANGE_STEPS = (1.0, 2.0, 4.0, 6.0, 10.0)
"""Steps between the limits of a change; half of each is also a short number."""


@dataclass(frozen=True, slots=True)
class Side:
    """A map to compare: its name in full and in a sentence, its areas, and remarks about it.

    ``remark`` is a sentence on the comparison, ``beside`` a few words under the map, ``address`` where the map links
    to.
    """

    title: str
    rows: Sequence[RiskRow]
    short: str
    remark: str = ""
    beside: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class ClassMap:
    """A map in classes: the positions of the areas of each colour, and signs to put on some."""

    title: str
    fills: list[tuple[str, list[int]]]
    signs: list[tuple[float, float, str]]
    says: str
    beside: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True)
class SmallMaps:
    """Maps on one scale, and its legend: colour and lower limit of each class, and the last limit."""

    drawn: list[ClassMap]
    ramp: list[tuple[str, str]]
    last_tick: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points of two maps' risks: x, y and the name of each, and the ticks of both axes: x, y and the number."""

    points: list[tuple[float, float, str]]
    ticks: list[tuple[float, float, str]]
    says: str


@dataclass(frozen=True, slots=True)
class Mover:
    """An area whose risk differs most between two maps."""

    position: int
    name: str
    base: str
    base_interval: str
    other: str
    other_interval: str
    change: str
    base_place: int
    other_place: int


@dataclass(frozen=True, slots=True)
class Likeness:
    """How alike two maps' posterior medians are."""

    first: str
    second: str
    pearson: str
    spearman: str


@dataclass(frozen=True, slots=True)
class Against:
    """Another map compared with the base."""

    title: str
    base_short: str
    short: str
    likeness: Likeness
    same_top: int
    top: int
    leaders: str
    scatter: Scatter
    change: ClassMap
    change_ramp: list[tuple[str, str]]
    change_last: str
    movers: list[Mover]
    remark: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The base and others: their maps on one scale, how alike each pair is, and each of the others in detail."""

    maps: SmallMaps
    likeness: list[Likeness]
    others: list[Against]


def compare_maps(ground: Ground, base: Side, others: Sequence[Side]) -> Compared:
    """Compare maps of the same areas."""
    return Compared(
        maps=draw_maps([base, *others]),
        likeness=[_likeness(a, b) for a, b in combinations([base, *others], 2)],
        others=[_against(ground, base, other) for other in others],
    )


def draw_maps(sides: Sequence[Side]) -> SmallMaps:
    """Draw maps of risk on one scale."""
    risks = [medians(side) for side in sides]
    limits = RISK.limits_for(np.concatenate(risks))
    colours = RISK.shades(limits)
    return SmallMaps(
        drawn=[_risk_map(side, risk, limits, colours) for side, risk in zip(sides, risks, strict=True)],
        ramp=list(zip(colours, [number(limit) for limit in limits[:-1].tolist()], strict=True)),
        last_tick=number(float(limits[-1])),
    )


def medians(side: Side) -> FloatArray:
    """Return the posterior medians of risk."""
    return np.array([row["risk_median"] for row in side.rows], dtype=np.float64)


def change_limits(largest: float) -> FloatArray:
    """Return eight round limits, symmetric about 0, that contain every change; the middle class is hardly any.

    >>> change_limits(0.6).tolist()
    [-0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7]
    """
    step = round_step(max(largest, 0.035) / 3.5, CHANGE_STEPS)
    limits: FloatArray = np.round(step * (np.arange(8) - 3.5), 9)
    return limits


def draw_scatter(base: FloatArray, other: FloatArray, names: Sequence[str]) -> Scatter:
    """Draw other risks against the base's, with the same scale on both axes."""
    risks = np.concatenate([base, other])
    limits = round_limits(float(risks.min()), float(risks.max()))
    least, span = float(limits[0]), float(limits[-1] - limits[0])
    x = np.round(SIDE * (base - least) / span, 1).tolist()
    y = np.round(SIDE - SIDE * (other - least) / span, 1).tolist()
    steps = [(round(SIDE * (limit - least) / span, 1), number(limit)) for limit in limits.tolist()]
    ticks = [(at, SIDE - at, text) for at, text in steps]
    says = _("Scatter of the risk of %(areas)s areas on two maps; points on the line have the same risk on both.") % {
        "areas": f"{len(names):,}"
    }
    return Scatter(list(zip(x, y, names, strict=True)), ticks, says)


def _risk_map(side: Side, risk: FloatArray, limits: FloatArray, colours: Sequence[str]) -> ClassMap:
    classes = np.clip(np.searchsorted(limits, risk, side="right") - 1, 0, len(limits) - 2)
    highest = ", ".join(side.rows[position]["name"] for position in by_risk(side.rows)[:3])
    says = _("Map of estimated risk. %(title)s. Highest: %(highest)s.") % {"title": side.title, "highest": highest}
    return ClassMap(side.title, _groups(classes.tolist(), colours), [], says, side.beside, side.address)


def _groups(classes: Sequence[int], colours: Sequence[str]) -> list[tuple[str, list[int]]]:
    return [
        (colour, [position for position, each in enumerate(classes) if each == place])
        for place, colour in enumerate(colours)
        if place in classes
    ]


def _likeness(a: Side, b: Side) -> Likeness:
    alike = likeness(medians(a), medians(b))
    return Likeness(a.title, b.title, _correlation(alike.pearson), _correlation(alike.spearman))


def _correlation(value: float) -> str:
    return signed(value, 3) if np.isfinite(value) else "none"


def _against(ground: Ground, base: Side, other: Side) -> Against:
    first, second = medians(base), medians(other)
    cuts = change_limits(float(np.abs(second - first).max()))
    alike = likeness(first, second)
    orders = by_risk(base.rows), by_risk(other.rows)
    return Against(
        title=other.title,
        base_short=base.short,
        short=other.short,
        likeness=_likeness(base, other),
        same_top=alike.same_top,
        top=alike.top,
        leaders=_leaders(base, other),
        scatter=draw_scatter(first, second, [row["name"] for row in base.rows]),
        change=_change_map(ground, base, second - first, cuts),
        change_ramp=list(zip(CHANGE, [number(cut) for cut in cuts[:-1].tolist()], strict=True)),
        change_last=number(float(cuts[-1])),
        movers=_movers(base, other, orders),
        remark=other.remark,
    )


def _leaders(base: Side, other: Side) -> str:
    """Say whether two maps put the same area first."""
    first, second = (side.rows[by_risk(side.rows)[0]]["name"] for side in (base, other))
    if first == second:
        return _("Both put %(first)s first.") % {"first": first}
    return _(
        "They disagree about the area of highest risk: %(this)s puts %(first)s first, %(that)s "
        "%(second)s. Do not rely on either being the highest."
    ) % {"this": base.short, "first": first, "that": other.short, "second": second}


def _change_map(ground: Ground, base: Side, change: FloatArray, cuts: FloatArray) -> ClassMap:
    classes = np.clip(np.searchsorted(cuts, change, side="right") - 1, 0, len(CHANGE) - 1).tolist()
    signs: list[tuple[float, float, str]] = []
    for position, each in enumerate(classes):
        if each in (0, 1, 5, 6):
            at: Point = ground.places[position].x, ground.places[position].y
            signs.append((*at, "+" if each > 3 else "−"))
    still = sum(each == 3 for each in classes)
    up, down = (base.rows[int(place)]["name"] for place in (change.argmax(), change.argmin()))
    says = _(
        "Map of the change in risk. It rises most in %(up)s (%(rise)s) and falls most in "
        "%(down)s (%(fall)s); %(unchanged)s of %(areas)s areas hardly change."
    ) % {
        "up": up,
        "rise": signed(float(change.max())),
        "down": down,
        "fall": signed(float(change.min())),
        "unchanged": f"{still:,}",
        "areas": f"{len(classes):,}",
    }
    return ClassMap(_("Change of risk"), _groups(classes, CHANGE), signs, says)


def _movers(base: Side, other: Side, orders: tuple[list[int], list[int]]) -> list[Mover]:
    change = medians(other) - medians(base)
    most = np.argsort(-np.abs(change), kind="stable")[:MOVERS].tolist()
    return [
        Mover(
            position=position,
            name=base.rows[position]["name"],
            base=signed(base.rows[position]["risk_median"]),
            base_interval=interval(base.rows[position]),
            other=signed(other.rows[position]["risk_median"]),
            other_interval=interval(other.rows[position]),
            change=("+" if round(float(change[position]), 2) > 0 else "") + signed(float(change[position])),
            base_place=orders[0].index(position) + 1,
            other_place=orders[1].index(position) + 1,
        )
        for position in most
    ]


MOST_COMPARED = 6
LISTED = 40


@require_safe
@fit_page
def compare(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show fits of the study beside this one: correlations, scatters, maps on one scale, and the largest changes."""
    numbers = {
        int(each) for each in request.GET.getlist("with") if each.isascii() and each.isdecimal() and len(each) < 9
    }
    fits = FitRun.objects.filter(study=study).exclude(pk=run.pk).defer("findings", "log", "rows")
    chosen = list(
        fits.filter(number__in=sorted(numbers)[:MOST_COMPARED]).defer(None).defer("findings", "log").order_by("number")
    )
    done = [each for each in chosen if each.status == FitRun.Status.DONE and len(each.rows) == len(run.rows)]
    ground = lay_ground(study, run.version, read_findings(run, "layout").layout)
    there = fits.exclude(status__in=GONE)
    context = {
        "choices": [(each, title_of(each), each.number in numbers) for each in there.order_by("-number")[:LISTED]],
        "waiting": [(each, title_of(each), round(100 * each.progress)) for each in chosen if not each.over],
        "gone": [(each, title_of(each)) for each in chosen if each.over and each not in done],
        "compared": _compared(ground, run, done) if done else None,
        "ground": ground,
        "variations": len(other_priors(FitSettings.from_dict(run.settings))),
        "here_again": request.get_full_path(),
    }
    return show_page(request, "results/compare.html", study, run, context)


@require_POST
@fit_page
def sensitivity(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Ask for the fit with other priors, and redirect to their comparison."""
    address = reverse("results:compare", args=[study.slug, run.number])
    try:
        made = try_other_priors(run, researcher_of(request))
    except StudyError as error:
        messages.error(request, sentence(error))
        return redirect(address)
    return redirect(f"{address}?{urlencode([('with', each.number) for each in made])}")


def _compared(ground: Ground, base: FitRun, others: Sequence[FitRun]) -> Compared:
    here = Side(title_of(base), base.rows, _("this fit"))
    return compare_maps(
        ground, here, [Side(title_of(each), each.rows, _("the other"), _answers(base, each)) for each in others]
    )


def _answers(base: FitRun, other: FitRun) -> str:
    """Say whether two fits use the same answers."""
    if base.data_sha256 and base.data_sha256 == other.data_sha256:
        return _("Both fits use the same answers.")
    counts = [run.record.data.used for run in (base, other)]
    here, there = counts
    return _("The fits use different answers: %(here)s comparisons here, %(there)s there.") % {
        "here": f"{here:,}",
        "there": f"{there:,}",
    }


MANY, FEW = 18, 6
"""How many judges' maps a page shows; fewer if a map has many areas."""


@require_safe
@fit_page
def judge_maps(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the judges' maps, those farthest from the population's first."""
    findings = read_findings(run, "judges", "parameters", "layout")
    ground = lay_ground(study, run.version, findings.layout)
    here = reverse("results:judge_maps", args=[study.slug, run.number])
    fitted = {each.judge: each for each in findings.judges}
    there = FitView.objects.filter(fit=run)
    judges = sorted(there.exclude(judge="").values_list("judge", flat=True), key=lambda name: _order(fitted, name))
    chosen = request.GET.get("judge", "")
    if chosen and chosen not in judges:
        raise Http404
    context = {
        "judges": judges,
        "chosen": chosen,
        "ground": ground,
        "how_far": how_far(findings),
        "fitted": fitted.get(chosen),
        "whose": run.record.view.words,
    }
    if chosen:
        context["whose"] = _("%(words)s Beside it is the view of judge %(chosen)s alone.") % {
            "words": run.record.view.words,
            "chosen": chosen,
        }
        context["compared"] = _beside(ground, run, there.get(judge=chosen), here)
    elif there.exists():
        shown = Paginator(judges, FEW if ground.crowded else MANY).get_page(request.GET.get("page"))
        kept = {each.judge: each for each in there.filter(judge__in=["", *shown.object_list])}
        sides = [
            Side(_("The population of judges"), run.rows, ""),
            Side(_("These judges, each with equal weight"), kept[""].rows, ""),
        ]
        sides += [_side(kept[name], fitted.get(name), f"{here}?judge={name}") for name in shown.object_list]
        whose = _("%(words)s Beside it are those of the panel and of each judge.") % {"words": run.record.view.words}
        context |= {"shown": shown, "maps": draw_maps(sides), "whose": whose}
    return show_page(request, "results/judge_maps.html", study, run, context)


def how_far(findings: Findings) -> str:
    """Say how far judges differ, in a sentence; empty if it is not known."""
    ratio = next((each for each in findings.parameters if each.symbol == "σ/α"), None)
    if ratio is None:
        return ""
    return _(
        "Judges’ views differ from the population’s by %(median)s of how far areas differ (σ/α; "
        "95 %% interval %(low)s to %(high)s)."
    ) % {"median": f"{ratio.median:.2f}", "low": f"{ratio.low:.2f}", "high": f"{ratio.high:.2f}"}


def _order(fitted: dict[str, JudgeFinding], name: str) -> tuple[float, str]:
    distance = fitted[name].distance if name in fitted else None
    return -(distance or 0.0), name


def _side(kept: FitView, fitted: JudgeFinding | None, address: str) -> Side:
    beside = ""
    if fitted is not None and fitted.distance is not None:
        beside = f"distance {fitted.distance:.2f} ({fitted.distance_low:.2f} to {fitted.distance_high:.2f})"
    return Side(
        _("Judge %(name)s") % {"name": kept.judge}, kept.rows, _("this judge’s map"), beside=beside, address=address
    )


def _beside(ground: Ground, run: FitRun, kept: FitView, here: str) -> Compared:
    population = Side(_("The population of judges"), run.rows, _("the population’s map"), address=here)
    return compare_maps(ground, population, [_side(kept, None, "")])
