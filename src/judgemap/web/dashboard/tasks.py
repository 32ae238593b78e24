"""Work that waits in the database for a worker."""

from django_tasks import task


@task
def run_forecast(forecast_id: int) -> None:
    """Make a forecast that was asked for."""
    from judgemap.web.dashboard.forecasting import make_forecast

    make_forecast(forecast_id)
