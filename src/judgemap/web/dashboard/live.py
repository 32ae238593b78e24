"""A study right now: the page that updates itself, and how often each area was seen."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy

from judgemap.core.types import IntArray
from judgemap.web.dashboard.charts import Chart, bar_chart
from judgemap.web.dashboard.counting import HOUR, Numbers, Outcomes, numbers_of
from judgemap.web.judge.places import gazetteer
from judgemap.web.studies.access import study_page
from judgemap.web.studies.maps import has_tiles, load_places, picture_response, stored_rings
from judgemap.web.studies.maps import picture as whole_picture
from judgemap.web.studies.models import Study

if TYPE_CHECKING:
    from django_stubs_ext import StrPromise

ACTIVE = timedelta(minutes=10)
MOST_LISTED = 1_000
"""How many areas of a large map the table lists: those shown least."""
STEPS = ((72, 1, "hour"), (120 * 24, 24, "day"), (10**9, 7 * 24, "week"))
"""For a span up to this many hours, bars of this many hours, and their name."""
MONDAY = 4 * 24
"""Hours from 1 January 1970, a Thursday, to the first Monday."""
CLASSES = 5
SHADES = ("url(#never)", "#e2edf7", "#b0cfe8", "#6fa6d0", "#2f76b0", "#0b3c6f")
"""The colours of the classes in the picture of a large map, as the stylesheet has them."""
NEVER = (
    '<defs><pattern id="never" width="14" height="14" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect width="14" height="14" fill="#fff"/><rect width="4" height="14" fill="#b9c2ca"/></pattern></defs>'
)
NAMED = 4
"""How many areas at either end of the order are named in words."""


class Layer(NamedTuple):
    """Something counted for each area: what it is called, what is said if it never happened, and how often it did."""

    words: "StrPromise"
    nothing: "StrPromise"
    says: "StrPromise"
    few_matter: bool = True
    """Whether low counts matter, and not high ones."""


LAYERS = {
    "judged": Layer(
        _lazy("compared"),
        _lazy("No area was compared yet."),
        _lazy("Areas were compared %(range)s times, half of them %(middle)s times or fewer. The fewest: %(listed)s."),
    ),
    "shown": Layer(
        _lazy("shown"),
        _lazy("No area was shown yet."),
        _lazy("Areas were shown %(range)s times, half of them %(middle)s times or fewer. The fewest: %(listed)s."),
    ),
    "unknown": Layer(
        _lazy("not known to a judge"),
        _lazy("No area was unknown to a judge yet."),
        _lazy("%(there)s of %(areas)s areas were not known to a judge. The most often: %(listed)s."),
        few_matter=False,
    ),
}
"""What the map can count."""


@study_page
def live(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study at this moment; with scripts, the page keeps itself up to date."""
    context = {
        "study": study,
        "live": _look(request, study),
        "shapes": load_places(study) if study.outline and not has_tiles(study) else [],
        "layers": LAYERS,
        "large": has_tiles(study),
    }
    return render(request, "dashboard/live.html", context | {"here": "dashboard", "page": "live"})


@study_page
def now(request: HttpRequest, study: Study) -> HttpResponse:
    """Return the part of the live page that changes, or nothing if it has not changed."""
    seen = _look(request, study)
    if request.GET.get("seen") == seen.digest:
        return HttpResponse(status=204)
    context = {"study": study, "live": seen, "layers": LAYERS, "large": has_tiles(study)}
    return render(request, "dashboard/now.html", context)


@study_page
def picture(request: HttpRequest, study: Study) -> HttpResponse:
    """Draw how often each area was seen; pages show it of large maps."""
    rings = stored_rings(study.pk) if has_tiles(study) else [place.path for place in load_places(study)]
    counts = getattr(numbers_of(study, len(rings)), _layer(request))
    return picture_response(whole_picture(rings, classes_of(counts).tolist(), SHADES, NEVER))


@study_page
def areas(request: HttpRequest, study: Study) -> HttpResponse:
    """List how often each area was shown, judged, and unknown to a judge."""
    names = gazetteer(study.pk).names
    numbers = numbers_of(study, len(names))
    rows = zip(names, numbers.shown.tolist(), numbers.judged.tolist(), numbers.unknown.tolist(), strict=True)
    listed = sorted(rows, key=lambda row: (row[1], row[0]))
    context = {"study": study, "rows": listed[:MOST_LISTED], "more": max(0, len(listed) - MOST_LISTED)}
    return render(request, "dashboard/areas.html", context | {"here": "dashboard", "page": "live"})


class JudgeNumbers(NamedTuple):
    """Judges by how far they have got; those who withdrew are counted only as withdrawn."""

    invited: int
    begun: int
    active: int
    recommended: int
    maximum: int
    withdrawn: int


