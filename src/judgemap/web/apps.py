"""Who listens to what: a lower app tells a higher one by a signal, and the worker goes round."""

import time
from collections.abc import Callable

from django.apps import AppConfig
from django.contrib.auth.signals import user_logged_in
from django.dispatch import Signal

SECONDS_BETWEEN = 3600.0
"""How often old sessions and counts are forgotten, if a worker runs."""


class WebConfig(AppConfig):
    """The study server as a whole; it has no tables of its own."""

    name = "judgemap.web"
    _forgot_at = float("-inf")

    def ready(self) -> None:
        """Connect every listener."""
        from judgemap.web.dashboard.counting import Upkeep, forget_counts
        from judgemap.web.judge.models import answers_go, asks_who_is_left_out, judge_withdraws
        from judgemap.web.people import retention
        from judgemap.web.results import actions, forgetting, models, resuming
        from judgemap.web.server.jobs import worker_round
        from judgemap.web.studies.keeping import remove_due, study_goes

        user_logged_in.connect(self._forget_old, dispatch_uid="forget_old")
        chores = (self._now_and_then, remove_due, retention.keep_promises, Upkeep(), actions.ask_where_due)
        told: dict[Signal, tuple[Callable[..., object], ...]] = {
            worker_round: (*chores, resuming.remove_unneeded),
            judge_withdraws: (retention.note_withdrawal, forgetting.forget_judge),
            answers_go: (forget_counts, forgetting.forget_everybody),
            study_goes: (retention.remove_judges, forgetting.remove_fits),
            asks_who_is_left_out: (models.reasons_to_leave_out,),
        }
        for signal, listeners in told.items():
            for listener in listeners:
                signal.connect(listener, weak=False)

    def _forget_old(self, **_: object) -> None:
        from judgemap.web.accounts.actions import forget_old

        forget_old()

    def _now_and_then(self, **_: object) -> None:
        if time.monotonic() - self._forgot_at > SECONDS_BETWEEN:
            self._forgot_at = time.monotonic()
            self._forget_old()
