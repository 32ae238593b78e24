"""The states of a job, for fits and plans: who gets it, who lost it, and who may still write about it."""

import os
import signal
import threading
from datetime import timedelta

import pytest
from django.db import IntegrityError, InterfaceError, OperationalError
from django.utils import timezone

from judgemap.web.results.models import Beside, FitRun, Plan
from judgemap.web.server import jobs, worker
from judgemap.web.server.jobs import CancelledError, StoppingError, TakenAwayError
from judgemap.web.studies.models import BaseMap, Draft

LONG_AGO = timezone.now() - 2 * jobs.SILENCE


@pytest.fixture(autouse=True)
def _going_on(monkeypatch):
    """A worker in this process keeps the test's connection, and nobody is stopping after it was stopped."""
    monkeypatch.setattr(worker, "close_old_connections", lambda: None)
    yield
    jobs.STOPPING.clear()


@pytest.fixture
def fit(owned) -> FitRun:
    return FitRun.objects.create(study=owned, version=owned.version, number=1)


@pytest.fixture(params=["fit", "plan"])
def job(request, fit):
    return fit if request.param == "fit" else Plan.objects.create(study=fit.study, judges=4, per_judge=20, seed=1)


def test_every_kind_is_known():
    assert set(jobs.kinds()) == {FitRun, Plan, BaseMap, Draft, Beside}


def test_one_worker_gets_it(job):
    mine = type(job).claim(job.pk)
    assert (mine.status, mine.over) == ("running", False)
    assert type(job).claim(job.pk) is None


def test_the_job_that_has_waited_longest_comes_first(fit):
    plan = Plan.objects.create(study=fit.study, judges=4, per_judge=20, seed=1)
    FitRun.objects.update(asked_at=plan.asked_at + timedelta(seconds=1))
    assert [jobs.claim_next("fits") for _ in range(3)] == [plan, fit, None]


def test_a_draft_does_not_wait_for_a_fit(fit):
    draft = Draft.objects.create(copy_of=fit.study)
    assert jobs.claim_next("fits") == fit
    assert jobs.claim_next("drafts") == draft


@pytest.fixture
def fits_of(owned, people):
    """Ask for fits on behalf of people, one after another."""

    def ask(*names: str) -> list[FitRun]:
        return [
            FitRun.objects.create(study=owned, version=owned.version, number=number, asked_by=people[name])
            for number, name in enumerate(names, 1)
        ]

    return ask


def test_nobodys_second_job_comes_before_anothers_first(fits_of):
    first, second, third, other = fits_of("owner", "owner", "owner", "teammate")
    assert jobs.waiting_in("fits") == [first, other, second, third]
    assert jobs.claim_next("fits") == first
    assert jobs.waiting_in("fits") == [other, second, third], "one that runs counts too"


def test_short_jobs_come_before_long_ones_unless_those_have_waited_for_long(fits_of, monkeypatch):
    long, short = fits_of("owner", "teammate")
    monkeypatch.setattr(FitRun, "effort", lambda run: 1000.0 if run.number == 1 else 1.0)
    done_in(short, 60)
    assert jobs.waiting_in("fits") == [short, long]
    FitRun.objects.filter(pk=long.pk).update(asked_at=timezone.now() - 2 * jobs.LONGEST_WAIT)
    assert jobs.waiting_in("fits") == [long, short]


def test_large_jobs_run_one_at_a_time(fits_of, monkeypatch):
    first, second, small = fits_of("owner", "teammate", "stranger")
    monkeypatch.setattr(FitRun, "effort", lambda run: 1.0 if run.number == 3 else FitRun.LARGE)
    assert {jobs.claim_next("fits"), jobs.claim_next("fits")} == {first, small}
    assert jobs.claim_next("fits") is None
    FitRun.objects.filter(pk=first.pk).update(status="done")
    draft = Draft.objects.create(copy_of=first.study, status="running")
    with monkeypatch.context() as patch:
        patch.setattr(Draft, "LARGE", draft.effort())
        assert jobs.claim_next("fits") is None, "whatever its lane"
    assert jobs.claim_next("fits") == second


def test_a_page_says_how_long_the_queue_is(fits_of):
    first, second, third = fits_of("owner", "teammate", "stranger")
    assert first.place_in_queue() == "Next in the queue."
    done_in(first, 120)
    assert third.place_in_queue() == "Number 3 in the queue, about 4 minutes."
    FitRun.claim(first.pk)
    FitRun.objects.filter(pk=first.pk).update(progress=0.5)
    assert second.place_in_queue() == "Number 1 in the queue, about 1 minute."


def done_in(fit: FitRun, seconds: float) -> None:
    """Have an earlier fit of the same study take so long."""
    now = timezone.now()
    FitRun.objects.create(
        study=fit.study, version=fit.version, number=99, status="done",
        started_at=now - timedelta(seconds=seconds), finished_at=now,
    )  # fmt: skip


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
    Plan.objects.create(study=fit.study, judges=4, per_judge=20, seed=1)
    Draft.objects.create(copy_of=fit.study)
    BaseMap.objects.create(study=fit.study)
    Beside.objects.create(fit=fit)
    for kind in jobs.kinds():
        kind.objects.update(status="running", heard_at=LONG_AGO)
    monkeypatch.setattr(worker.STOPPING, "wait", lambda _: worker.STOPPING.set())
    worker._now_and_then(worker.mark_lost)
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
    worker._now_and_then(act)
    assert waits[0] >= jobs.SILENCE.total_seconds()


def test_news_stop_where_the_worker_does(job, monkeypatch):
    mine = type(job).claim(job.pk)
    mine.tell(0.5, "Half of it.")
    mine.tell(0.6, lambda: pytest.fail("news come once a second"))
    job.refresh_from_db()
    assert (job.progress, job.said) == (0.5, "Half of it.")
    jobs.STOPPING.set()
    with pytest.raises(StoppingError):
        mine.tell(1.0, "All of it.")


def test_a_worker_that_is_still_compiling_ends_when_it_is_told_to(monkeypatch):
    for name in ("_serve", "_beat", "_now_and_then"):
        monkeypatch.setattr(worker, name, lambda *_: None)
    monkeypatch.setattr(worker.os, "nice", lambda _: 0)
    ready, compiled = threading.Event(), []
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def compile_for_long() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        ready.wait(5)
        compiled.append(True)

    try:
        worker.work(compile_for_long)
        assert jobs.STOPPING.is_set()
        assert not compiled
    finally:
        ready.set()
        for each, handler in before.items():
            signal.signal(each, handler)
