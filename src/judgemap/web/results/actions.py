"""What researchers do about fits, judges in them, and plans. Each is one transaction, recorded in the audit log."""

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace

from django.db import transaction
from django.db.models import Max, Sum
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.study.assess.findings import RateOptions, Remedy
from judgemap.study.fit.settings import LARGE, FitSettings
from judgemap.web.accounts.models import Researcher
from judgemap.web.judge.models import Answer, Judge
from judgemap.web.results.models import (
    AutoFit,
    Beside,
    Exclusion,
    FitRun,
    Plan,
    excluded_from,
    whole_fits,
)
from judgemap.web.server.jobs import log_line
from judgemap.web.studies.editing import locked
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Study, StudyFigures
from judgemap.web.studies.upload.reading import MOST_FIGURES
from judgemap.web.studies.upload.records import ReadFigures

MOST_WAITING = 20
"""How many fits of one study may wait at a time."""
MOST_NUMBERS = 50_000_000
"""The most draws times areas that a fit may store: 400 MB."""
MOST_STEPS = 5_000_000
"""The most steps that all chains of a fit may take together: some minutes at the usual speed."""
LEAST_EVERY = 10
SCALES = (2.5, 5.0, 10.0)
"""Scales of the half-normal prior of α: half the usual one, the usual one, and twice that."""
VARIANCES = ((0.01, 0.01), (0.1, 0.1), (1.0, 1.0), (2.0, 1.0))
"""As in the paper, shapes χ and scales ω of the prior of α²: weaker and stronger than 0.1, 0.1, and one with a mean."""
BETAS = (1e-10, 1e-8, 1e-6, 1e-4)
"""Values of β, the weight of an area's link to itself: the larger it is, the more clusters the prior expects."""
NOTE = "requested on the judges' page"
BASE_NOTE = "for comparison"
GONE = (FitRun.Status.FAILED, FitRun.Status.CANCELLED, FitRun.Status.LOST)
"""The statuses of fits that will never have results."""


def ask_for_fit(
    study: Study,
    settings: FitSettings,
    by: Researcher | None = None,
    left_out: Iterable[str] = (),
    only: Iterable[str] = (),
    note: str = "",
) -> FitRun:
    """Ask for a fit of the study as it is now; a worker makes it.

    Judges who are left out of the study's fits are left out of this one too, unless they are among ``only``.
    """
    chosen = set(only)
    with transaction.atomic():
        study = locked(study)
        unwanted = {*left_out, *excluded_from(study)} - chosen
        _check(study, settings, unwanted | chosen)
        return _ask(study, settings, by, sorted(unwanted), sorted(chosen), note[:200])


def keep_figures(study: Study, read: ReadFigures, file: str, by: Researcher | None = None) -> None:
    """Store the columns of a table of figures beside those that there are; of the same name, the new ones stay."""
    with transaction.atomic():
        kept, _made = StudyFigures.objects.select_for_update().get_or_create(study=study)
        kept.cells, kept.notes = {**kept.cells, **read.cells}, read.notes
        if len(kept.cells) > MOST_FIGURES:
            raise StudyError(_("a study can have %(most)s columns of figures; remove some first"), most=MOST_FIGURES)
        kept.save()
        record(study, by, "figures added", {"file": file, "columns": list(read.cells)})
        _hold_again(study, by)


def choose_figures(
    run: FitRun,
    weighted_by: str,
    in_briefing: Sequence[str],
    removed: Sequence[str],
    by: Researcher | None = None,
    rates: RateOptions | None = None,
) -> None:
    """Store what is made of the figures and what briefings show, remove columns, and hold this fit against the rest."""
    study = run.study
    with transaction.atomic():
        kept, _made = StudyFigures.objects.select_for_update().get_or_create(study=study)
        kept.cells = {name: cells for name, cells in kept.cells.items() if name not in removed}
        kept.weighted_by = "equal" if weighted_by in removed else weighted_by
        kept.in_briefing = [name for name in in_briefing if name not in removed]
        kept.rates = {} if rates is None else asdict(rates)
        kept.save()
        chosen = {"weights": kept.weighted_by, "removed": list(removed), "rates": kept.rates}
        record(study, by, "figures chosen", chosen)
        _hold_again(study, by, run)


