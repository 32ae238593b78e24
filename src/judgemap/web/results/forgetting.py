"""A judge withdraws: what earlier fits say of that judge alone goes with the answers; what is added up stays.

A fit's files hold how often each pair was compared and won, over all its judges, and no judge. So a map that was made
keeps standing; what is told of single judges (their figures, their surprising answers, pictures with their name) is cut
out; and a fit of this judge's answers alone, or one in whose model judges differ, loses its results.
"""

from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from judgemap.study.panel_settings import PanelSettings
from judgemap.web.judge.models import Answer, Judge
from judgemap.web.results.models import FitFiles, FitPicture, FitRun
from judgemap.web.server.jobs import log_line

SOMEBODY = "a judge who withdrew"
REMOVED = "The only judge in this fit withdrew, so its results were removed."
REMOVED_OF_EACH = (
    "A judge in this fit withdrew. The fit describes every judge, so its results were removed; make the fit again."
)
_GONE = object()


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
    FitRun.objects.filter(pk=run.pk).update(info=cut(run.info, name), findings=cut(run.findings, name))


def cut(value: Any, name: str) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Take a judge out of JSON: entries by that name or of that judge, and the name in sentences.

    >>> cut({"judges": [{"judge": "ann", "ties": 3}, {"judge": "bob"}], "by": {"ann": 1}, "note": "ann is slow"}, "ann")
    {'judges': [{'judge': 'bob'}], 'by': {}, 'note': 'a judge who withdrew is slow'}
    """
    kept = _cut(value, name)
    return None if kept is _GONE else kept


def _cut(value: Any, name: str) -> Any:  # noqa: ANN401
    if isinstance(value, dict):
        if name in [each for each in value.values() if isinstance(each, str)]:
            return _GONE
        pairs = ((key, _cut(each, name)) for key, each in value.items() if key != name)
        return {key: each for key, each in pairs if each is not _GONE}
    if isinstance(value, list):
        return [each for each in (_cut(each, name) for each in value if each != name) if each is not _GONE]
    return value.replace(name, SOMEBODY) if isinstance(value, str) else value
