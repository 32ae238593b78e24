"""The app's label, and what it listens to."""

from django.apps import AppConfig


class PeopleConfig(AppConfig):
    """Researchers' side of judges."""

    name = "judgemap.web.people"

    def ready(self) -> None:
        """Have the worker remove answers after their last day; remove them with their study."""
        from judgemap.web.judge.models import judge_withdraws
        from judgemap.web.people.retention import keep_promises, note_withdrawal, remove_judges
        from judgemap.web.server.jobs import worker_round
        from judgemap.web.studies.keeping import study_goes

        worker_round.connect(keep_promises)
        study_goes.connect(remove_judges)
        judge_withdraws.connect(note_withdrawal)
