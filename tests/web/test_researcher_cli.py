"""`judgemap researcher`: what each command says and does; a mistake is one sentence."""

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import TOTP
from django.test import Client

from judgemap.cli.researcher import app
from judgemap.errors import StudyError
from judgemap.web.accounts.models import Researcher
from judgemap.web.studies.models import Act

NEW = {"email": "new@example.org", "password": "four plain words", "again": "four plain words"}


@pytest.fixture
def command(people, run_command):
    return lambda *words: run_command(app, *words).strip()


def test_researchers_are_listed(command):
    assert command("list").split() == ["owner@example.org", "stranger@example.org", "teammate@example.org"]


def test_an_invitation_makes_a_researcher(command):
    link = command("invite", "--url", "https://studies.example.org/")
    assert link.startswith("https://studies.example.org/invitation/")
    assert Client().post(link.removeprefix("https://studies.example.org"), NEW).status_code == 302
    assert Researcher.objects.filter(email="new@example.org").exists()


def test_a_forgotten_password_is_set_anew(command, people):
    link = command("password", "owner@example.org").removeprefix("http://127.0.0.1:8000")
    Client().post(link, {"password": "another good one", "again": "another good one"})
    people["owner"].refresh_from_db()
    assert people["owner"].check_password("another good one")


def test_a_study_is_given_to_a_researcher(command, owned, clients):
    assert command("own", "wards", "stranger@example.org") == "Study wards belongs to stranger@example.org."
    owned.refresh_from_db()
    assert owned.owner.email == "stranger@example.org"
    assert clients["owner"].get("/studies/wards/").status_code == 200
    assert Act.objects.filter(verb="given").count() == 1


def test_a_researcher_is_deactivated_and_activated_again(command, owned, clients, people):
    assert clients["owner"].get("/studies/").status_code == 200
    said = command("deactivate", "OWNER@example.org")
    assert "can no longer sign in" in said
    assert "judgemap researcher own wards EMAIL" in said
    assert clients["owner"].get("/studies/").status_code == 302, "signed out at once"
    assert "owner@example.org" not in command("list")
    with pytest.raises(StudyError, match="no researcher has the address"):
        command("deactivate", "owner@example.org")
    assert command("activate", "owner@example.org") == "owner@example.org can sign in again."
    assert clients["owner"].get("/studies/").status_code == 200
    with pytest.raises(StudyError, match="no researcher has the address"):
        command("activate", "nobody@example.org")


def test_a_second_step_without_its_phone_is_turned_off(command, people):
    TOTP.activate(people["owner"], "JBSWY3DPEHPK3PXP")
    assert command("reset-step", "owner@example.org").startswith("owner@example.org now signs in with just")
    assert not Authenticator.objects.exists()


@pytest.mark.parametrize(
    "words",
    [("password", "nobody@example.org"), ("own", "wards", "nobody@example.org"), ("own", "x", "owner@example.org")],
)
def test_a_mistake_is_one_sentence(command, owned, words):
    with pytest.raises(StudyError, match=r"there is no study|no researcher has the address"):
        command(*words)
