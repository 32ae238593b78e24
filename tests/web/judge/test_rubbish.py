"""Rubbish on every address: whatever comes, the server does not fail."""

import pytest
from django.urls import get_resolver
from hypothesis import given
from hypothesis import strategies as st

PAGES = ["", "consent", "answer", "last", "begin", "go-on", "language", "areas", "places", "link", "jump"]
FIELDS = ["pair", "outcome", "follows", "seen_ms", "reason", "agree", "begin", "language", "unknown", "code", "x"]
text = st.text(max_size=40) | st.sampled_from(["left", "right", "unknown-left", "yes", "fr", "-1", "9" * 30, "\0", "'"])
form = st.dictionaries(st.sampled_from(FIELDS), text | st.lists(text, max_size=3), max_size=6)
method = st.sampled_from(["get", "post", "head", "put", "delete", "options", "patch"])


def test_every_page_of_a_judge_is_listed_here():
    judge = next(each for each in get_resolver().url_patterns if getattr(each, "app_name", "") == "judge")
    paths = {str(each.pattern) for each in judge.url_patterns}
    drawn = {"tiles/<int:key>/<places:places>", "ground/<int:key>/<int:position>.svg"}
    pages = {f"j/<slug:token>/{page}" for page in {*PAGES, *drawn}}
    assert paths == pages | {"s/<slug:code>/", "withdraw"}


@pytest.mark.parametrize(
    ("method", "page"),
    [*(("get", each) for each in ("answer", "consent", "begin", "go-on", "language")), ("post", "last")],
)
def test_the_wrong_method_is_refused(judge, method, page):
    assert getattr(judge.client, method)(f"/j/{judge.token}/{page}").status_code == 405


@given(page=st.sampled_from(PAGES), method=method, form=form, own=st.booleans())
def test_rubbish_to_a_judges_pages(judge, page, method, form, own):
    if own and method == "post":
        form = {"pair": judge.pair().get("pair", ""), "follows": "0"} | form
    call = getattr(judge.client, method)
    response = call(f"/j/{judge.token}/{page}", form) if method in ("get", "post") else call(f"/j/{judge.token}/{page}")
    assert response.status_code < 500


@given(body=st.binary(max_size=200), kind=st.sampled_from(["application/x-www-form-urlencoded", "text/plain", "",
       "multipart/form-data; boundary=x", "multipart/form-data", "application/json"]))  # fmt: skip
def test_rubbish_as_a_body(judge, body, kind):
    for page in ("answer", "areas", "consent"):
        response = judge.client.generic("POST", f"/j/{judge.token}/{page}", body, content_type=kind)
        assert response.status_code < 500


@given(path=st.text(st.characters(codec="utf-8", exclude_characters="?#"), max_size=60), form=form, method=method)
def test_rubbish_as_an_address(client, db, path, form, method):
    for place in (f"/{path.lstrip('/')}", f"/j/{path}/answer", f"/s/{path}/", "/withdraw"):
        call = getattr(client, method)
        response = call(place, form) if method in ("get", "post") else call(place)
        assert response.status_code < 500


@pytest.mark.parametrize("header", ["Accept-Language", "Accept", "Cookie", "X-Forwarded-Proto", "Host", "Origin"])
def test_rubbish_as_a_header(judge, header):
    for value in ("", "x" * 9000, "fr;q=", ",,,;", "\x7f", "é", "null"):
        assert judge.get(**{header: value}).status_code < 500, value
