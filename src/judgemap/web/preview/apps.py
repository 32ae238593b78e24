"""The app's label."""

from django.apps import AppConfig


class PreviewConfig(AppConfig):
    """The preview slice."""

    name = "judgemap.web.preview"
    label = "preview"
