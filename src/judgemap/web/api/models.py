"""Tokens with which programs read studies."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from judgemap.web.studies.models import Study

SCOPES = {
    "study:read": "the study's settings, areas and neighbours",
    "comparisons:read": "judges' answers, under their random names",
    "results:read": "fits and their results",
}
"""The scopes of a token: what each lets it read."""


class ApiToken(models.Model):
    """A program's key to one of a researcher's studies, or to all. Only a hash is stored; revoking deletes the row."""

    researcher = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="api_tokens")
    study = models.ForeignKey(Study, models.CASCADE, null=True, related_name="api_tokens")
    """None for every study that the researcher owns."""
    name = models.CharField(max_length=60)
    """What it is for, in the researcher's words."""
    hint = models.CharField(max_length=8)
    """The start of the token, so that people can recognise it."""
    token_hash = models.CharField(max_length=64, unique=True)
    scopes = models.JSONField(default=list)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    """To the minute."""

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(expires_at__gt=F("created_at")), name="api_token_expires_later"),
        )

    def __str__(self) -> str:
        return f"{self.hint}… {self.name}"
