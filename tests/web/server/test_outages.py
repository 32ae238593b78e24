"""While the database cannot be used, people read what to do, the log gets one line, and the health check fails."""

import json
import logging
import shutil
import sqlite3
from collections import namedtuple
from unittest.mock import Mock

import pytest
from django.db import OperationalError, ProgrammingError, connection
from django.test import Client

from judgemap.web.judge import answering as judging
from judgemap.web.judge.models import Answer
from judgemap.web.server import health
from judgemap.web.server.database import is_outage
from judgemap.web.server.logs import JsonLines, Lines, OneLineForOutages, scrub

TOKEN = "q83vASNFZ4mrze8BI0VniQ"  # noqa: S105 - of nobody


@pytest.fixture(autouse=True)
def _look_again():
    health._look.cache_clear()
    yield
    health._look.cache_clear()


@pytest.fixture
def patient() -> Client:
    """A browser that shows a server error, where the test client would raise it."""
    return Client(raise_request_exception=False)


def away(*_: object, **__: object) -> None:
    raise OperationalError("connection to server at 192.0.2.1 failed: Connection refused\n\tIs the server running?")


def test_an_answer_that_cannot_be_stored_is_sent_again(judge, patient, monkeypatch):
    """tests/web/live/test_operations.py does it with a disk that is full."""
    pair = judge.pair()["pair"]
    full = OperationalError("database or disk is full")
    full.__cause__ = sqlite3.OperationalError("database or disk is full")
    full.__cause__.sqlite_errorname = "SQLITE_FULL"
    judge.client = patient
    with monkeypatch.context() as patch:
        patch.setattr(Answer, "save", Mock(side_effect=full))
        response = judge.answer("left", pair)
    assert response.status_code == 503
    assert response["Retry-After"]
    assert "Reload this page in a minute" in response.text
    assert not Answer.objects.exists()
    assert judge.answer("left", pair).status_code == 200
    assert Answer.objects.count() == 1


@pytest.mark.parametrize(
    ("language", "word"), [("en", "One moment"), ("fr", "Un instant"), ("es", "Un momento"), ("ar", "لحظة")]
)
def test_people_are_told_in_their_language(judge, patient, monkeypatch, language, word):
    monkeypatch.setattr(judging, "find_judge", away)
    page = patient.get(f"/j/{judge.token}/", headers={"Accept-Language": language})
    assert page.status_code == 503
    assert word in page.text


def test_programs_are_told_in_json(owned, patient, monkeypatch):
    monkeypatch.setattr("judgemap.web.api.access.find_token", away)
    response = patient.get("/api/v1/studies", headers={"Authorization": "Bearer jm_x"})
    assert (response.status_code, list(json.loads(response.content))) == (503, ["error"])


def test_a_mistake_of_ours_is_no_outage(judge, patient, monkeypatch):
    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(judging, "find_judge", broken)
    assert patient.get(f"/j/{judge.token}/").status_code == 500
    missing = OperationalError("no such table")
    missing.__cause__ = sqlite3.OperationalError("no such table")
    missing.__cause__.sqlite_errorname = "SQLITE_ERROR"
    assert not is_outage(missing)
    assert not is_outage(ProgrammingError("no such table"))


def test_the_log_has_one_line_for_an_outage(judge, patient, monkeypatch, caplog):
    monkeypatch.setattr(judging, "find_judge", away)
    outages = OneLineForOutages()
    for handler in logging.getLogger().handlers:
        monkeypatch.setattr(handler, "filters", [])  # the server's own would shorten a record that this one counts
    with caplog.at_level(logging.ERROR):
        for _ in range(5):
            patient.get(f"/j/{judge.token}/")
    written = [Lines().format(record) for record in caplog.records if outages.filter(record)]
    assert len(written) == 1
    assert "the database cannot be used (connection to server at … failed: Connection refused)" in written[0]
    assert "Traceback" not in written[0]


@pytest.mark.parametrize("formatter", [Lines(), JsonLines()])
def test_no_link_code_or_address_is_in_a_traceback(formatter):
    def fail(token: str) -> None:
        raise LookupError(f"nobody has {token} at /j/{token}/answer for anna@example.org from 2001:db8::7 or 192.0.2.7")

    try:
        fail(TOKEN)
    except LookupError as error:
        record = logging.LogRecord("web", logging.ERROR, "", 1, "broke: %s", (f"/j/{TOKEN}/",), None)
        record.exc_info = (type(error), error, error.__traceback__)
    written = formatter.format(record)
    assert "LookupError" in written
    assert "test_no_link_code" in written
    for secret in (TOKEN, "anna@", "2001:db8", "192.0.2"):
        assert secret not in written


def test_names_and_times_are_left_alone():
    text = "10:32:01,123 MultiValueDictKeyError in a_function_of_some_name of django.core.handlers, line 2001"
    assert scrub(text) == text


def test_health_is_good_where_answers_can_be_stored(client, db):
    response = client.get("/healthz")
    assert (response.status_code, response.text) == (200, "ok")


def test_health_fails_where_the_database_takes_nothing(client, db, monkeypatch):
    monkeypatch.setattr(health.cache, "set", lambda *_, **__: None)
    response = client.get("/healthz")
    assert (response.status_code, response.text) == (503, "nothing can be written to the database")


def test_health_fails_where_the_disk_is_nearly_full(client, db, monkeypatch):
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL's disk is elsewhere")
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**9, 10**9, 1000))
    assert client.get("/healthz").status_code == 503


def test_health_fails_where_the_database_is_away_and_looks_again_later(client, db, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(health.cache, "get", away)
        assert client.get("/healthz").status_code == 503
    assert client.get("/healthz").status_code == 503, "what was seen is good for two seconds"
    monkeypatch.setattr(health, "GOOD_FOR", -1.0)
    assert client.get("/healthz").status_code == 200
    assert not Answer.objects.exists()
