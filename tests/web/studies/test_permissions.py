"""Owner, colleague, stranger and nobody, on every address of a study."""

from html.parser import HTMLParser

import pytest
from django.urls import get_resolver, reverse

from judgemap.web.studies import sharing
from judgemap.web.studies.models import Act, Study, StudyVersion

READ = {"owner": 200, "teammate": 200, "stranger": 404, "anonymous": 302}
MOVE = {"owner": 302, "teammate": 302, "stranger": 404, "anonymous": 302}
OWN = {"owner": 200, "teammate": 403, "stranger": 404, "anonymous": 302}
BAD = {"owner": 400, "teammate": 400, "stranger": 404, "anonymous": 302}

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
    ("studies:judging", "get", {}, READ),
    ("studies:judging", "post", {"recommended": "0"}, BAD),
    ("studies:status", "post", {"act": "pause"}, MOVE),
    ("studies:open", "get", {}, READ),
    ("studies:close", "get", {}, OWN),
    ("studies:close", "post", {}, OWN | {"owner": 302}),
    ("studies:reopen", "get", {}, OWN),
    ("studies:reopen", "post", {}, OWN | {"owner": 302}),
    ("studies:delete", "get", {}, OWN),
    ("studies:delete", "post", {"title": "another"}, OWN | {"owner": 400}),
    ("studies:duplicate", "post", {}, MOVE),
    ("inviting:judges", "get", {}, READ),
    ("inviting:judges", "post", {"judges": "2", "anyway": "yes"}, READ),
    ("inviting:links_csv", "post", {}, READ),
    ("inviting:groups", "post", {"name": "Police"}, MOVE),
    ("inviting:reminders", "post", {"links": "none"}, READ),
    ("studies:colleagues", "get", {}, READ),
    ("studies:share", "post", {"email": "nobody"}, OWN | {"owner": 400}),
    ("studies:log", "get", {}, READ),
    ("studies:definition", "get", {}, READ),
    ("inviting:preview", "get", {}, MOVE),
]
ELSEWHERE = {
    "studies:list",
    "studies:upload",
    "studies:columns",
    "studies:making",
    "studies:cancel",
    "studies:undelete",
    "studies:markdown",
    "inviting:export",
    "studies:whole",
}
"""Without a study, or tested with its export, which needs its own transaction, or with a base map."""


def address(name, study):
    more = {
        "studies:picture": [study.pk],
        "studies:translate": ["fr"],
        "studies:area": [0],
        "studies:shapes": [study.pk, 0, 0, 0],
    }.get(name, [])
    return reverse(name, args=[study.slug, *more])


@pytest.mark.parametrize(("name", "method", "fields", "statuses"), TABLE)
@pytest.mark.parametrize("who", ["owner", "teammate", "stranger", "anonymous"])
def test_each_sees_what_they_may(owned, clients, who, name, method, fields, statuses):
    before = (Act.objects.count(), StudyVersion.objects.count())
    response = getattr(clients[who], method)(address(name, owned), fields)
    assert response.status_code == statuses[who]
    if who in ("stranger", "anonymous"):
        assert (Act.objects.count(), StudyVersion.objects.count()) == before
        assert owned.version.title not in response.content.decode()
    if who == "anonymous":
        assert response["Location"].startswith("/account/login/?next=/")


@pytest.mark.parametrize(("name", "method", "fields", "statuses"), TABLE)
def test_a_reader_sees_what_a_colleague_sees_and_changes_nothing(
    owned, clients, people, name, method, fields, statuses
):
    sharing.share_study(owned, people["stranger"].email, people["owner"], to_read=True)
    before = (Act.objects.count(), StudyVersion.objects.count(), owned.judges.count())
    response = getattr(clients["stranger"], method)(address(name, owned), fields)
    assert response.status_code == (statuses["teammate"] if method == "get" else 403)
    assert (Act.objects.count(), StudyVersion.objects.count(), owned.judges.count()) == before


