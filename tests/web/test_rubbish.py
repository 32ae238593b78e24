"""Rubbish on every address: whatever comes, the server does not fail."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import get_resolver
from hypothesis import given, settings
from hypothesis import strategies as st

FIELDS = [
    "a", "b", "title", "question", "direction", "example", "consent", "thanks", "instructions", "based_on", "preview",
    "recommended", "maximum", "ties", "access", "design", "language", "more_languages", "base_map", "base_map_credit",
    "act", "judges", "token", "email", "remove", "to", "pair", "outcome", "agree", "begin", "unknown", "login",
    "password", "again", "name", "id", "crs", "contiguity", "code", "text", "password1", "oldpassword", "x",
]  # fmt: skip
OF_JUDGES = ["pair", "outcome", "follows", "seen_ms", "reason", "agree", "begin", "language", "unknown", "code", "x"]
WORDS = ["", "0", "1", "-1", "9" * 30, "\0", "'", "lower", "open", "personal", "en", "fr", "yes", "owner@example.org",
         "left", "right", "unknown-left", "optimal", "adaptive", "https://a.example/{z}/{x}/{y}", "١",
         "preview000000000000000"]  # fmt: skip
KINDS = ["application/x-www-form-urlencoded", "text/plain", "", "multipart/form-data; boundary=x",
         "multipart/form-data", "application/json"]  # fmt: skip
text = st.text(max_size=40) | st.sampled_from(WORDS)
method = st.sampled_from(["get", "post", "head", "put", "delete", "options", "patch"])


def form(fields):
    return st.dictionaries(st.sampled_from(fields), text | st.lists(text, max_size=3), max_size=12)


def addresses(*, of_judges: bool) -> list[str]:
    """Every address, with the study's name, and with numbers and tokens that are nobody's; TOKEN is a judge's."""
    addresses = []
    for part in get_resolver().url_patterns:
        if (getattr(part, "namespace", None) == "judge") != of_judges:
            continue
        for pattern in getattr(part, "url_patterns", [part]):
            inner = getattr(pattern, "url_patterns", [pattern])
            addresses += [str(pattern.pattern) + (str(each.pattern) if each is not pattern else "") for each in inner]
    filled = {"<slug:slug>": "wards", "<slug:token>": "TOKEN" if of_judges else "wards", "<slug:language>": "fr",
              "<int:upload>": "1", "<int:key>": "1", "<int:position>": "1"}  # fmt: skip
    for key, value in filled.items():
        addresses = [each.replace(key, value) for each in addresses]
    return sorted({each for each in addresses if "(?P" not in each} - {"studies/wards/export"})


def ask(browser, method, page, form):
    call = getattr(browser, method)
    return call(page, form) if method in ("get", "post") else call(page)


def test_the_addresses_are_found():
    assert {"studies/wards/texts/fr", "new/1/", "try/wards/", "account/login/"} <= set(addresses(of_judges=False))
    assert {"j/TOKEN/", "j/TOKEN/answer", "j/TOKEN/jump", "withdraw"} <= set(addresses(of_judges=True))
    assert len(addresses(of_judges=False)) > 40


@given(page=st.sampled_from(addresses(of_judges=True)), method=method, form=form(OF_JUDGES), own=st.booleans())
def test_rubbish_to_a_judges_pages(judge, page, method, form, own):
    if own and method == "post":
        form = {"pair": judge.pair().get("pair", ""), "follows": "0"} | form
    assert ask(judge.client, method, f"/{page.replace('TOKEN', judge.token)}", form).status_code < 500


@given(page=st.sampled_from(addresses(of_judges=False)), method=method, form=form(FIELDS),
       who=st.sampled_from(["owner", "anonymous"]))  # fmt: skip
def test_rubbish_to_a_researchers_pages(owned, clients, page, method, form, who):
    assert ask(clients[who], method, f"/{page}", form).status_code < 500


ALMOST = {
    "studies/wards/texts": {"title": "a", "question": "b", "direction": "lower", "consent": "c"},
    "studies/wards/judging": {"recommended": "3", "maximum": "5", "access": "personal", "design": "uniform",
                              "language": "en"},
    "studies/wards/texts/fr": {},
    "studies/wards/map": {"a": "1", "b": "2"},
}  # fmt: skip


@given(page=st.sampled_from(sorted(ALMOST)), field=st.sampled_from(FIELDS), value=text)
def test_rubbish_in_one_field_of_a_good_form(owned, clients, page, field, value):
    response = clients["owner"].post(f"/{page}", ALMOST[page] | {field: value}, follow=True)
    assert response.status_code < 500
    assert clients["owner"].get("/try/wards/", follow=True).status_code == 200


@given(body=st.binary(max_size=300), kind=st.sampled_from(KINDS))
def test_rubbish_as_a_body(owned, judge, clients, body, kind):
    for page in ("new/", "studies/wards/map", "studies/wards/judging", "account/login/",
                 *(f"j/{judge.token}/{each}" for each in ("answer", "areas", "consent"))):  # fmt: skip
        assert clients["owner"].generic("POST", f"/{page}", body, content_type=kind).status_code < 500


@given(path=st.text(st.characters(codec="utf-8", exclude_characters="?#"), max_size=60), form=form(OF_JUDGES),
       method=method)  # fmt: skip
def test_rubbish_as_an_address(clients, path, form, method):
    for place in (f"/{path.lstrip('/')}", f"/j/{path}/answer", f"/s/{path}/", "/withdraw", f"/studies/{path}/",
                  f"/studies/{path}/map", f"/new/{path}/", f"/try/{path}/", f"/first/{path}/"):  # fmt: skip
        assert ask(clients["owner"], method, place, form).status_code < 500


HEADERS = ["Accept", "Accept-Language", "Cookie", "Host", "Origin", "Referer", "X-Forwarded-For", "X-Forwarded-Proto"]


@pytest.mark.parametrize("header", HEADERS)
def test_rubbish_as_a_header(owned, judge, clients, header):
    login = {"login": "owner@example.org", "password": "x"}
    for value in ("", "x" * 9000, "1.2.3.4,,", "fr;q=", ",,,;", "\x7f", "é", "null"):
        for page in ("studies/wards/", "try/wards/", f"j/{judge.token}/"):
            assert clients["owner"].get(f"/{page}", headers={header: value}).status_code < 500, value
        assert clients["anonymous"].post("/account/login/", login, headers={header: value}).status_code < 500, value


FILES = {"a.geojson": b'{"type":', "a.gpkg": b"SQLite format 3\0", "a.kmz": b"PK\x03\x04", "a.zip": b"PK\x03\x04"}
rubbish = given(content=st.binary(min_size=1, max_size=200), name=st.sampled_from(sorted(FILES)))


@rubbish
def test_rubbish_as_a_file(clients, read_here, content, name):
    refuse(clients, content, name)


@pytest.mark.slow  # starts a program for each
@settings(max_examples=6)
@rubbish
def test_rubbish_as_a_file_at_arms_length(clients, content, name):
    refuse(clients, content, name)


def refuse(clients, content, name):
    response = clients["owner"].post("/new/", {"boundaries": SimpleUploadedFile(name, FILES[name] + content)})
    assert response.status_code == 400


@pytest.mark.parametrize(
    ("method", "page"),
    [*(("get", each) for each in ("answer", "consent", "begin", "go-on", "language")), ("post", "last")],
)
def test_the_wrong_method_is_refused_on_a_judges_page(judge, method, page):
    assert getattr(judge.client, method)(f"/j/{judge.token}/{page}").status_code == 405
