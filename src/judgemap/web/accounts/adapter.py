"""How allauth behaves here: nobody can sign up, and internet addresses are counted but not stored."""

import hashlib
import hmac
from typing import Any

from allauth.account.adapter import DefaultAccountAdapter, get_adapter
from django.conf import settings
from django.http import HttpRequest


def place_hash(request: HttpRequest) -> str:
    """Return a keyed hash of the client's address: enough to count by, without storing the address."""
    return str(get_adapter().get_client_ip(request))


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]
    """Researchers can only join through one-time links."""

    def is_open_for_signup(self, request: HttpRequest) -> bool:  # noqa: ARG002 - allauth's
        """Say that nobody can sign up."""
        return False

    def get_client_ip(self, request: HttpRequest) -> str:
        """Return a keyed hash of the address: enough to count by, without storing the address."""
        address = super().get_client_ip(request)
        return hmac.new(settings.SECRET_KEY.encode(), address.encode(), hashlib.sha256).hexdigest()[:32]

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:  # noqa: ANN401, ARG002
        """Count failed sign-ins only by email address: allauth adds the Host header, which anybody can vary."""
        return str(credentials.get("email", "")).lower()
