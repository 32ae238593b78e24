"""One-time links: the first researcher, further ones, and forgotten passwords."""

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.accounts import actions
from judgemap.web.accounts.models import Invitation, Researcher
from judgemap.web.server.limits import WRONG_GUESSES

GOOD = {"email": "Anna@Example.org", "name": "Anna", "password": "four plain words", "again": "four plain words"}


@pytest.fixture
def first(db) -> str:
    return f"/first/{actions.first_invitation()}/"


def test_the_first_link_makes_a_researcher_once_and_signs_in(first):
    client = Client()
    assert client.get(first).status_code == 200
    assert client.post(first, GOOD).status_code == 302
    researcher = Researcher.objects.get()
    assert (researcher.email, researcher.name) == ("anna@example.org", "Anna")
    assert client.get("/studies/").status_code == 200
    again = Client().post(first, GOOD | {"email": "eve@example.org"})
    assert again.status_code == 404
    assert "already been used" in again.content.decode()
    assert Researcher.objects.count() == 1
    assert actions.first_invitation() is None


def test_only_a_hash_of_the_token_is_kept(first):
    assert first.split("/")[2] not in str(Invitation.objects.values().get())


def test_an_old_link_does_not_work(first):
    Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert Client().get(first).status_code == 404
    assert Client().post(first, GOOD).status_code == 404
    assert not Researcher.objects.exists()


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"email": "anna"}, "email"),
        ({"password": "short", "again": "short"}, "password"),
        ({"password": "password123", "again": "password123"}, "password"),
        ({"password": "anna@example.org", "again": "anna@example.org"}, "password"),
        ({"again": "five plain words"}, "again"),
        ({"password": "a" * 201, "again": "a" * 201}, "password"),
    ],
)
def test_the_error_stands_beside_the_field_and_the_link_stays_good(first, changed, field):
    response = Client().post(first, GOOD | changed)
    assert field in response.context["form"].errors
    assert not Researcher.objects.exists()
    assert Client().post(first, GOOD).status_code == 302


def test_a_researcher_invites_another(clients, people):
    page = clients["owner"].post("/account/researchers/").content.decode()
    link = page.split('href="http://testserver')[1].split('"')[0]
    assert link.startswith("/invitation/")
    assert Client().post(link, GOOD | {"email": "OWNER@example.org"}).context["form"].errors["email"]
    assert Client().post(link, GOOD).status_code == 302
    assert Invitation.objects.get().invited_by == people["owner"]
    assert "anna@example.org" in clients["owner"].get("/account/researchers/").content.decode()


def test_researchers_are_listed_for_researchers_only(clients):
    assert clients["anonymous"].get("/account/researchers/").status_code == 302
    assert clients["anonymous"].post("/account/researchers/").status_code == 302
    assert not Invitation.objects.exists()
    assert clients["owner"].put("/account/researchers/").status_code == 405


def test_a_forgotten_password_is_set_by_a_link(people):
    link = f"/invitation/{actions.password_link('OWNER@example.org')}/"
    page = Client().get(link).content.decode()
    assert "A new password for owner@example.org" in page
    assert Client().post(link, {"password": "another good one", "again": "another good one"}).status_code == 302
    people["owner"].refresh_from_db()
    assert people["owner"].check_password("another good one")
    assert Researcher.objects.count() == 3
    assert Client().get(link).status_code == 404


def test_there_is_no_link_for_nobody(db):
    with pytest.raises(StudyError, match="no researcher has the address"):
        actions.password_link("nobody@example.org")


def test_guessing_links_is_slowed(db, monkeypatch):
    monkeypatch.setattr(WRONG_GUESSES, "_a_second", 0.0)
    statuses = [Client().get(f"/invitation/{i:022d}/").status_code for i in range(60)]
    assert statuses[0] == 404
    assert statuses[-1] == 429
