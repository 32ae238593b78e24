"""One-time links: the first researcher, further ones, and forgotten passwords."""

from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.accounts import actions
from judgemap.web.accounts.forms import NewResearcherForm
from judgemap.web.accounts.models import Count, Invitation, Researcher
from judgemap.web.server.jobs import worker_round
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
    assert "already been used" in again.text
    assert Researcher.objects.count() == 1
    assert actions.first_invitation() is None


def test_of_several_first_links_the_last_works_and_none_once_there_is_a_researcher(first):
    """Every start without a researcher prints one."""
    last, invited = f"/first/{actions.first_invitation()}/", f"/invitation/{actions.invite_researcher()}/"
    assert Client().get(first).status_code == 404
    assert Client().post(first, GOOD).status_code == 404
    assert Client().get(last).status_code == 200
    assert Client().post(invited, GOOD).status_code == 302
    assert Client().get(last).status_code == 404
    assert Client().post(last, GOOD | {"email": "eve@example.org"}).status_code == 404
    assert [each.email for each in Researcher.objects.all()] == ["anna@example.org"]


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
    page = clients["owner"].post("/account/researchers/").text
    link = page.split('href="http://testserver')[1].split('"')[0]
    assert link.startswith("/invitation/")
    assert Client().post(link, GOOD | {"email": "OWNER@example.org"}).context["form"].errors["email"]
    assert Client().post(link, GOOD).status_code == 302
    assert Invitation.objects.get().invited_by == people["owner"]
    assert "anna@example.org" in clients["owner"].get("/account/researchers/").text


def test_two_invitations_of_one_address_at_once(people, monkeypatch):
    """The second finds the address taken only when it is stored: the form looked a moment too early."""
    token = actions.invite_researcher()
    monkeypatch.setattr(NewResearcherForm, "clean_email", lambda form: form.cleaned_data["email"].lower())
    page = Client().post(f"/invitation/{token}/", GOOD | {"email": "owner@example.org"})
    assert page.status_code == 200
    assert page.context["form"].errors["email"] == ["A researcher already has this address; sign in with it instead."]
    assert Client().post(f"/invitation/{token}/", GOOD).status_code == 302, "the link stays good"


def test_who_invited_a_researcher_may_deactivate_them(clients, people):
    token = actions.invite_researcher(people["owner"])
    anna = Client()
    anna.post(f"/invitation/{token}/", GOOD)
    key = Researcher.objects.get(email="anna@example.org").pk
    address = f"/account/researchers/{key}/deactivate"
    assert clients["anonymous"].post(address).status_code == 302
    for name in ("teammate", "stranger"):
        assert address not in clients[name].get("/account/researchers/").text
        assert clients[name].post(address).status_code == 403
    assert anna.post(f"/account/researchers/{people['owner'].pk}/deactivate").status_code == 403
    assert anna.get("/studies/").status_code == 200
    assert address in clients["owner"].get("/account/researchers/").text
    assert "Deactivate anna@example.org?" in clients["owner"].get(address).text
    unused = actions.invite_researcher(Researcher.objects.get(pk=key))
    assert clients["owner"].post(address).status_code == 302
    assert anna.get("/studies/").status_code == 302
    assert actions.find_invitation(unused) is None
    assert clients["owner"].post(address).status_code == 403, "only once"


def test_what_is_over_is_forgotten(people, monkeypatch):
    monkeypatch.setattr(apps.get_app_config("web"), "_forgot_at", float("-inf"))  # an earlier test may have done so
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now() - timedelta(hours=1))
    Session.objects.create(session_key="new", session_data="", expire_date=timezone.now() + timedelta(hours=1))
    Count.objects.create(cache_key="old", value="1", expires=timezone.now() - timedelta(hours=1))
    worker_round.send(None)
    assert [each.session_key for each in Session.objects.all()] == ["new"]
    assert not Count.objects.exists()


def test_a_server_with_another_secret_key_is_refused(db, settings):
    actions.check_key()
    actions.check_key()
    settings.SECRET_KEY = settings.SECRET_KEY[::-1]
    with pytest.raises(StudyError, match=r"secret key is not the one .* --new-key"):
        actions.check_key()
    actions.check_key(is_new=True)
    actions.check_key()


@pytest.mark.parametrize("page", ["", "login/", "researchers/", "two-factor/", "password/change/", "nowhere/"])
def test_no_copy_of_an_account_is_kept(clients, page):
    for name in ("owner", "anonymous"):
        assert "no-store" in clients[name].get(f"/account/{page}")["Cache-Control"]


def test_researchers_are_listed_for_researchers_only(clients):
    assert clients["anonymous"].get("/account/researchers/").status_code == 302
    assert clients["anonymous"].post("/account/researchers/").status_code == 302
    assert not Invitation.objects.exists()
    assert clients["owner"].put("/account/researchers/").status_code == 405


def test_a_forgotten_password_is_set_by_a_link(people):
    link = f"/invitation/{actions.password_link('OWNER@example.org')}/"
    page = Client().get(link).text
    assert "A new password for owner@example.org" in page
    assert Client().post(link, {"password": "another good one", "again": "another good one"}).status_code == 302
    people["owner"].refresh_from_db()
    assert people["owner"].check_password("another good one")
    assert Researcher.objects.count() == 3
    assert Client().get(link).status_code == 404


def test_guessing_links_is_slowed(db, monkeypatch):
    monkeypatch.setattr(WRONG_GUESSES, "_seconds", 1e6)
    statuses = [Client().get(f"/invitation/{i:022d}/").status_code for i in range(60)]
    assert statuses[0] == 404
    assert statuses[-1] == 429
