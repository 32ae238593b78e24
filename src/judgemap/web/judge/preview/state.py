"""Where a researcher is in a preview: a signed cookie, for nothing is stored here."""

from dataclasses import asdict, dataclass, field
from typing import Any

from django.core import signing
from django.http import HttpRequest, HttpResponse

SALT = "judgemap.preview"
HOURS = 6


@dataclass(frozen=True, slots=True)
class State:
    """What a judge's rows would say."""

    consented: bool = False
    practice_left: int = 0
    shown: int = 0
    judged: int = 0
    went_on: bool = False
    language: str = ""
    unknown: list[int] = field(default_factory=list)


def cookie_name(slug: str) -> str:
    """Name the cookie of a study's preview."""
    return f"try-{slug}"


def read_state(request: HttpRequest, slug: str) -> State:
    """Read where the researcher is; at the beginning, where the cookie is missing, old or not ours."""
    try:
        found: dict[str, Any] = signing.loads(
            request.COOKIES.get(cookie_name(slug), ""), salt=f"{SALT}.{slug}", max_age=HOURS * 3600
        )
        return State(**found)
    except (signing.BadSignature, TypeError):
        return State()


def write_state(response: HttpResponse, slug: str, state: State, *, secure: bool) -> HttpResponse:
    """Let the browser keep where the researcher is."""
    text = signing.dumps(asdict(state), salt=f"{SALT}.{slug}", compress=True)
    response.set_cookie(
        cookie_name(slug), text, HOURS * 3600, path="/try/", httponly=True, samesite="Lax", secure=secure
    )
    return response
