"""Which language a page is in: the one that a browser prefers, of those that the page is translated into.

Judges' pages choose it by the study (`judgemap.web.judge.pages`). A half-translated page helps nobody, and a screen
reader would read English words as French: so researchers are offered only the languages of `RESEARCHERS_LANGUAGES`.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header

OF_JUDGES = ("/j/", "/s/", "/withdraw", "/api/")
"""Pages that choose their own language, or have none."""


def wished_language(accepted: str, offered: list[str]) -> str:
    """Return the language that a browser prefers among those offered, or else the first of these.

    >>> wished_language("de-CH, ar;q=0.8", ["en", "fr", "ar"])
    'ar'
    """
    wishes = (code.partition("-")[0] for code, _ in parse_accept_lang_header(accepted.lower()))
    return next((wish for wish in wishes if wish in offered), offered[0])


def researchers_language(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Answer each researcher in the language that their browser asks for."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(OF_JUDGES):
            return get_response(request)
        wished = wished_language(request.headers.get("Accept-Language", ""), settings.RESEARCHERS_LANGUAGES)
        with translation.override(wished):
            return get_response(request)

    return answer
