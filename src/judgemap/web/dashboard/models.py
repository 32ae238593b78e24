"""Each judge's comparisons packed for counting, and forecasts of what more answers would bring."""

from django.db import models

from judgemap.web.judge.models import Judge
from judgemap.web.results.models import FitRun
from judgemap.web.server.jobs import Job, job_constraints


class JudgeTally(models.Model):
    """A judge's comparisons in one packed row, brought up to date by the worker. It may be thrown away any time."""

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
