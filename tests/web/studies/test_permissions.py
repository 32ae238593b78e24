"""Owner, colleague, stranger and nobody, on every address of a study and of its preview."""

import pytest
from django.urls import get_resolver, reverse

from judgemap.web.judge.models import Judge
from judgemap.web.studies import sharing
from judgemap.web.studies.models import Act, StudyVersion

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
    ("studies:close", "get", {}, OWN),
    ("studies:close", "post", {}, OWN | {"owner": 302}),
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
    ("preview:home", "get", {}, READ),
    ("preview:consent", "post", {"agree": "yes"}, MOVE),
    ("preview:answer", "post", {"outcome": "left"}, MOVE),
    ("preview:last", "get", {}, MOVE),
    ("preview:end_practice", "post", {}, MOVE),
    ("preview:go_on", "post", {}, MOVE),
    ("preview:language", "post", {"language": "fr"}, MOVE),
    ("preview:areas", "get", {}, READ),
    ("preview:areas", "post", {}, MOVE),
    ("preview:places", "get", {}, READ),
    ("preview:places", "post", {}, MOVE),
    ("preview:link", "get", {}, READ),
    ("preview:jump", "post", {"to": "end"}, MOVE),
]
ELSEWHERE = {
    "studies:list",
    "studies:upload",
    "studies:columns",
    "studies:making",
    "studies:cancel",
    "studies:undelete",
    "studies:markdown",
    "preview:withdraw",
    "inviting:export",
    "studies:whole",
    "preview:tiles",
    "preview:picture",
}
"""Without a study, or tested with its export, which needs its own transaction, or with a base map."""


def address(name, study):
    more = {"studies:translate": ["fr"], "studies:area": [0], "studies:shapes": [0, 0, 0]}.get(name, [])
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
    before = (Act.objects.count(), StudyVersion.objects.count(), Judge.objects.count())
    response = getattr(clients["stranger"], method)(address(name, owned), fields)
    tried = method == "get" or name.startswith("preview:")
    assert response.status_code == (statuses["teammate"] if tried else 403)
    assert (Act.objects.count(), StudyVersion.objects.count(), Judge.objects.count()) == before


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
    for space in ("studies", "inviting", "preview"):
        _, inner = resolver.namespace_dict[space]
        known |= {f"{space}:{name}" for name in inner.reverse_dict if isinstance(name, str)}
    assert known == {row[0] for row in TABLE} | ELSEWHERE


def test_a_judge_of_the_study_is_a_stranger_here(owned, judge):
    for name, method, fields, _ in TABLE:
        response = getattr(judge.client, method)(address(name, owned), fields)
        assert response["Location"].startswith("/account/login/")
