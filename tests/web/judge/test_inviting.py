"""Links for judges, personal and open: shown once, kept as hashes, and for groups up to their quotas."""

import csv
import io
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.accounts.models import Count
from judgemap.web.judge import joining
from judgemap.web.judge.joining import invite, withdraw
from judgemap.web.judge.models import Judge, JudgeGroup
from judgemap.web.judge.place import Refused
from judgemap.web.people.inviting import groups_of, keep_group
from judgemap.web.server.limits import Brake
from judgemap.web.server.tokens import hashed, withdrawal_code
from judgemap.web.studies import editing
from judgemap.web.studies.editing import close_study
from judgemap.web.studies.models import Act

LINK = re.compile(r'href="http://testserver/j/([\w-]{22})/"')


PAGE = "/studies/wards/judges"


def test_links_are_shown_once_and_work(owned, clients):
    response = clients["owner"].post(PAGE, {"judges": "3", "anyway": "yes"})
    page = response.text
    tokens = LINK.findall(page)
    assert len(set(tokens)) == 3
    assert "no-store" in response["Cache-Control"]
    assert page.count("data:image/svg+xml") == 3
    assert all(clients["anonymous"].get(f"/j/{token}/").status_code == 200 for token in tokens)
    assert {hashed(token) for token in tokens} == set(Judge.objects.values_list("token_hash", flat=True))
    later = clients["owner"].get(PAGE).text
    assert not LINK.findall(later)
    assert later.count("<code>") == 3


def test_inviting_is_one_act_of_whoever_asked(owned, clients, people):
    before = set(Act.objects.values_list("pk", flat=True))
    clients["teammate"].post(PAGE, {"judges": "3", "anyway": "yes"})
    act = Act.objects.exclude(pk__in=before).get()
    assert (act.verb, act.researcher, act.detail) == ("invited", people["teammate"], {"judges": 3})


def test_the_table_has_the_links_of_this_study_only(owned, clients):
    tokens = LINK.findall(clients["owner"].post(PAGE, {"judges": "2", "anyway": "yes"}).text)
    response = clients["owner"].post(f"{PAGE}.csv", {"token": [*tokens, "A" * 22, "=1+1", ""]})
    rows = list(csv.DictReader(io.StringIO(response.text)))
    assert [row["link"] for row in rows] == [f"http://testserver/j/{token}/" for token in tokens]
    assert {row["judge"] for row in rows} == set(Judge.objects.values_list("name", flat=True))
    assert response["Content-Disposition"].startswith("attachment")


def test_a_closed_study_takes_no_more_judges(owned, clients):
    close_study(owned)
    assert "Make the links" not in clients["owner"].post(PAGE, {"judges": "3", "anyway": "yes"}).text
    assert not Judge.objects.exists()


def test_links_carry_the_public_name_of_the_server(owned, clients, settings):
    settings.PUBLIC_URL = "https://studies.example.org"
    page = clients["owner"].post(PAGE, {"judges": "1", "anyway": "yes"}).text
    assert 'href="https://studies.example.org/j/' in page
    assert "https://studies.example.org/invitation/" in clients["owner"].post("/account/researchers/").text


def test_the_first_invitation_checks_the_address(owned, clients):
    page = clients["owner"].get(PAGE)
    assert "no computer called &#x27;testserver&#x27; can be found" in page.text
    refused = clients["owner"].post(PAGE, {"judges": "2"})
    assert list(refused.context["form"].errors) == ["anyway"]
    assert not Judge.objects.exists()
    clients["owner"].post(PAGE, {"judges": "2", "anyway": "yes"})
    assert clients["owner"].get(PAGE).context["form"].problem is None, "it is only asked before the first"


def test_the_text_of_the_invitation_is_in_every_language_of_the_study(owned, clients):
    page = clients["owner"].get(PAGE).text
    for words in ("Dear colleague", "Chère collègue", "{link}", owned.version.question):
        assert words in page


def test_reminders_are_the_links_not_used_yet(owned, clients, visit):
    answered, waiting = visit(), visit()
    answered.answer("left")
    pasted = (
        f"judge,link\nann,http://x/j/{answered.token}/\nbob,http://x/j/{waiting.token}/\nnobody,http://x/j/{'A' * 22}/"
    )
    page = clients["owner"].post(f"{PAGE}/reminders", {"links": pasted})
    assert [each.whose for each in page.context["unused"]] == [waiting.name]
    assert [each.whose for each in page.context["begun"]] == [answered.name]
    assert page.context["known"] == 2
    assert LINK.findall(page.text) == [waiting.token, answered.token]


@pytest.fixture
def open_link(edit) -> str:
    return f"/s/{edit(access='open').join_code}/"


def test_everybody_who_joins_gets_a_link(client, open_link, edit):
    assert "Take part" in client.get(open_link).text
    assert not Judge.objects.exists()
    links = {client.post(open_link)["Location"] for _ in range(2)}
    assert len(links) == 2
    assert all(client.get(link).status_code == 200 for link in links)
    edit(access="personal")
    assert client.get(open_link).status_code == 404


