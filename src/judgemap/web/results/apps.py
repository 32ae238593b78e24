"""The app's label, and what it listens to."""

from django.apps import AppConfig


class ResultsConfig(AppConfig):
    """Fits and their pages."""

    name = "judgemap.web.results"
    label = "fits"  # the tables of earlier versions, and the migrations they recorded, have this name

    def ready(self) -> None:
        """Take judges who withdraw out of the fits."""
        from judgemap.web.judge.signals import judge_withdraws
        from judgemap.web.results.fits.forgetting import forget_judge

        judge_withdraws.connect(forget_judge)
