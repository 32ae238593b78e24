"""Undo: the pair answered last, to change its answer."""

from judgemap.web.judge.models import Pair
from judgemap.web.studies import editing


def test_shows_the_last_answered_pair_with_its_revision(judge):
    first = judge.pair()
    judge.answer("left")
    last = judge.last()
    assert (last["pair"], last["follows"], last["counter"]) == (first["pair"], 1, "Changing your last answer")


def test_works_without_a_script(judge):
    first = judge.pair()
    judge.answer("left")
    page = judge.get("last").text
    assert f'name="pair" value="{first["pair"]}"' in page
    assert 'name="follows" value="1"' in page


def test_works_at_the_pause_and_at_the_end(judge):
    for _ in range(3):
        judge.answer("left")
    assert judge.last()["follows"] == 1
    judge.post("go-on")
    for _ in range(2):
        judge.answer("left")
    pair = judge.last()["pair"]
    assert judge.answer("right", pair=pair, follows="1").json() == {"place": "elsewhere"}
    assert Pair.objects.get(token=pair).answers.count() == 2


def test_undo_again_changes_the_change(judge):
    judge.answer("left")
    pair = judge.last()["pair"]
    judge.answer("right", pair=pair, follows="1")
    judge.answer("left", pair=pair, follows="2")
    assert list(Pair.objects.get(token=pair).answers.values_list("outcome", flat=True)) == ["left", "right", "left"]


def test_with_nothing_to_undo_it_leads_home(judge):
    assert judge.get("last")["Location"] == f"/j/{judge.token}/"


def test_a_closed_study_has_nothing_to_undo(judge, study):
    judge.answer("left")
    editing.close_study(study)
    assert judge.get("last")["Location"] == f"/j/{judge.token}/"


def test_a_stranger_sees_nothing(client, judge):
    judge.answer("left")
    assert client.get("/j/AAAAAAAAAAAAAAAAAAAAAA/last").status_code == 404


def test_wrong_method(judge):
    assert judge.post("last").status_code == 405
