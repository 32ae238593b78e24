"""Sharing a study."""

import pytest

from judgemap.web.studies.models import Act


def test_a_study_is_shared_by_address_and_taken_back(owned, clients, people):
    share = f"/studies/{owned.slug}/share"
    assert clients["owner"].post(share, {"email": " Stranger@Example.org "}).status_code == 302
    assert clients["stranger"].get(f"/studies/{owned.slug}/").status_code == 200
    clients["owner"].post(share, {"remove": str(people["stranger"].pk)})
    assert clients["stranger"].get(f"/studies/{owned.slug}/").status_code == 404
    assert [act.verb for act in Act.objects.filter(study=owned, researcher=people["owner"])] == ["shared", "unshared"]


@pytest.mark.parametrize("email", ["nobody@example.org", "owner@example.org", "", "x", "a" * 300 + "@example.org"])
def test_an_address_that_is_nobodys_is_refused_beside_the_field(owned, clients, email):
    response = clients["owner"].post(f"/studies/{owned.slug}/share", {"email": email})
    assert response.status_code == 400
    assert list(response.context["form"].errors) == ["email"]


@pytest.mark.parametrize("key", ["", "x", "999999", "-1", "१", "9" * 40, "9" * 5000])
def test_taking_back_from_nobody_does_nothing(owned, clients, key):
    assert clients["owner"].post(f"/studies/{owned.slug}/share", {"remove": key}).status_code in (302, 400)
    assert owned.colleagues.count() == 1


def test_a_colleague_sees_the_list_without_buttons(owned, clients):
    page = clients["teammate"].get(f"/studies/{owned.slug}/colleagues").content.decode()
    assert "owner@example.org" in page
    assert "Stop sharing" not in page


def test_a_colleague_becomes_a_reader_and_back(owned, clients, people):
    share = f"/studies/{owned.slug}/share"
    email = people["teammate"].email
    clients["owner"].post(share, {"email": email, "may": "read"})
    assert (owned.colleagues.count(), owned.readers.count()) == (0, 1)
    page = clients["teammate"].get(f"/studies/{owned.slug}/").text
    assert "You can look at everything here" in page
    refused = clients["teammate"].post(f"/studies/{owned.slug}/status", {"act": "pause"})
    assert refused.status_code == 403
    assert "You can look at this study but not change it" in refused.text
    clients["owner"].post(share, {"email": email, "may": "change"})
    assert (owned.colleagues.count(), owned.readers.count()) == (1, 0)
    assert clients["teammate"].post(f"/studies/{owned.slug}/status", {"act": "pause"}).status_code == 302


def test_a_reader_can_be_taken_off_again(owned, clients, people):
    share = f"/studies/{owned.slug}/share"
    clients["owner"].post(share, {"email": people["stranger"].email, "may": "read"})
    assert "Stop sharing" in clients["owner"].get(f"/studies/{owned.slug}/colleagues").text
    clients["owner"].post(share, {"remove": str(people["stranger"].pk)})
    assert clients["stranger"].get(f"/studies/{owned.slug}/").status_code == 404
