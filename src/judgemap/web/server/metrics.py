"""Metrics for Prometheus, counted in every server process and shown by one, on a separate port.

They name no study, judge or address, only kinds of pages, statuses, times and free resources.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

FOLDER = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that tells prometheus-client where processes pool their counts."""
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
Observe = Callable[[str, str, int, float], None]
"""Takes a request's method and path, its status, and the seconds until the response was ready."""


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


def start(data: Path, host: str, port: int) -> None:
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
        from django.conf import settings
        from django.db import connection
        from prometheus_client.core import GaugeMetricFamily as Gauge

        from judgemap.web.server.health import find_problem
        from judgemap.web.server.jobs import kinds

        problem = find_problem()
        yield Gauge("judgemap_healthy", "1 while answers can be stored, as /healthz says.", value=float(not problem))
        free = shutil.disk_usage(settings.DATA).free
        yield Gauge("judgemap_disk_free_bytes", "Free space on the data folder's disk.", value=float(free))
        jobs = Gauge("judgemap_jobs", "Fits and forecasts that wait or run.", labels=("kind", "status"))
        for kind in kinds() if not problem else ():
            for status in kind.UNDER_WAY:
                count = kind._default_manager.filter(status=status).count()  # noqa: SLF001 - Django's
                jobs.add_metric((kind.NAME, str(status)), count)
        yield jobs
        connection.close()
