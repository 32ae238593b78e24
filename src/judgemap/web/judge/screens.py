"""Where a judge is in a study, and what the pair's page shows. Only the server decides this."""

import json
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext as _

from judgemap.geo.drawing.outlines import svg_path
from judgemap.web.judge.actions import has_consented
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.studies.models import Area, Study

VIEW = 0.25
"""How much of the surroundings is in view at first, on each side, as a multiple of the area's width."""
LETTER = 0.6
"""The mean width of a letter, as a multiple of the font size."""
CORNER = (0.22, 0.38)
"""The share of a view's width and height that the small map covers, or that a phone cuts off above."""


class Place(StrEnum):
    """Where a judge can be."""

    WITHDRAWN = "withdrawn"
    NOT_OPEN = "not open"
    CONSENT = "consent"
    PLACES = "places"
    PAIR = "pair"
    PAUSE = "pause"
    END = "end"


def place_of(judge: Judge) -> Place:
    """Say where the judge is. At `Place.PAIR`, the judge may still know too few areas for another pair."""
    if judge.withdrawn_at is not None:
        return Place.WITHDRAWN
    if judge.study.status != Study.Status.OPEN:
        return Place.NOT_OPEN
    if not has_consented(judge):
        return Place.CONSENT
    return Place.PLACES if judge.study.asks_places and not judge.places else _place_among_pairs(judge)


def _place_among_pairs(judge: Judge) -> Place:
    version = judge.study.version
    if judge.practice_left > 0:
        return Place.PAIR
    if judge.judged >= version.maximum:
        return Place.END
    return Place.PAUSE if judge.judged >= version.recommended and not judge.went_on else Place.PAIR


def language_of(judge: Judge, accepted: str) -> str:
    """Return the language that the judge chose, or the first that the browser asks for and the study offers."""
    languages = judge.study.version.offered
    if judge.language in languages:
        return judge.language
    for wish in accepted.lower().split(","):
        code = wish.split(";")[0].strip().split("-")[0]
        if code in languages:
            return code
    return languages[0]


@dataclass(frozen=True, slots=True)
class Side:
    """One side of a page without scripts: its name, and its map as SVG."""

    side: str
    name: str
    area: int
    own: str
    others: list[str]
    labels: list[tuple[int, int, str]]
    view: str
    font: float
    where: tuple[int, int, int]
    neighbours: str
    ground: str = ""
    """The address of a picture of streets and places, for a page without scripts; empty without a base map."""


def side_of(side: str, area: Area, ground: str = "") -> Side:
    """Draw one side from the area's scene, over the picture at the address ``ground``."""
    if not area.scene:
        return Side(side, area.name, area.position, "", [], [], "", 0, (0, 0, 0), "")
    scene: dict[str, Any] = json.loads(area.scene)
    named = [other for other in scene["others"] if "name" in other]
    west, north, east, south = scene["where"]
    spot = ((west + east) // 2, (north + south) // 2, max(east - west, south - north, 40) // 2)
    view = view_of(scene["own"])
    font = round(view[2] / 30, 1)
    return Side(
        side=side,
        name=area.name,
        area=area.position,
        own=svg_path(scene["own"]),
        others=[svg_path(other["rings"]) for other in scene["others"]],
        labels=[(*other["at"], other["name"]) for other in named if has_room(other["name"], other["at"], view, font)],
        view=" ".join(str(each) for each in view),
        font=font,
        where=spot,
        neighbours=", ".join(scene.get("near") or (other["name"] for other in named)),
        ground=ground,
    )


def has_room(name: str, at: tuple[int, int], view: tuple[int, int, int, int], font: float) -> bool:
    """Say whether a name is fully in view on a page without scripts, and not under the small map in the corner.

    >>> [has_room("Arnold", at, (0, 0, 1000, 1000), 33.3) for at in ((500, 400), (30, 600), (100, 200))]
    [True, False, False]
    """
    left, top, width, height = view
    half = LETTER * font * len(name) / 2
    start, end = at[0] - half - left, at[0] + half - left
    under = start < CORNER[0] * width and at[1] - top < CORNER[1] * height
    return start >= 0 and end <= width and not under


def view_of(rings: list[list[int]]) -> tuple[int, int, int, int]:
    """Return the part of a scene that a page without scripts shows: left, top, width and height in its units."""
    xs = [x for ring in rings for x in ring[::2]]
    ys = [y for ring in rings for y in ring[1::2]]
    size = round(max(max(xs) - min(xs), max(ys) - min(ys)) * (1 + 2 * VIEW))
    return (min(xs) + max(xs) - size) // 2, (min(ys) + max(ys) - size) // 2, size, size


def counter(judge: Judge, pair: Pair) -> str:
    """Say how far the judge is: «23 of about 50»."""
    version = judge.study.version
    if pair.practice:
        number = version.practice - judge.practice_left + 1
        return _("Practice %(number)d of %(total)d") % {"number": number, "total": version.practice}
    number = judge.judged + 1
    if number > version.recommended:
        return _("%(number)s of at most %(total)s") % {"number": intcomma(number), "total": intcomma(version.maximum)}
    return _("%(number)s of about %(total)s") % {"number": intcomma(number), "total": intcomma(version.recommended)}


def pair_json(judge: Judge, pair: Pair, before: Answer | None = None) -> str:
    """Write a pair for the page's script. Scenes are stored as JSON, and go in as they are."""
    facts = {
        "place": "pair",
        "pair": pair.token,
        "follows": before.revision if before else 0,
        "practice": pair.practice,
        "counter": _("Changing your last answer") if before else counter(judge, pair),
        "progress": progress(judge),
        "undo": bool(before is None and pair.position > 1),
        "said": said_before(pair, before) if before else "",
        "before": outcome_of(before) if before else "",
        "left": pair.left.name,
        "right": pair.right.name,
    }
    text = json.dumps(facts, ensure_ascii=False)
    return f'{text[:-1]},"scenes":[{pair.left.scene or "null"},{pair.right.scene or "null"}]}}'


def outcome_of(answer: Answer) -> str:
    """Return an answer in the form's format."""
    return f"unknown-{answer.unknown_side}" if answer.outcome == "unknown" else answer.outcome


def said_before(pair: Pair, answer: Answer) -> str:
    """Say what the judge answered, when they are about to change it."""
    names = {"left": pair.left.name, "right": pair.right.name}
    if answer.outcome in names:
        return _("You chose %(name)s.") % {"name": names[answer.outcome]}
    if answer.outcome == "unknown":
        return _("You said that you do not know %(name)s.") % {"name": names[answer.unknown_side]}
    others = {"tie": _("You said: about the same."), "skipped": _("You skipped this pair.")}
    return others.get(answer.outcome, "")  # a preview stores no answers


def progress(judge: Judge) -> int:
    """Return how far the judge is, in per cent of the recommended number."""
    return min(100, 100 * judge.judged // judge.study.version.recommended)
