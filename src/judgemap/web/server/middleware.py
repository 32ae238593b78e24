"""What holds for every request: how long its body may be, where its response may be kept, and its language.

Judges' pages choose their language by the study (`judgemap.web.judge.pages`). A half-translated page helps nobody, and
a screen reader would read English words as French: so researchers are offered only the languages of
`RESEARCHERS_LANGUAGES`.
"""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation.trans_real import parse_accept_lang_header

from judgemap.web.server.errors import kind_page

OF_JUDGES = ("/j/", "/s/", "/withdraw", "/api/")
"""Pages that choose their own language, or have none."""
View = Callable[[HttpRequest], HttpResponseBase]


def limit_bodies(get_response: View) -> View:
    """Refuse a request whose body is longer than any form of ours needs."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > settings.LONGEST_BODY:
            text = _("Files can be up to 100 MB. Go back and choose a smaller one: simplified boundaries work well.")
            return kind_page(request, 413, _("That file is too large"), text)
        return get_response(request)

    return middleware


def keep_private(get_response: View) -> View:
    """Keep pages out of caches, unless they say how long they may be cached, and out of search engines."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        response.headers.setdefault("Cache-Control", "no-store")
        response.headers.setdefault("X-Robots-Tag", "noindex, nofollow")
        return response

    return middleware


def researchers_language(get_response: View) -> View:
    """Answer each researcher in the language that their browser asks for."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(OF_JUDGES):
            return get_response(request)
        wished = wished_language(request.headers.get("Accept-Language", ""), settings.RESEARCHERS_LANGUAGES)
        with translation.override(wished):
            return get_response(request)

    return middleware


def wished_language(accepted: str, offered: list[str]) -> str:
    """Return the language that a browser prefers among those offered, or else the first of these.

    >>> wished_language("de-CH, ar;q=0.8", ["en", "fr", "ar"])
    'ar'
    """
    wishes = (code.partition("-")[0] for code, _ in parse_accept_lang_header(accepted.lower()))
    return next((wish for wish in wishes if wish in offered), offered[0])
