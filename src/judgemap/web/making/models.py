"""What was uploaded and is not a study yet."""

from django.conf import settings
from django.db import models


class Upload(models.Model):
    """A boundary file between the first step and the second; removed when the study is made, or after two days."""

    researcher = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="uploads")
    name = models.CharField(max_length=100)
    content = models.BinaryField()
    definition = models.TextField(blank=True)
    """The text of a study.toml that came with it."""
    inspection = models.JSONField()
    """What is in the file, as JSON of `files.Inspection`."""
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name
