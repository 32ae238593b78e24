"""The app's label."""

from django.apps import AppConfig


class JudgeConfig(AppConfig):
    """Judges' pages and answers."""

    name = "judgemap.web.judge"
    label = "judge"
