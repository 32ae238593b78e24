"""What a worker does now and then, besides making fits; the worker itself is tested live."""

from datetime import timedelta

from django.utils import timezone

from judgemap.web.results import actions
from judgemap.web.results.models import FitRun
from judgemap.web.results.running import warm_up
from judgemap.web.server import worker


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


def test_warming_up_leaves_nothing_behind(db, monkeypatch):
    monkeypatch.setattr("judgemap.core.samplers.compiled.compile_all", lambda: None)  # which takes a minute
    warm_up()
    assert not FitRun.objects.exists()
