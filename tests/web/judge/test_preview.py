"""The judge's side, played by a researcher: the same pages, and nothing that is ever counted."""

import json

import pytest
from django.db import IntegrityError, transaction

from judgemap.web.dashboard.counting import count
from judgemap.web.judge import joining
from judgemap.web.judge.comparisons import History, load_comparisons
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.people.export import export_files
from judgemap.web.people.inviting import groups_of, keep_group, studies_overview
from judgemap.web.studies import keeping
from judgemap.web.studies.models import Act


class Player:
    """A researcher who tries a study."""

    def __init__(self, client, slug: str = "wards") -> None:
        self.client, self.slug = client, slug
        self.home = client.get(f"/try/{slug}/")["Location"]

    def play(self, page: str = "", **fields) -> str:
        url = f"{self.home}{page}"
        return (self.client.post(url, fields, follow=True) if fields else self.client.get(url, follow=True)).text

    def pair(self) -> dict:
        return json.loads(self.client.get(self.home, headers={"Accept": "application/json"}).content)


@pytest.fixture
def player(draft, clients) -> Player:
    return Player(clients["owner"])


def play_all(player: Player) -> None:
    player.play("consent", agree="yes", begin="practice")
    for _ in range(5):
        player.play("answer", pair=player.pair()["pair"], outcome="tie")
    player.play("go-on", go="on")
    for outcome in ("left", "unknown-left", "right"):
        player.play("answer", pair=player.pair()["pair"], outcome=outcome)


def test_a_whole_study_is_played(player, draft):
    page = player.play()
    assert "Your answers here do not count." in page
    assert "Before you begin" in page
    assert "Practice 1 of 2" in player.play("consent", agree="yes", begin="practice")
    for _ in range(2):
        player.play("answer", pair=player.pair()["pair"], outcome="left")
    for number in range(1, 4):
        assert f"{number} of about 3" in player.play()
        player.play("answer", pair=player.pair()["pair"], outcome="tie")
    assert "That is all we asked for" in player.play()
    player.play("go-on", go="on")
    for _ in range(2):
        player.play("answer", pair=player.pair()["pair"], outcome="right")
    assert "You are done" in player.play()
    draft.refresh_from_db()
    assert draft.status == "draft"


def test_no_count_ever_sees_it(owned, clients, django_assert_num_queries):
    acts, group = Act.objects.count(), keep_group(owned, "Police", 1)
    before = {name: text for name, text in export_files(owned) if name != "judges.csv"}
    play_all(Player(clients["owner"]))
    assert Answer.objects.count() == 8
    assert Act.objects.count() == acts + 1
    assert not owned.judges.exists()
    assert len(History.read(owned)) == len(load_comparisons(owned)) == 0
    assert {name: text for name, text in export_files(owned) if name != "judges.csv"} == before
    assert dict(export_files(owned))["judges.csv"].count("\n") == 1
    assert count(owned).judges == []
    assert [(row.invited, row.begun, row.judged) for row in groups_of(owned)] == [(0, 0, 0)]
    assert joining.invite(owned, 1, group=group)
    assert [(row["judges"], row["judged"]) for row in studies_overview()] == [(1, 0)]
    for page in ("/studies/wards/", "/studies/wards/judges", "/studies/wards/dashboard/"):
        name = Judge.objects.get(preview_of=owned).name
        assert name not in clients["owner"].get(page, follow=True).text


def test_the_database_keeps_previews_out_of_studies(owned):
    joining.preview(owned)
    with pytest.raises(IntegrityError), transaction.atomic():
        Judge.objects.update(study=owned)


def test_it_goes_on_where_it_stopped_and_begins_anew_when_asked(player):
    player.play("consent", agree="yes", begin="now")
    again = Player(player.client)
    assert again.home == player.home
    page = player.client.post(f"{player.home}jump", {"to": "begin"}, follow=True)
    assert "Before you begin" in page.text
    assert Judge.objects.count() == 1
    assert player.client.get(player.home).status_code == 404


def test_jumps_and_language(player):
    assert "Quel quartier ?" in player.play("language", language="fr")
    player.play("language", language="en")
    assert "That is all we asked for" in player.play("jump", to="thanks")
    assert "You are done" in player.play("jump", to="end")
    assert "QR code" in player.play("link")


@pytest.mark.parametrize("who", ["stranger", "anonymous"])
def test_its_link_is_worth_nothing_to_others(player, clients, who):
    assert clients[who].get(player.home).status_code == 404


def test_it_goes_with_the_study(player, draft):
    play_all(player)
    keeping.study_goes.send(type(draft), study=draft)
    assert not any(model.objects.exists() for model in (Judge, Pair, Answer))
