"""The app's label."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """The accounts slice."""

    name = "judgemap.web.accounts"
    label = "accounts"
