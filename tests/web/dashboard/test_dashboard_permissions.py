"""Owner, colleague, stranger and nobody, on every address of the dashboard; wrong methods and rubbish."""

import pytest
from django.test import Client
from django.urls import get_resolver, reverse
from hypothesis import given
from hypothesis import strategies as st

from judgemap.web.dashboard.models import Forecast, PanelPlan
from judgemap.web.results.models import Exclusion, FitRun
from judgemap.web.studies.models import Act

READ = {"owner": 200, "teammate": 200, "stranger": 404, "anonymous": 302}
MOVE = {"owner": 302, "teammate": 302, "stranger": 404, "anonymous": 302}
TABLE = [
    ("live", "get", {}, READ),
    ("now", "get", {}, READ),
    ("picture", "get", {}, READ),
    ("areas", "get", {}, READ),
    ("judges", "get", {}, READ),
    ("judge", "get", {}, READ),
    ("act", "post", {"act": "leave out", "reason": "a test"}, MOVE),
    ("act", "post", {"act": "without"}, MOVE),
    ("reliability", "get", {}, READ),
    ("planning", "get", {}, READ),
    ("forecast", "post", {}, MOVE),
    ("forecast_news", "get", {}, READ),
    ("plan", "post", {"judges": "4", "per_judge": "20", "differ": "0.5"}, MOVE),
    ("plan_news", "get", {}, READ),
]


@pytest.fixture
def judged(owned, judge, rows):
    rows.once("judged", lambda: judge.answer("left").status_code)
    return owned, judge.name


def address(name: str, study, judge: str) -> str:
    return reverse(f"dashboard:{name}", args=[study.slug, *([judge] if name == "judge" else [])])


@pytest.mark.parametrize(("name", "method", "fields", "statuses"), TABLE)
@pytest.mark.parametrize("who", ["owner", "teammate", "stranger", "anonymous"])
def test_each_sees_what_they_may(judged, clients, who, name, method, fields, statuses):
    study, judge = judged
    before = Act.objects.count()
    response = getattr(clients[who], method)(address(name, study, judge), fields | {"judge": judge})
    assert response.status_code == statuses[who]
    if who in ("stranger", "anonymous"):
        assert Act.objects.count() == before
        assert (Exclusion.objects.count(), Forecast.objects.count(), FitRun.objects.count()) == (0, 0, 0)
        assert not PanelPlan.objects.exists()
        assert judge not in response.content.decode()
    if who == "anonymous":
        assert response["Location"].startswith("/account/login/?next=/")
    if response.status_code == 200:
        assert response["Cache-Control"] == "no-store"


@pytest.mark.parametrize("name", sorted({row[0] for row in TABLE}))
def test_the_wrong_method_is_refused(judged, clients, name):
    allowed = {row[1] for row in TABLE if row[0] == name}
    for method in {"get", "post", "put", "delete", "patch"} - allowed:
        assert getattr(clients["owner"], method)(address(name, *judged)).status_code == 405


@pytest.mark.parametrize("name", ["act", "forecast"])
def test_nothing_is_taken_without_a_csrf_token(judged, people, name):
    client = Client(enforce_csrf_checks=True)
    client.force_login(people["owner"])
    assert (
        client.post(address(name, *judged), {"act": "leave out", "reason": "x", "judge": judged[1]}).status_code == 403
    )
    assert not Exclusion.objects.exists()


def test_the_table_has_every_address():
    _, inner = get_resolver().namespace_dict["dashboard"]
    assert {name for name in inner.reverse_dict if isinstance(name, str)} == {row[0] for row in TABLE}


def test_a_judge_of_the_study_is_a_stranger_here(judged, judge):
    for name, method, fields, _ in TABLE:
        response = getattr(judge.client, method)(address(name, *judged), fields)
        assert response["Location"].startswith("/account/login/")


def test_a_judge_of_another_study_is_not_found(judged, clients, areas, definition, visit):
    from judgemap.web.studies import editing, making

    other = visit(of=editing.open_study(making.create_study(definition, areas)))
    other.answer("left")
    assert clients["owner"].get(address("judge", judged[0], other.name)).status_code == 404
    response = clients["owner"].post(
        address("act", *judged), {"act": "leave out", "reason": "x", "judge": other.name}, follow=True
    )
    assert "not in the study" in response.content.decode()
    assert not Exclusion.objects.exists()


words = st.text(max_size=30) | st.sampled_from(["", "\0", "-1", "9" * 30, "judged", "without", "only", "leave out"])


@given(
    name=st.sampled_from([row[0] for row in TABLE]),
    fields=st.dictionaries(st.sampled_from(["map", "seen", "page", "judge", "act", "reason"]), words, max_size=6),
)
def test_rubbish(judged, clients, name, fields):
    method = next(row[1] for row in TABLE if row[0] == name)
    assert getattr(clients["owner"], method)(address(name, *judged), fields).status_code < 500