class AreaMap(NamedTuple):
    """All areas with their counts and classes, and the legend: class, words, and how many areas."""

    areas: list[tuple[str, int, int]]
    legend: list[tuple[int, str, int]]
    none: str
    """How areas are drawn that have none."""
    alt: str


@dataclass(frozen=True, slots=True)
class Live:
    """The numbers of the live page, its charts and its map."""

    judges: JudgeNumbers
    outcomes: Outcomes
    wanted: int
    """Pairs that all judges with a link would judge, each up to the recommended number."""
    left: int
    """How many of those are still to be judged."""
    median_seconds: float | None
    last_answer: datetime | None
    over_time: Chart
    drop_out: Chart
    layer: str
    map: AreaMap
    notes: list[str]

    @property
    def done(self) -> int:
        """How many of the pairs wanted were judged; those beyond the recommended number do not count."""
        return self.wanted - self.left

    @property
    def digest(self) -> str:
        """A digest of what the page shows: if it is the same, so is the page."""
        counts = [count for _, count, _ in self.map.areas]
        shown = repr((replace(self, map=self.map._replace(areas=[])), counts))  # names are slow, and never change
        return hashlib.sha256(shown.encode()).hexdigest()[:16]


def look(study: Study, numbers: Numbers, names: Sequence[str], layer: str, now: datetime) -> Live:
    """Work out what the live page shows; ``names`` are the areas' names, ``layer`` is one of `LAYERS`."""
    outcomes = Outcomes(*numbers.outcomes.tolist())
    here = ~numbers.judge_withdrawn
    recommended = study.version.recommended
    median, first, last = (None if np.isnan(each) else float(each) for each in numbers.times)
    return Live(
        judges=_judge_numbers(study, numbers, now),
        outcomes=outcomes,
        wanted=recommended * int(here.sum()),
        left=int(np.maximum(recommended - numbers.judge_judged[here], 0).sum()),
        median_seconds=median,
        last_answer=_moment(last) if last is not None else None,
        over_time=answers_over_time(numbers.hours, numbers.in_hour, (first or 0.0, last or 0.0)),
        drop_out=drop_out(numbers.at_position),
        layer=layer,
        map=area_map(names, getattr(numbers, layer), LAYERS[layer]),
        notes=notes(study, numbers, outcomes),
    )


def answers_over_time(hours: IntArray, counts: IntArray, ends: tuple[float, float]) -> Chart:
    """Count answers by hour, day or week, whichever suits the time from the first to the last (``ends``).

    ``hours`` are the hours (since 1970) with answers, and ``counts`` says how many each had.
    """
    title, nothing = _("Answers over time"), _("No answers yet.")
    if len(hours) == 0:
        return bar_chart(title, nothing, [], [])
    span = int(hours.max() - hours.min()) + 1
    width, word = next((width, word) for most, width, word in STEPS if span <= most)
    place = (hours - MONDAY) // width
    first = int(place.min())
    counts = np.bincount(place - first, weights=counts).astype(np.int64)
    starts = [_moment((first + i) * width * HOUR + MONDAY * HOUR) for i in range(len(counts))]
    format_ = "j M, H:i" if word == "hour" else "j M Y"
    labels = [date_format(start, format_) for start in starts]
    best = int(counts.argmax())
    earliest, latest = (date_format(_moment(each), "j M Y, H:i") for each in ends)
    answers, when, most = int(counts.sum()), labels[best], int(counts[best])
    alt = _("%(answers)s answers from %(first)s to %(last)s UTC, most in the %(word)s of %(when)s: %(most)s.") % {
        "answers": f"{answers:,}",
        "first": earliest,
        "last": latest,
        "word": word,
        "when": when,
        "most": f"{most:,}",
    }
    return bar_chart(
        _("Answers by %(word)s") % {"word": word}, alt, counts.tolist(), labels, (_("When (UTC)"), _("Answers"))
    )


