"""Researchers, and the one-time links that make them."""

from typing import ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models.functions import Lower


class ResearcherManager(BaseUserManager["Researcher"]):
    """Makes researchers; the case of an email address does not matter."""

    def create_user(self, email: str, password: str | None = None) -> "Researcher":
        """Make a researcher; without a password, they cannot sign in yet."""
        researcher = self.model(email=self.normalize_email(email).lower())
        researcher.set_password(password)
        researcher.save(using=self._db)
        return researcher

    def get_by_natural_key(self, username: str | None) -> "Researcher":
        """Find a researcher by email address."""
        return self.get(email=(username or "").lower())


class Researcher(AbstractBaseUser):
    """Somebody who makes studies and reads their results. Signs in with an email address."""

    email = models.EmailField(max_length=254, unique=True)
    name = models.CharField(max_length=100, blank=True)
    is_active = models.BooleanField(default=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects: ClassVar[ResearcherManager] = ResearcherManager()
    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"

    class Meta:
        constraints = (models.UniqueConstraint(Lower("email"), name="researcher_email_once"),)

    def __str__(self) -> str:
        return self.name or self.email


class Invitation(models.Model):
    """A one-time link that makes a researcher; only the hash of its token is kept."""

    token_hash = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(Researcher, models.SET_NULL, null=True, related_name="+")
    invited_by = models.ForeignKey(Researcher, models.SET_NULL, null=True, related_name="+")
    """None for the first link, and for links made on the command line."""
    researcher = models.ForeignKey(Researcher, models.CASCADE, null=True, related_name="+")
    """Whose password the link resets; None if it creates a researcher."""
    is_first = models.BooleanField(default=False)
    """Whether it creates the first researcher: it is void once there is one."""


class ServerKey(models.Model):
    """A fingerprint of the secret key with which this database is used, in one row."""

    fingerprint = models.CharField(max_length=64)


class Count(models.Model):
    """The table of Django's database cache, where rate limits keep counts that all processes share."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)
