"""How signing in works here: nobody can sign up, addresses are counted but not stored, and judges are served first.

The secrets of the second step are encrypted with a key that is not in the database.
"""

import base64
import hashlib
import hmac
import ipaddress
import logging
import os
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter, get_adapter
from allauth.mfa.adapter import DefaultMFAAdapter
from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.contrib.auth.hashers import ScryptPasswordHasher  # type: ignore[attr-defined]
from django.http import HttpRequest

logger = logging.getLogger(__name__)
PASSWORDS_AT_ONCE = 2
NICENESS = 10


class PatientScryptPasswordHasher(ScryptPasswordHasher):  # type: ignore[misc]
    """Hashes two passwords at a time, when nobody else needs the processor: each takes a quarter of a second."""

    def encode(self, password: str, salt: str, n: int | None = None, r: int | None = None, p: int | None = None) -> str:
        """Hash a password when its turn comes."""
        return str(_hashing(os.getpid()).submit(super().encode, password, salt, n, r, p).result())


@cache
def _hashing(process: int) -> ThreadPoolExecutor:  # noqa: ARG001 - a fork has none of its parent's threads
    return ThreadPoolExecutor(PASSWORDS_AT_ONCE, "passwords", initializer=_let_others_go_first)


def _let_others_go_first() -> None:
    with suppress(OSError):  # only Linux gives threads a priority of their own
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICENESS)


NEAR = {4: 24, 6: 48}
"""How many bits of an address its neighbours share."""


def place_hashes(request: HttpRequest) -> tuple[str, str]:
    """Return keyed hashes of where a client is, and of the network around: enough to count by, without the address."""
    address = DefaultAccountAdapter.get_client_ip(get_adapter(), request)
    return hashed_place(address), hashed_place(address, near=True)


def hashed_place(address: str, *, near: bool = False) -> str:
    """Hash where an address is. Somebody with one IPv6 address has 2⁶⁴ of them, so these count as one place.

    >>> hashed_place("2001:db8::1") == hashed_place("2001:db8::9:9") != hashed_place("2001:db8:0:1::1")
    True
    """
    try:
        at = ipaddress.ip_address(address)
    except ValueError:
        place = address
    else:
        at = getattr(at, "ipv4_mapped", None) or at
        bits = NEAR[at.version] if near else min(at.max_prefixlen, 64)
        place = str(ipaddress.ip_network((at, bits), strict=False))
    return hmac.new(settings.SECRET_KEY.encode(), place.encode(), hashlib.sha256).hexdigest()[:32]


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Researchers can only join through one-time links."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 - allauth's
        """Say that nobody can sign up."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return a keyed hash of the address: enough to count by, without storing the address."""
        return hashed_place(super().get_client_ip(request))

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:  # noqa: ANN401, ARG002
        """Count failed sign-ins only by email address: allauth adds the Host header, which anybody can vary."""
        return str(credentials.get("email", ""))


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
