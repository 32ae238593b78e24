"""The open link: anybody who has it becomes a judge with their own link."""

from datetime import timedelta

import pytest
from django.utils import timezone

from judgemap.web.accounts.models import Count
from judgemap.web.judge import joining
from judgemap.web.judge.models import Judge
from judgemap.web.judge.place import Refused
from judgemap.web.server.limits import Brake
from judgemap.web.studies import editing


@pytest.fixture
def open_link(edit, study) -> str:
    edit(access="open")
    study.refresh_from_db()
    return f"/s/{study.join_code}/"


def test_everybody_who_joins_gets_a_link(client, open_link):
    assert "Take part" in client.get(open_link).text
    assert not Judge.objects.exists()
    links = {client.post(open_link)["Location"] for _ in range(2)}
    assert len(links) == 2
    assert all(client.get(link).status_code == 200 for link in links)


def test_a_closed_study_takes_nobody(client, open_link, study):
    editing.close_study(study)
    assert "not taking answers" in client.get(open_link).text
    assert client.post(open_link).status_code == 409
    assert not Judge.objects.exists()


def test_a_study_with_personal_links_has_no_open_one(client, open_link, edit):
    edit(access="personal")
    assert client.get(open_link).status_code == 404


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


def test_a_wrong_link(client, study):
    assert client.get("/s/nothing/").status_code == 404