def _hold_again(study: Study, by: Researcher | None, run: FitRun | None = None) -> None:
    """Forget what earlier figures gave, and hold a fit against today's: the last one, if none is named."""
    Beside.objects.filter(fit__study=study).delete()
    if run := run or whole_fits(study).filter(status=FitRun.Status.DONE).first():
        Beside.objects.create(fit=run, asked_by=by)


def hold_against_figures(run: FitRun) -> None:
    """Ask for a fit to be held against its study's figures, if there are any."""
    regions = run.study.areas.exclude(region="").exists()
    if regions or StudyFigures.objects.filter(study=run.study).exists():
        Beside.objects.get_or_create(fit=run)


def again(run: FitRun, by: Researcher | None = None, how: str = "") -> FitRun:
    """Ask for the same fit again, of the current answers and the same judges.

    With the same seed too, unless ``how`` is "seed", for another one, or "longer", for more draws as well.
    """
    settings = FitSettings.from_dict(run.settings)
    if how:
        settings = replace(settings, seed=secrets.randbits(32))
    if how == "longer":
        settings = _longer(settings, run.study.areas.count())
    with transaction.atomic():
        study = locked(run.study)
        _check(study, settings, set())
        return _ask(study, settings, by, run.left_out, run.only, run.note)


def _longer(settings: FitSettings, areas: int) -> FitSettings:
    """Return settings with four times the draws and twice the warm-up, or as many as the server allows."""
    plan = settings.plan_for(areas)
    warmup = 2 * plan.warmup
    room = min(MOST_NUMBERS // (areas * plan.chains), (MOST_STEPS // plan.chains - warmup) // plan.thin)
    return replace(settings, warmup=warmup, draws=max(plan.draws, min(4 * plan.draws, room)))


def cancel_fit(run: FitRun, by: Researcher | None = None) -> FitRun:
    """Cancel a waiting fit, or ask the worker to stop a running one."""
    with transaction.atomic():
        if run.cancel():
            record(run.study, by, "fit cancelled", {"fit": run.number})
    run.refresh_from_db()
    return run


def set_auto_fit(
    study: Study, every: int | None, settings: FitSettings | None = None, by: Researcher | None = None
) -> None:
    """Fit the study again after every ``every`` new answers; None turns this off."""
    if every is not None and every < LEAST_EVERY:
        text = _("every: fit after every %(least)s answers or more, not every %(every)s")
        raise StudyError(text, "every", least=LEAST_EVERY, every=every)
    with transaction.atomic():
        if every is None:
            removed = AutoFit.objects.filter(study=study).delete()[0]
            if removed:
                record(study, by, "automatic fits off", {})
            return
        kept = (settings or FitSettings()).to_dict()
        del kept["seed"]
        AutoFit.objects.update_or_create(study=study, defaults={"every": every, "settings": kept})
        record(study, by, "automatic fits on", {"every": every, "model": kept["model"]})


def ask_where_due(**_: object) -> list[FitRun]:
    """Ask for the automatic fits that are due; none for a study that has a fit waiting or running."""
    asked = []
    for each in AutoFit.objects.select_related("study"):
        if not _is_due(each):
            continue
        with transaction.atomic():
            study = locked(each.study)
            now = AutoFit.objects.select_related("study").filter(pk=each.pk).first()
            if now is not None and _is_due(now) and has_decided(study):
                settings, note = FitSettings.from_dict(now.settings), f"every {now.every:,} answers"
                asked.append(_ask(study, settings, None, excluded_from(study), [], note))
    return asked


def answered(study: Study) -> int:
    """Count the pairs of a study that have been answered."""
    return Judge.objects.filter(study=study).aggregate(total=Sum("judged"))["total"] or 0


def has_decided(study: Study) -> bool:
    """Say whether anybody has decided between two areas yet."""
    counted = Answer.objects.filter(pair__judge__study=study, pair__practice=False)
    return counted.filter(outcome__in=["left", "right"]).exists()


def _is_due(auto: AutoFit) -> bool:
    fits = FitRun.objects.filter(study_id=auto.study_id)
    if fits.filter(status__in=FitRun.UNDER_WAY).exists():
        return False
    seen = fits.filter(only=[]).aggregate(most=Max("answers"))["most"] or 0
    return answered(auto.study) - seen >= auto.every


def _check(study: Study, settings: FitSettings, judges: set[str]) -> None:
    """Refuse a fit that cannot work, before a worker is asked."""
    if not has_decided(study):
        raise StudyError(
            _(
                "there is nothing to fit yet: nobody has chosen between two areas; invite judges, and come back once "
                "they have answered"
            )
        )
    known = set(Judge.objects.filter(study=study).values_list("name", flat=True))
    for judge in sorted(judges - known):
        hint = did_you_mean(judge, known)
        text = _("there is no judge %(judge)s%(hint)s; the judges are %(known)s")
        raise StudyError(text, "named", judge=f"{judge!r}", hint=hint, known=quoted(known))
    areas = study.areas.count()
    plan = settings.plan_for(areas)
    most = MOST_NUMBERS // (areas * plan.chains)
    if areas <= LARGE and max(plan.draws, plan.most) > most:  # for larger maps the worker checks its memory
        text = f"draws: {plan.chains} chains of {areas:,} areas have room for {most:,} draws each; ask for fewer"
        raise StudyError(text, field="draws")
    steps = plan.chains * (plan.warmup + plan.draws * plan.thin)
    if steps > MOST_STEPS:
        text = _("draws: that is %(steps)s steps in all; the server allows at most %(most)s, so ask for fewer")
        raise StudyError(text, "draws", steps=steps, most=MOST_STEPS)
    if FitRun.objects.filter(study=study, status__in=FitRun.UNDER_WAY).count() >= MOST_WAITING:
        text = _("%(waiting)s fits of this study are already waiting; cancel some, or come back later")
        raise StudyError(text, waiting=MOST_WAITING)


def _ask(
    study: Study, settings: FitSettings, by: Researcher | None, left_out: list[str], only: list[str], note: str
) -> FitRun:
    last = FitRun.objects.filter(study=study).aggregate(last=Max("number"))["last"] or 0
    run = FitRun.objects.create(
        study=study,
        number=last + 1,
        version=study.version,
        asked_by=by,
        settings=settings.to_dict(),
        answers=answered(study),
        log=log_line(f"asked for by {by.email if by else 'the server'}"),
        left_out=left_out,
        only=only,
        note=note,
    )
    detail = {"fit": run.number, "model": settings.model, "left out": run.left_out, "only": run.only, "note": run.note}
    record(study, by, "fit asked for", detail)
    return run


def other_priors(settings: FitSettings) -> list[FitSettings]:
    """Return the same settings with other priors: of α² for a fit without clusters, of β for one with clusters.

    The paper has such a sensitivity analysis in its supplement; the values are ours.

    >>> [each.variance for each in other_priors(FitSettings(seed=1))]
    [HalfNormal(scale=2.5), HalfNormal(scale=10.0), InverseGamma(shape=0.1, scale=0.1)]
    >>> [each.beta for each in other_priors(FitSettings(model="clusters", seed=1))]
    [1e-10, 1e-06, 0.0001]
    """
    if settings.model == "clusters":
        varied = [replace(settings, beta=beta) for beta in BETAS]
    else:
        plain = replace(settings, alpha=None, chi=None, omega=None)
        varied = [replace(plain, chi=chi, omega=omega) for chi, omega in VARIANCES]
        if not settings.as_in_paper:
            varied = [replace(plain, alpha_scale=scale) for scale in SCALES] + varied[1:2]
    return [each for each in varied if each.variance != settings.variance or each.beta != settings.beta]


def remedy(run: FitRun, remedy: Remedy, by: Researcher | None = None) -> FitRun:
    """Ask for a fit like this one with one setting changed, or return it if there is one of the same answers."""
    settings = FitSettings.from_dict(run.settings | {remedy.setting: remedy.value})
    return _once(run, settings, by, f"fit {run.number} with {remedy.option}")


def _once(run: FitRun, settings: FitSettings, by: Researcher | None, note: str) -> FitRun:
    """Ask for a fit of the same answers and judges as ``run``, or return it if it is done or under way."""
    with transaction.atomic():
        study = locked(run.study)
        same = FitRun.objects.filter(study=study, settings=settings.to_dict(), left_out=run.left_out, only=run.only)
        there = same.exclude(status__in=GONE).filter(data_sha256__in=[run.data_sha256, ""]).order_by("-number").first()
        return there or ask_for_fit(study, settings, by, run.left_out, run.only, note)


def try_other_priors(run: FitRun, by: Researcher | None = None) -> list[FitRun]:
    """Ask for the fit with other priors, and return those fits; none is made twice for the same answers."""
    note = f"other priors than fit {run.number}"
    return [_once(run, settings, by, note) for settings in other_priors(FitSettings.from_dict(run.settings))]


def leave_out(study: Study, names: Collection[str], reason: str, by: Researcher | None = None) -> list[str]:
    """Leave judges out of all fits from now on, with a reason; their answers stay."""
    if not reason.strip():
        raise StudyError(_("give a reason for leaving these judges out; the log records it"))
    with transaction.atomic():
        judges = _named(study, names)
        for name in judges:
            Exclusion.objects.update_or_create(judge_id=name, defaults={"reason": reason.strip()[:200], "by": by})
        record(study, by, "judges left out", {"judges": judges, "reason": reason.strip()[:200]})
    return judges


def take_back(study: Study, names: Collection[str], by: Researcher | None = None) -> list[str]:
    """Include judges in fits again."""
    with transaction.atomic():
        rows = Exclusion.objects.filter(judge_id__in=_named(study, names))
        judges = sorted(rows.values_list("judge_id", flat=True))
        if not judges:
            raise StudyError(_("none of these judges is left out, so there is nothing to undo"))
        rows.delete()
        record(study, by, "judges included again", {"judges": judges})
    return judges


def refit(
    study: Study, use: str, names: Collection[str], by: Researcher | None = None, reason: str = ""
) -> tuple[FitRun, FitRun]:
    """Ask for a fit without some judges, or with "only" them; return the fit to compare it with, and the new one."""
    judges, base = _named(study, names), _base(study, by)
    left_out, only = ([], judges) if use == "only" else ([*base.left_out, *judges], [])
    settings = FitSettings.from_dict(base.settings)
    return base, ask_for_fit(study, settings, by, left_out, only, note=reason.strip() or NOTE)


def ask_for_plan(
    study: Study, asked: Mapping[str, float], panel_fit: FitRun | None, by: Researcher | None = None
) -> Plan:
    """Ask what given numbers of judges and answers each would bring; a plan that is under way is left alone."""
    pilots = whole_fits(study).filter(status=FitRun.Status.DONE, settings__model__in=["spatial", "standard"])
    with transaction.atomic():
        there = Plan.objects.select_for_update().filter(study=study).first()
        if there is not None:
            if not there.over and not there.is_silent:
                return there
            there.delete()
        plan = Plan.objects.create(
            study=study, fit=panel_fit or pilots.first(), judges=asked["judges"], per_judge=asked["per_judge"],
            differ=None if panel_fit else asked["differ"], seed=secrets.randbits(32), asked_by=by,
        )  # fmt: skip
        record(study, by, "plan asked for", {"judges": plan.judges, "answers each": plan.per_judge})
    return plan


def panel_fit_of(study: Study) -> FitRun | None:
    """Return the last finished fit of all judges with a model in which they differ."""
    return whole_fits(study).filter(status=FitRun.Status.DONE, info__settings__judges="differ").first()


def _base(study: Study, by: Researcher | None) -> FitRun:
    """Return a fit of all judges to the current answers, or ask for one with the settings of the last fit."""
    whole = whole_fits(study)
    last = whole.filter(status=FitRun.Status.DONE).first()
    if last is None:
        return ask_for_fit(study, FitSettings(), by, note=BASE_NOTE)
    same = whole.filter(answers=answered(study), left_out=excluded_from(study), settings=last.settings)
    there = same.filter(status__in=(FitRun.Status.DONE, *FitRun.UNDER_WAY)).first()
    return there or ask_for_fit(study, FitSettings.from_dict(last.settings), by, note=BASE_NOTE)


def _named(study: Study, names: Collection[str]) -> list[str]:
    """Return the names, sorted; refuse an empty list, and any judge who is not in this study."""
    wanted = set(names)
    if not wanted:
        raise StudyError(_("choose at least one judge"))
    there = Judge.objects.filter(study=study, withdrawn_at=None, name__in=list(wanted)[:5000])
    judges = sorted(there.values_list("name", flat=True))
    if len(judges) < len(wanted):
        raise StudyError(
            _("some of these judges are not in the study, or have withdrawn; reload the page and choose again")
        )
    return judges
