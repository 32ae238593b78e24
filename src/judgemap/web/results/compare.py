"""Fits of a study beside each other: how alike their risks are, and where they differ. Drawn as plain SVG."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from urllib.parse import urlencode

import numpy as np
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from judgemap.core.reliability import likeness
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError
from judgemap.report.colours import RISK
from judgemap.report.text import number, signed
from judgemap.report.ticks import round_step
from judgemap.study.settings import FitSettings
from judgemap.web.results.actions import GONE, other_priors, try_other_priors
from judgemap.web.results.layers import by_risk, interval
from judgemap.web.results.models import FitRun
from judgemap.web.results.pages import fit_page, read_findings, show_page, title_of
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of
from judgemap.web.studies.maps import Ground, Point, lay_ground
from judgemap.web.studies.models import Study

MOST_COMPARED = 6
LISTED = 40
MOVERS = 10
SIDE = 300.0
"""Of a scatter, in its own units."""
CHANGE = ("#542788", "#998ec3", "#d8daeb", "#f2f2f2", "#fee0b6", "#f1a340", "#b35806")
"""From much lower to much higher (Brewer, 2003). Both ends print dark, so signs stand on them as well."""
CHANGE_STEPS = (1.0, 2.0, 4.0, 6.0, 10.0)
"""Between the limits of a change: half of each is a short number too."""


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
        "compared": compare_fits(ground, run, done) if done else None,
        "ground": ground,
        "variations": len(other_priors(FitSettings.from_dict(run.settings))),
        "here_again": request.get_full_path(),
    }
    return show_page(request, "results/compare.html", study, run, context)


@require_POST
@fit_page
def sensitivity(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Ask for the fit under other priors, and redirect to where they are compared."""
    address = reverse("results:compare", args=[study.slug, run.number])
    try:
        made = try_other_priors(run, researcher_of(request))
    except StudyError as error:
        messages.error(request, sentence(error))
        return redirect(address)
    return redirect(f"{address}?{urlencode([('with', each.number) for each in made])}")


@dataclass(frozen=True, slots=True)
class ClassMap:
    """A map in classes: the positions of the areas of each colour, and signs to set on some."""

    title: str
    fills: list[tuple[str, list[int]]]
    signs: list[tuple[float, float, str]]
    says: str


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points of two fits' risks: x, y and the name of each, and the ticks of both axes: x, y and the number."""

    points: list[tuple[float, float, str]]
    ticks: list[tuple[float, float, str]]
    says: str


@dataclass(frozen=True, slots=True)
class Mover:
    """An area whose risk differs most between two fits."""

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
    """How alike two fits' posterior medians are."""

    first: str
    second: str
    pearson: str
    spearman: str


@dataclass(frozen=True, slots=True)
class Against:
    """Another fit compared with the base."""

    run: FitRun
    title: str
    likeness: Likeness
    same_top: int
    top: int
    scatter: Scatter
    change: ClassMap
    change_ramp: list[tuple[str, str]]
    change_last: str
    movers: list[Mover]
    answers: str


@dataclass(frozen=True, slots=True)
class Compared:
    """The base and other fits: their maps on one scale, every two fits' likeness, each other fit against the base."""

    maps: list[ClassMap]
    ramp: list[tuple[str, str]]
    last_tick: str
    likeness: list[Likeness]
    others: list[Against]


def compare_fits(ground: Ground, base: FitRun, others: Sequence[FitRun]) -> Compared:
    """Compare fits of the same areas."""
    runs = [base, *others]
    risks = [medians(run) for run in runs]
    limits = RISK.limits_for(np.concatenate(risks))
    colours = RISK.colours(len(limits) - 1)
    return Compared(
        maps=[_risk_map(run, risk, limits, colours) for run, risk in zip(runs, risks, strict=True)],
        ramp=list(zip(colours, [number(limit) for limit in limits[:-1].tolist()], strict=True)),
        last_tick=number(float(limits[-1])),
        likeness=[_likeness(a, b) for a, b in combinations(runs, 2)],
        others=[_against(ground, base, run) for run in others],
    )


def medians(run: FitRun) -> FloatArray:
    """Return the posterior medians of risk of a fit."""
    return np.array([row["risk_median"] for row in run.rows], dtype=np.float64)


