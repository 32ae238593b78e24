"""The task that waits in the database for a worker."""

from collections import deque
from collections.abc import Iterator

from django_tasks import task

MOST_UNEXPLAINED = 3
UNEXPLAINED: deque[Iterator[None]] = deque()
"""What is left to do for fits that are done; a worker does it when no other fit waits."""


@task
def run_fit(run_id: int) -> None:
    """Make a fit that was asked for."""
    from judgemap.web.results.fits.running import make_fit

    while len(UNEXPLAINED) >= MOST_UNEXPLAINED:
        explain_next()
    UNEXPLAINED.append(make_fit(run_id))


def explain_next() -> None:
    """Take the next step of what is left to do, if there is one."""
    if UNEXPLAINED and next(UNEXPLAINED[0], "over") == "over":
        UNEXPLAINED.popleft()
