"""Owner, colleague, reader, stranger, judge and nobody, on every address of the site that belongs to a study."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.db import connection, transaction
from django.test import Client
from django.urls import get_resolver, reverse

from judgemap.web.accounts.models import Researcher
from judgemap.web.results.models import FitFiles, FitPicture, FitRun
from judgemap.web.studies.access import share_study
from judgemap.web.studies.models import Imprint, Study

READ, MOVE, BAD = (200, 200), (302, 302), (400, 400)
"""The status for the owner, and for a colleague."""
OWN = (200, 403)
TABLE = [
    ("studies:overview", "get", {}, READ),
    ("studies:map", "get", {}, READ),
    ("studies:map", "post", {"a": "0", "b": "5"}, MOVE),
    ("studies:area", "get", {}, READ),
    ("studies:picture", "get", {}, READ),
    ("studies:shapes", "get", {}, READ),
    ("studies:base_map", "post", {"act": "stop"}, MOVE),
    ("studies:base_map_news", "get", {}, READ),
    ("studies:texts", "get", {}, READ),
    ("studies:texts", "post", {"title": ""}, BAD),
    ("studies:translate", "get", {}, READ),
    ("studies:translate", "post", {"question": "Quoi ?"}, MOVE),
    ("studies:imprint", "get", {}, READ),
    ("studies:imprint", "post", {"organisation": "x" * 201}, BAD),
    ("studies:judging", "get", {}, READ),
    ("studies:judging", "post", {"recommended": "0"}, BAD),
    ("studies:status", "post", {"act": "pause"}, MOVE),
    ("studies:close", "get", {}, OWN),
    ("studies:close", "post", {}, (302, 403)),
    ("studies:delete", "get", {}, OWN),
    ("studies:delete", "post", {"title": "another"}, (400, 403)),
    ("studies:open", "get", {}, READ),
    ("studies:reopen", "get", {}, OWN),
    ("studies:reopen", "post", {}, (302, 403)),
    ("studies:duplicate", "post", {}, MOVE),
    ("studies:colleagues", "get", {}, READ),
    ("studies:share", "post", {"email": "nobody"}, (400, 403)),
    ("studies:log", "get", {}, READ),
    ("studies:definition", "get", {}, READ),
    ("inviting:judges", "get", {}, READ),
    ("inviting:judges", "post", {"judges": "2", "anyway": "yes"}, READ),
    ("inviting:links_csv", "post", {}, READ),
    ("inviting:groups", "post", {"name": "Police"}, MOVE),
    ("inviting:reminders", "post", {"links": "none"}, READ),
    ("inviting:preview", "get", {}, MOVE),
    ("dashboard:live", "get", {}, READ),
    ("dashboard:now", "get", {}, READ),
    ("dashboard:picture", "get", {}, READ),
    ("dashboard:areas", "get", {}, READ),
    ("fits:judges", "get", {}, READ),
    ("fits:judge", "get", {}, READ),
    ("fits:act", "post", {"act": "leave out", "reason": "a test"}, MOVE),
    ("fits:act", "post", {"act": "without"}, MOVE),
    ("fits:reliability", "get", {}, READ),
    ("fits:planning", "get", {}, READ),
    ("fits:plan", "post", {"judges": "4", "per_judge": "20", "differ": "0.5"}, MOVE),
    ("fits:plan_news", "get", {}, READ),
    ("fits:list", "get", {}, READ),
    ("fits:new", "get", {}, READ),
    ("fits:new", "post", {"model": "standard"}, MOVE),
    ("fits:auto", "post", {"every": "100", "model": "spatial"}, MOVE),
    ("fits:progress", "get", {}, MOVE),
    ("fits:log", "get", {}, READ),
    ("fits:explained", "get", {}, READ),
    ("fits:cancel", "post", {}, MOVE),
    ("fits:again", "post", {}, MOVE),
    ("fits:remedy", "post", {"remedy": "--judges-differ"}, MOVE),
    ("results:map", "get", {}, READ),
    ("results:map_picture", "get", {}, READ),
    ("results:map_colours", "get", {}, READ),
    ("results:judge_maps", "get", {}, READ),
    ("results:area", "get", {}, READ),
    ("results:convergence", "get", {}, READ),
    ("results:checks", "get", {}, READ),
    ("results:compare", "get", {}, READ),
    ("results:sensitivity", "post", {}, MOVE),
    ("results:figures", "get", {}, READ),
    ("results:add_figures", "post", {}, BAD),
    ("results:choose_figures", "post", {}, MOVE),
    ("results:share", "get", {}, READ),
    ("results:share", "post", {"name": ""}, BAD),
    ("results:revoke_link", "post", {"link": "1"}, MOVE),
    ("results:files", "get", {}, READ),
    ("results:words", "post", {}, MOVE),
    ("results:briefing", "get", {}, READ),
    ("results:picture", "get", {}, READ),
    ("results:download", "get", {}, READ),
    ("api:tokens", "get", {}, OWN),
    ("api:tokens", "post", {"name": "a", "scopes": ["study:read"], "reach": "study", "days": "7"}, OWN),
    ("api:revoke", "post", {"token": "1"}, (302, 403)),
]
ELSEWHERE = {
    "studies:": {"list", "upload", "columns", "making", "cancel", "undelete", "markdown", "whole"},
    "inviting:": {"export"},
    "judge:": "all", "accounts:": "all", "api-v1:": "all", "reading:": "all", "": "all",
}  # fmt: skip
"""Addresses without a study, with a base map, for judges, readers and programs, or with a transaction of their own."""
MORE = {
    "studies:translate": ["fr"], "studies:area": [0], "studies:shapes": [0, 0, 0], "results:area": [3],
    "results:picture": ["traces"], "results:download": ["csv"],
}  # fmt: skip
OUTSIDERS = ("stranger", "anonymous", "judge")


@pytest.fixture
def site(owned, judge, people, ask_fit, make_fit) -> Study:
    """A study with a judge's answers and a fit of them, and somebody who may read it."""
    for _ in range(3):
        judge.answer("left")
    people["reader"] = Researcher.objects.create_user("reader@example.org", "a password")
    share_study(owned, "reader@example.org", people["owner"], to_read=True)
    run = make_fit(ask_fit(owned))
    FitFiles.objects.filter(fit=run).update(briefing="<p>A briefing")
    FitPicture.objects.create(fit=run, name="traces", svg="<svg/>", alt="Traces.")
    Imprint.objects.create(study=owned, next_steps="Visit.")
    return owned


