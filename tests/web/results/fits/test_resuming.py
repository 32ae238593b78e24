"""A fit whose worker is gone goes on where it was, with the numbers it would have had, and leaves nothing behind."""

from datetime import timedelta

import numpy as np
import pytest
from django.utils import timezone

from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge.joining import withdraw
from judgemap.web.judge.models import Judge
from judgemap.web.results import resuming, running
from judgemap.web.results.files import open_fit
from judgemap.web.results.models import FitKept, FitPiece, FitRun
from judgemap.web.server import jobs, worker
from judgemap.web.server.tokens import hashed, tidy_code

SETTINGS = FitSettings(chains=2, warmup=5, draws=120, seed=3, as_in_paper=True)


class GoneError(BaseException):
    """As if the process were killed: nothing in it runs any more."""


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    """Keep after every block, and leave what explains a fit out: no test here looks at it."""
    monkeypatch.setattr(running, "steps", lambda fit: [])
    monkeypatch.setattr(resuming, "FIRST", 0.0)
    monkeypatch.setattr(resuming, "EVERY", 0.0)
    monkeypatch.setattr(resuming, "SHARE", 0.0)


@pytest.fixture
def stopped(judged, ask_fit, monkeypatch):
    """A fit whose worker went away after some blocks, seen as that by the others."""

    def after(blocks=12, number=None) -> FitRun:
        run = FitRun.objects.get(number=number) if number else ask_fit(judged, SETTINGS)
        seen = []

        def die(self, draws, _wanted):
            seen.append(draws.n_draws)
            if len(seen) == blocks:
                raise GoneError

        with monkeypatch.context() as patch:
            patch.setattr(resuming.FitKeeper, "__call__", die)
            with pytest.raises(GoneError):
                FitRun.claim(run.pk).carry_out()
        FitRun.objects.filter(pk=run.pk).update(heard_at=timezone.now() - timedelta(minutes=1))
        run.refresh_from_db()
        return run

    return after


def finish(run: FitRun) -> FitRun:
    """Do the rounds and the jobs of a worker that is alive."""
    worker.go_round()
    while worker.take_one():
        pass
    run.refresh_from_db()
    assert run.status == "done", run.log
    return run


@pytest.fixture
def whole(judged, ask_fit) -> FitRun:
    """The same fit, made without a stop."""
    return finish(ask_fit(judged, SETTINGS))


def draws_of(run: FitRun):
    return open_fit(run).posterior["risk"]


def test_the_next_worker_goes_on_and_gets_the_same_numbers(whole, stopped):
    run = stopped(12)
    assert FitPiece.objects.filter(fit=run).exists()
    assert run.show_if_lost().status == "running", "nobody is told that it is lost"
    worker.go_round()
    run.refresh_from_db()
    assert (run.status, run.started_at) == ("waiting", None)
    assert "goes on where it was" in run.said
    stopped(9, run.number)  # and once more
    finish(run)
    assert run.log.count("the next one goes on from here") == 2
    assert "goes on after 0 draws" not in run.log
    assert run.log.count("goes on after") == 1
    np.testing.assert_array_equal(draws_of(run), draws_of(whole))
    worker.go_round()
    assert not FitPiece.objects.exists()
    assert not FitKept.objects.exists()


def test_it_goes_on_with_the_answers_it_began_with(judged, stopped, answers):
    run = stopped()
    before = run.answers, run.read_at
    answers(judged, judges=1)
    finish(run)
    assert (run.answers, run.read_at) == before
    assert run.info["data"]["judges"] == 3
    assert "goes on from here" in run.log


def test_a_worker_that_is_told_to_stop_keeps_what_it_has(judged, ask_fit, whole, monkeypatch):
    monkeypatch.setattr(resuming, "FIRST", 1e9)
    monkeypatch.setattr(resuming, "WORTH", 0.0)
    run = ask_fit(judged, SETTINGS)
    seen = []

    def stop(due, self):
        seen.append(1)
        if len(seen) == 10:
            jobs.STOPPING.set()
        return due(self)

    due = resuming.FitKeeper.due
    monkeypatch.setattr(resuming.FitKeeper, "due", lambda self: stop(due, self))
    try:
        FitRun.claim(run.pk).carry_out()
    finally:
        jobs.STOPPING.clear()
    run.refresh_from_db()
    assert run.status == "waiting"
    assert "starts again when" in run.said
    assert len(FitKept.objects.get(fit=run).draws) == 1
    finish(run)
    np.testing.assert_array_equal(draws_of(run), draws_of(whole))


