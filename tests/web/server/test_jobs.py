"""The states of a job, for fits, forecasts and plans: who gets it, who lost it, and who may still write about it."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, InterfaceError, OperationalError
from django.utils import timezone

from judgemap.web.dashboard.models import Forecast, PanelPlan
from judgemap.web.results.models import FitRun
from judgemap.web.server import jobs, worker
from judgemap.web.server.jobs import CancelledError, StoppingError, TakenAwayError
from judgemap.web.studies.models import BaseMap, Draft

LONG_AGO = timezone.now() - 2 * jobs.SILENCE


@pytest.fixture
def fit(owned) -> FitRun:
    return FitRun.objects.create(study=owned, version=owned.version, number=1)


@pytest.fixture(params=["fit", "forecast", "plan"])
def job(request, fit):
    if request.param == "plan":
        return PanelPlan.objects.create(study=fit.study, judges=4, per_judge=20, seed=1)
    return fit if request.param == "fit" else Forecast.objects.create(fit=fit, seed=1)


def test_every_kind_is_known():
    assert set(jobs.kinds()) == {FitRun, Forecast, PanelPlan, BaseMap, Draft}


def test_one_worker_gets_it(job):
    mine = type(job).claim(job.pk)
    assert (mine.status, mine.over) == ("running", False)
    assert type(job).claim(job.pk) is None


def test_the_job_that_has_waited_longest_comes_first(fit):
    forecast = Forecast.objects.create(fit=fit, seed=1)
    FitRun.objects.update(asked_at=forecast.asked_at + timedelta(seconds=1))
    assert [jobs.claim_next(), jobs.claim_next(), jobs.claim_next()] == [forecast, fit, None]


def test_a_silent_job_is_lost_and_its_worker_hears_of_it(job):
    mine = type(job).claim(job.pk)
    type(job).objects.update(heard_at=LONG_AGO)
    job.refresh_from_db()
    assert job.is_silent
    assert job.show_if_lost().status == "lost"
    assert type(job).mark_lost() == 1
    job.refresh_from_db()
    assert job.status == "lost"
    assert "stopped responding" in job.said
    assert job.log.endswith(f"{job.said}\n")
    for act in (mine.write, mine.finish):
        with pytest.raises(TakenAwayError):
            act()


def test_a_server_without_workers_marks_every_kind_of_lost_job(fit, monkeypatch):
    Forecast.objects.create(fit=fit, seed=1)
    PanelPlan.objects.create(study=fit.study, judges=4, per_judge=20, seed=1)
    Draft.objects.create(copy_of=fit.study)
    BaseMap.objects.create(study=fit.study)
    for kind in jobs.kinds():
        kind.objects.update(status="running", heard_at=LONG_AGO)
    monkeypatch.setattr(worker.STOPPING, "wait", lambda _: worker.STOPPING.set())
    monkeypatch.setattr(worker, "close_old_connections", lambda: None)
    worker._now_and_then(worker.mark_lost)
    worker.STOPPING.clear()
    assert [kind.objects.get().status for kind in jobs.kinds()] == ["lost"] * 5


def test_a_job_asked_for_again_is_not_written_by_its_first_worker(job):
    mine = type(job).claim(job.pk)
    type(job).objects.update(status="waiting", started_at=None)
    assert type(job).claim(job.pk).started_at > mine.started_at
    with pytest.raises(TakenAwayError):
        mine.write()


def test_cancelled(job):
    assert job.cancel()
    job.refresh_from_db()
    assert (job.status, job.cancel()) == ("cancelled", False)
    type(job).objects.update(status="waiting")
    mine = type(job).claim(job.pk)
    assert mine.cancel()
    with pytest.raises(CancelledError):
        mine.write()


def test_what_is_worked_out_waits_for_the_database(monkeypatch):
    monkeypatch.setattr(jobs, "SECONDS_BETWEEN_TRIES", 0.0)
    errors = [OperationalError("server closed the connection"), InterfaceError("connection already closed"), None]
    monkeypatch.setattr(jobs, "let_go", lambda: None)

    def do() -> str:
        if (error := errors.pop(0)) is not None:
            raise error
        return "stored"

    assert jobs.outlast(do) == "stored"
    errors[:] = [IntegrityError("twice"), None]
    with pytest.raises(IntegrityError):
        jobs.outlast(do)
    monkeypatch.setattr(jobs, "LONGEST_OUTAGE", -1.0)
    errors[:] = [OperationalError("away"), None]
    with pytest.raises(OperationalError):
        jobs.outlast(do)


def test_a_job_is_finished_once_though_its_worker_did_not_hear_of_it(job):
    mine = type(job).claim(job.pk)
    mine.finish()
    mine.finish()
    type(job).objects.update(status="failed")
    with pytest.raises(TakenAwayError):
        mine.finish()


def test_a_job_that_an_outage_ends_starts_again_a_few_times(job, monkeypatch):
    def work(self):
        raise OperationalError("server closed the connection unexpectedly")

    monkeypatch.setattr(type(job), "work", work)
    statuses = []
    for _ in range(jobs.MOST_STARTS):
        type(job).claim(job.pk).carry_out()
        job.refresh_from_db()
        statuses.append(job.status)
    assert statuses == ["waiting"] * (jobs.MOST_STARTS - 1) + ["failed"]


def test_no_job_is_lost_because_the_database_was_away(monkeypatch):
    """After an outage, workers have time to report before anybody marks their jobs."""
    waits = []

    def act() -> None:
        if waits:
            worker.STOPPING.set()
            return
        raise OperationalError("away")

    monkeypatch.setattr(worker.STOPPING, "wait", waits.append)
    monkeypatch.setattr(worker, "let_go", lambda: None)
    monkeypatch.setattr(worker, "close_old_connections", lambda: None)
    worker._now_and_then(act)
    worker.STOPPING.clear()
    assert waits[0] >= jobs.SILENCE.total_seconds()


def test_news_stop_where_the_worker_does(job, monkeypatch):
    assert job.news_due()
    mine = type(job).claim(job.pk)
    mine.tell(0.5, "Half of it.")
    assert not mine.news_due()
    job.refresh_from_db()
    assert (job.progress, job.said) == (0.5, "Half of it.")
    jobs.STOPPING.set()
    try:
        with pytest.raises(StoppingError):
            mine.news_due()
    finally:
        jobs.STOPPING.clear()
