"""The language of researchers' pages: the one their browser asks for, if these pages are translated into it.

A half-translated page helps nobody, and a screen reader would read English words as French. So a language is offered to
researchers when it has a catalogue of its own in ``web/locale_researchers``, which ``make messages`` writes. Judges'
pages have theirs in ``web/locale``, and choose their language by the study (`judgemap.web.judge.pages`).
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation.trans_real import parse_accept_lang_header

OF_JUDGES = ("/j/", "/s/", "/withdraw", "/api/")
"""Pages that choose their own language, or have none."""


def wished_language(header: str) -> str:
    """Return the language of researchers' pages that suits an Accept-Language header best."""
    for wished, _ in parse_accept_lang_header(header.lower()):
        for code in (wished, wished.partition("-")[0]):
            if code in settings.RESEARCHERS_LANGUAGES:
                return str(code)
    return str(settings.LANGUAGE_CODE)


def researchers_language(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Answer each researcher in the language that their browser asks for."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(OF_JUDGES):
            return get_response(request)
        with translation.override(wished_language(request.headers.get("Accept-Language", ""))):
            return get_response(request)

    return answer