def address(name: str, study: Study, judge) -> str:
    of_one = name.startswith("results:") or name in {f"fits:{each}" for each in OF_ONE}
    more = [judge.name] if name == "fits:judge" else MORE.get(name, [])
    more = [study.pk, *more] if name in ("studies:picture", "studies:shapes") else more
    return reverse(name, args=[study.slug, *([1] if of_one else []), *more])


OF_ONE = ("progress", "log", "explained", "cancel", "again", "remedy")


BOOKKEEPING = ("django_session", "accounts_count")


def visits(site: Study, judge, browser: Client, method: str = "") -> Iterator[tuple[tuple, int, str, bool]]:
    """Visit every address: yield its row, the status, what was said, and whether it changed a row; then undo it."""
    changes = []

    def note(execute, sql, params, many, context):
        done = execute(sql, params, many, context)
        writes = re.match(r'(?:INSERT|REPLACE|UPDATE|DELETE)\b[^"]*"(\w+)"', sql)
        if writes and writes[1] not in BOOKKEEPING and context["cursor"].rowcount:
            changes.append(sql)
        return done

    for row in TABLE:
        name, how, fields, _ = row
        if method not in ("", how):
            continue
        changes.clear()
        with transaction.atomic(), connection.execute_wrapper(note):
            given = fields | ({"judge": judge.name} if name == "fits:act" else {})
            response = getattr(browser, how)(address(name, site, judge), given)
            body = response.getvalue() if response.streaming else response.content
            transaction.set_rollback(True)
        said = response.get("Location", "") + response.get("Cache-Control", "") + body.decode(errors="replace")
        yield row, response.status_code, said, bool(changes)


@pytest.mark.parametrize(("who", "place"), [("owner", 0), ("teammate", 1)])
def test_owner_and_colleague_do_what_they_may(site, clients, judge, who, place):
    changing = set()
    for row, status, said, changed in visits(site, judge, clients[who]):
        assert status == row[3][place], row
        changing |= {row[0]} if changed else set()
        if status == 200 and row[0] not in ("studies:picture", "studies:shapes"):
            assert "no-store" in said, row
    assert {"studies:translate", "studies:status", "fits:act"} <= changing, "changes are noticed where there are some"


def test_a_reader_sees_what_a_colleague_sees_and_changes_nothing(site, clients, judge):
    for row, status, said, changed in visits(site, judge, clients["reader"]):
        assert status == (row[3][1] if row[1] == "get" else 403), row
        assert Controls(said).usable == [] or row[0] == "inviting:preview", row
        assert not changed or row[0] == "inviting:preview", row  # whoever tries it is a judge in no study


@pytest.mark.parametrize("who", OUTSIDERS)
def test_nobody_else_learns_that_there_is_a_study(site, clients, judge, who):
    browser = judge.client if who == "judge" else clients[who]
    for row, status, said, changed in visits(site, judge, browser):
        assert status == (404 if who == "stranger" else 302), row
        assert who == "stranger" or said.startswith("/account/login/?next=/"), row
        assert not changed, row
        assert site.version.title not in said, row
        assert "Ward 1.1" not in said, row
        assert row[0] == "fits:judge" or judge.name not in said, row


def test_nothing_is_taken_without_a_csrf_token(site, people, judge):
    client = Client(enforce_csrf_checks=True)
    client.force_login(people["owner"])
    for row, status, _, changed in visits(site, judge, client, "post"):
        assert (status, changed) == (403, False), row


def test_the_wrong_method_is_refused(site, clients, judge):
    for name in sorted({row[0] for row in TABLE}):
        allowed = {row[1] for row in TABLE if row[0] == name}
        for method in {"get", "post", "put", "delete", "patch"} - allowed:
            assert getattr(clients["owner"], method)(address(name, site, judge)).status_code == 405, (method, name)


