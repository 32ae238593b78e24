"""The judge's side of a study, played by its researcher, at /try/<study>/ and below.

The judge and the pairs are not in the database; a signed cookie holds the researcher's progress.
"""

import zlib
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import wraps
from typing import Any

import numpy as np
import segno
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from judgemap.web.judge.forms import read_answer, read_positions
from judgemap.web.judge.ground import area_picture
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.judge.places import gazetteer
from judgemap.web.judge.places_page import show_places
from judgemap.web.judge.scheduling import draw_pair
from judgemap.web.judge.screens import Place, language_of, place_of
from judgemap.web.judge.views import common, show_areas, show_pair, show_place, wants_json
from judgemap.web.server.tokens import withdrawal_code
from judgemap.web.studies.access import reading_page
from judgemap.web.studies.models import Area, Study

SALT = "judgemap.preview"
HOURS = 6
MOST_UNKNOWN = 300
"""How many unknown areas a cookie has room for."""


@dataclass(frozen=True, slots=True)
class State:
    """What a judge's rows in the database would say."""

    consented: bool = False
    practice_left: int = 0
    shown: int = 0
    judged: int = 0
    went_on: bool = False
    language: str = ""
    unknown: list[int] = field(default_factory=list)
    places: list[str] = field(default_factory=list)


PreviewView = Callable[[HttpRequest, Study, State], HttpResponse]


def cookie_name(slug: str) -> str:
    """Name the cookie of a study's preview."""
    return f"try-{slug}"


def read_state(request: HttpRequest, slug: str) -> State:
    """Read the researcher's progress; they start at the beginning if the cookie is missing, old or not ours."""
    try:
        kept: dict[str, Any] = signing.loads(
            request.COOKIES.get(cookie_name(slug), ""), salt=f"{SALT}.{slug}", max_age=HOURS * 3600
        )
        return State(**kept)
    except (signing.BadSignature, TypeError):
        return State()


def write_state(response: HttpResponse, slug: str, state: State, *, secure: bool) -> HttpResponse:
    """Store the researcher's progress in the browser."""
    text = signing.dumps(asdict(state), salt=f"{SALT}.{slug}", compress=True)
    response.set_cookie(
        cookie_name(slug), text, HOURS * 3600, path="/try/", httponly=True, samesite="Lax", secure=secure
    )
    return response


def preview_page(view: PreviewView) -> Callable[[HttpRequest, str], HttpResponseBase]:
    """Find the study for those who may see it, pretend that it is open, and use the chosen language."""

    @reading_page
    @wraps(view)
    def page(request: HttpRequest, study: Study) -> HttpResponse:
        study.status = Study.Status.OPEN
        request.preview = study  # type: ignore[attr-defined]
        state = read_state(request, study.slug)
        judge = Judge(study=study, language=state.language)
        with translation.override(language_of(judge, request.headers.get("Accept-Language", ""))):
            return view(request, study, state)

    def by_token(request: HttpRequest, token: str) -> HttpResponseBase:
        return page(request, token)

    return by_token


def pretend_judge(study: Study, state: State) -> Judge:
    """Make the judge that a preview's state describes."""
    judge = Judge(
        study=study,
        judged=state.judged,
        practice_left=state.practice_left,
        went_on=state.went_on,
        language=state.language,
        places=state.places,
        maximum=study.version.maximum,
    )
    judge.consented = state.consented  # type: ignore[attr-defined]
    return judge


def pretend_pair(judge: Judge, number: int, unknown: list[int]) -> Pair | None:
    """Make the pair with a number; the same number gives the same pair, so that a reload shows it again."""
    version = judge.study.version
    rng = np.random.default_rng([zlib.crc32(judge.study.slug.encode()), version.number, number])
    drawn = draw_pair(rng, version.pk, version.design, frozenset(unknown), places=judge.places)
    if drawn is None:
        return None
    areas = {
        each.position: each for each in Area.objects.filter(study=judge.study, position__in=(drawn.left, drawn.right))
    }
    return Pair(
        judge=judge,
        version=version,
        token=f"preview{number:015d}",
        left=areas[drawn.left],
        right=areas[drawn.right],
        position=number + 1,
        practice=judge.practice_left > 0,
    )


