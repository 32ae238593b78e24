"""Addresses of the programming interface, and of the page that makes tokens for it."""

from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from judgemap.web.api import tokens
from judgemap.web.api.access import SAID, in_json, problem
from judgemap.web.api.endpoints import api


def nothing_here(request: HttpRequest, rest: str) -> HttpResponse:  # noqa: ARG001 - Django's
    """Answer any other address, in JSON like all of them."""
    return problem(404, SAID[404])


patterns, _, namespace = api.urls
for each in patterns:
    if each.callback is not None:
        each.callback = in_json(each.callback)

app_name = "api"
urlpatterns = [
    path("studies/<slug:slug>/api", tokens.tokens, name="tokens"),
    path("studies/<slug:slug>/api/revoke", tokens.revoke, name="revoke"),
]
interface = [
    path("api/v1/", include((patterns, "ninja"), namespace=namespace)),
    path("api/<path:rest>", in_json(nothing_here)),
]
