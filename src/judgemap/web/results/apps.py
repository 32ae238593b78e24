"""The app's label."""

from django.apps import AppConfig


class ResultsConfig(AppConfig):
    """The slice of results."""

    name = "judgemap.web.results"
    label = "results"
