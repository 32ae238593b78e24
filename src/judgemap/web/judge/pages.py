"""The judge's pages. A link is /j/<token>/; what it shows is decided by where the judge is."""

import json
import re
from collections.abc import Callable, Iterable
from functools import wraps
from urllib.parse import urlsplit

import segno
from django.conf import settings
from django.contrib.humanize.templatetags.humanize import intcomma
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.gzip import gzip_page
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from judgemap.geo.drawing import stored_path, svg_path
from judgemap.web.accounts.adapter import place_hashes
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge import answering, joining
from judgemap.web.judge.answering import LONGEST_MS, GivenAnswer
from judgemap.web.judge.ground import ground_json, picture_address, side_of
from judgemap.web.judge.models import Answer, Judge, JudgeGroup, Pair, UnknownArea
from judgemap.web.judge.place import BEFORE_PAIRS, Place, Refused, language_of, place_of
from judgemap.web.judge.places import ALL, AROUND, DRAWN, MOST_REGIONS, REGION, Gazetteer, gazetteer, known_areas
from judgemap.web.server.forms import by_script, render_markdown, search_words, whole_number
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.server.middleware import wished_language
from judgemap.web.server.tokens import withdrawal_code
from judgemap.web.studies.access import studies_of
from judgemap.web.studies.maps import box_around
from judgemap.web.studies.models import Area, Study

JudgeView = Callable[[HttpRequest, Judge, str], HttpResponse]
TOKEN = re.compile(r"[A-Za-z0-9_-]{22}")
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
        judge = answering.find_judge(token)
        if judge is None or (judge.is_preview and not _tries(request, judge.study)):
            with translation.override(_wished(request)):
                return refusal(request, token, Refused("no link"))
        with translation.override(language_of(judge, request.headers.get("Accept-Language", ""))):
            try:
                return view(request, judge, token)
            except Refused as refused:
                return refusal(request, token, refused)

    return page


def _tries(request: HttpRequest, study: Study) -> bool:
    """Say whether a preview's link is opened by a researcher who sees the study, and note that it is one."""
    request.preview = study  # type: ignore[attr-defined]
    return isinstance(request.user, Researcher) and studies_of(request.user).filter(pk=study.pk).exists()


def _wished(request: HttpRequest, offered: list[str] | None = None) -> str:
    """Return the language that a browser asks for, of those that a study or the server offers."""
    return wished_language(
        request.headers.get("Accept-Language", ""), offered or [code for code, _ in settings.LANGUAGES]
    )


def refusal(request: HttpRequest, token: str, refused: Refused) -> HttpResponse:
    """Explain politely what was refused, as a page or to the page's script, with a link back."""
    if refused.status == 404 and not WRONG_GUESSES.allows():
        refused = Refused("too many")
    sentence = str(refused.sentence)
    home = reverse("judge:home", args=[token]) if token and refused.why not in ("no link", "too many") else ""
    if by_script(request):
        body = json.dumps({"place": "refused", "said": sentence, "why": refused.why})
        return HttpResponse(body, "application/json", refused.status)
    context = {"sentence": sentence, "home": home, "language": translation.get_language()}
    return render(request, "judge/refused.html", context, status=refused.status)


def common(judge: Judge, token: str) -> dict[str, object]:
    """Return what every page of a judge shows."""
    version = judge.study.version
    language = translation.get_language() or "en"
    return {
        "judge": judge,
        "token": token,
        "version": version,
        "language": language,
        "languages": [
            (code, translation.get_language_info(code)["name_local"])
            for code, _ in settings.LANGUAGES
            if code in version.offered
        ],
        "title": version.text("title", language),
        "question": version.text("question", language),
        "code": withdrawal_code(token),
        "consented": judge.consented,
        "minutes": version.minutes,
    }


