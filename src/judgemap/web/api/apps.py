"""The app's label."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The slice of the programming interface."""

    name = "judgemap.web.api"
    label = "api"
