"""A limit on what a request may send, before anything reads it."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from judgemap.web.server.errors import kind_page


def limit_bodies(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse a request whose body is longer than any form of ours needs."""

    def middleware(request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > settings.LONGEST_BODY:
            text = _("Files can be up to 25 MB. Go back and choose a smaller one: simplified boundaries work well.")
            return kind_page(request, 413, _("That file is too large"), text)
        return get_response(request)

    return middleware
