"""The judge's pages. A link is /j/<token>/; what it shows is decided by where the judge is."""

import json
from collections.abc import Callable, Collection
from functools import wraps
from urllib.parse import urlsplit

import segno
from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from judgemap.geo.drawing.outlines import stored_path, svg_path
from judgemap.web.accounts.adapter import place_hash
from judgemap.web.judge import actions
from judgemap.web.judge.forms import read_answer, read_positions
from judgemap.web.judge.ground import ground_json, picture_address
from judgemap.web.judge.models import Answer, Judge, JudgeGroup, Pair, UnknownArea
from judgemap.web.judge.places import ALL, known_areas
from judgemap.web.judge.refusals import Refused
from judgemap.web.judge.screens import Place, counter, language_of, pair_json, place_of, progress, said_before, side_of
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.server.markdown import render_markdown
from judgemap.web.server.tokens import withdrawal_code
from judgemap.web.studies.models import Area, Study

JudgeView = Callable[[HttpRequest, Judge, str], HttpResponse]
MOST_LISTED = 2_000
"""How many checkboxes one page shows."""
TEMPLATES = {
    Place.WITHDRAWN: "judge/withdrawn.html",
    Place.NOT_OPEN: "judge/not_open.html",
    Place.CONSENT: "judge/consent.html",
    Place.PAUSE: "judge/pause.html",
    Place.END: "judge/end.html",
}


def judge_page(view: JudgeView) -> Callable[[HttpRequest, str], HttpResponse]:
    """Find the link's judge, use the judge's language, and turn a refusal into a friendly page."""

    @wraps(view)
    def page(request: HttpRequest, token: str) -> HttpResponse:
        judge = actions.find_judge(token)
        if judge is None:
            return refusal(request, token, Refused("no link"))
        with translation.override(language_of(judge, request.headers.get("Accept-Language", ""))):
            try:
                return private(view(request, judge, token))
            except Refused as refused:
                return refusal(request, token, refused)

    return page


def private(response: HttpResponse) -> HttpResponse:
    """Keep a page out of caches and search engines."""
    response["Cache-Control"] = "no-store"
    response["X-Robots-Tag"] = "noindex, nofollow"
    return response


def refusal(request: HttpRequest, token: str, refused: Refused) -> HttpResponse:
    """Explain politely what was refused, as a page or to the page's script, with a link back."""
    if refused.status == 404 and not WRONG_GUESSES.allows():
        refused = Refused("too many")
    sentence = str(refused.sentence)
    home = reverse("judge:home", args=[token]) if token and refused.why not in ("no link", "too many") else ""
    if wants_json(request):
        body = json.dumps({"place": "refused", "said": sentence, "why": refused.why})
        return private(HttpResponse(body, "application/json", refused.status))
    context = {"sentence": sentence, "home": home, "language": translation.get_language()}
    return private(render(request, "judge/refused.html", context, status=refused.status))


def wants_json(request: HttpRequest) -> bool:
    """Say whether the request comes from the page's script and not from the browser itself."""
    return "application/json" in request.headers.get("Accept", "")


def common(judge: Judge, token: str) -> dict[str, object]:
    """Return what every page of a judge shows."""
    version = judge.study.version
    language = translation.get_language() or "en"
    return {
        "judge": judge,
        "token": token,
        "version": version,
        "language": language,
        "languages": [each for each in all_languages() if each[0] in version.offered],
        "title": version.text("title", language),
        "question": version.text("question", language),
        "code": withdrawal_code(token),
        "consented": actions.has_consented(judge),
    }


def all_languages() -> list[tuple[str, str]]:
    """Return the languages, each by its own name."""
    return [(code, translation.get_language_info(code)["name_local"]) for code, _ in settings.LANGUAGES]


