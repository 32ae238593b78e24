"""Counts of studies with very many answers, and forecasts for more answers or more judges."""

from django.db import models

from judgemap.web.judge.models import Judge
from judgemap.web.results.models import FitRun
from judgemap.web.server.database import Trigger
from judgemap.web.server.jobs import Job, job_constraints
from judgemap.web.studies.models import Study


class StudyCounts(models.Model):
    """The answers of a study with very many of them, as the worker last read and counted them; see `counting`."""

    study = models.OneToOneField(Study, models.CASCADE, primary_key=True, related_name="counts")
    due_at = models.DateTimeField()
    """When they are next to be counted, if there are new answers."""
    packed = models.BinaryField()
    """The arrays of `counting.Numbers`."""
    rows = models.BinaryField()
    """An array of `counting.ROW`."""
    names = models.JSONField()
    """The judges' names, in the order of their places in ``rows``."""

    def __str__(self) -> str:
        return f"counts of {self.study_id}"


class Forecast(Job):
    """What more answers would bring, simulated in the background from a fit's posterior."""

    NAME = "forecast"
    AGAIN = "Ask again."

    fit = models.OneToOneField(FitRun, models.CASCADE, related_name="forecast")
    seed = models.PositiveBigIntegerField()
    result = models.JSONField(default=dict)
    """What `StudyPlan.to_dict` says."""

    class Meta:
        constraints = job_constraints("forecast")

    def __str__(self) -> str:
        return f"forecast of {self.fit_id}"

    def work(self) -> None:
        """Simulate the studies."""
        from judgemap.web.dashboard.reliability import simulate

        self.result = simulate(self)
        self.finish("result")


class PanelPlan(Job):
    """What more judges or more answers each would bring, worked out in the background. One per study."""

    NAME = "plan"
    AGAIN = "Ask again."

    study = models.OneToOneField(Study, models.CASCADE, related_name="panel_plan")
    fit = models.ForeignKey(FitRun, models.SET_NULL, null=True, related_name="+")
    """The fit that says how far areas differ and, if its model has that, judges too; None for a guess at both."""
    judges = models.PositiveIntegerField()
    per_judge = models.PositiveIntegerField()
    """The study in the middle of the grid."""
    differ = models.FloatField(null=True)
    """A guess at σ/α; None if the fit gives it."""
    seed = models.PositiveBigIntegerField()
    result = models.JSONField(default=dict)
    """See `planning.result_of`."""

    class Meta:
        constraints = job_constraints("panel_plan")

    def __str__(self) -> str:
        return f"plan of {self.study_id}"

    def work(self) -> None:
        """Work out the grid."""
        from judgemap.web.dashboard.planning import work_out

        self.result = work_out(self)
        self.finish("result")


GO_WITH_WITHDRAWAL = Trigger(
    "counts_go_with_withdrawal",
    Judge._meta.db_table,  # noqa: SLF001
    "UPDATE OF withdrawn_at",
    when="NEW.withdrawn_at IS NOT NULL",
    then=f"DELETE FROM {StudyCounts._meta.db_table} WHERE study_id = NEW.study_id",  # noqa: S608, SLF001
)
"""When a judge withdraws, the counts go in the same transaction."""
