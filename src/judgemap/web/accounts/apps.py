"""The app's label."""

from django.apps import AppConfig


class AccountsConfig(AppConfig):
    """The accounts slice."""

    name = "judgemap.web.accounts"
    label = "accounts"

    def ready(self) -> None:
        """Forget old counts of failed sign-ins at every sign-in."""
        from django.contrib.auth.signals import user_logged_in

        from judgemap.web.accounts.actions import forget_old_counts

        user_logged_in.connect(lambda **_: forget_old_counts(), weak=False, dispatch_uid="forget_old_counts")
