"""The app's label."""

from django.apps import AppConfig


class FitsConfig(AppConfig):
    """The slice of fits."""

    name = "judgemap.web.fits"
    label = "fits"
