"""The app's label."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    """The slice of the dashboard."""

    name = "judgemap.web.dashboard"
    label = "dashboard"
