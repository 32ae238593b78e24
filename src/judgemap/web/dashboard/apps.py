"""The app's label."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """The slice of the dashboard."""

    name = "judgemap.web.dashboard"
    label = "dashboard"

    def ready(self) -> None:
        """Have the worker keep the tallies up to date."""
        from judgemap.web.dashboard.counting import Upkeep
        from judgemap.web.server.jobs import worker_round

        worker_round.connect(Upkeep(), weak=False)