@require_safe
@gzip_page  # safe: it contains nothing that others can send, and its length varies at random, so it leaks no token
@judge_page
def home(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show the page that the judge has reached."""
    place = place_of(judge)
    if place == Place.PAIR:
        pair = actions.current_pair(token)
        if pair is not None:
            return show_pair(request, token, pair)
    if wants_json(request):
        return HttpResponse('{"place":"elsewhere"}', "application/json")
    if place == Place.PAIR:
        return redirect(_where_no_pair_is_left(token), token)
    if place == Place.PLACES:
        return redirect("judge:places", token)
    return show_place(request, judge, token, place)


def show_place(request: HttpRequest, judge: Judge, token: str, place: Place) -> HttpResponse:
    """Show the page of a place without a pair, with the study's texts."""
    version, language = judge.study.version, translation.get_language() or "en"
    texts = {each: render_markdown(version.text(each, language)) for each in ("consent", "instructions", "thanks")}
    context = common(judge, token) | {
        "texts": texts,
        "example": render_markdown(version.text("example", language)),
        "tiles_host": tiles_host(tiles_of(judge.study)),
    }
    return render(request, TEMPLATES[place], context)


def _where_no_pair_is_left(token: str) -> str:
    """Say where a judge without a pair goes: to the areas if they know too few, or home if they have just finished."""
    judge = actions.find_judge(token)
    return "judge:areas" if judge is not None and place_of(judge) == Place.PAIR else "judge:home"


def show_pair(request: HttpRequest, token: str, pair: Pair, before: Answer | None = None) -> HttpResponse:
    """Show a pair, to the page's script or as a page that works without scripts."""
    judge = pair.judge
    if wants_json(request):
        return HttpResponse(pair_json(judge, pair, before), "application/json")
    version = judge.study.version
    context = common(judge, token) | {
        "pair": pair,
        "before": before,
        "counter": counter(judge, pair),
        "progress": progress(judge),
        "sides": [
            side_of(side, area, picture_address(request, judge.study, token, area))
            for side, area in (("left", pair.left), ("right", pair.right))
        ],
        "tiles": tiles_of(judge.study),
        "ground": ground_json(request, judge.study, token),
        "credit": judge.study.base_map.credit if judge.study.base_map else version.base_map_credit,
        "outline": svg_path(json.loads(judge.study.outline)["rings"]) if judge.study.outline else "",
        "data": pair_json(judge, pair, before),
        "said": said_before(pair, before) if before else "",
        "instructions": render_markdown(version.text("instructions", translation.get_language() or "en")),
    }
    response = render(request, "judge/pair.html", context)
    if tiles := tiles_of(judge.study):
        allow_tiles(response, tiles)
    return response


def tiles_of(study: Study) -> str:
    """Return the address of somebody else's map tiles; empty if there is none, or if the study has its own base map."""
    return "" if study.base_map_id else study.version.base_map


def allow_tiles(response: HttpResponse, address: str) -> None:
    """Let a page load map tiles from the researcher's chosen server, as `csp.decorators.csp_update` does."""
    response._csp_update = {"img-src": [f"https://{tiles_host(address)}"]}  # type: ignore[attr-defined]  # noqa: SLF001


def tiles_host(address: str) -> str:
    """Return the name of the server that map tiles come from.

    >>> tiles_host("https://{s}.tiles.example.org/{z}/{x}/{y}.png")
    '*.tiles.example.org'
    """
    return urlsplit(address).netloc.replace("{s}", "*")


@require_POST
def answer(request: HttpRequest, token: str) -> HttpResponse:
    """Store an answer, and give the script the next pair in the same response."""
    try:
        pair = actions.answer(token, read_answer(request.POST))
    except Refused as refused:
        return _refused_answer(request, token, refused)
    if not wants_json(request):
        return private(redirect("judge:home", token))
    if pair is None:
        return private(HttpResponse('{"place":"elsewhere"}', "application/json"))
    with translation.override(language_of(pair.judge, request.headers.get("Accept-Language", ""))):
        return private(HttpResponse(pair_json(pair.judge, pair), "application/json"))


def _refused_answer(request: HttpRequest, token: str, refused: Refused) -> HttpResponse:
    @judge_page
    def page(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:  # noqa: ARG001
        raise refused

    return page(request, token)


@require_safe
@gzip_page
@judge_page
def last(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show the last pair answered, so that its answer can be changed."""
    if place_of(judge) not in (Place.PAIR, Place.PAUSE, Place.END):
        return redirect("judge:home", token)
    answered = actions.last_answered(judge)
    if answered is None:
        return redirect("judge:home", token)
    pair, before = answered
    pair.judge = judge
    return show_pair(request, token, pair, before)


@require_POST
@judge_page
def consent(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Record that the judge agrees."""
    if request.POST.get("agree") != "yes":
        raise Refused("no consent")
    practice = judge.study.version.practice if request.POST.get("begin") != "now" else 0
    actions.give_consent(token, translation.get_language() or "en", practice)
    return redirect("judge:home", token)


@require_POST
@judge_page
def end_practice(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:  # noqa: ARG001
    """Skip the rest of the practice."""
    actions.end_practice(token)
    return redirect("judge:home", token)


@require_POST
@judge_page
def go_on(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:  # noqa: ARG001
    """Carry on after the recommended number."""
    actions.go_on(token)
    return redirect("judge:home", token)


@require_POST
@judge_page
def language(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:  # noqa: ARG001
    """Change the language."""
    actions.choose_language(token, request.POST.get("language", ""))
    return redirect("judge:home", token)


@require_http_methods(["GET", "HEAD", "POST"])
@judge_page
def areas(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show all areas on one map, and let the judge say which they do not know, or know after all."""
    if place_of(judge) not in (Place.PAIR, Place.PAUSE, Place.END):
        return redirect("judge:home", token)
    if request.method == "POST":
        listed = read_positions(request.POST.get("listed", "").split(","))
        actions.mark_unknown(token, read_positions(request.POST.getlist("unknown")), listed)
        return redirect("judge:home", token)
    unknown = set(UnknownArea.objects.filter(judge=judge).values_list("area__position", flat=True))
    return show_areas(request, judge, token, unknown)


def show_areas(request: HttpRequest, judge: Judge, token: str, unknown: Collection[int]) -> HttpResponse:
    """Show all areas by name, with unknown ones ticked; for a large map, only those in the judge's places."""
    areas = Area.objects.filter(study=judge.study)
    if judge.study.asks_places:
        known = known_areas(judge.study_id, tuple(judge.places))
        others = set() if known is None else {*known.tolist()} - {*unknown}
        areas = areas.filter(position__in=[*sorted(unknown), *sorted(others)][:MOST_LISTED])
    rows = areas.order_by("name", "position").values_list("position", "name", "rings")
    listed = [{"position": position, "name": name, "unknown": position in unknown,
               "path": "" if judge.study.asks_places else stored_path(rings)}
              for position, name, rings in rows]  # fmt: skip
    left = len(others) if judge.study.asks_places else len(listed) - len(unknown)
    context = common(judge, token) | {
        "areas": listed,
        "listed": ",".join(str(each["position"]) for each in listed),
        "too_few": left < 2 and ALL not in judge.places,
        "everywhere": ALL in judge.places,
    }
    return render(request, "judge/areas.html", context)


@require_safe
@judge_page
def link(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show the judge's link, as text and QR code, and the withdrawal code."""
    address = request.build_absolute_uri(reverse("judge:home", args=[token]))
    context = common(judge, token) | {
        "address": address,
        "qr_code": segno.make(address, error="m").svg_data_uri(scale=4, border=2),
    }
    return render(request, "judge/link.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest) -> HttpResponse:
    """Remove what a judge gave us, by the withdrawal code."""
    if request.method != "POST":
        return private(render(request, "judge/withdraw.html"))
    try:
        actions.withdraw(request.POST.get("code", ""))
    except Refused as error:
        refused = error if WRONG_GUESSES.allows() else Refused("too many")
        context = {"wrong": refused.sentence, "code": request.POST.get("code", "")[:40]}
        return private(render(request, "judge/withdraw.html", context, status=refused.status))
    return private(render(request, "judge/withdrawn.html"))


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, code: str) -> HttpResponse:
    """Let somebody join by a study's open link."""
    study, group = _joined_by(code)
    if study is None:
        return refusal(request, "", Refused("no link"))
    with translation.override(_wished_language(request, study)):
        if request.method == "POST":
            try:
                return private(redirect("judge:home", actions.join(study, group, place_hash(request)).token))
            except Refused as refused:
                return refusal(request, "", refused)
        language = translation.get_language() or "en"
        context = {
            "language": language,
            "title": study.version.text("title", language),
            "question": study.version.text("question", language),
            "open": study.status == Study.Status.OPEN,
        }
        return private(render(request, "judge/join.html", context))


def _joined_by(code: str) -> tuple[Study | None, JudgeGroup | None]:
    """Find the study of an open link, and the group if it is a group's, which works while the study has a link too."""
    studies = Study.objects.select_related("current")
    if (study := studies.filter(join_code=code).first()) is not None:
        return study, None
    group = JudgeGroup.objects.filter(join_code=code, study__join_code__isnull=False).first()
    return (studies.get(pk=group.study_id), group) if group else (None, None)


def _wished_language(request: HttpRequest, study: Study) -> str:
    return language_of(Judge(study=study), request.headers.get("Accept-Language", ""))


def short(request: HttpRequest, token: str) -> HttpResponseRedirect:  # noqa: ARG001
    """Redirect a link that lost its final slash."""
    return HttpResponseRedirect(reverse("judge:home", args=[token]))