def change_limits(largest: float) -> FloatArray:
    """Return eight round limits, alike on both sides of 0, that hold every change; the middle class is about none.

    >>> change_limits(0.6).tolist()
    [-0.7, -0.5, -0.3, -0.1, 0.1, 0.3, 0.5, 0.7]
    """
    step = round_step(max(largest, 0.035) / 3.5, CHANGE_STEPS)
    limits: FloatArray = np.round(step * (np.arange(8) - 3.5), 9)
    return limits


def draw_scatter(base: FloatArray, other: FloatArray, names: Sequence[str]) -> Scatter:
    """Draw other risks against the base's, on the same scale both ways."""
    limits = RISK.limits_for(np.concatenate([base, other]))
    least, span = float(limits[0]), float(limits[-1] - limits[0])
    x = np.round(SIDE * (base - least) / span, 1).tolist()
    y = np.round(SIDE - SIDE * (other - least) / span, 1).tolist()
    steps = [(round(SIDE * (limit - least) / span, 1), number(limit)) for limit in limits.tolist()]
    ticks = [(at, SIDE - at, text) for at, text in steps]
    says = f"Scatter of the risk of {len(names)} areas in two fits; points on the line have the same risk in both."
    return Scatter(list(zip(x, y, names, strict=True)), ticks, says)


def _risk_map(run: FitRun, risk: FloatArray, limits: FloatArray, colours: Sequence[str]) -> ClassMap:
    classes = np.clip(np.searchsorted(limits, risk, side="right") - 1, 0, len(limits) - 2)
    highest = ", ".join(run.rows[position]["name"] for position in by_risk(run.rows)[:3])
    says = f"Map of estimated risk. {title_of(run)}. Highest: {highest}."
    return ClassMap(title_of(run), _groups(classes.tolist(), colours), [], says)


def _groups(classes: Sequence[int], colours: Sequence[str]) -> list[tuple[str, list[int]]]:
    return [
        (colour, [position for position, each in enumerate(classes) if each == place])
        for place, colour in enumerate(colours)
        if place in classes
    ]


def _likeness(a: FitRun, b: FitRun) -> Likeness:
    alike = likeness(medians(a), medians(b))
    return Likeness(title_of(a), title_of(b), _correlation(alike.pearson), _correlation(alike.spearman))


def _correlation(value: float) -> str:
    return signed(value, 3) if np.isfinite(value) else "none"


def _against(ground: Ground, base: FitRun, other: FitRun) -> Against:
    first, second = medians(base), medians(other)
    cuts = change_limits(float(np.abs(second - first).max()))
    alike = likeness(first, second)
    orders = by_risk(base.rows), by_risk(other.rows)
    return Against(
        run=other,
        title=title_of(other),
        likeness=_likeness(base, other),
        same_top=alike.same_top,
        top=alike.top,
        scatter=draw_scatter(first, second, [row["name"] for row in base.rows]),
        change=_change_map(ground, base, second - first, cuts),
        change_ramp=list(zip(CHANGE, [number(cut) for cut in cuts[:-1].tolist()], strict=True)),
        change_last=number(float(cuts[-1])),
        movers=_movers(base, other, orders),
        answers=_answers(base, other),
    )


def _change_map(ground: Ground, base: FitRun, change: FloatArray, cuts: FloatArray) -> ClassMap:
    classes = np.clip(np.searchsorted(cuts, change, side="right") - 1, 0, len(CHANGE) - 1).tolist()
    signs: list[tuple[float, float, str]] = []
    for position, each in enumerate(classes):
        if each in (0, 1, 5, 6):
            at: Point = ground.places[position].x, ground.places[position].y
            signs.append((*at, "+" if each > 3 else "−"))
    still = sum(each == 3 for each in classes)
    up, down = (base.rows[int(place)]["name"] for place in (change.argmax(), change.argmin()))
    says = (
        f"Map of the change of risk. It rises most in {up} ({signed(float(change.max()))}) and falls most in {down} "
        f"({signed(float(change.min()))}); {still} of {len(classes)} areas hardly change."
    )
    return ClassMap("Change of risk", _groups(classes, CHANGE), signs, says)


def _movers(base: FitRun, other: FitRun, orders: tuple[list[int], list[int]]) -> list[Mover]:
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


def _answers(base: FitRun, other: FitRun) -> str:
    """Say whether two fits were made of the same answers."""
    if base.data_sha256 and base.data_sha256 == other.data_sha256:
        return "Both fits use the same answers."
    counts = [run.record.data.comparisons for run in (base, other)]
    return f"The fits use different answers: {counts[0]:,} comparisons here, {counts[1]:,} there."
