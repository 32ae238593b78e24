"""Groups of judges: quotas hold, for personal links and open ones, and a group can be fitted on its own."""

import pytest

from judgemap.errors import StudyError
from judgemap.web.judge.joining import invite, withdraw
from judgemap.web.judge.models import Judge, JudgeGroup
from judgemap.web.people.inviting import groups_of, keep_group
from judgemap.web.server.tokens import withdrawal_code
from judgemap.web.studies.models import Act


@pytest.fixture
def police(owned) -> JudgeGroup:
    return keep_group(owned, "Police", 2)


def invite_page(study) -> str:
    return f"/studies/{study.slug}/judges"


def test_a_group_is_made_and_its_quota_changed(owned, clients):
    for quota in ("3", ""):
        sent = {"name": "Social workers", "quota": quota}
        assert clients["owner"].post(f"{invite_page(owned)}/groups", sent).status_code == 302
        group = JudgeGroup.objects.get(study=owned)
        assert (group.name, group.quota) == ("Social workers", int(quota) if quota else None)
    assert "Social workers" in clients["owner"].get(invite_page(owned)).text
    assert [act.detail["quota"] for act in Act.objects.filter(verb="group kept")] == [3, "none"]


@pytest.mark.parametrize("sent", [{"name": ""}, {"name": "x" * 61}, {"name": "Police", "quota": "0"}])
def test_a_group_that_cannot_be(owned, clients, sent):
    assert clients["owner"].post(f"{invite_page(owned)}/groups", sent).status_code == 400
    assert not JudgeGroup.objects.exists()


def test_links_are_made_for_a_group_up_to_its_quota(owned, clients, police):
    made = clients["owner"].post(invite_page(owned), {"judges": "2", "group": police.pk, "anyway": "yes"})
    assert (made.status_code, Judge.objects.filter(group=police).count()) == (200, 2)
    refused = clients["owner"].post(invite_page(owned), {"judges": "1", "group": police.pk, "anyway": "yes"})
    assert refused.status_code == 400
    assert "has room for 0" in refused.text
    assert Judge.objects.count() == 2


def test_another_studys_group_is_none_of_this_one(owned, draft, clients):
    other = keep_group(draft, "Police", None)
    sent = {"judges": "1", "group": other.pk, "anyway": "yes"}
    assert clients["owner"].post(invite_page(owned), sent).status_code in (200, 400)
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
    assert link in clients["owner"].get(invite_page(owned)).text
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
    form = clients["owner"].get(f"/studies/{owned.slug}/fits/new").text
    assert "Only the group Police" in form
    asked = clients["owner"].post(f"/studies/{owned.slug}/fits/new", {"use": f"group-{police.pk}"})
    assert asked.status_code == 302
    run = owned.fits.get()
    assert (run.only, run.note) == ([visitors[0].name], "group Police")
