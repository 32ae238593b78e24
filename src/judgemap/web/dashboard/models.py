"""Each judge's comparisons packed for counting, and forecasts for more answers or more judges."""

from django.db import models

from judgemap.web.judge.models import Judge
from judgemap.web.results.models import FitRun
from judgemap.web.server.jobs import Job, job_constraints
from judgemap.web.server.triggers import Trigger
from judgemap.web.studies.models import Study


class JudgeTally(models.Model):
    """A judge's comparisons packed in one row, which the worker brings up to date. It may be deleted at any time."""

    judge = models.OneToOneField(Judge, models.CASCADE, primary_key=True, related_name="tally")
    stamp = models.CharField(max_length=80)
    """What the judge's rows looked like when they were last read; see `counting`."""
    seen_pair = models.BigIntegerField()
    seen_answer = models.BigIntegerField()
    """The last pair and the last answer of this judge that are counted, by their keys."""
    rows = models.BinaryField()
    """An array of `counting.ROW`, in the order of the positions."""

    def __str__(self) -> str:
        return f"tally of {self.judge_id}"


class StudyCounts(models.Model):
    """The counts on the live page of a study with very many answers, which the worker adds up; see `numbers`."""

    study = models.OneToOneField(Study, models.CASCADE, primary_key=True, related_name="counts")
    kept_at = models.DateTimeField()
    packed = models.BinaryField()
    """The arrays of `numbers.Numbers`."""

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


GOES_WITH_WITHDRAWAL = Trigger(
    "tally_goes_with_withdrawal",
    Judge._meta.db_table,  # noqa: SLF001
    "UPDATE OF withdrawn_at",
    when="NEW.withdrawn_at IS NOT NULL",
    then=f"DELETE FROM {JudgeTally._meta.db_table} WHERE judge_id = NEW.name",  # noqa: S608, SLF001
)
"""A judge who withdraws takes the tally along, in the same transaction."""
