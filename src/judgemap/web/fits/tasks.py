"""The task that waits in the database for a worker."""

from django_tasks import task


@task
def run_fit(run_id: int) -> None:
    """Make a fit that was asked for."""
    from judgemap.web.fits.running import make_fit

    make_fit(run_id)
