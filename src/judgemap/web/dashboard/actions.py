"""What researchers do on the dashboard: leave judges out, include them again, refit, ask for a forecast or a plan."""

import secrets
from collections.abc import Collection, Mapping

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from judgemap.errors import StudyError
from judgemap.study.fit.settings import FitSettings
from judgemap.web.accounts.models import Researcher
from judgemap.web.dashboard.models import Forecast, PanelPlan
from judgemap.web.judge.models import Judge
from judgemap.web.results.actions import answered, ask_for_fit
from judgemap.web.results.models import Exclusion, FitRun, excluded_from
from judgemap.web.results.pages import whole_fits
from judgemap.web.studies.log import record
from judgemap.web.studies.models import Study

NOTE = "requested on the judges' page"
BASE_NOTE = "for comparison"


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


def refit_without(
    study: Study, names: Collection[str], by: Researcher | None = None, reason: str = ""
) -> tuple[FitRun, FitRun]:
    """Ask for a fit without some judges; return the fit to compare it with, and the new one."""
    judges = _named(study, names)
    base = _base(study, by)
    settings = FitSettings.from_dict(base.settings)
    return base, ask_for_fit(study, settings, by, left_out=[*base.left_out, *judges], note=reason.strip() or NOTE)


def refit_with_only(
    study: Study, names: Collection[str], by: Researcher | None = None, reason: str = ""
) -> tuple[FitRun, FitRun]:
    """Ask for a fit with only some judges' answers; return the fit to compare it with, and the new one."""
    judges = _named(study, names)
    base = _base(study, by)
    return base, ask_for_fit(study, FitSettings.from_dict(base.settings), by, only=judges, note=reason.strip() or NOTE)


def ask_for_forecast(study: Study, by: Researcher | None = None) -> Forecast:
    """Ask a worker what more answers would bring, based on the last fit; the same question is not asked twice."""
    run = pilot_of(study)
    if run is None:
        raise StudyError(
            _("a forecast needs a fit of the spatial or the standard model; ask for one on the Results page")
        )
    with transaction.atomic():
        fresh = {"asked_by": by, "seed": secrets.randbits(32)}
        forecast, made = Forecast.objects.select_for_update().get_or_create(fit=run, defaults=fresh)
        if not made:
            if not needs_asking(forecast):
                return forecast
            again = fresh | {"asked_at": timezone.now(), "status": Forecast.Status.WAITING, "progress": 0.0, "said": ""}
            Forecast.objects.filter(pk=forecast.pk).update(**again, result={}, heard_at=None, finished_at=None)
            forecast.refresh_from_db()
        record(study, by, "forecast asked for", {"fit": run.number})
    return forecast


def ask_for_plan(
    study: Study, asked: Mapping[str, float], panel_fit: FitRun | None, by: Researcher | None = None
) -> PanelPlan:
    """Ask what given numbers of judges and answers each would bring; a plan that is under way is left alone."""
    fresh = {
        "fit": panel_fit or pilot_of(study), "judges": asked["judges"], "per_judge": asked["per_judge"],
        "differ": None if panel_fit else asked["differ"], "seed": secrets.randbits(32), "asked_by": by,
    }  # fmt: skip
    with transaction.atomic():
        plan, made = PanelPlan.objects.select_for_update().get_or_create(study=study, defaults=fresh)
        if not made:
            if not plan.over and not plan.is_silent:
                return plan
            again = {"asked_at": timezone.now(), "status": PanelPlan.Status.WAITING, "progress": 0.0, "said": ""}
            PanelPlan.objects.filter(pk=plan.pk).update(**fresh, **again, result={}, heard_at=None, finished_at=None)
            plan.refresh_from_db()
        detail = {"judges": plan.judges, "answers each": plan.per_judge}
        record(study, by, "plan asked for", detail)
    return plan


def panel_fit_of(study: Study) -> FitRun | None:
    """Return the last finished fit of all judges with a model in which they differ."""
    return whole_fits(study).filter(status=FitRun.Status.DONE, settings__judges="differ").first()


def needs_asking(forecast: Forecast | None) -> bool:
    """Say whether a forecast has to be asked for, because none is done or under way."""
    return forecast is None or forecast.status in (Forecast.Status.FAILED, Forecast.Status.LOST) or forecast.is_silent


def pilot_of(study: Study) -> FitRun | None:
    """Return the last fit that a forecast can be based on."""
    done = whole_fits(study).filter(status=FitRun.Status.DONE)
    return done.filter(settings__model__in=["spatial", "standard"]).first()


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
