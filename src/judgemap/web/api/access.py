"""Who may read what: only a token in the header counts. Cookies do not, so cross-site requests get nothing."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from ninja.security import HttpBearer

from judgemap.web.api.models import ApiToken
from judgemap.web.api.tokens import find_token, studies_of_token
from judgemap.web.server.limits import WRONG_GUESSES, Brake
from judgemap.web.studies.models import Study

A_SECOND = 5.0
ASKED = Brake("api", most=60, seconds=60 / A_SECOND)
"""How many requests one token may make, at once and over time."""
SAID = {
    400: "The request is not valid; see /api/v1/openapi.json.",
    404: "There is nothing at this address; see /api/v1/openapi.json for the list.",
    405: "This address is read-only: use GET.",
}


class ApiError(Exception):
    """A refused request: its status, and one sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class TokenAuth(HttpBearer):
    """A token as ``Authorization: Bearer jm_…``."""

    def authenticate(self, request: HttpRequest, token: str) -> ApiToken:  # noqa: ARG002 - ninja's
        """Find the token, unless it asks too often."""
        known = find_token(token)
        if known is None:
            if not WRONG_GUESSES.allows():
                raise ApiError(429, "Too many wrong tokens; wait a second and try again.")
            raise ApiError(401, "This token is not valid: it is wrong, has expired or was revoked; make a new one.")
        if not ASKED.allows(str(known.pk)):
            raise ApiError(429, f"Too many requests with this token; the limit is {A_SECOND:.0f} a second.")
        return known


def token_of(request: HttpRequest, scope: str) -> ApiToken:
    """Return the request's token, if it has the scope."""
    token: ApiToken = request.auth  # type: ignore[attr-defined]
    if scope not in token.scopes:
        raise ApiError(403, f"This token has no scope {scope!r}; make one that has it.")
    return token


def study_for(request: HttpRequest, slug: str, scope: str) -> Study:
    """Find a study that the request's token opens; answer 404 for any other."""
    study = studies_of_token(token_of(request, scope)).filter(slug=slug).first()
    if study is None:
        raise ApiError(404, "This token does not give access to a study of that name.")
    return study


def problem(status: int, sentence: str) -> HttpResponse:
    """Answer with one sentence."""
    response = JsonResponse({"error": sentence}, status=status, json_dumps_params={"ensure_ascii": False})
    if status == 401:
        response["WWW-Authenticate"] = "Bearer"
    if status == 429:
        response["Retry-After"] = "1"
    return response


def in_json(view: Callable[..., Any]) -> Callable[..., HttpResponse]:
    """Say in JSON what Django would say in HTML."""

    @wraps(view)
    def answer(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponse:
        try:
            response: HttpResponse = view(request, *args, **kwargs)
        except Http404:
            response = problem(404, SAID[404])
        if response.status_code >= 400 and "json" not in response.get("Content-Type", ""):
            response = problem(response.status_code, SAID.get(response.status_code, SAID[400]))
        return response

    answer.csrf_exempt = True  # type: ignore[attr-defined]
    return answer
