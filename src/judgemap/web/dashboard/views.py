"""Researchers' pages about a study while answers come in."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from judgemap.web.dashboard.counting import count
from judgemap.web.dashboard.live import Live, area_counts, look
from judgemap.web.dashboard.maps import LAYERS, load_shapes
from judgemap.web.studies.access import study_page
from judgemap.web.studies.models import Area, Study


@require_safe
@study_page
def live(request: HttpRequest, study: Study) -> HttpResponse:
    """Show a study at this moment; with a script it keeps itself up to date."""
    context = {"study": study, "live": _look(request, study), "shapes": load_shapes(study), "layers": LAYERS}
    return render(request, "dashboard/live.html", context | {"here": "dashboard", "page": "live"})


@require_safe
@study_page
def now(request: HttpRequest, study: Study) -> HttpResponse:
    """Hand out the part of the live page that changes; nothing where it has not."""
    found = _look(request, study)
    if request.GET.get("seen") == found.digest:
        return HttpResponse(status=204)
    return render(request, "dashboard/now.html", {"study": study, "live": found, "layers": LAYERS})


@require_safe
@study_page
def areas(request: HttpRequest, study: Study) -> HttpResponse:
    """List how often each area was shown, judged and not known."""
    names = _names(study)
    counts = area_counts(count(study), len(names))
    rows = zip(names, *(counts[each].tolist() for each in ("shown", "judged", "unknown")), strict=True)
    context = {"study": study, "rows": sorted(rows, key=lambda row: (row[1], row[0]))}
    return render(request, "dashboard/areas.html", context | {"here": "dashboard", "page": "live"})


def _look(request: HttpRequest, study: Study) -> Live:
    layer = request.GET.get("map", "")
    return look(study, count(study), _names(study), layer if layer in LAYERS else "judged", timezone.now())


def _names(study: Study) -> list[str]:
    return list(Area.objects.filter(study=study).order_by("position").values_list("name", flat=True))
