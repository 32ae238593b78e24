"""Addresses that are sent to people: with the server's public name, whatever name it was asked by."""

from django.conf import settings
from django.http import HttpRequest


def whole_address(request: HttpRequest, path: str) -> str:
    """Return the whole address of a path: at ``JUDGEMAP_URL`` where that is set, else where the request came to."""
    return f"{settings.PUBLIC_URL}{path}" if settings.PUBLIC_URL else request.build_absolute_uri(path)
