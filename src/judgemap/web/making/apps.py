"""The app's label."""

from django.apps import AppConfig


class MakingConfig(AppConfig):
    """The making slice."""

    name = "judgemap.web.making"
    label = "making"
