"""A judge withdraws: what earlier fits say of that judge alone goes with the answers; what is added up stays.

A fit's files hold how often each pair was compared and won, over all its judges, and no judge. So a map that was made
keeps standing; what is told of single judges (their figures, their surprising answers, pictures with their name) is cut
out; and a fit of this judge's answers alone, or one in whose model judges differ, loses its results.
"""

from collections.abc import Mapping
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from judgemap.study.panel_settings import PanelSettings
from judgemap.web.judge.models import Answer, Judge, PopulationMap
from judgemap.web.results.models import FitFiles, FitPicture, FitRun, FitView
from judgemap.web.server.jobs import log_line

SOMEBODY = "a judge who withdrew"
REMOVED = "The only judge in this fit withdrew, so its results were removed."
REMOVED_OF_EACH = (
    "A judge in this fit withdrew. The fit describes every judge, so its results were removed; make the fit again."
)


def forget_judge(judge: Judge, **_: object) -> None:
    """Take a judge out of every fit of the study; to be called before the answers are removed."""
    first = Answer.objects.filter(pair__judge=judge).order_by("answered_at").first()
    if first is None:
        return
    too_early = Q(finished_at__lt=first.answered_at)
    for run in FitRun.objects.filter(study_id=judge.study_id).exclude(too_early).defer("rows", "findings", "log"):
        forget(run, judge.name)


def forget_withdrawn(run: FitRun, judges: set[str] | None = None) -> None:
    """Take out of a fit the judges who withdrew since it began: those of ``judges``, where it is known whose it is."""
    gone = Judge.objects.filter(study_id=run.study_id, withdrawn_at__gte=run.started_at)
    for name in gone.values_list("name", flat=True):
        if judges is None or name in judges:
            forget(run, name)


def forget(run: FitRun, name: str) -> None:
    """Cut a judge out of what a fit says; its results too, where they are that judge's answers."""
    with transaction.atomic():
        kept = FitRun.objects.select_for_update().only("log", "info", "findings", "only", "left_out").get(pk=run.pk)
        used = name in kept.only if kept.only else name not in kept.left_out
        data = kept.info.get("data") or run.info.get("data", {})
        panel = (kept.info or run.info).get("panel")
        if used and data.get("judges") == 1:
            _remove_results(kept, REMOVED)
        elif used and panel is not None and PanelSettings(**panel).by_judge:
            _remove_results(kept, REMOVED_OF_EACH)
        else:
            _cut_out(kept, name)


def _remove_results(run: FitRun, why: str) -> None:
    FitPicture.objects.filter(fit=run).delete()
    FitFiles.objects.filter(fit=run).delete()
    FitView.objects.filter(fit=run).delete()
    PopulationMap.objects.filter(study_id=run.study_id, fit_number=run.number).delete()
    FitRun.objects.filter(pk=run.pk).update(
        status=FitRun.Status.FAILED, said=why, log=run.log + log_line(why), rows=[], findings={}, info={},
        data_sha256="", explained_at=timezone.now(),
    )  # fmt: skip


def _cut_out(run: FitRun, name: str) -> None:
    for each in FitPicture.objects.filter(fit=run):
        if name in each.svg + each.alt + each.caption:
            each.delete()
    files = FitFiles.objects.filter(fit=run).only("briefing").first()
    if files is not None and name in files.briefing:
        files.briefing = files.briefing.replace(name, SOMEBODY)
        files.save(update_fields=["briefing"])
    FitRun.objects.filter(pk=run.pk).update(
        info=without_name(run.info, name), findings=without_judge(run.findings, name)
    )


def without_judge(findings: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Take a judge's own entries out of findings; an area that happens to have the judge's name stays.

    >>> kept = {"judges": [{"judge": "ann"}, {"judge": "bob"}], "surprises": [{"judge": "bob", "chosen_name": "ann"}]}
    >>> without_judge(kept, "ann")
    {'judges': [{'judge': 'bob'}], 'surprises': [{'judge': 'bob', 'chosen_name': 'ann'}]}
    """
    left = dict(findings)
    for part in ("judges", "surprises"):
        if part in left:
            left[part] = [row for row in left[part] if row["judge"] != name]
    if "times" in left:  # version 0.1.0 kept the times of each judge as well
        by_judge = {judge: times for judge, times in left["times"]["by_judge"].items() if judge != name}
        left["times"] = {**left["times"], "by_judge": by_judge}
    return left


def without_name(info: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Take a judge's name out of the notes of a fit's record, which may name judges; nothing else there does.

    >>> without_name({"seed": 1, "notes": ["Judges with a single answer: 'ann'."]}, "ann")
    {'seed': 1, 'notes': ["Judges with a single answer: 'a judge who withdrew'."]}
    """
    notes = [note.replace(name, SOMEBODY) for note in info.get("notes", [])]
    return {**info, "notes": notes} if notes else dict(info)
