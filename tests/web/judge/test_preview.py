"""The judge's side, played by a researcher: the same pages, and nothing stored."""

import json

import pytest

from judgemap.web.judge.models import Answer, Consent, Judge, Pair
from judgemap.web.studies.models import Act


def play(client, page="", **fields):
    url = f"/try/wards/{page}"
    return client.post(url, fields, follow=True) if fields else client.get(url, follow=True)


def pair(client) -> dict:
    return json.loads(client.get("/try/wards/", headers={"Accept": "application/json"}).content)


@pytest.fixture
def player(draft, clients):
    return clients["owner"]


def test_a_whole_study_is_played_and_nothing_is_stored(player, draft):
    acts = Act.objects.count()
    page = play(player).content.decode()
    assert "Your answers here are not stored." in page
    assert "Before you begin" in page
    page = play(player, "consent", agree="yes", begin="practice").content.decode()
    assert "Practice 1 of 2" in page
    for _ in range(2):
        play(player, "answer", pair=pair(player)["pair"], outcome="left")
    for number in range(1, 4):
        assert f"{number} of about 3" in play(player).content.decode()
        play(player, "answer", pair=pair(player)["pair"], outcome="tie")
    assert "That is all we asked for" in play(player).content.decode()
    play(player, "go-on", go="on")
    for _ in range(2):
        play(player, "answer", pair=pair(player)["pair"], outcome="right")
    assert "You are done" in play(player).content.decode()
    assert not any(model.objects.exists() for model in (Judge, Pair, Answer, Consent))
    assert Act.objects.count() == acts
    draft.refresh_from_db()
    assert draft.status == "draft"


def test_links_on_the_pages_stay_in_the_preview(player):
    play(player, "consent", agree="yes", begin="now")
    page = play(player).content.decode()
    assert 'action="/try/wards/answer"' in page
    assert "/j/wards" not in page


def test_a_reload_shows_the_same_pair_and_an_old_answer_changes_nothing(player):
    play(player, "consent", agree="yes", begin="now")
    first = pair(player)
    assert pair(player) == first
    play(player, "answer", pair=first["pair"], outcome="left")
    second = pair(player)
    assert second["pair"] != first["pair"]
    play(player, "answer", pair=first["pair"], outcome="left")
    assert pair(player) == second


def test_the_script_gets_the_next_pair(player):
    play(player, "consent", agree="yes", begin="now")
    first = pair(player)
    response = player.post(
        "/try/wards/answer", {"pair": first["pair"], "outcome": "left"}, headers={"Accept": "application/json"}
    )
    assert json.loads(response.content)["counter"] == "2 of about 3"
    last = json.loads(player.get("/try/wards/last", headers={"Accept": "application/json"}).content)
    assert (last["pair"], last["follows"]) == (first["pair"], 1)


def test_no_consent_no_pair(player):
    play(player, "consent", agree="no", begin="now")
    assert "Before you begin" in play(player).content.decode()


def test_unknown_areas_are_left_out(player):
    play(player, "consent", agree="yes", begin="now")
    play(player, "areas", unknown=[str(i) for i in range(14)])
    assert {pair(player)["left"], pair(player)["right"]} == {"Ward 4.3", "Ward 4.4"}
    assert "checked" in play(player, "areas").content.decode()
    play(player, "areas", unknown=[str(i) for i in range(15)])
    assert "fewer than two areas" in play(player).content.decode()


def test_language_and_jumps(player):
    assert "Quel quartier ?" in play(player, "language", language="fr").content.decode()
    assert "Which ward" in play(player, "language", language="xx").content.decode()
    assert "That is all we asked for" in play(player, "jump", to="thanks").content.decode()
    assert "You are done" in play(player, "jump", to="end").content.decode()
    assert "Before you begin" in play(player, "jump", to="begin").content.decode()
    assert "QR code" in play(player, "link").content.decode()


@pytest.mark.parametrize("cookie", ["", "x", "a:b:c", "eyJhIjoxfQ:1:x"])
def test_a_forged_cookie_begins_anew(player, cookie):
    player.cookies["try-wards"] = cookie
    assert "Before you begin" in play(player).content.decode()


def test_the_cookie_of_another_study_is_not_taken(player, draft, areas, definition, people):
    from judgemap.web.studies.making import create_study

    other = create_study(definition, areas, people["owner"])
    play(player, "consent", agree="yes", begin="now")
    player.cookies[f"try-{other.slug}"] = player.cookies["try-wards"].value
    assert "Before you begin" in player.get(f"/try/{other.slug}/").content.decode()


def test_whose_server_draws_the_background_is_said_before_anything_is_shown(player, draft):
    draft.current.base_map = "https://tiles.example.org/{z}/{x}/{y}.png"
    draft.current.save()
    assert "comes from tiles.example.org" in " ".join(play(player).content.decode().split())
