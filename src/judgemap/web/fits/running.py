"""Making a fit: read the answers, sample, keep the results, and then explain them."""

import logging
import math
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Max, Min
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.study.settings import FitSettings
from judgemap.web.fits.actions import answered
from judgemap.web.fits.files import open_fit, pack
from judgemap.web.fits.forgetting import forget_withdrawn
from judgemap.web.fits.models import FitFiles, FitPicture, FitRun
from judgemap.web.fits.progress import (
    HERE,
    SAMPLED,
    STOPPING,
    WARMING_UP,
    CancelledError,
    Progress,
    StoppingError,
    TakenAwayError,
    log_line,
)
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Answer
from judgemap.web.making.forms import sentence
from judgemap.web.studies.areas import load_areas

if TYPE_CHECKING:
    from judgemap.study.records import Comparisons
    from judgemap.study.result import Fit

logger = logging.getLogger(__name__)
Step = Callable[[FitRun, "Fit", "Comparisons"], None]
BROKE_DOWN = "The fit broke down, which is our fault and not yours; the server's log has the details. Start it again."


def make_fit(run_id: int) -> Iterator[None]:
    """Make a fit that waits. Of several workers that try, one does; whatever happens is written into the run.

    Returns the steps that explain it, see `explain`: the map is there before they are taken.
    """
    now = timezone.now()
    waiting = FitRun.objects.filter(pk=run_id, status=FitRun.Status.WAITING)
    if not waiting.update(status=FitRun.Status.RUNNING, started_at=now, heard_at=now, said="Reading the answers."):
        return iter(())
    run = FitRun.objects.select_related("study", "version").defer("version__packed_design").get(pk=run_id)
    HERE.add(run_id)
    made = _make(run)
    if made is None:
        HERE.discard(run_id)
        return iter(())
    return explain(run, *made)


def _make(run: FitRun) -> "tuple[Fit, Comparisons] | None":
    progress = Progress(run)
    try:
        data = read_answers(run)
        run.said = WARMING_UP
        progress.note(f"read {len(data)} pairs shown to {len(data.per_judge())} judges")
        areas = load_areas(run.version)
        fit = FitSettings.from_dict(run.settings).run(data, areas, cores=_cores(), watch=progress.watch)
        keep(run, fit, progress)
    except TakenAwayError:
        logger.warning("fit %s of %s was given up while it was made", run.number, run.study.slug)
    except CancelledError:
        _end(run, FitRun.Status.CANCELLED, "Cancelled.")
    except StoppingError:
        _put_back(run)
    except StudyError as error:
        _end(run, FitRun.Status.FAILED, sentence(error))
    except Exception:
        logger.exception("fit %s of %s broke down", run.number, run.study.slug)
        _end(run, FitRun.Status.FAILED, BROKE_DOWN)
    else:
        return fit, data
    return None


def read_answers(run: FitRun) -> "Comparisons":
    """Read what the judges of this fit have answered by now."""
    run.study.current = run.version
    run.answers = answered(run.study)
    data = load_comparisons(run.study)
    there = set(data.judge)
    if run.only:
        data = data.only(there & set(run.only))
    data = data.without(set(data.judge) & set(run.left_out))
    if not len(data):
        raise StudyError("no answers are left for this fit: its judges have none, or are left out; choose others")
    return data


def keep(run: FitRun, fit: "Fit", progress: Progress) -> None:
    """Keep the results, all or nothing; from here on the map can be seen."""
    run.progress, run.said = SAMPLED, "The draws are made; the results are being put together."
    progress.write()
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
        run.status, run.progress = FitRun.Status.DONE, 1.0
        run.finished_at = run.heard_at = timezone.now()
        names = ("info", "rows", "findings", "data_sha256", "said", "log", "status", "progress", "finished_at",
                 "heard_at", "answers")  # fmt: skip
        mine = FitRun.objects.filter(pk=run.pk, status=FitRun.Status.RUNNING)
        if not mine.update(**{name: getattr(run, name) for name in names}):
            raise TakenAwayError


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
    return (
        f"The draws are good: worth at least {found['ess_bulk_min']:.0f} independent ones, "
        f"largest R-hat {found['rhat_max']:.3f}."
    )


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
    try:
        for what, step in (("figures", _find), ("pictures", _draw), ("briefing", _brief)):
            run.log += log_line(_try(what, step, (run, fit, data)))
            FitRun.objects.filter(pk=run.pk).update(log=run.log, heard_at=timezone.now())
            forget_withdrawn(run, set(data.judge))
            yield
        FitRun.objects.filter(pk=run.pk).update(explained_at=timezone.now())
    finally:
        HERE.discard(run.pk)


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

    run.findings |= plain(work_out(run, fit, data))
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

    times = Answer.objects.filter(pair__judge__study=run.study, pair__judge__in=set(data.judge), pair__practice=False)
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


def _end(run: FitRun, status: FitRun.Status, said: str) -> None:
    run.log += log_line(said)
    mine = FitRun.objects.filter(pk=run.pk, status=FitRun.Status.RUNNING)
    mine.update(status=status, said=said[:400], log=run.log, answers=run.answers, finished_at=timezone.now())


def _put_back(run: FitRun) -> None:
    """Let the next worker make it."""
    from judgemap.web.fits.tasks import run_fit

    run.log += log_line("the worker was asked to end; the fit waits for the next one")
    with transaction.atomic():
        mine = FitRun.objects.filter(pk=run.pk, status=FitRun.Status.RUNNING)
        said = "The server was stopped in the middle of it; it begins anew when the server is back."
        if mine.update(status=FitRun.Status.WAITING, progress=0.0, started_at=None, said=said, log=run.log):
            run_fit.enqueue(run.pk)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
