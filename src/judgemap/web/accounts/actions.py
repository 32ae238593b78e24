"""Everything that changes researchers."""

from datetime import timedelta

from django.contrib.sessions.models import Session
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Count, Invitation, Researcher
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
    """Make the token of a link that creates the first researcher; None if there is one already."""
    if Researcher.objects.exists():
        return None
    token = make_token()
    Invitation.objects.create(token_hash=hashed(token), expires_at=timezone.now() + GOOD_FOR)
    return token


def invite_researcher(by: Researcher | None = None) -> str:
    """Make the token of a link that creates another researcher."""
    token = make_token()
    Invitation.objects.create(token_hash=hashed(token), expires_at=timezone.now() + INVITED_FOR, invited_by=by)
    return token


def password_link(email: str) -> str:
    """Make the token of a link with which a researcher sets a new password."""
    researcher = find_researcher(email)
    token = make_token()
    expires_at = timezone.now() + GOOD_FOR
    Invitation.objects.create(token_hash=hashed(token), expires_at=expires_at, researcher=researcher)
    return token


def find_invitation(token: str) -> Invitation | None:
    """Find an invitation that is neither used nor expired."""
    unused = Invitation.objects.select_related("researcher").filter(token_hash=hashed(token), used_at=None)
    return unused.filter(expires_at__gte=timezone.now()).first()


def accept_invitation(token: str, email: str, password: str, name: str = "") -> Researcher | None:
    """Create a researcher from an invitation, or set the password of the one it is for; None for an invalid token."""
    with transaction.atomic():
        invitation = Invitation.objects.select_for_update().filter(token_hash=hashed(token), used_at=None).first()
        if invitation is None or invitation.expires_at < timezone.now():
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


def forget_old() -> None:
    """Remove expired sessions, and expired counts of rate limits."""
    Count.objects.filter(expires__lt=timezone.now()).delete()
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
