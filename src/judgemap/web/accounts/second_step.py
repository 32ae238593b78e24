"""The second step of signing in: its secrets are encrypted with a key that is not in the database."""

import base64
import hmac
import logging
import secrets

from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings

from judgemap.web.accounts.actions import find_researcher
from judgemap.web.accounts.models import Researcher

logger = logging.getLogger(__name__)


class SecondStepAdapter(DefaultMFAAdapter):  # type: ignore[misc]
    """How allauth stores the secret of an authenticator app and the seed of recovery codes.

    >>> SecondStepAdapter().decrypt(SecondStepAdapter().encrypt("JBSWY3DPEHPK3PXP"))
    'JBSWY3DPEHPK3PXP'
    """

    def encrypt(self, text: str) -> str:
        """Encrypt a secret with a key derived from the server's secret key."""
        return _cipher().encrypt(text.encode()).decode()

    def decrypt(self, encrypted_text: str) -> str:
        """Decrypt a secret; one encrypted with another secret key becomes a random secret, which no code matches."""
        try:
            return _cipher().decrypt(encrypted_text.encode()).decode()
        except InvalidToken:
            logger.warning("a second step was encrypted with another secret key; see 'judgemap researcher reset-step'")
            return base64.b32encode(secrets.token_bytes(20)).decode()


def _cipher() -> Fernet:
    # The secret key is random: one hash keyed with a purpose is enough. Scrypt is for passwords that people think up.
    key = hmac.digest(settings.SECRET_KEY.encode(), b"judgemap second step", "sha256")
    return Fernet(base64.urlsafe_b64encode(key))


def reset_second_step(email: str) -> Researcher:
    """Turn the second step off for a researcher who has neither the phone nor a recovery code."""
    researcher = find_researcher(email)
    Authenticator.objects.filter(user=researcher).delete()
    return researcher
