"""Owner, colleague, stranger and nobody, on every address of a fit."""

import pytest
from django.test import Client
from django.urls import get_resolver, reverse

from judgemap.web.results.models import FitRun

READ = {"owner": 200, "teammate": 200, "stranger": 404, "anonymous": 302}
MOVE = {"owner": 302, "teammate": 302, "stranger": 404, "anonymous": 302}
TABLE = [
    ("map", "get", [], READ),
    ("map_picture", "get", [], READ),
    ("map_colours", "get", [], READ),
    ("judge_maps", "get", [], READ),
    ("area", "get", [3], READ),
    ("convergence", "get", [], READ),
    ("checks", "get", [], READ),
    ("compare", "get", [], READ),
    ("sensitivity", "post", [], MOVE),
    ("files", "get", [], READ),
    ("words", "post", [], MOVE),
    ("briefing", "get", [], READ),
    ("picture", "get", ["traces"], READ),
    ("download", "get", ["csv"], READ),
]


def address(run, name, more):
    return reverse(f"results:{name}", args=[run.study.slug, run.number, *more])


@pytest.mark.parametrize(("name", "method", "more", "statuses"), TABLE)
def test_each_sees_what_they_may(run, clients, name, method, more, statuses):
    for who in ("anonymous", "stranger", "teammate", "owner"):
        before = FitRun.objects.count()
        response = getattr(clients[who], method)(address(run, name, more))
        if response.streaming:
            list(response)
        assert response.status_code == statuses[who]
        if who in ("stranger", "anonymous"):
            assert FitRun.objects.count() == before
            assert "Ward" not in response.content.decode()
        else:
            assert response["Cache-Control"] == "no-store"
        if who == "anonymous":
            assert response["Location"].startswith("/account/login/?next=/")


def test_the_wrong_method_is_refused(run, clients):
    for name, method, more, _ in TABLE:
        for other in {"get", "post", "put", "delete", "patch"} - {method}:
            assert getattr(clients["owner"], other)(address(run, name, more)).status_code == 405


def test_nothing_is_asked_for_without_a_csrf_token(run, people):
    client = Client(enforce_csrf_checks=True)
    client.force_login(people["owner"])
    assert client.post(address(run, "sensitivity", [])).status_code == 403
    assert FitRun.objects.count() == 1


def test_the_table_has_every_address():
    _, inner = get_resolver().namespace_dict["results"]
    assert {name for name in inner.reverse_dict if isinstance(name, str)} == {row[0] for row in TABLE}


def test_a_fit_of_another_study_is_not_there(run, draft, clients):
    run.study = draft
    for name, method, more, _ in TABLE:
        assert getattr(clients["owner"], method)(address(run, name, more)).status_code == 404


@pytest.mark.parametrize("number", [7, 10**30])
def test_a_fit_that_is_not_there(run, clients, number):
    run.number = number
    assert clients["owner"].get(address(run, "map", [])).status_code == 404


@pytest.mark.parametrize("status", ["waiting", "running", "failed", "cancelled", "lost"])
def test_a_fit_without_results_leads_to_its_progress(owned, keep, clients, status):
    run = keep(owned, status=status, rows=[], info={}, findings={})
    for name, method, more, _ in TABLE:
        response = getattr(clients["owner"], method)(address(run, name, more))
        assert response["Location"] == reverse("fits:progress", args=[owned.slug, run.number])
    assert FitRun.objects.count() == 1
