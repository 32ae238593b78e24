"""The app's label, and what it listens to."""

import time

from django.apps import AppConfig

SECONDS_BETWEEN = 3600.0


class AccountsConfig(AppConfig):
    """The accounts slice."""

    name = "judgemap.web.accounts"
    _forgot_at = float("-inf")

    def ready(self) -> None:
        """Forget old sessions and counts at every sign-in, and every hour if a worker runs."""
        from django.contrib.auth.signals import user_logged_in

        from judgemap.web.accounts.actions import forget_old
        from judgemap.web.server.jobs import worker_round

        user_logged_in.connect(lambda **_: forget_old(), weak=False, dispatch_uid="forget_old")
        worker_round.connect(self._now_and_then)

    def _now_and_then(self, **_: object) -> None:
        from judgemap.web.accounts.actions import forget_old

        if time.monotonic() - self._forgot_at > SECONDS_BETWEEN:
            self._forgot_at = time.monotonic()
            forget_old()
