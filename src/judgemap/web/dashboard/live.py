"""A study at this moment: the page that keeps itself up to date, and how often each area was seen."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.views.decorators.http import require_safe

from judgemap.core.types import BoolArray, FloatArray, IntArray
from judgemap.study.comparisons import Outcome
from judgemap.web.dashboard.charts import Chart, bar_chart
from judgemap.web.dashboard.counting import Counted, count
from judgemap.web.dashboard.maps import LAYERS, AreaMap, area_map
from judgemap.web.studies.access import study_page
from judgemap.web.studies.areas import area_names
from judgemap.web.studies.maps import load_places
from judgemap.web.studies.models import Study

ACTIVE = timedelta(minutes=10)
HOUR = 3600
"""In seconds."""
STEPS = ((72, 1, "hour"), (120 * 24, 24, "day"), (10**9, 7 * 24, "week"))
"""Up to how many hours, bars of how many hours."""
MONDAY = 4 * 24
"""Hours from 1 January 1970, a Thursday, to the first Monday."""


@require_safe
@study_page
def live(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study at this moment; with a script it keeps itself up to date."""
    context = {
        "study": study,
        "live": _look(request, study),
        "shapes": load_places(study) if study.outline else [],
        "layers": LAYERS,
    }
    return render(request, "dashboard/live.html", context | {"here": "dashboard", "page": "live"})


@require_safe
@study_page
def now(request: HttpRequest, study: Study) -> HttpResponse:
    """Hand out the part of the live page that changes; nothing where it has not."""
    seen = _look(request, study)
    if request.GET.get("seen") == seen.digest:
        return HttpResponse(status=204)
    return render(request, "dashboard/now.html", {"study": study, "live": seen, "layers": LAYERS})


@require_safe
@study_page
def areas(request: HttpRequest, study: Study) -> HttpResponse:
    """List how often each area was shown, judged and not known."""
    names = area_names(study)
    counts = area_counts(count(study), len(names))
    rows = zip(names, *(counts[each].tolist() for each in ("shown", "judged", "unknown")), strict=True)
    context = {"study": study, "rows": sorted(rows, key=lambda row: (row[1], row[0]))}
    return render(request, "dashboard/areas.html", context | {"here": "dashboard", "page": "live"})


@dataclass(frozen=True, slots=True)
class JudgeNumbers:
    """Judges by how far they are; those who withdrew are not counted elsewhere."""

    invited: int
    begun: int
    active: int
    recommended: int
    maximum: int
    withdrawn: int


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Answers by what was said."""

    left: int
    right: int
    tie: int
    skipped: int
    unknown: int

    @property
    def judged(self) -> int:
        """Pairs that were judged: by somebody who knows both areas."""
        return self.left + self.right + self.tie + self.skipped

    @property
    def answered(self) -> int:
        """Pairs with any answer."""
        return self.judged + self.unknown

    @property
    def decided(self) -> int:
        """Pairs with a winner."""
        return self.left + self.right

    @property
    def tie_share(self) -> float:
        """Ties among the pairs judged."""
        return self.tie / max(self.judged, 1)

    @property
    def skip_share(self) -> float:
        """Skips among the pairs judged."""
        return self.skipped / max(self.judged, 1)

    @property
    def unknown_share(self) -> float:
        """Answers "I don't know this area" among all answers."""
        return self.unknown / max(self.answered, 1)


@dataclass(frozen=True, slots=True)
class Live:
    """The numbers of the live page, its charts and its map."""

    judges: JudgeNumbers
    outcomes: Outcomes
    wanted: int
    """Pairs that all judges with a link would judge, each up to the recommended number."""
    left: int
    """Pairs left to that."""
    median_seconds: float | None
    last_answer: datetime | None
    over_time: Chart
    drop_out: Chart
    layer: str
    map: AreaMap
    notes: list[str]

    @property
    def done(self) -> int:
        """Pairs judged of those wanted; what was judged beyond the recommended number is not among them."""
        return self.wanted - self.left

    @property
    def digest(self) -> str:
        """The same digest, the same page."""
        return hashlib.sha256(repr(self).encode()).hexdigest()[:16]


def look(study: Study, counted: Counted, names: Sequence[str], layer: str, now: datetime) -> Live:
    """Work out what the live page shows; ``names`` are the areas', ``layer`` one of `LAYERS`."""
    outcomes = count_outcomes(counted)
    here = [judge for judge in counted.judges if not judge.withdrawn]
    recommended = study.version.recommended
    data, answered = counted.data, counted.answered
    seconds = data.seconds[answered]
    return Live(
        judges=_judge_numbers(study, counted, now),
        outcomes=outcomes,
        wanted=recommended * len(here),
        left=sum(max(recommended - judge.judged, 0) for judge in here),
        median_seconds=float(np.median(seconds)) if len(seconds) else None,
        last_answer=_moment(float(np.nanmax(data.answered_at))) if outcomes.answered else None,
        over_time=answers_over_time(data.answered_at[answered]),
        drop_out=drop_out(counted.place[answered]),
        layer=layer,
        map=area_map(names, area_counts(counted, len(names))[layer], LAYERS[layer]),
        notes=notes(study, counted, names, outcomes),
    )


def count_outcomes(counted: Counted) -> Outcomes:
    """Count answers by what was last said."""
    return Outcomes(*(counted.data.count(each) for each in Outcome if each != Outcome.OPEN))


