"""The app's label."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """The slice of the dashboard."""

    name = "judgemap.web.dashboard"

    def ready(self) -> None:
        """Have the worker keep the counts of large studies, and forget counts of answers that are removed."""
        from judgemap.web.dashboard.counting import Upkeep, forget_counts
        from judgemap.web.judge.models import answers_go
        from judgemap.web.server.jobs import worker_round

        worker_round.connect(Upkeep(), weak=False)
        answers_go.connect(forget_counts)
