"""Friendly pages for when things go wrong."""

import sys

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import translation
from django.utils.html import escape
from django.utils.translation import gettext as _

from judgemap.web.server.database import is_outage


def kind_page(request: HttpRequest, status: int, title: str, text: str, home: str = "") -> HttpResponse:
    """Say in a sentence what happened and what to do next; ``home`` is where people who are not signed in can start."""
    return render(request, "kind_page.html", {"title": title, "text": text, "home": home}, status=status)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001 - Django's
    """Answer a request that makes no sense."""
    return kind_page(request, 400, _("That did not work"), _("Your browser sent a request we couldn't understand."))


class Forbidden(PermissionDenied):
    """Something that this person may not do; the page shows the sentence."""


def forbidden(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Answer somebody who may not see a page or do what they asked."""
    text = str(exception) if isinstance(exception, Forbidden) else _("You do not have permission to see this page.")
    return kind_page(request, 403, _("You do not have access"), text)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001 - Django's
    """Answer an address that does not exist, or a link that is not one of ours."""
    text = _("There is nothing at this address. If you were sent a link, check that you copied all of it.")
    of_judge = request.path.startswith(("/s/", "/j/", "/r/"))  # the start page is for researchers
    return kind_page(request, 404, _("Page not found"), text, home="" if of_judge else "/")


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer when we or the database are at fault, using nothing that could fail again."""
    error = sys.exception()
    if error is not None and is_outage(error):
        return _unavailable(request)
    title = _("Our mistake")
    text = _("Something went wrong at our end. Nothing you saved has been lost. Please try again in a minute.")
    return _bare_page(500, title, text)


def _unavailable(request: HttpRequest) -> HttpResponse:
    """Answer while nothing can be stored; reloading the page sends the answer again."""
    with translation.override(translation.get_language_from_request(request)):
        title, text = _("One moment, please"), _("The server cannot save anything at the moment.")
        again = _("Reload this page in a minute to send it again.")
        response = _bare_page(503, title, f"{text} {again}" if request.method == "POST" else text)
    if request.path.startswith("/api/"):
        response = JsonResponse({"error": "The database does not answer; try again in a minute."}, status=503)
    response["Retry-After"] = "30"
    return response


def _bare_page(status: int, title: str, text: str) -> HttpResponse:
    title, text = escape(title), escape(text)
    page = f'<!DOCTYPE html><meta charset="utf-8"><title>{title}</title><h1>{title}</h1><p>{text}</p>'
    return HttpResponse(page, status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001 - Django's
    """Answer a form without its token: an old page, or a browser that keeps no cookies."""
    text = _("This page has expired, or your browser does not accept cookies. Go back, reload the page and try again.")
    return kind_page(request, 403, _("Please try again"), text)
