"""The app's label, and what it listens to."""

from django.apps import AppConfig


class JudgeConfig(AppConfig):
    """Judges' pages and answers."""

    name = "judgemap.web.judge"
    label = "judge"

    def ready(self) -> None:
        """Have the worker remove answers when their day is over."""
        from judgemap.web.judge.retention import keep_promises
        from judgemap.web.server.jobs import worker_round

        worker_round.connect(keep_promises)
