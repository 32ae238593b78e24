"""Counts of studies with very many answers."""

from django.db import models

from judgemap.web.judge.models import Judge
from judgemap.web.server.database import Trigger, keep_trigger
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


# When a judge withdraws, the counts go in the same transaction.
keep_trigger(
    Trigger(
        "counts_go_with_withdrawal",
        Judge,
        "UPDATE OF withdrawn_at",
        when="NEW.withdrawn_at IS NOT NULL",
        then=f"DELETE FROM {StudyCounts._meta.db_table} WHERE study_id = NEW.study_id",  # noqa: S608, SLF001
    )
)