class Controls(HTMLParser):
    """Collect the controls of a page that somebody can use, by the address of their form; links are none."""

    def __init__(self, page):
        super().__init__()
        self.form, self.usable, self.shown = None, [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "form":
            harmless = attrs.get("method", "get") == "get" or "reading" in (attrs.get("class") or "")
            self.form = None if harmless else attrs.get("action", "here")
        elif tag in ("input", "select", "textarea", "button") and self.form and attrs.get("type") != "hidden":
            self.shown.append(attrs.get("name"))
            if "disabled" not in attrs and "logout" not in self.form:
                self.usable.append((self.form, attrs.get("name")))

    def handle_endtag(self, tag):
        self.form = None if tag == "form" else self.form


@pytest.mark.parametrize("page", ["overview", "map", "texts", "translate", "judging", "open", "colleagues", "log"])
@pytest.mark.parametrize("status", ["draft", "open"])
def test_a_reader_sees_values_and_is_offered_nothing_that_is_refused(owned, clients, people, page, status):
    Study.objects.filter(pk=owned.pk).update(status=status)
    sharing.share_study(owned, people["stranger"].email, people["owner"], to_read=True)
    found = Controls(clients["stranger"].get(address(f"studies:{page}", owned)).content.decode())
    assert found.usable == []
    fields = {"texts": "consent", "translate": "question", "judging": "recommended"}
    assert page not in fields or fields[page] in found.shown
    assert (
        page in ("colleagues", "log")
        or Controls(clients["owner"].get(address(f"studies:{page}", owned)).content.decode()).usable
    )


def test_what_shows_data_is_kept_out_of_caches(owned, clients):
    for name, method, _, _ in TABLE:
        if method == "get" and name not in ("studies:picture", "studies:shapes"):
            assert "no-store" in clients["owner"].get(address(name, owned))["Cache-Control"], name
    for path in ("/account/", "/account/researchers/", "/account/login/", "/account/two-factor/"):
        assert "no-store" in clients["owner"].get(path)["Cache-Control"], path
    assert "no-store" in clients["anonymous"].get("/account/login/")["Cache-Control"]


def test_shapes_are_kept_under_an_address_of_their_own_map(owned, clients):
    """A draft made again has the same name and another map."""
    for name, more in (("studies:picture", []), ("studies:shapes", [0, 0, 0])):
        response = clients["owner"].get(reverse(name, args=[owned.slug, owned.pk, *more]))
        assert "immutable" in response["Cache-Control"]
        assert clients["owner"].get(reverse(name, args=[owned.slug, owned.pk + 1, *more])).status_code == 404


@pytest.mark.parametrize(("name", "method", "fields", "statuses"), [row for row in TABLE if row[1] == "post"])
def test_nothing_is_taken_without_a_csrf_token(owned, people, name, method, fields, statuses):
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(people["owner"])
    before = (Act.objects.count(), StudyVersion.objects.count())
    assert client.post(address(name, owned), fields).status_code == 403
    assert (Act.objects.count(), StudyVersion.objects.count()) == before


@pytest.mark.parametrize("name", sorted({row[0] for row in TABLE}))
def test_the_wrong_method_is_refused(owned, clients, name):
    allowed = {row[1] for row in TABLE if row[0] == name}
    for method in {"get", "post", "put", "delete", "patch"} - allowed:
        assert getattr(clients["owner"], method)(address(name, owned)).status_code == 405


def test_the_table_has_every_address_of_a_study():
    resolver = get_resolver()
    known = set()
    for space in ("studies", "inviting"):
        _, inner = resolver.namespace_dict[space]
        known |= {f"{space}:{name}" for name in inner.reverse_dict if isinstance(name, str)}
    assert known == {row[0] for row in TABLE} | ELSEWHERE


def test_a_judge_of_the_study_is_a_stranger_here(owned, judge):
    for name, method, fields, _ in TABLE:
        response = getattr(judge.client, method)(address(name, owned), fields)
        assert response["Location"].startswith("/account/login/")