def moved(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Store a new state, and go to the page that it leads to."""
    response = redirect("preview:home", study.slug)
    return write_state(response, study.slug, state, secure=request.is_secure())


@require_safe
@preview_page
def home(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Show the page that the pretend judge has reached."""
    judge = pretend_judge(study, state)
    place = place_of(judge)
    if place == Place.PAIR:
        pair = pretend_pair(judge, state.shown, state.unknown)
        return show_pair(request, study.slug, pair) if pair else redirect("preview:areas", study.slug)
    if wants_json(request):
        return HttpResponse('{"place":"elsewhere"}', "application/json")
    if place == Place.PLACES:
        return redirect("preview:places", study.slug)
    return show_place(request, judge, study.slug, place)


@require_POST
@preview_page
def answer(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Take an answer, and go on to the next pair."""
    given = read_answer(request.POST)
    shown = f"preview{state.shown:015d}"
    after = _answered(state, given.outcome) if given.pair == shown and given.outcome else state
    if not wants_json(request):
        return moved(request, study, after)
    judge = pretend_judge(study, after)
    pair = pretend_pair(judge, after.shown, after.unknown) if place_of(judge) == Place.PAIR else None
    response = (
        show_pair(request, study.slug, pair) if pair else HttpResponse('{"place":"elsewhere"}', "application/json")
    )
    return write_state(response, study.slug, after, secure=request.is_secure())


def _answered(state: State, outcome: str) -> State:
    if state.practice_left:
        return replace(state, shown=state.shown + 1, practice_left=state.practice_left - 1)
    counts = outcome != "unknown"
    return replace(state, shown=state.shown + 1, judged=state.judged + counts)


@require_safe
@preview_page
def last(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Show the previous pair, as if its answer could be changed."""
    pair = pretend_pair(pretend_judge(study, state), state.shown - 1, state.unknown) if state.shown else None
    if pair is None:
        return redirect("preview:home", study.slug)
    return show_pair(request, study.slug, pair, Answer(revision=1))


@require_POST
@preview_page
def consent(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Agree."""
    practice = study.version.practice if request.POST.get("begin") != "now" else 0
    agreed = request.POST.get("agree") == "yes"
    return moved(request, study, replace(state, consented=agreed, practice_left=practice if agreed else 0))


@require_POST
@preview_page
def end_practice(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Skip the rest of the practice."""
    return moved(request, study, replace(state, practice_left=0))


@require_POST
@preview_page
def go_on(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Carry on after the recommended number."""
    return moved(request, study, replace(state, went_on=True))


@require_POST
@preview_page
def language(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Change the language."""
    wanted = request.POST.get("language", "")
    return moved(request, study, replace(state, language=wanted if wanted in study.version.offered else ""))


@require_http_methods(["GET", "HEAD", "POST"])
@preview_page
def areas(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Show all areas on one map, and note which are unknown."""
    if request.method == "POST":
        unknown = sorted(read_positions(request.POST.getlist("unknown")))[:MOST_UNKNOWN]
        return moved(request, study, replace(state, unknown=unknown, shown=state.shown + 1))
    return show_areas(request, pretend_judge(study, state), study.slug, state.unknown)


@require_http_methods(["GET", "HEAD", "POST"])
@preview_page
def places(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Show the places of a large map, and note which are known."""
    if request.method == "POST":
        chosen = gazetteer(study.pk).check(request.POST.getlist("place"))
        return moved(request, study, replace(state, places=chosen, unknown=[], shown=state.shown + 1))
    return show_places(request, pretend_judge(study, state), study.slug)


@require_safe
@preview_page
def link(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Show a link and a code as judges see theirs; these two lead nowhere."""
    address = request.build_absolute_uri(reverse("preview:home", args=[study.slug]))
    context = common(pretend_judge(study, state), study.slug) | {
        "address": address,
        "qr_code": segno.make(address, error="m").svg_data_uri(scale=4, border=2),
        "code": withdrawal_code(study.slug),
    }
    return render(request, "judge/link.html", context)


@require_safe
@reading_page
def ground_picture(request: HttpRequest, study: Study, key: int, position: int) -> HttpResponse:
    """Show the base map under an area, to a browser without scripts."""
    return area_picture(request, study.base_map_id, key, study.pk, position)


@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest) -> HttpResponse:  # noqa: ARG001 - Django's
    """Lead back to the studies: a preview stores nothing that could be withdrawn."""
    return redirect("studies:list")


@require_POST
@preview_page
def jump(request: HttpRequest, study: Study, state: State) -> HttpResponse:
    """Jump to the beginning, to the thanks, or to the end, without judging all the pairs in between."""
    version = study.version
    places = {
        "begin": State(language=state.language),
        "thanks": replace(state, consented=True, practice_left=0, judged=version.recommended, went_on=False),
        "end": replace(state, consented=True, practice_left=0, judged=version.maximum),
    }
    return moved(request, study, places.get(request.POST.get("to", ""), state))
