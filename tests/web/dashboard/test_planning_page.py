"""How many judges, how many answers each: asked for on the page of the plan, worked out by a worker."""

import numpy as np
import pytest
from django.urls import reverse
from django.utils import timezone

from judgemap.study.plan.planning import plan as plan_study
from judgemap.web.dashboard import planning
from judgemap.web.dashboard.models import PanelPlan
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.results.files import open_fit
from judgemap.web.server.jobs import SILENCE
from judgemap.web.studies.areas import load_areas

ASKED = {"judges": "4", "per_judge": "20", "differ": "0.7"}


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    monkeypatch.setattr(planning, "MANY", 6)


@pytest.fixture
def ask(clients):
    """Ask for a plan, and return the page."""

    def asked(study, who="owner", **fields):
        return clients[who].post(reverse("dashboard:plan", args=[study.slug]), ASKED | fields, follow=True)

    return asked


def test_a_plan_without_a_fit_goes_by_a_guess(owned, ask, carry_out, clients):
    html = ask(owned).content.decode()
    assert "The plan is waiting for a worker" in html
    carry_out(owned.panel_plan)
    assert owned.panel_plan.status == PanelPlan.Status.DONE
    news = clients["teammate"].get(reverse("dashboard:plan_news", args=[owned.slug])).content.decode()
    assert "is a guess, σ/α 0.70" in news
    given = {
        "seed": owned.panel_plan.seed,
        "differ": 0.7,
        "simulations": 6,
        "designs": [owned.panel_plan.result["reference"]],
    }
    library = plan_study(load_areas(owned.version), 4, 20, **given)
    assert f"{library.over_grid('sd')[library.at]:.2f} <span" in news
    assert news.count('class="course"') == 3
    assert "no limit" in news


def test_a_plan_goes_by_the_last_fit(played, fitted, ask, carry_out):
    assert "The plan is waiting" in ask(played).content.decode()
    plan = PanelPlan.objects.get()
    assert (plan.fit, plan.differ) == (fitted, 0.7)
    fitted.settings = {**fitted.settings, "judges": "differ"}
    fitted.save()
    PanelPlan.objects.update(status="failed")
    html = ask(played, differ="nonsense").content.decode()
    plan.refresh_from_db()
    assert (plan.fit, plan.differ, plan.status) == (fitted, None, "waiting")
    carry_out(plan)
    pilot = open_fit(fitted)
    seconds = float(np.nanmedian(load_comparisons(played).seconds))
    library = plan_study(
        pilot.map,
        4,
        20,
        seed=plan.seed,
        pilot=pilot,
        designs=[plan.result["reference"]],
        simulations=6,
        seconds=seconds,
    )
    assert plan.result["differ"] == library.record.differ
    np.testing.assert_allclose(plan.result["grid"]["sd"], library.over_grid("sd"))
    np.testing.assert_allclose(plan.result["grid"]["hours"], library.hours)
    assert 'name="differ"' not in html


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"judges": "0"}, "greater than or equal to 1"),
        ({"judges": "9" * 40}, "less than or equal to"),
        ({"per_judge": ""}, "This field is required"),
        ({"per_judge": "many"}, "Enter a whole number"),
        ({"differ": "0"}, "greater than or equal to 0.01"),
        ({"differ": "nan"}, "Enter a number"),
    ],
)
def test_what_is_wrong_is_said_beside_the_field(owned, ask, fields, error):
    response = ask(owned, **fields)
    assert response.status_code == 400
    assert error in response.content.decode()
    assert not PanelPlan.objects.exists()


def test_a_plan_under_way_is_not_asked_for_twice_and_a_lost_one_is(owned, ask):
    ask(owned)
    first = PanelPlan.objects.get()
    ask(owned, judges="8")
    assert PanelPlan.objects.get().judges == first.judges
    PanelPlan.objects.update(status="running", heard_at=timezone.now() - 2 * SILENCE)
    assert "stopped responding" in ask(owned, judges="0").content.decode()
    ask(owned, judges="8")
    assert (PanelPlan.objects.get().judges, PanelPlan.objects.get().status) == (8, "waiting")


def test_the_form_starts_from_the_study_as_it_is(owned, played):
    assert planning.usual_study(played) == {"judges": 5, "per_judge": 19}


def test_one_judge_can_be_planned_for(owned, ask, carry_out):
    ask(owned, judges="1")
    carry_out(owned.panel_plan)
    assert (owned.panel_plan.judges, owned.panel_plan.status) == (1, PanelPlan.Status.DONE)
