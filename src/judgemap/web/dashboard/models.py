"""Each judge's comparisons packed for counting, and forecasts of what more answers would bring."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from judgemap.web.judge.models import Judge
from judgemap.web.results.models import FitRun


class JudgeTally(models.Model):
    """A judge's comparisons in one packed row, brought up to date by whoever looks. It may be thrown away any time."""

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


class Forecast(models.Model):
    """What more answers would bring, simulated in the background from a fit's posterior."""

    class Status(models.TextChoices):
        """Where a forecast is."""

        WAITING = "waiting"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    fit = models.OneToOneField(FitRun, models.CASCADE, related_name="forecast")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    asked_at = models.DateTimeField()
    heard_at = models.DateTimeField()
    """When it was asked for, or when the worker last wrote of it."""
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.WAITING)
    progress = models.FloatField(default=0.0)
    """The share of the simulated studies that is done, 0 to 1."""
    seed = models.PositiveBigIntegerField()
    said = models.CharField(max_length=400, blank=True)
    """What went wrong and what to do, in one sentence."""
    result = models.JSONField(default=dict)
    """What `StudyPlan.to_dict` says."""

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(status__in=["waiting", "running", "done", "failed"]), name="forecast_status"
            ),
            models.CheckConstraint(condition=Q(progress__gte=0) & Q(progress__lte=1), name="forecast_progress"),
        )

    def __str__(self) -> str:
        return f"forecast of {self.fit_id}"
