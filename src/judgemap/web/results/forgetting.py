"""When a judge withdraws, what earlier fits say about that judge is deleted with the answers; totals stay.

A fit's files hold how often each pair was compared and won, over all its judges, and name no judge. So an earlier map
stays; what it says about individual judges (figures, surprising answers, pictures with their name) is removed; and a
fit of only this judge's answers, or one whose model has judges who differ, loses its results.
"""

import io
import zipfile
from collections.abc import Collection, Mapping
from typing import Any

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge.models import Answer, Judge, PopulationMap
from judgemap.web.results.models import Beside, FitArea, FitFiles, FitKept, FitPicture, FitPiece, FitRun, FitView
from judgemap.web.server.database import delete_in_turns
from judgemap.web.server.jobs import log_line
from judgemap.web.studies.models import Study

SOMEBODY = "a judge who withdrew"
REMOVED = "The only judge in this fit withdrew, so its results were removed."
REMOVED_OF_EACH = (
    "A judge in this fit withdrew. The fit describes every judge, so its results were removed; make the fit again."
)

ALL_REMOVED = "This study no longer keeps its answers, so this fit was removed."
TEXTS = (".json", ".csv", ".txt", ".md", ".html", ".toml", ".sh")


def forget_judge(judge: Judge, **_: object) -> None:
    """Take a judge out of every fit of the study; call this before the answers are removed."""
    first = Answer.objects.filter(pair__judge=judge).order_by("answered_at").first()
    if first is None:
        return
    FitKept.objects.filter(fit__study=judge.study).delete()  # fits under way do not go on with these answers
    too_early = Q(finished_at__lt=first.answered_at)
    for run in FitRun.objects.filter(study=judge.study).exclude(too_early).defer("rows", "findings", "log"):
        if run.read_at is not None and _uses(run, judge.name):
            FitRun.objects.filter(pk=run.pk).update(withdrawn=F("withdrawn") + 1)
        forget(run, judge.name)


def _uses(run: FitRun, name: str) -> bool:
    return name in run.only if run.only else name not in run.left_out


def forget_everybody(study: Study, judges: list[str], **_: object) -> dict[str, int]:
    """Take every judge out of every fit of a study, files included; say how many fits lost their results."""
    fits = FitRun.objects.filter(study=study).defer("rows", "findings", "log")
    under_way = fits.filter(status__in=FitRun.UNDER_WAY)
    under_way.update(status=FitRun.Status.CANCELLED, said=ALL_REMOVED, finished_at=timezone.now())
    before = FitFiles.objects.filter(fit__study=study).count()
    for run in fits:
        forget_all(run, judges)
    removed = before - FitFiles.objects.filter(fit__study=study).count()
    return {"fits that tell judges apart": removed, "fits kept without judges": before - removed}


def remove_fits(study: Study, **_: object) -> None:
    """Remove the fits of a study that is being deleted; a worker that is making one finds it taken away."""
    delete_in_turns(FitArea.objects.filter(fit__study=study))
    delete_in_turns(FitPiece.objects.filter(fit__study=study), at_once=1, alone=True)
    delete_in_turns(FitRun.objects.filter(study=study))


def forget_all(run: FitRun, names: Collection[str]) -> None:
    """Remove every judge from a fit, or all its results if they describe individual judges."""
    with transaction.atomic():
        kept = FitRun.objects.select_for_update().get(pk=run.pk)
        if kept.only or _judges_in(kept, run) == 1 or _is_by_judge(kept, run):
            _remove_results(kept, ALL_REMOVED)
        else:
            _cut_out(kept, names)
        FitRun.objects.filter(pk=run.pk).update(left_out=[], only=[])


def without_names(archive: bytes, names: Collection[str]) -> bytes:
    """Rewrite a zip file, with judges' names replaced in its text files."""
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as before, zipfile.ZipFile(written, "w") as after:
        for entry in before.infolist():
            content = before.read(entry)
            for name in names if entry.filename.endswith(TEXTS) else ():
                content = content.replace(name.encode(), SOMEBODY.encode())
            after.writestr(entry, content)
    return written.getvalue()


