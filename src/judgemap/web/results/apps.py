"""The app's label, and what it listens to."""

from django.apps import AppConfig


class ResultsConfig(AppConfig):
    """Fits and their pages."""

    name = "judgemap.web.results"
    label = "results"

    def ready(self) -> None:
        """Take judges who withdraw out of the fits; have the worker ask for fits that are due."""
        from judgemap.web.judge.models import answers_go, asks_who_is_left_out, judge_withdraws
        from judgemap.web.results.actions import ask_where_due
        from judgemap.web.results.forgetting import forget_everybody, forget_judge, remove_fits
        from judgemap.web.results.models import reasons_to_leave_out
        from judgemap.web.results.resuming import remove_unneeded
        from judgemap.web.server.jobs import worker_round
        from judgemap.web.studies.keeping import study_goes

        judge_withdraws.connect(forget_judge)
        answers_go.connect(forget_everybody)
        asks_who_is_left_out.connect(reasons_to_leave_out)
        worker_round.connect(ask_where_due)
        worker_round.connect(remove_unneeded)
        study_goes.connect(remove_fits)
