"""The app's label."""

from django.apps import AppConfig


class JudgeConfig(AppConfig):
    """The judge slice."""

    name = "judgemap.web.judge"
    label = "judge"
