"""The task that a worker runs: one fit, from the answers to the map, and then what explains it."""

from django_tasks import task


@task
def run_fit(run_id: int) -> None:
    """Make a fit that was asked for."""
