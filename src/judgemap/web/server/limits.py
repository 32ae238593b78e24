"""Limits on what strangers can make the server do: guess links and codes, and send long bodies.

A link has 128 random bits and a code 80, so the brake on guessing is there to save work, and needs to know nobody's
address. Right links are never slowed.
"""

import threading
import time
from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from judgemap.web.server.errors import kind_page

A_SECOND = 10.0
BURST = 50.0


class Brake:
    """A bucket that fills with what is permitted a second and is emptied by one at each wrong guess.

    >>> brake = Brake(a_second=1.0, burst=2.0)
    >>> [brake.allows(at) for at in (0.0, 0.0, 0.0, 1.5)]
    [True, True, False, True]
    """

    def __init__(self, a_second: float = A_SECOND, burst: float = BURST) -> None:
        self._a_second, self._burst = a_second, burst
        self._level, self._at = burst, 0.0
        self._lock = threading.Lock()

    def allows(self, now: float | None = None) -> bool:
        """Count a wrong guess; False where there were too many."""
        now = time.monotonic() if now is None else now
        with self._lock:
            self._level = min(self._burst, self._level + (now - self._at) * self._a_second)
            self._at = now
            if self._level < 1:
                return False
            self._level -= 1
            return True


WRONG_GUESSES = Brake()


def limit_bodies(get_response: Callable[[HttpRequest], HttpResponse]) -> Callable[[HttpRequest], HttpResponse]:
    """Refuse a request whose body is longer than any form of ours needs."""

    def middleware(request: HttpRequest) -> HttpResponse:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdecimal() or int(length) > settings.LONGEST_BODY:
            text = _("Files can be up to 25 MB. Go back and choose a smaller one: simplified boundaries work well.")
            return kind_page(request, 413, _("That file is too large"), text)
        return get_response(request)

    return middleware
