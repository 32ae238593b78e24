"""Making a fit: read the answers, sample, keep the results, and then explain them."""

import logging
import math
import os
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Max, Min
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.study.settings import FitSettings
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Answer
from judgemap.web.results.fits.actions import answered
from judgemap.web.results.fits.files import open_fit, pack
from judgemap.web.results.fits.forgetting import forget_withdrawn
from judgemap.web.results.fits.progress import SAMPLED, WARMING_UP, watch
from judgemap.web.results.models import FitFiles, FitPicture, FitRun
from judgemap.web.server.jobs import STOPPING, log_line
from judgemap.web.studies.areas import load_areas
from judgemap.web.studies.models import StudyVersion

if TYPE_CHECKING:
    from judgemap.study.comparisons import Comparisons
    from judgemap.study.result import Fit

logger = logging.getLogger(__name__)
Step = Callable[[FitRun, "Fit", "Comparisons"], None]


def make_fit(run: FitRun) -> Iterator[None]:
    """Make a fit that this worker has claimed.

    Returns the steps that explain it, see `explain`: the map is there before they are taken.
    """
    run.version = StudyVersion.objects.defer("packed_design").get(pk=run.version_id)
    data = read_answers(run)
    run.said = WARMING_UP
    run.write_line(f"read {len(data)} pairs shown to {len(data.per_judge())} judges")
    areas = load_areas(run.version)
    fit = FitSettings.from_dict(run.settings).run(data, areas, cores=_cores(), watch=partial(watch, run))
    keep(run, fit)
    return explain(run, fit, data)


def read_answers(run: FitRun) -> "Comparisons":
    """Read what the judges of this fit have answered by now."""
    run.study.current = run.version
    run.answers = answered(run.study)
    FitRun.objects.filter(pk=run.pk).update(answers=run.answers)
    data = load_comparisons(run.study)
    if run.only:
        data = data.only(set(data.judges) & set(run.only))
    data = data.without(set(data.judges) & set(run.left_out))
    if not len(data):
        raise StudyError("no answers are left for this fit: its judges have given none, or are left out; choose others")
    return data


def keep(run: FitRun, fit: "Fit") -> None:
    """Keep the results, all or nothing; from here on the map can be seen."""
    run.progress, run.said = SAMPLED, "The draws are done; the results are being prepared."
    run.write()
    run.info = plain(fit.info)
    run.rows = table_of(fit)
    run.findings = {"warnings": fit.warnings}
    run.data_sha256 = run.info["data"]["sha256"]
    run.said = verdict(fit)[:400]
    run.log += log_line(f"drew {run.info['plan']['chains']} chains in {run.info['seconds']:.1f} s")
    run.log += "".join(log_line(f"note: {note}") for note in run.info["notes"])
    run.log += "".join(log_line(f"warning: {warning}") for warning in fit.warnings)
    archive = pack(fit)  # before the transaction, which judges wait for on SQLite
    with transaction.atomic():
        FitFiles.objects.update_or_create(fit=run, defaults={"archive": archive})
        run.finish("info", "rows", "findings", "data_sha256")


def table_of(fit: "Fit") -> list[dict[str, Any]]:
    """Return the table of areas, a dict a row; of a fit of clusters, with each area's cluster."""
    from judgemap.study.clusters import ClusterFit

    table = fit.areas
    if isinstance(fit, ClusterFit):
        table = table.merge(fit.clusters.drop(columns="name"), on="id", validate="one_to_one")
    rows: list[dict[str, Any]] = plain(table.to_dict("records"))
    return rows


def verdict(fit: "Fit") -> str:
    """Say in a sentence how good the draws are."""
    if fit.warnings:
        return fit.warnings[0]
    found = fit.info["diagnostics"]
    least, worst = found["ess_bulk_min"], found["rhat_max"]
    return f"The draws are good: effective sample size at least {least:.0f}, largest R-hat {worst:.3f}."


def plain(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Make a value fit for JSON in a database: numpy's numbers become Python's, and what is no number None."""
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def explain(run: FitRun, fit: "Fit", data: "Comparisons") -> Iterator[None]:
    """Work out what explains a fit that is done, a step at a time. What fails here is logged, and spoils nothing."""
    for what, step in (("figures", _find), ("pictures", _draw), ("briefing", _brief)):
        run.log += log_line(_try(what, step, (run, fit, data)))
        FitRun.objects.filter(pk=run.pk).update(log=run.log, heard_at=timezone.now())
        forget_withdrawn(run, set(data.judges))
        yield
    FitRun.objects.filter(pk=run.pk).update(explained_at=timezone.now())


def _try(what: str, step: Step, given: "tuple[FitRun, Fit, Comparisons]") -> str:
    """Take a step, and return what to write about it."""
    if STOPPING.is_set():
        return f"no {what}: the worker was asked to end; fit again to have all"
    try:
        step(*given)
    except Exception:
        run = given[0]
        logger.exception("%s of fit %s of %s failed", what, run.number, run.study.slug)
        return f"no {what}: making them broke down; the server's log has the details"
    return f"{what} made"


def _find(run: FitRun, fit: "Fit", data: "Comparisons") -> None:
    from judgemap.web.results.findings import work_out

    run.findings |= plain(work_out(fit, data))
    FitRun.objects.filter(pk=run.pk).update(findings=run.findings)


def _draw(run: FitRun, fit: "Fit", data: "Comparisons") -> None:
    from judgemap.web.results.pictures import draw

    drawn = draw(fit, data)
    rows = [
        FitPicture(fit=run, name=name, svg=each.svg(), alt=each.alt, caption=each.caption)
        for name, each in drawn.items()
    ]
    FitPicture.objects.bulk_create(rows)


def _brief(run: FitRun, fit: "Fit", data: "Comparisons") -> None:
    from judgemap.report.briefing import About, briefing

    times = Answer.objects.filter(pair__judge__study=run.study, pair__judge__in=data.judges, pair__practice=False)
    days = times.aggregate(first=Min("answered_at"), last=Max("answered_at"))
    about = About(
        title=run.version.title,
        question=run.version.question,
        data=data,
        first=days["first"] and days["first"].date(),
        last=days["last"] and days["last"].date(),
        left_out=len(run.left_out),
    )
    FitFiles.objects.filter(fit=run).update(briefing=briefing(fit, about, _beside(run)))


def _beside(run: FitRun) -> "Fit | None":
    """Find the last fit of the same answers by the other kind of model, so that a briefing tells of both."""
    same = FitRun.objects.filter(study=run.study, data_sha256=run.data_sha256, status=FitRun.Status.DONE)
    others = same.exclude(pk=run.pk).order_by("-number")
    if run.settings["model"] == "clusters":
        other = others.exclude(settings__model="clusters").first()
    else:
        other = others.filter(settings__model="clusters").first()
    return open_fit(other) if other is not None else None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
