"""Whether the server can do its job, store answers; and, for Prometheus, how much it does.

Every server process counts its requests; one process shows the counts, on a separate port. They name no study, judge or
address, only kinds of pages, statuses, times and free resources.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

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


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's
    """Answer ``ok`` while answers can be stored; otherwise, status 503 and why not."""
    problem = find_problem()
    response = HttpResponse(problem or "ok", "text/plain", status=503 if problem else 200)
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001 - Django's; whoever asks is told anyway
    return response


def find_problem() -> str:
    """Write something and read it back; say what is wrong, or return an empty string. Results last two seconds."""
    with _LOCK:
        return _look(int(time.monotonic() / GOOD_FOR))


@lru_cache(maxsize=1)
def _look(moment: int) -> str:  # noqa: ARG001 - so that the cache expires
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


Observe = Callable[[str, str, int, float], None]
"""Takes a request's method and path, its status, and the seconds until the response was ready."""
FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that tells prometheus-client where processes pool their counts."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


def kind_of(method: str, path: str) -> str:
    """Return the kind of page at an address.

    >>> kind_of("POST", "/j/dGhlIHRva2Vu/answer"), kind_of("GET", "/j/dGhlIHRva2Vu/"), kind_of("GET", "/studies/wards")
    ('answer', 'judge', 'researcher')
    """
    if method == "POST" and path.startswith("/j/") and path.endswith("/answer"):
        return "answer"
    beginnings = {
        "judge": ("/j/", "/s/", "/withdraw"),
        "static": ("/static/",),
        "api": ("/api/",),
        "health": ("/healthz",),
    }
    return next((kind for kind, paths in beginnings.items() if path.startswith(paths)), "researcher")


def start_metrics(data: Path, host: str, port: int) -> None:
    """Show the metrics at ``http://host:port/metrics``; call this in the server before it starts its processes."""
    folder = data / "metrics"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ[FOLDER] = str(folder.absolute())
    from prometheus_client import CollectorRegistry, start_http_server
    from prometheus_client.multiprocess import MultiProcessCollector

    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    registry.register(_Machine())
    start_http_server(port, host, registry)


def observer() -> Observe | None:
    """Return a function that counts requests in this process; None if metrics are off."""
    if FOLDER not in os.environ:
        return None
    from prometheus_client import Counter, Histogram

    count = Counter("judgemap_requests", "Requests by kind of page and status.", ("kind", "status"))
    seconds = Histogram("judgemap_request_seconds", "Seconds until the response was ready.", ("kind",), buckets=BUCKETS)

    def observe(method: str, path: str, status: int, taken: float) -> None:
        kind = kind_of(method, path)
        count.labels(kind, str(status)).inc()
        seconds.labels(kind).observe(taken)

    return observe


class _Machine:
    """What is looked up on request: health, free disk space, and jobs that wait or run."""

    def collect(self) -> Iterator[Any]:
        from prometheus_client.core import GaugeMetricFamily as Gauge

        from judgemap.web.server.jobs import kinds

        problem = find_problem()
        yield Gauge("judgemap_healthy", "1 while answers can be stored, as /healthz says.", value=float(not problem))
        free = shutil.disk_usage(settings.DATA).free
        yield Gauge("judgemap_disk_free_bytes", "Free space on the data folder's disk.", value=float(free))
        jobs = Gauge("judgemap_jobs", "Fits and plans that wait or run.", labels=("kind", "status"))
        for kind in kinds() if not problem else ():
            for status in kind.UNDER_WAY:
                count = kind._default_manager.filter(status=status).count()  # noqa: SLF001 - Django's
                jobs.add_metric((kind.NAME, str(status)), count)
        yield jobs
        connection.close()
