"""Random tokens for links, the links themselves, and the hashes that are stored."""

import base64
import hashlib
import hmac
import secrets

from django.conf import settings
from django.http import HttpRequest


def make_token() -> str:
    """Make a token of 128 random bits for a link.

    >>> len(make_token())
    22
    """
    return secrets.token_urlsafe(16)


def make_name() -> str:
    """Make a random name of ten letters and digits that nobody misreads.

    >>> len(make_name())
    10
    """
    return "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(10))


def hashed(token: str) -> str:
    """Hash a token for storage. Tokens have enough random bits to need no salt or slow hash.

    >>> hashed("a")[:8]
    'ca978112'
    """
    return hashlib.sha256(token.encode()).hexdigest()


def withdrawal_code(token: str) -> str:
    """Derive the withdrawal code from a judge's link, so that it can be shown again though only its hash is stored.

    >>> withdrawal_code("dGhlIHRva2Vu")
    'OW7N-M5MP-76UB-G2RV'
    """
    digest = hmac.digest(token.encode(), b"judgemap withdrawal", "sha256")
    text = base64.b32encode(digest[:10]).decode()
    return "-".join(text[i : i + 4] for i in range(0, 16, 4))


def tidy_code(typed: str) -> str:
    """Write a withdrawal code as it was given out, whatever case, spaces or dashes it was typed with.

    >>> tidy_code(" ow7nm5mp 76ub-g2rv")
    'OW7N-M5MP-76UB-G2RV'
    """
    text = "".join(each for each in typed.upper().replace("0", "O").replace("1", "I") if each.isalnum())[:16]
    return "-".join(text[i : i + 4] for i in range(0, len(text), 4))


def whole_address(request: HttpRequest, path: str) -> str:
    """Return the full address of a path: at ``JUDGEMAP_URL`` if that is set, otherwise at the request's host."""
    return f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)