def test_a_closed_study_takes_nobody(client, open_link, study):
    editing.close_study(study)
    assert "not taking answers" in client.get(open_link).text
    assert client.post(open_link).status_code == 409
    assert not Judge.objects.exists()


def test_too_many_at_once_are_asked_to_wait(client, open_link, monkeypatch):
    monkeypatch.setattr(joining, "JOINS_A_MINUTE", 3)
    for _ in range(3):
        client.post(open_link)
    assert client.post(open_link).status_code == 429
    Judge.objects.update(created_at=timezone.now() - timedelta(minutes=2))
    assert client.post(open_link).status_code == 302


def test_neither_a_client_nor_its_network_can_keep_others_out(client, open_link, monkeypatch):
    brakes = (Brake("joins", most=2, seconds=1e6), Brake("joins near", most=5, seconds=1e6))
    monkeypatch.setattr(joining, "JOINS", brakes)

    def join(address: str) -> int:
        return client.post(open_link, REMOTE_ADDR=address).status_code

    assert [join("192.0.2.1") for _ in range(3)] == [302, 302, 429]
    assert join("192.0.2.2") == 302
    assert [join(f"2001:db8::{number}") for number in range(1, 5)] == [302, 302, 429, 429], "one network is one place"
    assert [join(f"2001:db8:0:{number}::1") for number in range(1, 6)] == [302, 302, 302, 429, 429]
    assert join("2001:db8:1::1") == 302
    assert not any(part in str(list(Count.objects.values())) for part in ("192.0.2", "2001:db8")), "no address is kept"


def test_a_study_that_is_closed_meanwhile_takes_nobody(open_link, study):
    read_before = editing.find_study(study.slug)
    editing.close_study(study)
    with pytest.raises(Refused, match="not open"):
        joining.join(read_before)
    assert not Judge.objects.exists()


@pytest.fixture
def police(owned) -> JudgeGroup:
    return keep_group(owned, "Police", 2)


def test_a_group_is_made_and_its_quota_changed(owned, clients):
    for quota in ("3", ""):
        sent = {"name": "Social workers", "quota": quota}
        assert clients["owner"].post(f"{PAGE}/groups", sent).status_code == 302
        group = JudgeGroup.objects.get(study=owned)
        assert (group.name, group.quota) == ("Social workers", int(quota) if quota else None)
    assert "Social workers" in clients["owner"].get(PAGE).text
    assert [act.detail["quota"] for act in Act.objects.filter(verb="group kept")] == [3, "none"]


def test_links_are_made_for_a_group_up_to_its_quota(owned, clients, police):
    made = clients["owner"].post(PAGE, {"judges": "2", "group": police.pk, "anyway": "yes"})
    assert (made.status_code, Judge.objects.filter(group=police).count()) == (200, 2)
    refused = clients["owner"].post(PAGE, {"judges": "1", "group": police.pk, "anyway": "yes"})
    assert refused.status_code == 400
    assert "has room for 0" in refused.text
    assert Judge.objects.count() == 2


def test_another_studys_group_is_none_of_this_one(owned, draft, clients):
    other = keep_group(draft, "Police", None)
    sent = {"judges": "1", "group": other.pk, "anyway": "yes"}
    assert clients["owner"].post(PAGE, sent).status_code in (200, 400)
    assert not Judge.objects.filter(group=other).exists()


def test_who_withdraws_leaves_room(owned, police):
    invited = invite(owned, 2, group=police)
    with pytest.raises(StudyError, match="room for 0"):
        invite(owned, 1, group=police)
    withdraw(withdrawal_code(invited[0].token))
    assert len(invite(owned, 1, group=police)) == 1


def test_a_groups_open_link_works_while_the_study_has_one(owned, edit, police, client, clients):
    link = f"/s/{police.join_code}/"
    assert client.get(link).status_code == 404
    edit(access="open")
    owned.refresh_from_db()
    assert link in clients["owner"].get(PAGE).text
    assert [client.post(link).status_code for _ in range(3)] == [302, 302, 409]
    assert Judge.objects.filter(group=police).count() == 2
    assert client.post(f"/s/{owned.join_code}/").status_code == 302


def test_how_far_each_group_is(owned, police, visit):
    ann, _ = invite(owned, 2, group=police)
    visit().answer("left")
    Judge.objects.filter(name=ann.name).update(judged=3)
    (row,) = groups_of(owned)
    assert (row.invited, row.begun, row.judged) == (2, 1, 3)


def test_a_fit_of_one_group(owned, police, visit, clients):
    visitors = [visit(), visit()]
    for each in visitors:
        each.answer("left")
    Judge.objects.filter(name=visitors[0].name).update(group=police)
    form = clients["owner"].get("/studies/wards/fits/new").text
    assert "Only the group Police" in form
    asked = clients["owner"].post("/studies/wards/fits/new", {"use": f"group-{police.pk}"})
    assert asked.status_code == 302
    run = owned.fits.get()
    assert (run.only, run.note) == ([visitors[0].name], "group Police")
