"""What a worker does now and then, beside making fits; the worker itself is tested live."""

from datetime import timedelta

import pytest
from django.utils import timezone
from django_tasks_db.models import DBTaskResult

from judgemap.web.results.fits import actions, worker
from judgemap.web.results.models import FitRun


def test_a_round(judged, ask):
    run = ask(judged)
    FitRun.objects.filter(pk=run.pk).update(status="running", answers=0, heard_at=timezone.now() - timedelta(hours=1))
    actions.set_auto_fit(judged, 50)
    worker.go_round()
    run.refresh_from_db()
    assert run.status == "lost"
    assert FitRun.objects.get(number=2).note == "every 50 answers"
    worker.go_round()
    assert FitRun.objects.count() == 2


def test_notes_of_old_tasks_are_thrown_away_but_not_tasks_that_wait(judged, ask):
    for _ in range(3):
        ask(judged)
    ended, waiting, fresh = DBTaskResult.objects.order_by("enqueued_at")
    DBTaskResult.objects.filter(pk__in=[ended.pk, waiting.pk]).update(enqueued_at=timezone.now() - timedelta(days=31))
    DBTaskResult.objects.filter(pk__in=[ended.pk, fresh.pk]).update(status="SUCCESSFUL")
    worker.go_round()
    assert {each.pk for each in DBTaskResult.objects.all()} == {waiting.pk, fresh.pk}


@pytest.mark.django_db(transaction=True)  # a worker closes connections that it finds in a transaction
def test_a_worker_takes_every_fit_that_waits_and_then_returns(judged, ask, make):
    runs = [ask(judged) for _ in range(2)]
    worker.FitWorker().run()
    for run in runs:
        run.refresh_from_db()
        assert run.status == "done"
    assert not DBTaskResult.objects.ready().exists()


def test_warming_up_leaves_nothing_behind(db):
    worker.warm_up()
    assert not FitRun.objects.exists()
