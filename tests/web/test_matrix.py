"""Every address of the server, by every method, for everybody: nobody sees or changes what is not theirs."""

import itertools
import re

import pytest
from django.urls import get_resolver

from judgemap.web.judge.models import Answer, Judge
from judgemap.web.studies.models import Act, StudyVersion

METHODS = ("get", "post", "head", "put", "delete", "options", "patch")
ROLES = ("anonymous", "judge", "stranger", "teammate", "owner")
OUTSIDERS = ("anonymous", "judge", "stranger")
LEFT_OUT = {"studies/<slug:slug>/export"}
"""Exports want a transaction of their own; `studies/test_export.py` has them."""
TITLE = "Wards that nobody else may know of"


def walk(patterns, before="") -> list[str]:
    """List every address below some patterns."""
    listed = []
    for each in patterns:
        here = before + str(each.pattern)
        listed += walk(each.url_patterns, here) if hasattr(each, "url_patterns") else [here]
    return listed


def every_address() -> list[str]:
    return sorted(set(walk(get_resolver().url_patterns)) - LEFT_OUT)


def filled(address: str, judge) -> str:
    """Fill an address with the study's name, and with numbers and names that fit."""
    values = {"slug:slug": "wards", "slug:name": judge.name, "slug:language": "fr", "slug:kind": "csv"}
    named = re.sub(r"^j/<slug:token>", "j/" + 22 * "x", address)
    named = re.sub(r"<(\w+:\w+)>", lambda found: values.get(found[1], "1"), named)
    return "/" + re.sub(r"\(\?P<\w+>[^)]*\)|[\^$\\]|\(\?:.*\)", "1", named)


@pytest.fixture
def watched(owned, judge, edit):
    """The study, with a title that nobody else may read, and a judge who has answered."""
    edit(title=TITLE)
    judge.answer("left")
    return owned


def visit(browser, address: str, method: str):
    response = getattr(browser, method)(address)
    body = b"".join(response.streaming_content) if response.streaming else response.content
    return response.status_code, body.decode(errors="replace")


def check(watched, clients, judge, addresses, roles) -> int:
    """Visit addresses by every method, and say how many requests that were."""
    browsers = {role: judge.client if role == "judge" else clients[role] for role in roles}
    count = 0
    for address, method in itertools.product(addresses, METHODS):
        for role in roles:
            before = (Answer.objects.count(), StudyVersion.objects.count(), Judge.objects.count(), Act.objects.count())
            status, body = visit(browsers[role], filled(address, judge), method)
            after = (Answer.objects.count(), StudyVersion.objects.count(), Judge.objects.count(), Act.objects.count())
            count += 1
            assert status < 500, (role, method, address)
            if role in OUTSIDERS:
                assert TITLE not in body, (role, method, address)
                assert judge.name not in body, (role, method, address)
                assert after == before, (role, method, address)
    return count


def test_every_address_is_found():
    assert len(every_address()) > 100
    assert "judge/<" not in "".join(every_address())


def test_outsiders_on_a_sample_of_addresses(watched, clients, judge):
    """One address in nine; `test_the_whole_matrix` has them all."""
    assert check(watched, clients, judge, every_address()[::9], ("anonymous", "stranger")) > 150


@pytest.mark.slow  # some four thousand requests
def test_the_whole_matrix(watched, clients, judge, capsys):
    count = check(watched, clients, judge, every_address(), ROLES)
    with capsys.disabled():
        print(f"\n{len(every_address())} addresses, {len(METHODS)} methods, {len(ROLES)} roles: {count} requests")  # noqa: T201
    assert count > 3000