@require_safe
@gzip_page  # safe: it contains nothing that others can send, and its length varies at random, so it leaks no token
@judge_page
def home(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show the page that the judge has reached."""
    place = place_of(judge)
    pair = answering.current_pair(token) if place == Place.PAIR else None
    if pair is not None:
        return show_pair(request, token, pair)
    if by_script(request):
        return HttpResponse('{"place":"elsewhere"}', "application/json")
    if place == Place.PLACES:
        return redirect("judge:places", token)
    if place == Place.PAIR:
        if len(_asked_about(judge)) < 2:
            return redirect("judge:areas", token)
        place = Place.END  # all pairs of the areas that the judge knows were shown
    return show_place(request, judge, token, place)


def _unknown(judge: Judge) -> set[int]:
    """Return the positions of the areas that a judge has marked as unknown."""
    return set(UnknownArea.objects.filter(judge=judge).values_list("area__position", flat=True))


def _asked_about(judge: Judge) -> set[int]:
    """Return the positions of the areas that a judge can be asked about."""
    known = known_areas(judge.study.pk, tuple(judge.places))
    there = range(len(gazetteer(judge.study.pk).names)) if known is None else known.tolist()
    return set(there) - _unknown(judge)


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


def show_pair(request: HttpRequest, token: str, pair: Pair, before: Answer | None = None) -> HttpResponse:
    """Show a pair, to the page's script or as a page that works without scripts."""
    judge = pair.judge
    if by_script(request):
        return HttpResponse(pair_json(judge, pair, before), "application/json")
    version = judge.study.version
    context = common(judge, token) | {
        "pair": pair,
        "before": before,
        "counter": counter(judge, pair),
        "progress": progress(judge),
        "sides": [
            side_of(side, area, picture_address(judge.study, token, area))
            for side, area in (("left", pair.left), ("right", pair.right))
        ],
        "tiles": tiles_of(judge.study),
        "ground": ground_json(judge.study, token),
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


def _refused(request: HttpRequest, token: str, refused: Refused) -> HttpResponse:
    """Explain a refused answer in the judge's language."""
    judge = answering.find_judge(token)
    accepted = request.headers.get("Accept-Language", "")
    with translation.override(language_of(judge, accepted) if judge else _wished(request)):
        return refusal(request, token, refused)


@require_POST
def answer(request: HttpRequest, token: str) -> HttpResponse:
    """Store an answer, and give the script the next pair in the same response."""
    try:
        pair = answering.answer(token, read_answer(request.POST))
    except Refused as refused:
        return _refused(request, token, refused)
    if not by_script(request):
        return redirect("judge:home", token)
    if pair is None:
        return HttpResponse('{"place":"elsewhere"}', "application/json")
    with translation.override(language_of(pair.judge, request.headers.get("Accept-Language", ""))):
        return HttpResponse(pair_json(pair.judge, pair), "application/json")


@require_safe
@gzip_page
@judge_page
def last(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show the last pair answered, so that its answer can be changed."""
    if place_of(judge) in {*BEFORE_PAIRS, Place.PLACES}:
        return redirect("judge:home", token)
    answered = answering.last_answered(judge)
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
    answering.give_consent(token, translation.get_language() or "en", practice)
    return redirect("judge:home", token)


def acting(act: Callable[[str], None]) -> Callable[[HttpRequest, str], HttpResponse]:
    """Make the view of an act that needs nothing but the judge's link."""

    def view(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:  # noqa: ARG001
        act(token)
        return redirect("judge:home", token)

    return require_POST(judge_page(view))


@require_POST
@judge_page
def language(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:  # noqa: ARG001
    """Change the language."""
    answering.choose_language(token, request.POST.get("language", ""))
    return redirect("judge:home", token)


@require_http_methods(["GET", "HEAD", "POST"])
@judge_page
def areas(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show all areas on one map, and let the judge say which they do not know, or know after all."""
    if place_of(judge) in {*BEFORE_PAIRS, Place.PLACES}:
        return redirect("judge:home", token)
    if request.method == "POST":
        listed = read_positions(request.POST.get("listed", "").split(","))
        answering.mark_unknown(token, read_positions(request.POST.getlist("unknown")), listed)
        return redirect("judge:home", token)
    return show_areas(request, judge, token)


def show_areas(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show the areas in the judge's places by name, with unknown ones ticked, and all of them on a map if they fit."""
    unknown, asked = _unknown(judge), _asked_about(judge)
    n_areas = len(gazetteer(judge.study.pk).names)
    everywhere = n_areas > MOST_LISTED and judge.places in ([], [ALL])
    shown = [*sorted(unknown), *sorted(() if everywhere else asked)][:MOST_LISTED]
    areas = Area.objects.filter(study=judge.study, position__in=shown).order_by("name", "position")
    rows = list(areas.only("position", "name", "rings"))
    drawn = n_areas <= DRAWN and bool(judge.study.outline)
    listed = [
        {
            "position": area.position,
            "name": area.name,
            "unknown": area.position in unknown,
            "path": stored_path(area.rings) if drawn else "",
        }
        for area in rows
    ]
    rings = [ring for area in rows for ring in json.loads(area.rings)] if drawn else []
    corners = [point for ring in rings for point in zip(ring[::2], ring[1::2], strict=True)]
    context = common(judge, token) | {
        "areas": listed,
        "view": " ".join(map(str, box_around(corners))) if corners else "",
        "listed": ",".join(str(each["position"]) for each in listed),
        "too_few": len(asked) < 2,
        "everywhere": everywhere,
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


@require_POST
@judge_page
def jump(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Bring a preview to its beginning, to the thanks, or to the end, without judging all the pairs in between."""
    version = judge.study.version
    counts = {"thanks": version.recommended, "end": version.maximum}
    if not judge.is_preview:
        raise Refused("no link")
    if (to := request.POST.get("to")) == "begin":
        joining.withdraw(withdrawal_code(token))
        return redirect("inviting:preview", judge.study.slug)
    if to in counts:
        answering.give_consent(token, translation.get_language() or "en", practice=0)
        answering.jump(token, counts[to])
    return redirect("judge:home", token)


@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest) -> HttpResponse:
    """Remove what a judge gave us, by the withdrawal code; in the language of the page that led here."""
    asked = request.POST.get("language") or request.GET.get("language", "")
    language = asked if asked in dict(settings.LANGUAGES) else _wished(request)
    context: dict[str, object] = {"language": language, "code": request.POST.get("code", "")[:40]}
    with translation.override(language):
        if request.method != "POST":
            return render(request, "judge/withdraw.html", context)
        try:
            joining.withdraw(request.POST.get("code", ""))
        except Refused as error:
            refused = error if WRONG_GUESSES.allows() else Refused("too many")
            context["wrong"] = refused.sentence
            return render(request, "judge/withdraw.html", context, status=refused.status)
        return render(request, "judge/withdrawn.html")


@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, code: str) -> HttpResponse:
    """Let somebody join by a study's open link."""
    study, group = _joined_by(code)
    with translation.override(_wished(request, study.version.offered if study else None)):
        if study is None:
            return refusal(request, "", Refused("no link"))
        if request.method == "POST":
            try:
                return redirect("judge:home", joining.join(study, group, place_hashes(request)).token)
            except Refused as refused:
                return refusal(request, "", refused)
        language = translation.get_language() or "en"
        context = {
            "language": language,
            "title": study.version.text("title", language),
            "question": study.version.text("question", language),
            "open": study.status == Study.Status.OPEN,
            "minutes": study.version.minutes,
        }
        return render(request, "judge/join.html", context)


def _joined_by(code: str) -> tuple[Study | None, JudgeGroup | None]:
    """Find the study of an open link, and the group if it is a group's, which works while the study has a link too."""
    studies = Study.objects.select_related("current")
    if (study := studies.filter(join_code=code).first()) is not None:
        return study, None
    group = JudgeGroup.objects.filter(join_code=code, study__join_code__isnull=False).first()
    return (studies.get(pk=group.study_id), group) if group else (None, None)


def counter(judge: Judge, pair: Pair) -> str:
    """Say how far the judge is: «23 of about 50»."""
    version = judge.study.version
    if pair.practice:
        number = version.practice - judge.practice_left + 1
        return _("Practice %(number)d of %(total)d") % {"number": number, "total": version.practice}
    number = judge.judged + 1
    if number > version.recommended:
        return _("%(number)s of at most %(total)s") % {"number": intcomma(number), "total": intcomma(version.maximum)}
    return _("%(number)s of about %(total)s") % {"number": intcomma(number), "total": intcomma(version.recommended)}


def pair_json(judge: Judge, pair: Pair, before: Answer | None = None) -> str:
    """Write a pair for the page's script. Scenes are stored as JSON, and go in as they are."""
    facts = {
        "place": "pair",
        "pair": pair.token,
        "follows": before.revision if before else 0,
        "practice": pair.practice,
        "counter": _("Changing your last answer") if before else counter(judge, pair),
        "progress": progress(judge),
        "undo": bool(before is None and pair.position > 1),
        "said": said_before(pair, before) if before else "",
        "before": f"{before.outcome}-{before.unknown_side}".rstrip("-") if before else "",
        "left": pair.left.name,
        "right": pair.right.name,
    }
    text = json.dumps(facts, ensure_ascii=False)
    return f'{text[:-1]},"scenes":[{pair.left.scene or "null"},{pair.right.scene or "null"}]}}'


def said_before(pair: Pair, answer: Answer) -> str:
    """Say what the judge answered, when they are about to change it."""
    names = {"left": pair.left.name, "right": pair.right.name}
    if answer.outcome in names:
        return _("You chose %(name)s.") % {"name": names[answer.outcome]}
    if answer.outcome == "unknown":
        return _("You said that you do not know %(name)s.") % {"name": names[answer.unknown_side]}
    others = {"tie": _("You said: about the same."), "skipped": _("You skipped this pair.")}
    return others[answer.outcome]


def progress(judge: Judge) -> int:
    """Return how far the judge is, in per cent of the recommended number."""
    return min(100, 100 * judge.judged // judge.study.version.recommended)


@require_http_methods(["GET", "HEAD", "POST"])
@judge_page
def places(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Let a judge say which part of the map they know, before the first pair or at any later time."""
    if not judge.study.asks_places or place_of(judge) in BEFORE_PAIRS:
        return redirect("judge:home", token)
    if request.method == "POST":
        chosen = request.POST.getlist("place")[:MOST_LISTED]
        if not chosen:
            return redirect(f"{reverse('judge:places', args=[token])}?none=")
        answering.choose_places(token, chosen)
        return redirect("judge:home", token)
    return show_places(request, judge, token)


def show_places(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show the map to tap on, its regions, with those the judge knows ticked, and what a search found."""
    there = gazetteer(judge.study.pk)
    words = search_words(request)
    regions, positions = there.find(words)
    chosen = [each for each in judge.places if each != ALL]
    ticked = {*chosen, *request.GET.getlist("place")[:MOST_LISTED]}
    listed = list(there.regions) if len(there.regions) <= MOST_REGIONS else []
    found = [f"{REGION}{each}" for each in regions if not listed] + [f"{AROUND}{each}" for each in positions]
    shown = list(dict.fromkeys([*there.check(sorted(ticked - {ALL})), *found]))
    context = common(judge, token) | {
        "words": words,
        "nothing": bool(words) and not (found or regions),
        "nearby": there.nearby,
        "drawn": _drawn(judge.study, there) if len(there.names) <= DRAWN else [],
        "picked": [(each, there.words(each), each.startswith(AROUND), each in ticked) for each in shown
                   if each.startswith(AROUND) or not listed],
        "regions": [(REGION + name, name, len(there.regions[name]), REGION + name in ticked) for name in listed],
        "chosen": bool(judge.places),
        "none": "none" in request.GET,
        "everywhere": ALL in judge.places,
    }  # fmt: skip
    return render(request, "judge/places.html", context)


def _drawn(study: Study, there: Gazetteer) -> list[dict[str, object]]:
    """Return what the map to tap on is drawn from: each area's path, its point, name and region."""
    region = {position: name for name, positions in there.regions.items() for position in positions.tolist()}
    rings = Area.objects.filter(study=study).order_by("position").values_list("rings", flat=True)
    return [
        {"path": stored_path(each), "x": x, "y": y, "name": name, "region": region.get(position, "")}
        for position, (each, (x, y), name) in enumerate(zip(rings, there.points.tolist(), there.names, strict=True))
    ]


def read_answer(sent: QueryDict) -> GivenAnswer:
    """Read an answer: the pair's token and the outcome, the revision it follows, a reason, and the time in view.

    >>> read_answer(QueryDict("pair=x&outcome=unknown-left&seen_ms=-3"))
    GivenAnswer(pair='', outcome='unknown', unknown_side='left', follows=0, reason='', seen_ms=None)
    """
    token = sent.get("pair", "")
    outcome, _, side = sent.get("outcome", "").partition("-")
    return GivenAnswer(
        pair=token if TOKEN.fullmatch(token) else "",
        outcome=outcome,
        unknown_side=side,
        follows=whole_number(sent.get("follows", ""), most=1000) or 0,
        reason="".join(each for each in sent.get("reason", "") if each.isprintable()).strip()[:200],
        seen_ms=whole_number(sent.get("seen_ms", ""), most=LONGEST_MS),
    )


def read_positions(sent: Iterable[str]) -> set[int]:
    """Read the positions of areas, ignoring whatever is not a position.

    >>> read_positions(["1", "x", "-2", "99999999999999999999", "7"])
    {1, 7}
    """
    numbers = (whole_number(each, most=10**6) for each in sent)
    return {each for each in numbers if each is not None}