def area_counts(counted: Counted, n_areas: int) -> dict[str, IntArray]:
    """Count for each area how often it was shown, judged, and not known to the judge who was shown it."""
    data, judged, shown = counted.data, counted.judged, np.ones(len(counted.data), dtype=np.bool_)

    def tally(left: BoolArray, right: BoolArray) -> IntArray:
        areas = np.concatenate([data.left[left], data.right[right]])
        return np.bincount(areas, minlength=n_areas)

    return {
        "judged": tally(judged, judged),
        "shown": tally(shown, shown),
        "unknown": tally(counted.unknown("left"), counted.unknown("right")),
    }


def answers_over_time(answered: FloatArray) -> Chart:
    """Count answers by hour, day or week, whichever suits the time from the first to the last."""
    title, nothing = "Answers over time", "No answers yet."
    if len(answered) == 0:
        return bar_chart(title, nothing, [], [])
    hours = (answered // HOUR).astype(np.int64)
    span = int(hours.max() - hours.min()) + 1
    width, word = next((width, word) for most, width, word in STEPS if span <= most)
    place = (hours - MONDAY) // width
    first = int(place.min())
    counts = np.bincount(place - first)
    starts = [_moment((first + i) * width * HOUR + MONDAY * HOUR) for i in range(len(counts))]
    format_ = "j M, H:i" if word == "hour" else "j M Y"
    labels = [date_format(start, format_) for start in starts]
    best = int(counts.argmax())
    alt = (
        f"{len(answered):,} answers from {date_format(_moment(float(answered.min())), 'j M Y, H:i')} to "
        f"{date_format(_moment(float(answered.max())), 'j M Y, H:i')} UTC, most in the {word} of {labels[best]}: "
        f"{int(counts[best]):,}."
    )
    return bar_chart(f"Answers by the {word}", alt, counts.tolist(), labels, ("When (UTC)", "Answers"))


def drop_out(position: IntArray) -> Chart:
    """Count how many judges answered their first pair, their second, and so on."""
    title = "How far judges get"
    if len(position) == 0:
        return bar_chart(title, "No answers yet.", [], [])
    reached = np.bincount(position)[1:]
    group = -(-len(reached) // 100)
    shown = reached[::group]
    labels = [f"pair {1 + i * group:,}" for i in range(len(shown))]
    half = int(np.flatnonzero(reached * 2 >= reached[0])[-1]) + 1
    alt = (
        f"Of the {int(reached[0]):,} who answered a first pair, at least half reached pair {half:,}, and "
        f"{int(reached[-1]):,} reached pair {len(reached):,}."
    )
    return bar_chart(title, alt, shown.tolist(), labels, ("Pair", "Judges who answered it"))


def notes(study: Study, counted: Counted, names: Sequence[str], outcomes: Outcomes) -> list[str]:
    """Say, a sentence each, what is missing for a good map, and what to do."""
    if study.status == Study.Status.DRAFT:
        return ["The study is a draft, so nobody can answer yet: open it on the overview."]
    if not counted.judges:
        return ["Nobody has been invited yet: make links for judges on the Invite page."]
    if outcomes.answered == 0:
        return ["Nobody has answered yet: send the judges their links, or remind them."]
    if outcomes.decided == 0:
        return ["No pair has a winner yet (all are ties, skipped or unknown): a fit needs answers with a winner."]
    sentences = []
    if sum(judge.judged > 0 for judge in counted.judges) == 1:
        sentences.append("All answers come from one judge, so agreement cannot be checked: invite a second judge.")
    counts = counted.data.counts().decided()
    linked = counts.per_area() > 0
    parts, compared = len(np.unique(counts.components()[linked])), int(linked.sum())
    alone = len(names) - compared
    if alone and compared < len(names) / 2:
        sentences.append(
            f"Only {compared} of {len(names)} areas have been in a pair with a winner so far: ask for more answers."
        )
    elif alone:
        sentences.append(
            f"{alone} of {len(names)} areas have not been in a pair with a winner yet: ask for more answers."
        )
    if parts > 1:
        sentences.append(
            f"The areas compared fall into {parts} groups that no answer links, so how one group compares with another "
            "depends only on which areas are neighbours: ask for more answers."
        )
    return sentences


def last_answers(counted: Counted) -> FloatArray:
    """Return when each judge last answered, in seconds since 1970; −1 for never."""
    last = np.full(len(counted.judges), -1.0)
    np.fmax.at(last, counted.data.judge, counted.data.answered_at)
    return last


def _judge_numbers(study: Study, counted: Counted, now: datetime) -> JudgeNumbers:
    here = [judge for judge in counted.judges if not judge.withdrawn]
    since = (now - ACTIVE).timestamp()
    return JudgeNumbers(
        invited=len(here),
        begun=sum(judge.judged > 0 for judge in here),
        active=int((last_answers(counted) >= since).sum()),
        recommended=sum(judge.judged >= study.version.recommended for judge in here),
        maximum=sum(judge.judged >= study.version.maximum for judge in here),
        withdrawn=len(counted.judges) - len(here),
    )


def _moment(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


def _look(request: HttpRequest, study: Study) -> Live:
    layer = request.GET.get("map", "")
    return look(study, count(study), area_names(study), layer if layer in LAYERS else "judged", timezone.now())
