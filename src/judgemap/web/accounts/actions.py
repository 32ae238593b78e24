"""What changes researchers."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from judgemap.web.accounts.models import Invitation, Researcher
from judgemap.web.tokens import hashed, make_token

GOOD_FOR = timedelta(days=1)


def first_invitation() -> str | None:
    """Make the token of a link that makes the first researcher; None where there is one already."""
    if Researcher.objects.exists():
        return None
    token = make_token()
    Invitation.objects.create(token_hash=hashed(token), expires_at=timezone.now() + GOOD_FOR)
    return token


def accept_invitation(token: str, email: str, password: str) -> Researcher | None:
    """Make a researcher by an invitation that is neither used nor expired; None for any other token."""
    with transaction.atomic():
        invitation = Invitation.objects.select_for_update().filter(token_hash=hashed(token), used_at=None).first()
        if invitation is None or invitation.expires_at < timezone.now():
            return None
        researcher = Researcher.objects.create_user(email, password)
        invitation.used_at, invitation.used_by = timezone.now(), researcher
        invitation.save(update_fields=["used_at", "used_by"])
        return researcher
