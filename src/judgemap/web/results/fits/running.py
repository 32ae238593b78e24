"""Making a fit: read the answers, sample, keep the results, and then explain them."""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from django.db import transaction
from django.db.models import Max, Min
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.study.record import json_value
from judgemap.study.settings import FitSettings
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Answer
from judgemap.web.results.fits.actions import answered
from judgemap.web.results.fits.files import open_fit, pack
from judgemap.web.results.fits.forgetting import forget_withdrawn
from judgemap.web.results.fits.progress import (
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
from judgemap.web.results.models import FitFiles, FitPicture, FitRun
from judgemap.web.server.forms import sentence
from judgemap.web.studies.areas import load_areas

if TYPE_CHECKING:
    from judgemap.study.comparisons import Comparisons
    from judgemap.study.explain import Explanation
    from judgemap.study.result import Fit

logger = logging.getLogger(__name__)
Step = Callable[["Subject"], None]
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
    if run.only:
        data = data.only(set(data.judges) & set(run.only))
    data = data.without(set(data.judges) & set(run.left_out))
    if not len(data):
        raise StudyError("no answers are left for this fit: its judges have none, or are left out; choose others")
    return data


def keep(run: FitRun, fit: "Fit", progress: Progress) -> None:
    """Keep the results, all or nothing; from here on the map can be seen."""
    run.progress, run.said = SAMPLED, "The draws are made; the results are being put together."
    progress.write()
    run.info = json_value(fit.record.to_dict())
    run.rows = table_of(fit)
    run.findings = {"warnings": fit.warnings}
    run.data_sha256 = fit.record.data.sha256
    run.said = fit.verdict[:400]
    run.log += log_line(f"drew {fit.record.plan.chains} chains in {fit.record.seconds:.1f} s")
    run.log += "".join(log_line(f"note: {note.text}") for note in fit.record.notes)
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
    rows: list[dict[str, Any]] = json_value(table.to_dict("records"))
    return rows


def explain(run: FitRun, fit: "Fit", data: "Comparisons") -> Iterator[None]:
    """Work out what explains a fit that is done, a step at a time. What fails here is logged, and spoils nothing."""
    subject = Subject(run, fit, data)
    try:
        for what, step in (("figures", _find), ("pictures", _draw), ("briefing", _brief)):
            run.log += log_line(_try(what, step, subject))
            FitRun.objects.filter(pk=run.pk).update(log=run.log, heard_at=timezone.now())
            forget_withdrawn(run, set(data.judges))
            yield
        FitRun.objects.filter(pk=run.pk).update(explained_at=timezone.now())
    finally:
        HERE.discard(run.pk)


@dataclass(frozen=True)
class Subject:
    """A fit to explain. Its explanation is worked out once, for the pages and the pictures alike."""

    run: FitRun
    fit: "Fit"
    data: "Comparisons"

    @cached_property
    def explanation(self) -> "Explanation":
        """What is said about the fit."""
        from judgemap.study.explain import explain
        from judgemap.web.results.findings import answer_order

        return explain(self.fit, self.data, answer_order(self.run, self.data))


def _try(what: str, step: Step, subject: Subject) -> str:
    """Take a step, and return what to write about it."""
    if STOPPING.is_set():
        return f"no {what}: the worker was asked to end; fit again to have all"
    try:
        step(subject)
    except Exception:
        run = subject.run
        logger.exception("%s of fit %s of %s failed", what, run.number, run.study.slug)
        return f"no {what}: making them broke down; the server's log has the details"
    return f"{what} made"


def _find(subject: Subject) -> None:
    from judgemap.web.results.findings import findings_of

    run = subject.run
    run.findings |= findings_of(subject.fit, subject.explanation)
    FitRun.objects.filter(pk=run.pk).update(findings=run.findings)


def _draw(subject: Subject) -> None:
    from judgemap.web.results.pictures import draw

    run, drawn = subject.run, draw(subject.fit, subject.explanation.check)
    rows = [
        FitPicture(fit=run, name=name, svg=each.svg(), alt=each.alt, caption=each.caption)
        for name, each in drawn.items()
    ]
    FitPicture.objects.bulk_create(rows)


def _brief(subject: Subject) -> None:
    from judgemap.report.briefing import About, briefing

    run, fit, data = subject.run, subject.fit, subject.data
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


def _end(run: FitRun, status: FitRun.Status, said: str) -> None:
    run.log += log_line(said)
    mine = FitRun.objects.filter(pk=run.pk, status=FitRun.Status.RUNNING)
    mine.update(status=status, said=said[:400], log=run.log, answers=run.answers, finished_at=timezone.now())


def _put_back(run: FitRun) -> None:
    """Let the next worker make it."""
    from judgemap.web.results.fits.tasks import run_fit

    run.log += log_line("the worker was asked to end; the fit waits for the next one")
    with transaction.atomic():
        mine = FitRun.objects.filter(pk=run.pk, status=FitRun.Status.RUNNING)
        said = "The server was stopped in the middle of it; it begins anew when the server is back."
        if mine.update(status=FitRun.Status.WAITING, progress=0.0, started_at=None, said=said, log=run.log):
            run_fit.enqueue(run.pk)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
