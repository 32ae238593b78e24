"""The app's label, and what it listens to."""

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    """Studies and their maps."""

    name = "judgemap.web.studies"
    label = "studies"

    def ready(self) -> None:
        """Have the worker remove deleted studies when their grace period is over."""
        from judgemap.web.server.jobs import worker_round
        from judgemap.web.studies.removal import remove_due

        worker_round.connect(remove_due)
