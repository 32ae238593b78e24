"""Each judge's own map, in a fit in which judges differ: all as small maps, or one beside the population's."""

from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from judgemap.study.assess.findings import Findings, JudgeFinding
from judgemap.web.results.models import FitRun, FitView
from judgemap.web.results.pages import fit_page, read_findings, show_page
from judgemap.web.results.side_by_side import Compared, Side, compare_maps, draw_maps
from judgemap.web.studies.maps import Ground, lay_ground
from judgemap.web.studies.models import Study

MANY, FEW = 18, 6
"""How many judges' maps a page shows; fewer if a map has many areas."""
POPULATION = "The population of judges"
PANEL = "These judges, each with equal weight"


@require_safe
@fit_page
def judge_maps(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Show the judges' maps, those farthest from the population's first."""
    findings = read_findings(run, "judges", "parameters", "layout")
    ground = lay_ground(study, run.version, findings.layout)
    here = reverse("results:judge_maps", args=[study.slug, run.number])
    fitted = {each.judge: each for each in findings.judges}
    there = FitView.objects.filter(fit=run)
    judges = sorted(there.exclude(judge="").values_list("judge", flat=True), key=lambda name: _order(fitted, name))
    chosen = request.GET.get("judge", "")
    if chosen and chosen not in judges:
        raise Http404
    context = {
        "judges": judges,
        "chosen": chosen,
        "ground": ground,
        "how_far": how_far(findings),
        "fitted": fitted.get(chosen),
        "whose": run.record.view.words,
    }
    if chosen:
        context["whose"] = _("%(words)s Beside it is the view of judge %(chosen)s alone.") % {
            "words": run.record.view.words,
            "chosen": chosen,
        }
        context["compared"] = _beside(ground, run, there.get(judge=chosen), here)
    elif there.exists():
        shown = Paginator(judges, FEW if ground.crowded else MANY).get_page(request.GET.get("page"))
        kept = {each.judge: each for each in there.filter(judge__in=["", *shown.object_list])}
        sides = [Side(POPULATION, run.rows, ""), Side(PANEL, kept[""].rows, "")]
        sides += [_side(kept[name], fitted.get(name), f"{here}?judge={name}") for name in shown.object_list]
        whose = _("%(words)s Beside it are those of the panel and of each judge.") % {"words": run.record.view.words}
        context |= {"shown": shown, "maps": draw_maps(sides), "whose": whose}
    return show_page(request, "results/judge_maps.html", study, run, context)


def how_far(findings: Findings) -> str:
    """Say how far judges differ, in a sentence; empty if it is not known."""
    ratio = next((each for each in findings.parameters if each.symbol == "σ/α"), None)
    if ratio is None:
        return ""
    return _(
        "Judges’ views differ from the population’s by %(median)s of how far areas differ (σ/α; "
        "95 %% interval %(low)s to %(high)s)."
    ) % {"median": f"{ratio.median:.2f}", "low": f"{ratio.low:.2f}", "high": f"{ratio.high:.2f}"}


def _order(fitted: dict[str, JudgeFinding], name: str) -> tuple[float, str]:
    distance = fitted[name].distance if name in fitted else None
    return -(distance or 0.0), name


def _side(kept: FitView, fitted: JudgeFinding | None, address: str) -> Side:
    beside = ""
    if fitted is not None and fitted.distance is not None:
        beside = f"distance {fitted.distance:.2f} ({fitted.distance_low:.2f} to {fitted.distance_high:.2f})"
    return Side(f"Judge {kept.judge}", kept.rows, _("this judge’s map"), beside=beside, address=address)


def _beside(ground: Ground, run: FitRun, kept: FitView, here: str) -> Compared:
    population = Side(POPULATION, run.rows, _("the population’s map"), address=here)
    return compare_maps(ground, population, [_side(kept, None, "")])
