"""Everything that changes researchers."""

import hmac
from datetime import timedelta

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Exists, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Count, Invitation, Researcher, ServerKey
from judgemap.web.server.tokens import hashed, make_token

GOOD_FOR = timedelta(days=1)
INVITED_FOR = timedelta(days=7)
TAKEN = _("a researcher already has this address; sign in with it instead")


def find_researcher(email: str) -> Researcher:
    """Find an active researcher by email address, for commands; the error says where to look."""
    researcher = Researcher.objects.filter(email=email.strip().lower(), is_active=True).first()
    if researcher is None:
        raise StudyError(f"no researcher has the address {email!r}; see 'judgemap researcher list'")
    return researcher


def first_invitation() -> str | None:
    """Make the token of the only link that creates the first researcher; None if there is one already."""
    if Researcher.objects.exists():
        return None
    with transaction.atomic():
        Invitation.objects.filter(is_first=True).delete()
        return _make_link(GOOD_FOR, is_first=True)


def invite_researcher(by: Researcher | None = None) -> str:
    """Make the token of a link that creates another researcher."""
    return _make_link(INVITED_FOR, invited_by=by)


def password_link(email: str) -> str:
    """Make the token of a link with which a researcher sets a new password."""
    return _make_link(GOOD_FOR, researcher=find_researcher(email))


def _make_link(good_for: timedelta, **whose: object) -> str:
    token = make_token()
    Invitation.objects.create(token_hash=hashed(token), expires_at=timezone.now() + good_for, **whose)
    return token


def find_invitation(token: str) -> Invitation | None:
    """Find an invitation that is neither used nor expired nor, if it is for the first researcher, too late."""
    return _valid(token).select_related("researcher").first()


def _valid(token: str) -> "QuerySet[Invitation]":
    found = Invitation.objects.filter(token_hash=hashed(token), used_at=None, expires_at__gte=timezone.now())
    return found.exclude(Exists(Researcher.objects.all()), is_first=True)


def accept_invitation(token: str, email: str, password: str, name: str = "") -> Researcher | None:
    """Create a researcher from an invitation, or set the password of the one it is for; None for an invalid token."""
    with transaction.atomic():
        invitation = _valid(token).select_for_update().first()
        if invitation is None:
            return None
        researcher = invitation.researcher or Researcher(email=email.lower(), name=name)
        researcher.set_password(password)
        try:
            researcher.save()
        except IntegrityError:  # two people with two invitations typed one address at the same moment
            raise StudyError(str(TAKEN), "email") from None
        invitation.used_at, invitation.used_by = timezone.now(), researcher
        invitation.save(update_fields=["used_at", "used_by"])
        return researcher


def deactivate_researcher(email: str) -> Researcher:
    """Lock a researcher out at once: password, session, links and tokens stop working. Their studies stay."""
    researcher = find_researcher(email)
    with transaction.atomic():
        Researcher.objects.filter(pk=researcher.pk).update(is_active=False)
        Invitation.objects.filter(Q(researcher=researcher) | Q(invited_by=researcher), used_at=None).delete()
    return researcher


def activate_researcher(email: str) -> Researcher:
    """Let a researcher in again, with the same password and studies."""
    researcher = Researcher.objects.filter(email=email.strip().lower()).first()
    if researcher is None:
        raise StudyError(f"no researcher has the address {email!r}; see 'judgemap researcher list'")
    Researcher.objects.filter(pk=researcher.pk).update(is_active=True)
    return researcher


def may_deactivate(by: Researcher) -> set[int]:
    """Return the keys of the researchers whom somebody may deactivate: those they invited."""
    invited = Invitation.objects.filter(invited_by=by, researcher=None, used_by__is_active=True)
    return set(invited.values_list("used_by_id", flat=True))


def check_key(*, is_new: bool = False) -> None:
    """Raise a `StudyError` if this database is used with another secret key; ``is_new`` makes ours the one."""
    own = hmac.digest(settings.SECRET_KEY.encode(), b"judgemap server", "sha256").hex()
    if is_new:
        ServerKey.objects.all().delete()
    if ServerKey.objects.get_or_create(pk=1, defaults={"fingerprint": own})[0].fingerprint != own:
        raise StudyError(
            "this server's secret key is not the one that the database is used with; copy the file 'secret-key' from "
            "the other server's data folder or set JUDGEMAP_SECRET_KEY, or, if that key is lost, start with --new-key: "
            "researchers then sign in again and turn on the second step again"
        )


def forget_old() -> None:
    """Remove expired sessions, and expired counts of rate limits."""
    Count.objects.filter(expires__lt=timezone.now()).delete()
    Session.objects.filter(expire_date__lt=timezone.now()).delete()


def reset_second_step(email: str) -> Researcher:
    """Turn the second step off for a researcher who has neither the phone nor a recovery code."""
    researcher = find_researcher(email)
    Authenticator.objects.filter(user=researcher).delete()
    return researcher