def forget_withdrawn(run: FitRun, judges: set[str] | None = None) -> None:
    """Take the judges who withdrew since a fit began out of it; only those among ``judges``, if that is known."""
    if Study.objects.filter(pk=run.study_id, answers_removed_at__isnull=False).exists():
        forget_all(run, judges or set())
        return
    gone = Judge.objects.filter(study_id=run.study_id, withdrawn_at__gte=run.started_at)
    for name in gone.values_list("name", flat=True):
        if judges is None or name in judges:
            forget(run, name)


def forget(run: FitRun, name: str) -> None:
    """Remove a judge from what a fit says, or all its results if they describe that judge."""
    with transaction.atomic():
        kept = FitRun.objects.select_for_update().only("log", "info", "findings", "only", "left_out").get(pk=run.pk)
        used = _uses(kept, name)
        if used and _judges_in(kept, run) == 1:
            _remove_results(kept, REMOVED)
        elif used and _is_by_judge(kept, run):
            _remove_results(kept, REMOVED_OF_EACH)
        else:
            _cut_out(kept, [name])


def _judges_in(kept: FitRun, run: FitRun) -> int:
    data = kept.info.get("data") or run.info.get("data", {})
    return int(data.get("judges", 0))


def _is_by_judge(kept: FitRun, run: FitRun) -> bool:
    """Say whether a fit's model describes individual judges."""
    settings = (kept.info or run.info).get("settings")
    return settings is not None and FitSettings(**settings).by_judge


def _remove_results(run: FitRun, why: str) -> None:
    FitPicture.objects.filter(fit=run).delete()
    FitFiles.objects.filter(fit=run).delete()
    FitView.objects.filter(fit=run).delete()
    FitArea.objects.filter(fit=run).delete()
    Beside.objects.filter(fit=run).delete()
    PopulationMap.objects.filter(study_id=run.study_id, fit_number=run.number).delete()
    FitRun.objects.filter(pk=run.pk).update(
        status=FitRun.Status.FAILED, said=why, log=run.log + log_line(why), rows=[], findings={}, info={},
        data_sha256="", explained_at=timezone.now(),
    )  # fmt: skip


def _cut_out(run: FitRun, names: Collection[str]) -> None:
    """Remove judges from a fit that keeps its results: from its record, log, findings, pictures and files."""
    for each in FitPicture.objects.filter(fit=run):
        if any(name in each.svg + each.alt + each.caption for name in names):
            each.delete()
    # An archive can have hundreds of megabytes, and only its copy of the record's notes can name a judge.
    noted = any(name in note for name in names for note in run.info.get("notes", []))
    fields = ["briefing", *(["archive"] if noted else [])]
    files = FitFiles.objects.filter(fit=run).only(*fields).first()
    if files is not None:
        for name in names:
            files.briefing = files.briefing.replace(name, SOMEBODY)
        if noted:
            files.archive = without_names(bytes(files.archive), names)
        files.save(update_fields=fields)
    info, findings, log = run.info, run.findings, run.log
    for name in names:
        info, findings, log = without_name(info, name), without_judge(findings, name), log.replace(name, SOMEBODY)
    FitRun.objects.filter(pk=run.pk).update(info=info, findings=findings, log=log)


def without_judge(findings: Mapping[str, Any], name: str) -> dict[str, object]:
    """Take a judge's own entries out of findings; an area that happens to have the judge's name stays.

    >>> kept = {"judges": [{"judge": "ann"}, {"judge": "bob"}], "surprises": [{"judge": "bob", "chosen_name": "ann"}]}
    >>> without_judge(kept, "ann")
    {'judges': [{'judge': 'bob'}], 'surprises': [{'judge': 'bob', 'chosen_name': 'ann'}]}
    """
    left = dict(findings)
    for part in ("judges", "surprises"):
        if part in left:
            left[part] = [row for row in left[part] if row["judge"] != name]
    return left


def without_name(info: Mapping[str, Any], name: str) -> dict[str, object]:
    """Take a judge's name out of the notes of a fit's record; nothing else in it names judges.

    >>> without_name({"seed": 1, "notes": ["Judges with a single answer: 'ann'."]}, "ann")
    {'seed': 1, 'notes': ["Judges with a single answer: 'a judge who withdrew'."]}
    """
    notes = [note.replace(name, SOMEBODY) for note in info.get("notes", [])]
    return {**info, "notes": notes} if notes else dict(info)
