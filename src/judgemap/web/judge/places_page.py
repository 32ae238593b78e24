"""The page on which judges of a large map say which places they know: by searching, or from a list of regions."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from judgemap.web.judge import actions
from judgemap.web.judge.models import Judge
from judgemap.web.judge.places import ALL, AROUND, MOST_REGIONS, NEARBY, REGION, gazetteer
from judgemap.web.judge.screens import Place, place_of
from judgemap.web.judge.views import MOST_LISTED, common, judge_page


@require_http_methods(["GET", "HEAD", "POST"])
@judge_page
def places(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Let the judge of a large map say which places they know, before the first pair or at any later time."""
    if not judge.study.asks_places or place_of(judge) in (Place.WITHDRAWN, Place.NOT_OPEN, Place.CONSENT):
        return redirect("judge:home", token)
    if request.method == "POST":
        chosen = request.POST.getlist("place")[:MOST_LISTED]
        if not chosen:
            return redirect(f"{reverse('judge:places', args=[token])}?none=")
        actions.choose_places(token, chosen)
        return redirect("judge:home", token)
    return show_places(request, judge, token)


def show_places(request: HttpRequest, judge: Judge, token: str) -> HttpResponse:
    """Show the regions of a large map, with those the judge knows ticked, and what a search found."""
    there = gazetteer(judge.study_id)
    words = request.GET.get("q", "").replace("\0", "").strip()[:100]
    regions, positions = there.find(words)
    chosen = [each for each in judge.places if each != ALL]
    ticked = {*chosen, *request.GET.getlist("place")[:MOST_LISTED]}
    listed = list(there.regions) if len(there.regions) <= MOST_REGIONS else []
    found = [f"{REGION}{each}" for each in regions if not listed] + [f"{AROUND}{each}" for each in positions]
    shown = list(dict.fromkeys([*there.check(sorted(ticked - {ALL})), *found]))
    context = common(judge, token) | {
        "words": words,
        "nothing": bool(words) and not (found or regions),
        "nearby": NEARBY,
        "picked": [(each, there.words(each), each.startswith(AROUND), each in ticked) for each in shown
                   if each.startswith(AROUND) or not listed],
        "regions": [(REGION + name, name, len(there.regions[name]), REGION + name in ticked) for name in listed],
        "chosen": bool(judge.places),
        "none": "none" in request.GET,
        "everywhere": ALL in judge.places,
    }  # fmt: skip
    return render(request, "judge/places.html", context)
