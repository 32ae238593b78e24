"""Pages of one finished fit."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from judgemap.errors import StudyError
from judgemap.report.text import percentage
from judgemap.study.settings import FitSettings
from judgemap.web.results import sampling
from judgemap.web.results.actions import other_priors, try_other_priors
from judgemap.web.results.comparing import compare as hold_beside
from judgemap.web.results.details import describe_area, highest
from judgemap.web.results.files import has_briefing
from judgemap.web.results.ground import lay_ground
from judgemap.web.results.layers import make_layers
from judgemap.web.results.measures import Measure
from judgemap.web.results.models import FitPicture, FitRun
from judgemap.web.results.runs import facts_of, fit_page, found, title_of
from judgemap.web.results.table import Asked, by_risk, headings, make_lines
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of
from judgemap.web.studies.models import Study

MOST_COMPARED = 6
LISTED = 40


@require_safe
@fit_page
def show_map(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the risk map with the table of areas and what is known of the area that was chosen."""
    more = found(run, "top", "layout")
    layers = make_layers(run.rows, more)
    asked = Asked.read(request.GET.dict(), layers, len(run.rows))
    ground = lay_ground(study, run.version, more.get("layout"))
    order, layer = by_risk(run.rows), layers[asked.layer]
    lines = make_lines(run.rows, ground, layers, asked, order=order)
    context = {
        "layers": layers.values(),
        "layer": layer,
        "tops": [each for name, each in layers.items() if name.startswith("top")],
        "asked": asked,
        "keep": asked.keep("area"),
        "headings": headings(asked, clusters="cluster" in layers),
        "ground": ground,
        "areas": list(zip(ground.places, layer.fills, layer.texts, strict=True)),
        "badges": ground.badges(order[:10]),
        "lines": lines,
        "n_shown": sum(line.shown for line in lines),
        "script": {name: each.plain() for name, each in layers.items()},
        "highest": highest(run.rows),
        "sure": sum(row["p_top10"] > 0.95 for row in run.rows),
        "ten": min(10, len(run.rows)),
        "chosen_path": ground.places[asked.area].path if asked.area is not None else "",
        "detail": describe_area(study, run, asked.area) if asked.area is not None else None,
        "pictures": _pictures(run, "cluster-violins", "cluster-number", "co-clustering"),
    }
    return _page(request, "results/map.html", study, run, context)


@require_safe
@fit_page
def area(request: HttpRequest, study: Study, run: FitRun, position: int) -> HttpResponse:
    """Return what is known of an area, for the map's page to show beside the map."""
    if position >= len(run.rows):
        raise Http404
    context = {"study": study, "run": run, "detail": describe_area(study, run, position)}
    return render(request, "results/detail.html", context)


@require_safe
@fit_page
def convergence(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Say how well the fit was sampled, and show it."""
    more = found(run, "warnings", "sampling")
    context = {
        "warnings": more.get("warnings", []),
        "notes": [note.text for note in run.record.notes],
        "drawn": sampling.how_drawn(run),
        "figures": sampling.figures(run),
        "worst": sampling.worst(run, more.get("sampling", {})),
        "pictures": _pictures(run, "traces", "ranks", "alpha"),
    }
    return _page(request, "results/convergence.html", study, run, context)


@require_safe
@fit_page
def checks(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Hold what the fit expects against what the judges said."""
    more = found(run, "check", "areas")
    check = more.get("check") or {}
    measures = [Measure.read(each) for each in check.get("checks", [])]
    outside = [
        (row["name"], place, percentage(each["win_rate"]), percentage(each["win_low"]), percentage(each["win_high"]),
         each["wins"] + each["losses"])
        for place, (row, each) in enumerate(zip(run.rows, more.get("areas", []), strict=False))
        if each.get("win_rate") is not None and not each["win_low"] <= each["win_rate"] <= each["win_high"]
    ]  # fmt: skip
    context = {
        "note": check.get("note", ""),
        "measures": measures,
        "fits": not any(each.unusual for each in measures),
        "outside": outside,
        "winner_is": run.record.winner_is,
        "pictures": _pictures(run, "predictive", "variance"),
    }
    return _page(request, "results/checks.html", study, run, context)


@require_safe
@fit_page
def compare(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show fits of the study beside this one: correlations, scatters, maps on one scale, and the largest changes."""
    numbers = {
        int(each) for each in request.GET.getlist("with") if each.isascii() and each.isdecimal() and len(each) < 9
    }
    fits = FitRun.objects.filter(study=study).exclude(pk=run.pk).defer("findings", "log", "rows")
    chosen = list(
        fits.filter(number__in=sorted(numbers)[:MOST_COMPARED]).defer(None).defer("findings", "log").order_by("number")
    )
    done = [each for each in chosen if each.status == FitRun.Status.DONE and len(each.rows) == len(run.rows)]
    ground = lay_ground(study, run.version, found(run, "layout").get("layout"))
    there = fits.exclude(status__in=[FitRun.Status.FAILED, FitRun.Status.CANCELLED, FitRun.Status.LOST])
    context = {
        "choices": [(each, title_of(each), each.number in numbers) for each in there.order_by("-number")[:LISTED]],
        "waiting": [(each, title_of(each), round(100 * each.progress)) for each in chosen if not each.over],
        "gone": [(each, title_of(each)) for each in chosen if each.over and each not in done],
        "compared": hold_beside(ground, run, done) if done else None,
        "ground": ground,
        "variations": len(other_priors(FitSettings.from_dict(run.settings))),
        "here_again": request.get_full_path(),
    }
    return _page(request, "results/compare.html", study, run, context)


@require_POST
@fit_page
def sensitivity(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Ask for the fit under other priors, and redirect to where they are compared."""
    address = reverse("results:compare", args=[study.slug, run.number])
    try:
        made = try_other_priors(run, researcher_of(request))
    except StudyError as error:
        messages.error(request, sentence(error))
        return redirect(address)
    return redirect(f"{address}?{urlencode([('with', each.number) for each in made])}")


@require_safe
@fit_page
def show_files(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """List what can be taken away."""
    from judgemap.report.pdf import find_renderer

    context = {
        "has_briefing": has_briefing(run),
        "prints": find_renderer() is not None,
        "has_map": bool(study.outline),
        "command": FitSettings.from_dict(run.settings).command(
            "comparisons.csv", "areas.geojson" if study.outline else "edges.csv", run.record.winner_is
        ),
    }
    return _page(request, "results/files.html", study, run, context)


def _pictures(run: FitRun, *names: str) -> list[FitPicture]:
    """Find pictures by name, in this order, without the drawings themselves."""
    there = {each.name: each for each in run.pictures.filter(name__in=names).defer("svg")}
    return [there[name] for name in names if name in there]


def _page(request: HttpRequest, template: str, study: Study, run: FitRun, context: dict[str, object]) -> HttpResponse:
    shared = {
        "study": study, "run": run, "title": title_of(run), "facts": facts_of(run.record.data), "here": "results",
        "tab": template,
    }  # fmt: skip
    return render(request, template, shared | context)
