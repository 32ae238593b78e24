"""Owner, colleague, stranger and nobody, on every address of a fit."""

import pytest
from django.test import Client
from django.urls import get_resolver, reverse

from judgemap.study.fit.settings import FitSettings
from judgemap.web.results import actions
from judgemap.web.results.models import AutoFit, FitRun
from judgemap.web.studies.models import Act

READ = {"owner": 200, "teammate": 200, "stranger": 404, "anonymous": 302}
MOVE = {"owner": 302, "teammate": 302, "stranger": 404, "anonymous": 302}
TABLE = [
    ("fits:list", "get", {}, READ),
    ("fits:new", "get", {}, READ),
    ("fits:new", "post", {"model": "standard"}, MOVE),
    ("fits:auto", "post", {"every": "100", "model": "spatial"}, MOVE),
    ("fits:progress", "get", {}, READ),
    ("fits:log", "get", {}, READ),
    ("fits:explained", "get", {}, READ),
    ("fits:cancel", "post", {}, MOVE),
    ("fits:again", "post", {}, MOVE),
    ("fits:differ", "post", {}, MOVE),
]
OF_ONE = {"fits:progress", "fits:log", "fits:explained", "fits:cancel", "fits:again", "fits:differ"}


@pytest.fixture
def fitted(judged, rows):
    """The study with a fit that waits."""
    rows.once("fitted", lambda: actions.ask_for_fit(judged, FitSettings(seed=1)))
    return judged


def address(name, study):
    return reverse(name, args=[study.slug, *([1] if name in OF_ONE else [])])


def state():
    runs = list(FitRun.objects.order_by("pk").values_list("pk", "status", "cancel_asked"))
    return Act.objects.count(), AutoFit.objects.count(), runs


@pytest.mark.parametrize(("name", "method", "fields", "statuses"), TABLE)
@pytest.mark.parametrize("who", ["owner", "teammate", "stranger", "anonymous"])
def test_each_sees_what_they_may(fitted, clients, who, name, method, fields, statuses):
    before = state()
    response = getattr(clients[who], method)(address(name, fitted), fields)
    assert response.status_code == statuses[who]
    if who in ("stranger", "anonymous"):
        assert state() == before
        assert fitted.version.title not in response.content.decode()
    elif method == "post":
        assert state() != before
    if who == "anonymous":
        assert response["Location"].startswith("/account/login/?next=/")


@pytest.mark.parametrize(("name", "method", "fields", "statuses"), [row for row in TABLE if row[1] == "post"])
def test_nothing_is_taken_without_a_csrf_token(fitted, people, name, method, fields, statuses):
    client = Client(enforce_csrf_checks=True)
    client.force_login(people["owner"])
    before = state()
    assert client.post(address(name, fitted), fields).status_code == 403
    assert state() == before


@pytest.mark.parametrize("name", sorted({row[0] for row in TABLE}))
def test_the_wrong_method_is_refused(fitted, clients, name):
    allowed = {row[1] for row in TABLE if row[0] == name}
    for method in {"get", "post", "put", "delete", "patch"} - allowed:
        assert getattr(clients["owner"], method)(address(name, fitted)).status_code == 405


@pytest.mark.parametrize("name", sorted(OF_ONE))
@pytest.mark.parametrize("number", ["2", "0", "9" * 40])
def test_a_fit_that_is_not_there(fitted, clients, name, number):
    method = {row[0]: row[1] for row in TABLE}[name]
    path = address(name, fitted).replace("/1/", f"/{number}/")
    assert getattr(clients["owner"], method)(path).status_code == 404


def test_a_fit_of_another_study_is_not_shown(fitted, draft, clients):
    assert clients["owner"].get(reverse("fits:log", args=[draft.slug, 1])).status_code == 404


def test_the_table_has_every_address():
    _, inner = get_resolver().namespace_dict["fits"]
    assert {f"fits:{name}" for name in inner.reverse_dict if isinstance(name, str)} == {row[0] for row in TABLE}


def test_a_judge_is_a_stranger_here(fitted, judge):
    for name, method, fields, _ in TABLE:
        response = getattr(judge.client, method)(address(name, fitted), fields)
        assert response["Location"].startswith("/account/login/")
