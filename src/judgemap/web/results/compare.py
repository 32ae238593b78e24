"""Fits of a study side by side: how similar their risks are, and where they differ."""

from collections.abc import Sequence
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from judgemap.errors import StudyError
from judgemap.study.fit.settings import FitSettings
from judgemap.web.results.actions import GONE, other_priors, try_other_priors
from judgemap.web.results.models import FitRun
from judgemap.web.results.pages import fit_page, read_findings, show_page, title_of
from judgemap.web.results.side_by_side import Compared, Side, compare_maps
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of
from judgemap.web.studies.maps import Ground, lay_ground
from judgemap.web.studies.models import Study

MOST_COMPARED = 6
LISTED = 40


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
    ground = lay_ground(study, run.version, read_findings(run, "layout").layout)
    there = fits.exclude(status__in=GONE)
    context = {
        "choices": [(each, title_of(each), each.number in numbers) for each in there.order_by("-number")[:LISTED]],
        "waiting": [(each, title_of(each), round(100 * each.progress)) for each in chosen if not each.over],
        "gone": [(each, title_of(each)) for each in chosen if each.over and each not in done],
        "compared": _compared(ground, run, done) if done else None,
        "ground": ground,
        "variations": len(other_priors(FitSettings.from_dict(run.settings))),
        "here_again": request.get_full_path(),
    }
    return show_page(request, "results/compare.html", study, run, context)


@require_POST
@fit_page
def sensitivity(request: HttpRequest, study: Study, run: FitRun) -> HttpResponse:
    """Ask for the fit with other priors, and redirect to their comparison."""
    address = reverse("results:compare", args=[study.slug, run.number])
    try:
        made = try_other_priors(run, researcher_of(request))
    except StudyError as error:
        messages.error(request, sentence(error))
        return redirect(address)
    return redirect(f"{address}?{urlencode([('with', each.number) for each in made])}")


def _compared(ground: Ground, base: FitRun, others: Sequence[FitRun]) -> Compared:
    here = Side(title_of(base), base.rows, _("this fit"))
    return compare_maps(
        ground, here, [Side(title_of(each), each.rows, _("the other"), _answers(base, each)) for each in others]
    )


def _answers(base: FitRun, other: FitRun) -> str:
    """Say whether two fits use the same answers."""
    if base.data_sha256 and base.data_sha256 == other.data_sha256:
        return _("Both fits use the same answers.")
    counts = [run.record.data.comparisons for run in (base, other)]
    here, there = counts
    return _("The fits use different answers: %(here)s comparisons here, %(there)s there.") % {
        "here": f"{here:,}",
        "there": f"{there:,}",
    }
