"""Random tokens for links, the hashes that are stored, and the address of links: whether judges can reach it."""

import base64
import hashlib
import hmac
import ipaddress
import secrets
import socket
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest


def make_token() -> str:
    """Make a token of 128 random bits for a link: 22 characters."""
    return secrets.token_urlsafe(16)


def make_name() -> str:
    """Make a random name of ten letters and digits that nobody misreads."""
    return "".join(secrets.choice("abcdefghjkmnpqrstuvwxyz23456789") for _ in range(10))


def hashed(token: str) -> str:
    """Hash a token for storage. Tokens have enough random bits to need no salt or slow hash."""
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


SECONDS = 3.0
REMEMBERED = 60
"""For how many seconds a result is reused."""
SET_IT = (
    "Start the server with JUDGEMAP_URL set to the address that judges will use, "
    "for example JUDGEMAP_URL=https://judge.example.org"
)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why judges may not reach an address, and what to do."""

    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}"


def check_address(address: str) -> Problem | None:
    """Say what is wrong with the address of judges' links; None if nothing seems to be.

    >>> print(check_address("http://127.0.0.1:8000").text)
    Links would start with http://127.0.0.1:8000, which works on this computer only.
    """
    return _check(address.rstrip("/"), int(time.time()) // REMEMBERED)


@lru_cache(maxsize=32)
def _check(address: str, minute: int) -> Problem | None:  # noqa: ARG001 - so that the cache expires
    parts = urlsplit(address)
    host = parts.hostname or ""
    begin = f"Links would start with {address},"
    if _is_here(host):
        return Problem(f"{begin} which works on this computer only.", f"{SET_IT}.")
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, parts.port or 443)}
    except (OSError, UnicodeError):
        return Problem(f"{begin} and no computer called {host!r} can be found.", f"{SET_IT}, and check its spelling.")
    if parts.scheme != "https":
        private = any(ipaddress.ip_address(each).is_private for each in map(str, found))
        only = " They also work only inside your own network." if private else ""
        return Problem(
            f"{begin} without encryption: others on the network can read the answers.{only}",
            f"Put the server behind a proxy with TLS, and use its https address. {SET_IT}.",
        )
    return _ask(address, begin)


def _is_here(host: str) -> bool:
    """Say whether a host name means only this computer."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified


def _ask(address: str, begin: str) -> Problem | None:
    """Ask this server for its health at its public address."""
    try:
        with urllib.request.urlopen(f"{address}/healthz", timeout=SECONDS):  # noqa: S310 - https, and our own address
            return None
    except urllib.error.HTTPError:
        return Problem(f"{begin} where something other than this server answers.", "Check the proxy, and JUDGEMAP_URL.")
    except (OSError, ValueError):
        return Problem(
            f"{begin} where this server cannot reach itself within {SECONDS:.0f} seconds.",
            "Check the proxy and the firewall, or open the address on a phone: if it works there, ignore this.",
        )
