"""Addresses of the programming interface, and of the page that makes tokens for it."""

import hashlib
import json
from functools import cache

from django.http import HttpRequest, HttpResponse
from django.urls import include, path
from django.views.decorators.http import condition, require_safe

from judgemap.web.api import tokens
from judgemap.web.api.access import SAID, in_json, problem
from judgemap.web.api.endpoints import api


def nothing_here(request: HttpRequest, rest: str) -> HttpResponse:  # noqa: ARG001 - Django's
    """Answer any other address with 404, in JSON like the rest."""
    return problem(404, SAID[404])


@cache
def _description() -> tuple[bytes, str]:
    """Return the interface's description and its ETag, made once per process: making it takes a fifth of a second."""
    text = json.dumps(api.get_openapi_schema(path_prefix="/api/v1/"), ensure_ascii=False).encode()
    return text, f'"{hashlib.sha256(text).hexdigest()[:32]}"'


@require_safe
@condition(etag_func=lambda _: _description()[1])
def openapi_json(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's
    """Describe the interface to programs; the same for everybody, until the server is updated."""
    return HttpResponse(_description()[0], "application/json", headers={"Cache-Control": "public, max-age=3600"})


patterns, _, namespace = api.urls
for each in patterns:
    if each.callback is not None:
        each.callback = in_json(each.callback)

description = path("openapi.json", openapi_json, name="openapi-json")
app_name = "api"
urlpatterns = [
    path("studies/<slug:slug>/api", tokens.tokens, name="tokens"),
    path("studies/<slug:slug>/api/revoke", tokens.revoke, name="revoke"),
]
interface = [
    path("api/v1/", include(([description, *patterns], "ninja"), namespace=namespace)),
    path("api/<path:rest>", in_json(nothing_here)),
]
