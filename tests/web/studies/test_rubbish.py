"""Rubbish on every address of a researcher: whatever comes, the server does not fail."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import get_resolver
from hypothesis import given, settings
from hypothesis import strategies as st

FIELDS = [
    "a", "b", "title", "question", "direction", "example", "consent", "thanks", "instructions", "based_on", "preview",
    "recommended", "maximum", "ties", "access", "design", "language", "more_languages", "base_map", "base_map_credit",
    "act", "judges", "token", "email", "remove", "to", "pair", "outcome", "agree", "begin", "unknown", "login",
    "password", "again", "name", "id", "crs", "contiguity", "code", "text", "password1", "oldpassword",
]  # fmt: skip
WORDS = ["", "0", "1", "-1", "9" * 30, "\0", "'", "lower", "open", "personal", "en", "fr", "yes", "owner@example.org",
         "optimal", "adaptive", "https://a.example/{z}/{x}/{y}", "١", "preview000000000000000"]  # fmt: skip
text = st.text(max_size=40) | st.sampled_from(WORDS)
form = st.dictionaries(st.sampled_from(FIELDS), text | st.lists(text, max_size=3), max_size=12)
method = st.sampled_from(["get", "post", "head", "put", "delete", "options", "patch"])


def addresses() -> list[str]:
    """Every address that is not a judge's, with the study's name, and with numbers and tokens that are nobody's."""
    addresses = []
    for part in get_resolver().url_patterns:
        if getattr(part, "namespace", None) == "judge":
            continue
        for pattern in getattr(part, "url_patterns", [part]):
            inner = getattr(pattern, "url_patterns", [pattern])
            addresses += [str(pattern.pattern) + (str(each.pattern) if each is not pattern else "") for each in inner]
    filled = {"<slug:slug>": "wards", "<slug:token>": "wards", "<slug:language>": "fr", "<int:upload>": "1"}
    for key, value in filled.items():
        addresses = [each.replace(key, value) for each in addresses]
    return sorted({each for each in addresses if "(?P" not in each} - {"studies/wards/export"})


def test_the_addresses_are_found():
    assert {"studies/wards/texts/fr", "new/1/", "try/wards/", "account/login/"} <= set(addresses())
    assert len(addresses()) > 40


@given(page=st.sampled_from(addresses()), method=method, form=form, who=st.sampled_from(["owner", "anonymous"]))
def test_rubbish_to_a_researchers_pages(owned, clients, page, method, form, who):
    call = getattr(clients[who], method)
    response = call(f"/{page}", form) if method in ("get", "post") else call(f"/{page}")
    assert response.status_code < 500


ALMOST = {
    "studies/wards/texts": {"title": "a", "question": "b", "direction": "lower", "consent": "c"},
    "studies/wards/judging": {
        "recommended": "3",
        "maximum": "5",
        "access": "personal",
        "design": "uniform",
        "language": "en",
    },
    "studies/wards/texts/fr": {},
    "studies/wards/map": {"a": "1", "b": "2"},
}


@given(page=st.sampled_from(sorted(ALMOST)), field=st.sampled_from(FIELDS), value=text)
def test_rubbish_in_one_field_of_a_good_form(owned, clients, page, field, value):
    response = clients["owner"].post(f"/{page}", ALMOST[page] | {field: value}, follow=True)
    assert response.status_code < 500
    assert clients["owner"].get("/try/wards/", follow=True).status_code == 200


@given(body=st.binary(max_size=300), kind=st.sampled_from(["application/x-www-form-urlencoded", "text/plain", "",
       "multipart/form-data; boundary=x", "multipart/form-data", "application/json"]))  # fmt: skip
def test_rubbish_as_a_body(owned, clients, body, kind):
    for page in ("new/", "studies/wards/map", "studies/wards/judging", "account/login/"):
        assert clients["owner"].generic("POST", f"/{page}", body, content_type=kind).status_code < 500


rubbish = {
    "content": st.binary(min_size=1, max_size=200),
    "name": st.sampled_from(["a.geojson", "a.gpkg", "a.kmz", "a.zip"]),
}


@given(**rubbish)
def test_rubbish_as_a_file(clients, read_here, content, name):
    refuse(clients, content, name)


@pytest.mark.slow  # starts a program for each
@settings(max_examples=6)
@given(**rubbish)
def test_rubbish_as_a_file_at_arms_length(clients, content, name):
    refuse(clients, content, name)


def refuse(clients, content, name):
    begin = {"a.geojson": b'{"type":', "a.gpkg": b"SQLite format 3\0", "a.kmz": b"PK\x03\x04", "a.zip": b"PK\x03\x04"}[
        name
    ]
    response = clients["owner"].post("/new/", {"boundaries": SimpleUploadedFile(name, begin + content)})
    assert response.status_code == 400


@given(path=st.text(st.characters(codec="utf-8", exclude_characters="?#"), max_size=60), method=method)
def test_rubbish_as_an_address(clients, path, method):
    for place in (f"/studies/{path}/", f"/studies/{path}/map", f"/new/{path}/", f"/try/{path}/", f"/first/{path}/"):
        assert getattr(clients["owner"], method)(place).status_code < 500


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Accept", "Cookie", "Host", "Origin", "Referer"])
def test_rubbish_as_a_header(owned, clients, header):
    login = {"login": "owner@example.org", "password": "x"}
    for value in ("", "x" * 9000, "1.2.3.4,,", "\x7f", "é", "null"):
        for page in ("studies/wards/", "try/wards/"):
            assert clients["owner"].get(f"/{page}", headers={header: value}).status_code < 500, value
        assert clients["anonymous"].post("/account/login/", login, headers={header: value}).status_code < 500, value
