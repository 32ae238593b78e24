"""The reliability page, and forecasts that a worker makes."""

from dataclasses import asdict

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

import judgemap as jm
from judgemap.study.assess.findings import Findings, ReliabilityFinding
from judgemap.study.assess.reliability import reliability
from judgemap.study.assess.verdict import reliability_words
from judgemap.web.dashboard import actions
from judgemap.web.dashboard import reliability as reliability_page
from judgemap.web.dashboard.models import Forecast
from judgemap.web.dashboard.reliability import forecast_page
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.models import Judge
from judgemap.web.results.files import open_fit
from judgemap.web.server.jobs import SILENCE, STOPPING


def page(client, study) -> str:
    response = client.get(reverse("dashboard:reliability", args=[study.slug]))
    assert response.status_code == 200
    return response.content.decode()


@pytest.fixture
def quick(monkeypatch):
    """As few simulated studies as give an interval."""
    monkeypatch.setattr(reliability_page, "SIMULATIONS", 6)


def test_the_figures_are_the_librarys(played, explained, clients):
    html = page(clients["owner"], played)
    shown = explained.findings["reliability"]
    library = reliability(open_fit(explained), load_comparisons(played), seed=1)
    assert shown["bayes"] == pytest.approx(library.bayes, rel=1e-4)
    assert shown["ssr"] == pytest.approx(library.ssr, rel=1e-4)
    for each in ("split_half_full", "bayes", "ssr"):
        assert f"<dd>{shown[each]:.2f} " in html
    assert library.note.split(";")[0] in html
    assert reliability_words(Findings.from_dict({"reliability": shown}).reliability) in html
    assert html.count('class="course"') == 3


def test_words_for_every_case():
    assert "almost the same" in reliability_words(ReliabilityFinding(split_half_full=0.93, judges=4))
    assert "rather different" in reliability_words(ReliabilityFinding(split_half_full=-0.2, judges=4))
    assert "correlation 0.80" in reliability_words(
        ReliabilityFinding(split_half_full=0.93, another_panel=0.64, judges=4)
    )
    assert "is not known yet" in reliability_words(ReliabilityFinding(bayes=0.7, judges=1))
    assert reliability_words(ReliabilityFinding(note="With 3 decided answers nothing can be said.")) == (
        "With 3 decided answers nothing can be said."
    )


def test_without_a_fit_it_says_what_to_do(owned, clients):
    html = page(clients["owner"], owned)
    assert "this study has none yet" in html
    assert "A forecast needs a fit" in html
    assert "<button" in html
    response = clients["owner"].post(reverse("dashboard:forecast", args=[owned.slug]), follow=True)
    assert "A forecast needs a fit" in response.content.decode()
    assert not Forecast.objects.exists()


def test_a_fit_without_figures_says_so(played, fitted, clients):
    assert "has no reliability figures" in page(clients["owner"], played)


def test_one_judges_study_has_words(owned, clients, edit, let_play, let_fit):
    edit(recommended=30, maximum=30)
    owned.refresh_from_db()
    let_play(owned, np.random.default_rng(2), 30)
    let_fit(owned)
    assert "whether they do is not known yet" in page(clients["owner"], owned)


def test_a_forecast_is_made_by_the_worker(played, fitted, clients, quick, carry_out):
    response = clients["owner"].post(reverse("dashboard:forecast", args=[played.slug]))
    assert response["Location"].endswith("/dashboard/reliability")
    forecast = Forecast.objects.get()
    assert forecast.status == "waiting"
    assert "is waiting for a worker" in page(clients["owner"], played)
    carry_out(forecast)
    assert (forecast.status, forecast.progress, forecast.said) == ("done", 1.0, "")
    answers = int(load_comparisons(played).decided.sum())
    pilot = open_fit(fitted)
    judges = pilot.record.data.judges
    given = {"seed": forecast.seed, "pilot": pilot, "designs": ["uniform"], "simulations": 6, "grid": False}
    again = jm.plan(pilot.map, 2 * judges, round(answers / judges), differ=0, **given)
    assert forecast.result["expected"]["sd"] == again.to_dict()["expected"]["uniform"]["sd"]
    assert {answers, 2 * answers} < set(forecast.result["comparisons"])
    html = page(clients["owner"], played)
    assert f"With the {answers} answers so far" in html
    assert "hx-trigger" not in html
    assert "Make a forecast" not in html
    shown = forecast_page(forecast)
    assert [len(chart.lines) for chart in shown.charts] == [1, 1, 1]
    middle = [each.middle for each in again.expected("uniform", "rank_error")]
    assert f"{middle[forecast.result['comparisons'].index(answers)]:.1f} places" in html


def test_the_same_forecast_is_not_asked_for_twice(played, fitted, people):
    first = actions.ask_for_forecast(played, people["owner"])
    assert actions.ask_for_forecast(played, people["owner"]).seed == first.seed
    Forecast.objects.update(status="running", heard_at=timezone.now() - SILENCE * 2)
    again = actions.ask_for_forecast(played, people["owner"])
    assert (again.status, again.seed != first.seed) == ("waiting", True)


def test_a_forecast_that_fails_says_why(played, fitted, clients, carry_out):
    forecast = actions.ask_for_forecast(played)
    fitted.files.delete()
    from judgemap.web.results import files

    files._open_fit.cache_clear()
    carry_out(forecast)
    html = page(clients["owner"], played)
    assert "This fit has no results; make a new one" in html
    assert "Make a forecast" in html


def test_a_worker_that_is_stopped_puts_the_forecast_back(played, fitted, quick, carry_out):
    forecast = actions.ask_for_forecast(played)
    STOPPING.set()
    try:
        carry_out(forecast)
    finally:
        STOPPING.clear()
    forecast.refresh_from_db()
    assert (forecast.status, forecast.progress) == ("waiting", 0.0)
    carry_out(forecast)
    assert forecast.status == "done"


def test_two_workers_make_it_once(played, fitted, monkeypatch, carry_out):
    forecast = actions.ask_for_forecast(played)
    Forecast.objects.update(status="running")
    carry_out(forecast)
    assert (forecast.status, forecast.result) == ("running", {})


def test_a_new_fit_can_be_forecast_anew(played, fitted, clients, quick, let_fit, carry_out):
    carry_out(actions.ask_for_forecast(played))
    let_fit(played)
    assert "Update the forecast with the last fit" in page(clients["owner"], played)
    assert asdict(forecast_page(Forecast.objects.get()))["sentences"]
    assert Judge.objects.filter(study=played).exists()
