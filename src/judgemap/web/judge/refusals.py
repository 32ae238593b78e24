"""What a judge can be refused, and the friendly sentence that explains it. Nothing is stored."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

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
    "too fast": (429, _("That was faster than anyone can judge. Please wait a few seconds, then carry on.")),
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
