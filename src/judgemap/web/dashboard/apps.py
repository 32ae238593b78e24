"""The app's label."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """The slice of the dashboard."""

    name = "judgemap.web.dashboard"
    label = "dashboard"

    def ready(self) -> None:
        """Have the worker keep tallies and counts up to date, and forget counts of answers that are removed."""
        from judgemap.web.dashboard.counting import Upkeep
        from judgemap.web.dashboard.models import GOES_WITH_WITHDRAWAL
        from judgemap.web.dashboard.numbers import forget_numbers, keep_numbers
        from judgemap.web.judge.models import answers_go, judge_withdraws
        from judgemap.web.server.jobs import worker_round
        from judgemap.web.server.triggers import keep_trigger

        keep_trigger(GOES_WITH_WITHDRAWAL, self)
        worker_round.connect(Upkeep(keep_numbers), weak=False)
        judge_withdraws.connect(forget_numbers)
        answers_go.connect(forget_numbers)
