"""Pages about judges: counted live from the database, and compared with the others using the last fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from urllib.parse import urlencode

import numpy as np
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from judgemap.core.assess.misfit import share_interval
from judgemap.errors import StudyError
from judgemap.study.assess.findings import JudgeFinding
from judgemap.study.data.comparisons import Comparisons, Outcome
from judgemap.web.dashboard.charts import Chart, bar_chart, spark
from judgemap.web.dashboard.counting import Counted, Outcomes, count
from judgemap.web.judge.models import Judge, UnknownArea
from judgemap.web.results import actions
from judgemap.web.results.models import Exclusion, FitRun, FitView, latest_fit
from judgemap.web.results.pages import read_findings
from judgemap.web.server.forms import sentence
from judgemap.web.studies.access import researcher_of, study_page
from judgemap.web.studies.models import Study

ON_A_PAGE = 100
BINS = 24
LIKELY = 0.5
"""At this probability or above, the table says what may be wrong with a judge."""
MOST_LINKED = 5


@study_page
def judges(request: HttpRequest, study: Study) -> HttpResponse:
    """Show how each judge judges, and let some be chosen."""
    fit = latest_fit(study)  # counts are live, agreement comes from the last fit, and the page says which
    findings = read_findings(fit, "judges", "judges_note", "part_words", "surprises")
    rows = judge_rows(study, count(study), findings.judges)
    context = {
        "study": study,
        "fit": fit,
        "shown": Paginator(rows, ON_A_PAGE).get_page(request.GET.get("page")),
        "surprises": findings.surprises,
        "fit_note": f"{findings.judges_note} {findings.part_words}".strip(),
        "outstanding": [row for row in rows if row.fitted.stands_out],
        "doubted": fit is not None and fit.doubts_judges,
        "has_distance": any(row.fitted.distance is not None for row in rows),
        "tells_apart": any(row.fitted.told_apart or row.fitted.kind_note for row in rows),
    }
    return render(request, "results/judges.html", context | {"here": "dashboard", "page": "judges"})


@study_page
def judge(request: HttpRequest, study: Study, name: str) -> HttpResponse:
    """Show one judge: times, habits, surprising decisions, and unknown areas."""
    fit = latest_fit(study)
    findings = read_findings(fit, "judges", "surprises")
    counted = count(study)
    row = next((each for each in judge_rows(study, counted, findings.judges) if each.name == name), None)
    if row is None:
        raise Http404
    unknown = UnknownArea.objects.filter(judge_id=name, judge__study=study).order_by("area__name")
    context = {
        "study": study,
        "fit": fit,
        "row": row,
        "chart": time_chart(counted.data.only([name])),
        "surprises": [each for each in findings.surprises if each.judge == name],
        "unknown": unknown.values_list("area__name", flat=True),
        "has_map": fit is not None and FitView.objects.filter(fit=fit, judge=name).exists(),
        "without": fits_without(study, fit, name),
    }
    return render(request, "results/judge.html", context | {"here": "dashboard", "page": "judges"})


@study_page.act
def act(request: HttpRequest, study: Study) -> HttpResponse:
    """Leave the chosen judges out, include them again, or refit, depending on the button."""
    names, by = request.POST.getlist("judge"), researcher_of(request)
    what, reason = request.POST.get("act", ""), request.POST.get("reason", "")
    try:
        if what in ("without", "only"):
            return _compare(request, study, *actions.refit(study, what, names, by, reason))
        if what == "leave out":
            done = actions.leave_out(study, names, reason, by)
            messages.success(
                request,
                _("Left out of fits from now on: %(done)s. Their answers are kept.") % {"done": ", ".join(done)},
            )
        elif what == "take back":
            done = actions.take_back(study, names, by)
            messages.success(request, _("Included in fits again from now on: %(done)s.") % {"done": ", ".join(done)})
    except StudyError as error:
        messages.error(request, sentence(error))
    return redirect("fits:judges", study.slug)


def fits_without(study: Study, fit: FitRun | None, name: str) -> list[FitRun]:
    """Return the fits, latest first, that differ from the last fit's judges only by leaving this judge out."""
    if fit is None:
        return []
    wanted = sorted({*fit.left_out, name})
    done = FitRun.objects.filter(study=study, status=FitRun.Status.DONE, left_out=wanted, only=[]).exclude(pk=fit.pk)
    return list(done.defer("rows", "findings", "log").order_by("-number")[:MOST_LINKED])


