"""Making, finding and revoking tokens."""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.api.models import SCOPES, ApiToken
from judgemap.web.server.tokens import hashed
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Study

MOST = 50
"""How many tokens one researcher may have at a time."""
USED_WITHIN = timedelta(minutes=1)
Reach = Literal["study", "all"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A token that somebody asks for: its purpose, what it may read, for how many days, and of which studies."""

    name: str
    scopes: Sequence[str]
    days: int
    reach: Reach = "study"


def make_token(study: Study, by: Researcher, wanted: Wanted) -> str:
    """Make a token on a study's page and return it, the only time it is shown; the study's log records this."""
    if unknown := sorted(set(wanted.scopes) - set(SCOPES)):
        raise StudyError(
            _("there is no scope %(scope)s; there are %(scopes)s")
            % {"scope": f"{unknown[0]!r}", "scopes": ", ".join(SCOPES)}
        )
    token = f"jm_{secrets.token_urlsafe(32)}"
    now = timezone.now()
    with transaction.atomic():
        ApiToken.objects.filter(researcher=by, expires_at__lt=now - timedelta(days=30)).delete()
        if ApiToken.objects.filter(researcher=by).count() >= MOST:
            raise StudyError(_("you have %(most)s tokens already; revoke one that is not used") % {"most": MOST})
        ApiToken.objects.create(
            researcher=by,
            study=study if wanted.reach == "study" else None,
            name=wanted.name,
            hint=token[:7],
            token_hash=hashed(token),
            scopes=sorted(wanted.scopes),
            created_at=now,
            expires_at=now + timedelta(days=wanted.days),
        )
        detail = {"token": f"{token[:7]}… {wanted.name}", "scopes": sorted(wanted.scopes), "days": wanted.days}
        record(study, by, "API token made", detail | ({"studies": "all"} if wanted.reach == "all" else {}))
    return token


def revoke_token(study: Study, by: Researcher, key: str) -> bool:
    """Revoke a token at once and for good; False if the researcher has no such token."""
    with transaction.atomic():
        is_key = key.isascii() and key.isdecimal() and len(key) < 19  # what fits in a bigint
        token = tokens_of(study, by).filter(pk=key).first() if is_key else None
        if token is None:
            return False
        record(study, by, "API token revoked", {"token": str(token)})
        token.delete()
    return True


def tokens_of(study: Study, researcher: Researcher) -> QuerySet[ApiToken]:
    """Return a researcher's tokens that open a study."""
    return ApiToken.objects.filter(Q(study=study) | Q(study=None), researcher=researcher).order_by("-created_at")


def find_token(token: str) -> ApiToken | None:
    """Find a valid token, and note that it was used."""
    now = timezone.now()
    known = (
        ApiToken.objects.select_related("researcher")
        .filter(token_hash=hashed(token), expires_at__gt=now, researcher__is_active=True)
        .first()
    )
    # Written once a minute: a program that asks five times a second should not write five times a second.
    if known is not None and (known.last_used_at is None or now - known.last_used_at > USED_WITHIN):
        ApiToken.objects.filter(pk=known.pk).update(last_used_at=now)
    return known


def studies_of_token(token: ApiToken) -> QuerySet[Study]:
    """Return the studies that a token opens: its own, or all that its researcher owns."""
    mine = (
        Study.objects.select_related("current")
        .defer("current__packed_design")
        .filter(owner=token.researcher_id, deleted_at=None)
    )
    return mine if token.study_id is None else mine.filter(pk=token.study_id)
