"""The app's label."""

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    """The studies slice."""

    name = "judgemap.web.studies"
    label = "studies"