@pytest.mark.parametrize("number", ["2", "0", "9" * 40])
def test_a_fit_that_is_not_there(site, clients, judge, number):
    for name, method, fields, _ in TABLE:
        path = address(name, site, judge)
        if "/fits/1/" in path:
            browser = getattr(clients["owner"], method)
            assert browser(path.replace("/1/", f"/{number}/", 1), fields).status_code == 404, name


def test_a_fit_of_another_study_is_not_shown(site, draft, clients, judge):
    for name, method, fields, _ in TABLE:
        if "/fits/1/" in address(name, site, judge):
            assert getattr(clients["owner"], method)(address(name, draft, judge), fields).status_code == 404, name


@pytest.mark.parametrize("status", ["waiting", "running", "failed", "cancelled", "lost"])
def test_a_fit_without_results_leads_to_its_progress(site, clients, judge, status):
    FitRun.objects.update(status=status, rows=[], info={}, findings={})
    for name, method, fields, _ in TABLE:
        if name.startswith("results:"):
            response = getattr(clients["owner"], method)(address(name, site, judge), fields)
            assert response["Location"] == reverse("fits:progress", args=[site.slug, 1]), name
    assert FitRun.objects.count() == 1


def test_every_address_of_the_site_is_in_the_table_or_tested_elsewhere():
    resolver = get_resolver()
    there = {"": resolver} | {f"{space}:": inner for space, (_, inner) in resolver.namespace_dict.items()}
    known = {f"{space}{name}" for space, inner in there.items() for name in inner.reverse_dict if isinstance(name, str)}
    left_out = {f"{space}{name}" for space, names in ELSEWHERE.items() if names != "all" for name in names}
    whole = tuple(space for space, names in ELSEWHERE.items() if names == "all" and space)
    rest = {name for name in known - left_out if ":" in name and not name.startswith(whole)}
    assert rest == {row[0] for row in TABLE}


class Controls(HTMLParser):
    """Collect the controls of a page that somebody can use, by the address of their form; links are none."""

    def __init__(self, page):
        super().__init__()
        self.form, self.usable, self.shown = None, [], []
        self.fieldsets = []  # whether each that is open is disabled
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "form":
            harmless = attrs.get("method", "get") == "get" or "reading" in (attrs.get("class") or "")
            self.form = None if harmless else attrs.get("action", "here")
        elif tag == "fieldset":
            self.fieldsets.append("disabled" in attrs)
        elif tag in ("input", "select", "textarea", "button") and self.form and attrs.get("type") != "hidden":
            self.shown.append(attrs.get("name"))
            if not any(self.fieldsets) and "disabled" not in attrs and "logout" not in self.form:
                self.usable.append((self.form, attrs.get("name")))

    def handle_endtag(self, tag):
        if tag == "fieldset":
            self.fieldsets.pop()
        self.form = None if tag == "form" else self.form


VALUES = {
    "studies:texts": "consent", "studies:translate": "question", "studies:judging": "recommended",
    "fits:list": "every", "fits:new": "note", "fits:judges": "judge",
}  # fmt: skip
"""Pages with values that a reader can see, and one of their fields."""
ACTIONS = ["studies:overview", "studies:map", "studies:open", "inviting:judges"]
NOTHING = ["studies:colleagues", "studies:log"]


@pytest.mark.parametrize("status", ["draft", "open"])
def test_a_reader_sees_values_and_is_offered_nothing_that_is_refused(owned, clients, people, judge, status):
    judge.answer("left")
    Study.objects.filter(pk=owned.pk).update(status=status)
    share_study(owned, people["stranger"].email, people["owner"], to_read=True)
    for page in (*VALUES, *ACTIONS, *NOTHING):
        path = reverse(page, args=[owned.slug, *MORE.get(page, [])])
        found = Controls(clients["stranger"].get(path).text)
        assert found.usable == [], page
        assert page not in VALUES or VALUES[page] in found.shown, page
        assert page in NOTHING or Controls(clients["owner"].get(path).text).usable, page


def test_a_reader_is_not_led_to_a_page_whose_form_is_refused(owned, clients, people, judge):
    judge.answer("left")
    share_study(owned, people["stranger"].email, people["owner"], to_read=True)
    new = f'href="{reverse("fits:new", args=[owned.slug])}"'
    listed, judges = reverse("fits:list", args=[owned.slug]), reverse("inviting:judges", args=[owned.slug])
    assert new in clients["owner"].get(listed).text
    assert new not in clients["stranger"].get(listed).text
    assert "Personal links" not in clients["stranger"].get(judges).text


def test_shapes_are_kept_under_an_address_of_their_own_map(owned, clients):
    """A draft made again has the same name and another map."""
    for name, more in (("studies:picture", []), ("studies:shapes", [0, 0, 0])):
        response = clients["owner"].get(reverse(name, args=[owned.slug, owned.pk, *more]))
        assert "immutable" in response["Cache-Control"]
        assert clients["owner"].get(reverse(name, args=[owned.slug, owned.pk + 1, *more])).status_code == 404
