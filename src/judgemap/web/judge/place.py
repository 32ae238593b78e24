"""Where a judge is in a study, what is refused there, and in which language. No other module decides any of this."""

from enum import StrEnum

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from judgemap.web.judge.models import Judge
from judgemap.web.server.middleware import wished_language
from judgemap.web.studies.models import Study

SENTENCES: dict[str, tuple[int, Promise]] = {
    "no link": (404, _("We do not recognise this link. Check that you copied all of it.")),
    "withdrawn": (410, _("You have withdrawn from this study, and your answers have been deleted. Thank you.")),
    "not open": (409, _("This study is not taking answers at the moment.")),
    "no consent": (403, _("Please read the first page and agree to it before you answer.")),
    "not shown": (409, _("That pair was not shown to you, so nothing was saved. Here is the one to judge now.")),
    "answered": (409, _("You have already answered that pair, perhaps in another window. Here is the current one.")),
    "not last": (
        409,
        _("Only your last answer can be changed, and that was an earlier one. Here is the current pair."),
    ),
    "no ties": (400, _("Ties are not allowed in this study. Please choose one of the two areas.")),
    "no skips": (400, _("Pairs cannot be skipped in this study. Please choose one of the two areas.")),
    "no answer": (400, _("We did not understand that answer, so nothing was saved. Please try again.")),
    "maximum": (409, _("You have given all the answers this study takes from one person. Thank you.")),
    "too fast": (429, _("That was too fast. Please wait a few seconds.")),
    "too many": (429, _("Too many people are trying at once. Please wait a minute and try again.")),
    "full": (409, _("This group is full. Thank you for offering to help.")),
    "no code": (404, _("We do not recognise this code. Check that you copied all of it.")),
}


class Refused(Exception):  # noqa: N818 - not an error
    """An act that the study does not allow, named by a key of `SENTENCES`."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why
        self.status, self.sentence = SENTENCES[why]


class Place(StrEnum):
    """Where a judge can be."""

    WITHDRAWN = "withdrawn"
    NOT_OPEN = "not open"
    CONSENT = "consent"
    PLACES = "places"
    PAIR = "pair"
    PAUSE = "pause"
    END = "end"


BEFORE_PAIRS = {Place.WITHDRAWN: "withdrawn", Place.NOT_OPEN: "not open", Place.CONSENT: "no consent"}
"""The places without any pair, and why an answer is refused there."""


def place_of(judge: Judge) -> Place:
    """Say where a judge is whom `answering.find_judge` found. At `Place.PAIR` there may still be no pair left."""
    if judge.withdrawn_at is not None:
        return Place.WITHDRAWN
    if judge.study.status != Study.Status.OPEN and not judge.is_preview:
        return Place.NOT_OPEN
    if not judge.consented:
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
    offered = judge.study.version.offered
    return judge.language if judge.language in offered else wished_language(accepted, offered)