def test_after_a_withdrawal_nothing_goes_on_with_those_answers(judged, stopped):
    run = stopped()
    gone = judged.judge_names[0]
    Judge.objects.filter(name=gone).update(withdrawal_hash=hashed(tidy_code("my code")))
    withdraw("my code")
    assert not FitKept.objects.exists()
    worker.go_round()
    assert not FitPiece.objects.exists(), "the draws that used the answers are gone"
    run.refresh_from_db()
    assert run.status == "lost"


def test_a_withdrawal_in_the_middle_ends_the_keeping(judged, ask_fit, monkeypatch):
    run, seen = ask_fit(judged, SETTINGS), []

    def leave(self, _draws, _wanted):
        seen.append(FitKept.objects.filter(fit=self.row.fit).exists())
        if len(seen) == 5:
            FitKept.objects.all().delete()  # what a withdrawal does
            resuming.remove_unneeded()

    monkeypatch.setattr(resuming.FitKeeper, "__call__", leave)
    finish(run)
    assert seen[4]
    assert not any(seen[5:])
    assert not FitPiece.objects.exists()


@pytest.mark.parametrize("change", ["version", "data_sha256"])
def test_what_another_version_or_other_answers_gave_is_not_used(whole, stopped, change):
    run = stopped()
    FitKept.objects.filter(fit=run).update(**{change: "other"})
    finish(run)
    np.testing.assert_array_equal(draws_of(run), draws_of(whole))
    assert run.info["data"] == whole.info["data"]


def test_a_fit_that_ends_every_worker_is_lost_in_the_end(judged, stopped):
    run = stopped()
    for _ in range(jobs.MOST_STARTS):
        FitRun.objects.filter(pk=run.pk).update(status="running", heard_at=timezone.now() - timedelta(minutes=1))
        worker.mark_lost()
        run.refresh_from_db()
        assert run.status == "waiting"
    FitRun.objects.filter(pk=run.pk).update(status="running", heard_at=timezone.now() - timedelta(minutes=1))
    worker.mark_lost()
    run.refresh_from_db()
    assert run.status == "lost"


def test_two_workers_on_one_fit_do_not_mix(judged, ask_fit):
    """One that was only asleep wakes up: what it writes is not used, and what the other has written stays."""
    run = ask_fit(judged, SETTINGS)
    asleep, other = resuming.FitKeeper(run), resuming.FitKeeper(run)
    asleep.keep(b"here", b"1")
    awake = resuming.FitKeeper(run)
    awake.keep(b"there", b"2")
    asleep.keep(b"lost", b"3")
    other.keep(b"lost", b"4")
    position, draws = resuming.FitKeeper(run).kept()
    assert (position, list(draws)) == (b"there", [b"1", b"2"])


def test_while_the_database_is_away_draws_wait(judged, ask_fit, monkeypatch):
    run = ask_fit(judged, SETTINGS)
    keeper = resuming.FitKeeper(run)
    keeper.keep(b"a", b"1")
    store = resuming.FitKeeper._store
    with monkeypatch.context() as patch:
        patch.setattr(resuming, "is_outage", lambda _: True)
        patch.setattr(resuming, "let_go", lambda: None)
        patch.setattr(resuming.FitKeeper, "_store", lambda *_: (_ for _ in ()).throw(resuming.DatabaseError))
        keeper.keep(b"b", b"2")
    assert resuming.FitKeeper._store is store
    assert resuming.FitKeeper(run).kept()[0] == b"a"
    keeper.keep(b"c", b"3")
    position, draws = resuming.FitKeeper(run).kept()
    assert (position, list(draws)) == (b"c", [b"1", b"2", b"3"])


def test_large_contents_are_written_in_pieces(judged, ask_fit):
    run = ask_fit(judged, SETTINGS)
    content = np.random.default_rng(1).bytes(1_100_000)
    resuming.FitKeeper(run).keep(content, b"")
    assert FitPiece.objects.filter(fit=run).count() == 5
    assert resuming.FitKeeper(run).kept()[0] == content
