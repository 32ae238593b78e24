"""The app's label, and what its database keeps true."""

from django.apps import AppConfig


class JudgeConfig(AppConfig):
    """Judges' pages and answers."""

    name = "judgemap.web.judge"
    label = "judge"

    def ready(self) -> None:
        """Answers are only ever added."""
        from judgemap.web.judge.models import ONLY_ADDED
        from judgemap.web.server.database import keep_trigger

        keep_trigger(ONLY_ADDED, self)
