"""Whether the server can do its job: store answers."""

import shutil
import threading
import time
from dataclasses import dataclass

from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from judgemap.web.server.database import is_outage
from judgemap.web.server.tokens import make_token

LEAST_FREE = 20_000_000
"""With fewer free bytes than this on the disk, SQLite's log cannot grow much more."""
GOOD_FOR = 2.0
"""A result is reused for this many seconds, because anybody may ask, and each check writes."""

_LOCK = threading.Lock()


@dataclass
class _Seen:
    at: float = float("-inf")
    problem: str = ""


_seen = _Seen()


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's
    """Answer ``ok`` while answers can be stored; otherwise, status 503 and why not."""
    problem = find_problem()
    response = HttpResponse(problem or "ok", "text/plain", status=503 if problem else 200)
    response["Cache-Control"] = "no-store"
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001 - Django's; whoever asks is told anyway
    return response


def find_problem() -> str:
    """Write something and read it back; say what is wrong, or return an empty string. Results last two seconds."""
    with _LOCK:
        if time.monotonic() - _seen.at > GOOD_FOR:
            _seen.problem, _seen.at = _look(), time.monotonic()
        return _seen.problem


def _look() -> str:
    mark = make_token()
    try:
        if connection.vendor == "sqlite" and shutil.disk_usage(settings.DATA).free < LEAST_FREE:
            return "the disk is nearly full"
        cache.set("health", mark, timeout=600)
        return "" if cache.get("health") == mark else "nothing can be written to the database"
    except Exception as error:
        if not is_outage(error):
            raise
        return "the database does not answer"
