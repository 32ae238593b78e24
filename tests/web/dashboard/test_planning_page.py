"""How many judges and answers, what more would bring, and how reliable it is: worked out by a worker."""

import re

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

import judgemap as jm
from judgemap.report.pages import planning as report
from judgemap.study.assess.reliability import reliability
from judgemap.study.assess.verdict import reliability_words
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.results import files, planning
from judgemap.web.results.files import open_fit
from judgemap.web.results.models import Plan
from judgemap.web.results.pages import read_findings
from judgemap.web.server.jobs import SILENCE
from judgemap.web.studies.areas import load_areas

ASKED = {"judges": "4", "per_judge": "20", "differ": "0.7"}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """As few simulated studies as give an interval."""
    monkeypatch.setattr(planning, "MANY", 6)


@pytest.fixture
def ask(clients):
    """Ask for a plan, and return the page."""

    def asked(study, who="owner", **fields):
        return clients[who].post(reverse("fits:plan", args=[study.slug]), ASKED | fields, follow=True)

    return asked


def check(shown: planning.Planned, library: jm.StudyPlan) -> None:
    """Compare what the page shows with what the library says."""
    assert list(shown.sentences) == report.sentences(library)
    assert [[text for text, _ in row] for row in shown.rows] == [
        [cell.text for cell in row] for row in report.grid_table(library).rows
    ]
    assert [alt for _, alt, _ in shown.pictures] == [report.grid_picture(library).alt, report.curves(library).alt]
    assert all(address.startswith("data:image/svg+xml;base64,") for address, *_ in shown.pictures)
    assert shown.differ == library.record.differ
    assert f"{library.at_planned(library.reference, 'sd').middle:.2f}" in shown.sentences[0]


def test_a_plan_without_a_fit_goes_by_a_guess(owned, ask, carry_out, clients):
    assert ask(owned).context["plan"].status == Plan.Status.WAITING
    carry_out(owned.plan)
    assert (owned.plan.status, owned.plan.progress, owned.plan.said) == ("done", 1.0, "")
    news = clients["teammate"].get(reverse("fits:plan_news", args=[owned.slug]))
    areas = load_areas(owned.version)
    library = jm.plan(areas, 4, 20, seed=owned.plan.seed, judge_spread=0.7, designs=["uniform"], simulations=6)
    check(news.context["planned"], library)
    assert f"{library.over_grid('sd')[library.at]:.2f} <span" in news.text


def test_a_plan_goes_by_the_last_fit(played, fitted, ask, carry_out):
    ask(played)
    plan = Plan.objects.get()
    assert (plan.fit, plan.differ) == (fitted, 0.7)
    fitted.info["settings"]["judges"] = "differ"
    fitted.save()
    Plan.objects.update(status="failed")
    assert "differ" not in ask(played, differ="nonsense").context["plan_form"].fields
    plan = Plan.objects.get()
    assert (plan.fit, plan.differ, plan.status) == (fitted, None, "waiting")
    carry_out(plan)
    seconds = float(np.nanmedian(load_comparisons(played).seconds))
    pilot = open_fit(fitted)
    library = jm.plan(
        pilot.map, 4, 20, seed=plan.seed, pilot=pilot, designs=["uniform"], simulations=6, answer_seconds=seconds
    )
    check(planning.planned(plan), library)


def test_a_plan_that_fails_says_why_and_can_be_asked_for_again(played, fitted, ask, carry_out, clients):
    ask(played)
    fitted.files.delete()
    files._open_fit.cache_clear()
    carry_out(Plan.objects.get())
    html = clients["owner"].get(reverse("fits:planning", args=[played.slug])).text
    assert Plan.objects.get().said in html
    assert "<form" in html


def test_a_plan_under_way_is_not_asked_for_twice_and_a_lost_one_is(owned, ask):
    ask(owned)
    first = Plan.objects.get()
    ask(owned, judges="8")
    assert Plan.objects.get() == first
    Plan.objects.update(status="running", heard_at=timezone.now() - 2 * SILENCE)
    assert ask(owned, judges="0").context["plan"].status == Plan.Status.LOST
    ask(owned, judges="8")
    assert (Plan.objects.get().judges, Plan.objects.get().status) == (8, "waiting")


def test_the_form_starts_from_the_study_as_it_is(owned, played):
    assert planning.usual_study(played) == {"judges": 5, "per_judge": 19}


def test_one_judge_can_be_planned_for(owned, ask, carry_out):
    ask(owned, judges="1")
    carry_out(owned.plan)
    assert (owned.plan.judges, owned.plan.status) == (1, Plan.Status.DONE)


@pytest.fixture
def page(clients):
    def got(study):
        return clients["owner"].get(reverse("fits:reliability", args=[study.slug]))

    return got


def test_the_figures_are_the_librarys(played, fitted, page):
    shown = page(played)
    known = shown.context["known"]
    library = reliability(open_fit(fitted), load_comparisons(played), seed=1)
    assert (known.bayes, known.ssr) == pytest.approx((library.bayes, library.ssr), rel=1e-4)
    values = re.findall(r"<dd>(-?\d+\.\d\d)\b", shown.text)
    assert values == [f"{value:.2f}" for value in (known.split_half_full, known.bayes, known.ssr)]
    assert shown.context["words"] == reliability_words(read_findings(fitted, "reliability").reliability)
    assert [each.name for each in shown.context["over_time"].lines] == ["split halves", "Bayesian", "SSR"]


def test_without_a_fit_or_its_figures_it_says_what_to_do(owned, page):
    assert reverse("fits:list", args=[owned.slug]) in page(owned).text
    assert page(owned).context["known"] is None


def test_one_judges_study_has_words(owned, page, edit, let_play, ask_fit, make_fit):
    edit(recommended=30, maximum=30)
    owned.refresh_from_db()
    let_play(owned, np.random.default_rng(2), 30)
    make_fit(ask_fit(owned), "figures")
    assert page(owned).context["known"].split_half_full is None
    assert page(owned).context["words"]
