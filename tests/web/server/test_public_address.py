"""The address of judges' links is looked at before the first is sent."""

import urllib.error
import urllib.request

import pytest

from judgemap.web.server import tokens
from judgemap.web.server.tokens import check_address


@pytest.fixture(autouse=True)
def _forget():
    tokens._check.cache_clear()


@pytest.fixture
def found(monkeypatch):
    """Every name is that of a computer on the internet."""
    monkeypatch.setattr(tokens.socket, "getaddrinfo", lambda *_: [(0, 0, 0, "", ("93.184.215.14", 443))])


@pytest.mark.parametrize(
    "address", ["http://127.0.0.1:8000", "https://localhost", "http://[::1]:80", "http://0.0.0.0", "http://a.localhost"]
)
def test_this_computer_is_no_address_for_judges(address):
    problem = check_address(address)
    assert "works on this computer only" in problem.text
    assert "JUDGEMAP_URL" in problem.remedy


def test_a_name_that_does_not_exist():
    assert "can be found" in check_address("https://judges.invalid").text


def test_http_is_said_to_be_readable(found):
    assert "without encryption" in check_address("http://judge.example.org").text


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (OSError("unreachable"), "cannot reach itself"),
        (urllib.error.HTTPError("", 404, "", None, None), "something other than this server"),
    ],
)
def test_an_address_where_nobody_answers(found, monkeypatch, answer, words):
    def fail(*_, **__):
        raise answer

    monkeypatch.setattr(urllib.request, "urlopen", fail)
    assert words in check_address("https://judge.example.org").text