def _compare(request: HttpRequest, study: Study, base: FitRun, new: FitRun) -> HttpResponse:
    """Redirect to the comparison of the two fits or, if the first is not ready, say where it will be."""
    address = f"{reverse('results:compare', args=[study.slug, base.number])}?{urlencode({'with': new.number})}"
    if base.status == FitRun.Status.DONE:
        return redirect(address)
    news = _(
        "Fit {all} of all judges and fit {new} are being made. When both are ready, <a href='{there}'>compare them</a>."
    )
    messages.success(request, format_html(news, all=base.number, new=new.number, there=address))
    return redirect("fits:list", study.slug)


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge in the table. ``fitted`` is what the last fit says about the judge; empty if it says nothing."""

    name: str
    answers: Outcomes
    left_interval: tuple[float, float]
    repeats: int
    repeated: int
    """How many of the repeats were answered the same as before."""
    seconds: list[float]
    """Quartiles of the times."""
    spark: str
    fitted: JudgeFinding
    excluded: Exclusion | None
    group: str = ""

    @property
    def made_of(self) -> list[tuple[str, float]]:
        """What the last fit thinks is likely about the judge, in words, with the probability."""
        return [(words, chance) for words, chance in self.fitted.told_apart if chance >= LIKELY]

    @property
    def consistency(self) -> float | None:
        """The share of repeats that were answered the same as before."""
        return self.repeated / self.repeats if self.repeats else None


def judge_rows(study: Study, counted: Counted, fitted: Sequence[JudgeFinding]) -> list[JudgeRow]:
    """Return the judges who were shown a pair, with those who judged the most first."""
    from judgemap.study.assess.judges import time_histogram, time_quartiles  # slow to import

    data = counted.data
    outcomes = data.outcomes_by_judge()
    low, high = share_interval(outcomes[:, Outcome.LEFT], outcomes[:, : Outcome.TIE].sum(axis=1))
    repeats, same = data.repeats()
    times = time_histogram(data, BINS).counts if np.isfinite(data.seconds).any() else np.zeros((len(outcomes), BINS))
    quartiles = time_quartiles(data)
    by_name = {each.judge: each for each in fitted}
    excluded = {each.judge_id: each for each in Exclusion.objects.filter(judge__study=study).select_related("by")}
    groups = dict(Judge.objects.filter(study=study, group__isnull=False).values_list("name", "group__name"))
    rows = [
        JudgeRow(
            name=name,
            answers=Outcomes(*outcomes[place].tolist()),
            left_interval=(float(low[place]), float(high[place])),
            repeats=int(repeats[place]),
            repeated=int(same[place]),
            seconds=quartiles[place].tolist(),
            spark=spark(times[place].tolist()),
            fitted=by_name.get(name, JudgeFinding(judge=name)),
            excluded=excluded.get(name),
            group=groups.get(name, ""),
        )
        for place, name in enumerate(data.judges)
        if outcomes[place].any()
    ]
    return sorted(rows, key=lambda row: (-row.answers.judged, row.name))


def time_chart(data: Comparisons) -> Chart:
    """Draw the times of one judge's comparisons."""
    from judgemap.study.assess.judges import time_histogram, time_quartiles

    low, middle, high = time_quartiles(data)[0].tolist()
    if not np.isfinite(middle):
        return bar_chart(_("Time for a pair"), _("This judge has not answered any pairs yet."), [], [])
    edges, counts = time_histogram(data, BINS)[1:]
    labels = [f"{start:g} to {end:g} s" for start, end in pairwise(edges[:-1].tolist())] + [f"{edges[-2]:g} s or more"]
    alt = _("Half of the pairs took between %(low)s and %(high)s seconds; the median is %(middle)s.") % {
        "low": f"{low:.1f}",
        "high": f"{high:.1f}",
        "middle": f"{middle:.1f}",
    }
    return bar_chart(_("Time for a pair"), alt, counts[0].tolist(), labels, (_("Time"), _("Pairs")))