def drop_out(reached: IntArray) -> Chart:
    """Show how many judges answered their first pair, their second, and so on."""
    title = _("How far judges have got")
    if len(reached) == 0:
        return bar_chart(title, _("No answers yet."), [], [])
    group = -(-len(reached) // 100)
    shown = reached[::group]
    labels = [_("pair %(number)s") % {"number": f"{1 + i * group:,}"} for i in range(len(shown))]
    half = int(np.flatnonzero(reached * 2 >= reached[0])[-1]) + 1
    alt = _(
        "Of the %(judges)s who answered a first pair, at least half reached pair %(half)s, "
        "and %(last)s reached pair %(pair)s."
    ) % {
        "judges": f"{int(reached[0]):,}",
        "half": f"{half:,}",
        "last": f"{int(reached[-1]):,}",
        "pair": f"{len(reached):,}",
    }
    return bar_chart(title, alt, shown.tolist(), labels, (_("Pair"), _("Judges who answered it")))


def notes(study: Study, numbers: Numbers, outcomes: Outcomes) -> list[str]:
    """Say what is missing for a good map and what to do about it, one sentence each."""
    if study.status == Study.Status.DRAFT:
        return [_("The study is a draft, so nobody can answer yet: open it on the Overview page.")]
    if not len(numbers.judge_judged):
        return [_("Nobody has been invited yet: make links for judges on the Invite page.")]
    if outcomes.answered == 0:
        return [_("Nobody has answered yet: send the judges their links, or remind them.")]
    if outcomes.decided == 0:
        return [_("No pair has a winner yet (all are ties, skipped or unknown): a fit needs answers with a winner.")]
    sentences = []
    if (numbers.judge_judged > 0).sum() == 1:
        sentences.append(_("All answers come from one judge, so agreement cannot be checked: invite another judge."))
    n_areas = len(numbers.judged)
    compared, parts = numbers.linked.tolist()
    alone = n_areas - compared
    if alone and compared < n_areas / 2:
        sentences.append(
            _("Only %(compared)s of %(areas)s areas have been in a pair with a winner so far: ask for more answers.")
            % {"compared": f"{compared:,}", "areas": f"{n_areas:,}"}
        )
    elif alone:
        sentences.append(
            _("%(alone)s of %(areas)s areas have not been in a pair with a winner yet: ask for more answers.")
            % {"alone": f"{alone:,}", "areas": f"{n_areas:,}"}
        )
    if parts > 1:
        sentences.append(
            _(
                "The areas compared fall into %(groups)s groups that no answer links, so comparisons between groups "
                "depend only on which areas are neighbours: ask for more answers."
            )
            % {"groups": parts}
        )
    return sentences


def _judge_numbers(study: Study, numbers: Numbers, now: datetime) -> JudgeNumbers:
    here = ~numbers.judge_withdrawn
    judged = numbers.judge_judged[here]
    return JudgeNumbers(
        invited=int(here.sum()),
        begun=int((judged > 0).sum()),
        active=int((numbers.judge_last >= (now - ACTIVE).timestamp()).sum()),
        recommended=int((judged >= study.version.recommended).sum()),
        maximum=int((judged >= study.version.maximum).sum()),
        withdrawn=int((~here).sum()),
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def _look(request: HttpRequest, study: Study) -> Live:
    names = gazetteer(study.pk).names
    return look(study, numbers_of(study, len(names)), names, _layer(request), timezone.now())


def _layer(request: HttpRequest) -> str:
    layer = request.GET.get("map", "")
    return layer if layer in LAYERS else "judged"


def classes_of(counts: IntArray) -> IntArray:
    """Put counts into at most five classes of about equal size; those that are 0 are a class of their own."""
    seen = counts[counts > 0]
    cuts = np.unique(np.quantile(seen, np.arange(1, CLASSES) / CLASSES, method="lower")) if len(seen) else seen
    return np.where(counts > 0, 1 + np.searchsorted(cuts, counts, side="left"), 0)


def area_map(names: Sequence[str], counts: IntArray, layer: Layer) -> AreaMap:
    """Return the map of how often something was counted for each area.

    >>> drawn = area_map(["A", "B", "C"], np.array([0, 2, 9]), LAYERS["shown"])
    >>> [shade for _, _, shade in drawn.areas], [words for _, words, _ in drawn.legend]
    ([0, 1, 2], ['never', '2', '9'])
    """
    shades = classes_of(counts)
    legend = []
    for shade in np.unique(shades).tolist():
        mine = counts[shades == shade]
        legend.append((shade, _range(int(mine.min()), int(mine.max())) if shade else _("never"), len(mine)))
    areas = list(zip(names, counts.tolist(), shades.tolist(), strict=True))
    return AreaMap(areas, legend, SHADES[0] if layer.few_matter else "#fff", _words(names, counts, layer))


def _range(low: int, high: int) -> str:
    if low == high:
        return f"{low:,}"
    return _("%(low)s to %(high)s") % {"low": f"{low:,}", "high": f"{high:,}"}


def _words(names: Sequence[str], counts: IntArray, layer: Layer) -> str:
    """Say what the map shows."""
    if not counts.any():
        return str(layer.nothing)
    order = np.argsort(counts if layer.few_matter else -counts, kind="stable")[:NAMED].tolist()
    return layer.says % {
        "range": _range(int(counts.min()), int(counts.max())),
        "middle": f"{int(np.median(counts)):,}",
        "there": f"{int((counts > 0).sum()):,}",
        "areas": f"{len(counts):,}",
        "listed": ", ".join(f"{names[at]} ({counts[at]:,})" for at in order if layer.few_matter or counts[at]),
    }
