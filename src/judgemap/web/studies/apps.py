"""The app's label, and what it listens to."""

from django.apps import AppConfig


class StudiesConfig(AppConfig):
    """Studies and their maps."""

    name = "judgemap.web.studies"

    def ready(self) -> None:
        """Begin the log; have the worker remove deleted studies when their grace period is over."""
        from django.db.models.signals import post_migrate

        from judgemap.web.server.jobs import worker_round
        from judgemap.web.studies.keeping import remove_due
        from judgemap.web.studies.models import begin_log

        post_migrate.connect(begin_log, sender=self)
        worker_round.connect(remove_due)
