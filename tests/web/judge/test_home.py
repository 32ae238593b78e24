"""The page behind a judge's link: the server decides what it shows."""

import pytest

from judgemap.core.model.graph import AreaGraph
from judgemap.geo.maps import Areas
from judgemap.web.judge.models import Consent, Judge, Pair
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.studies import editing, making


def test_first_shows_the_consent_text_and_draws_nothing(visit):
    page = visit(agreed=False).get()
    assert page.status_code == 200
    assert "Taking part is voluntary" in page.text
    assert not Pair.objects.exists()


def test_after_consent_shows_a_pair_that_was_stored_before(judge):
    page = judge.get()
    pair = Pair.objects.get()
    assert page.status_code == 200
    assert pair.token in page.text
    assert pair.left.name in page.text
    assert pair.right.name in page.text
    assert pair.open
    assert pair.position == 1
    assert pair.design == "uniform"
    assert pair.probability == pytest.approx(2 / (16 * 15))


def test_reload_a_second_tab_and_a_second_device_show_the_same_pair(judge, client):
    first = judge.pair()
    assert judge.pair() == first
    assert client.get(f"/j/{judge.token}/", headers={"Accept": "application/json"}).json() == first
    assert Pair.objects.count() == 1


def test_a_stranger_with_a_wrong_link_gets_a_kind_page(client, judge):
    page = client.get("/j/AAAAAAAAAAAAAAAAAAAAAA/")
    assert page.status_code == 404
    assert "We do not recognise this link" in page.text


def test_guessing_links_is_slowed_and_right_links_are_not(client, judge, monkeypatch):
    monkeypatch.setattr(WRONG_GUESSES, "_seconds", 1e6)
    statuses = [client.get(f"/j/{'A' * 20}{i:02}/").status_code for i in range(60)]
    assert statuses[0] == 404
    assert statuses[-1] == 429
    assert judge.get().status_code == 200


def test_other_methods_and_a_link_without_its_last_stroke(judge):
    assert judge.client.post(f"/j/{judge.token}/").status_code == 405
    head = judge.client.head(f"/j/{judge.token}/")
    assert (head.status_code, head.content) == (200, b"")
    assert judge.client.get(f"/j/{judge.token}")["Location"] == f"/j/{judge.token}/"


@pytest.mark.parametrize(("act", "words"), [(editing.pause_study, "paused"), (editing.close_study, "closed")])
def test_a_study_that_is_not_open_shows_no_pair(judge, study, act, words):
    act(study)
    page = judge.get()
    assert page.status_code == 200
    assert words in page.text
    assert not Pair.objects.exists()


def test_a_draft_has_not_begun(areas, definition, visit):
    page = visit(agreed=False, of=making.create_study(definition, areas)).get()
    assert "has not started yet" in page.text


def test_at_the_recommended_number_comes_a_pause_and_then_more(judge):
    for _ in range(3):
        judge.answer("left")
    assert "That is all we asked for" in judge.get().text
    assert not Pair.objects.filter(open=True).exists()
    judge.post("go-on")
    assert judge.pair()["counter"] == "4 of at most 5"


def test_at_the_maximum_it_ends(judge):
    judge.post("go-on")
    for _ in range(5):
        judge.answer("left")
    page = judge.get()
    assert "You are done" in page.text
    assert "Many thanks." in page.text
    assert Pair.objects.count() == 5


def test_a_new_consent_text_is_asked_for_and_answers_stay(judge, edit):
    judge.answer("left")
    edit(consent="A new text.")
    assert "A new text." in judge.get().text
    judge.agree()
    assert judge.pair()["counter"] == "2 of about 3"
    assert Consent.objects.count() == 2


def test_an_edit_of_another_text_asks_for_no_new_consent(judge, edit):
    edit(title="Wards, again")
    assert judge.pair()["place"] == "pair"


def test_a_study_without_outlines_shows_names(definition, visit):
    names = ("Castle", "Trent", "Arboretum")
    bare = Areas(("a", "b", "c"), names, AreaGraph(3, [[0, 1], [1, 2]]))
    visitor = visit(of=editing.open_study(making.create_study(definition, bare)))
    page = visitor.get().text
    assert sum(name in page for name in names) >= 2
    assert "<svg" not in page
    assert visitor.pair()["scenes"] == [None, None]


def test_nothing_about_the_visitor_is_stored(judge):
    judge.client.get(f"/j/{judge.token}/", REMOTE_ADDR="203.0.113.9", headers={"User-Agent": "Mozilla/Special"})
    row = Judge.objects.filter(name=judge.name).values().get()
    stored = " ".join(str(value) for value in row.values())
    assert judge.token not in stored
    assert "203.0.113.9" not in stored
    assert "Special" not in stored


def test_pages_are_kept_out_of_caches_and_load_nothing_from_elsewhere(judge, edit):
    page = judge.get()
    assert (page["Cache-Control"], page["Referrer-Policy"]) == ("no-store", "same-origin")
    assert "noindex" in page["X-Robots-Tag"]
    policy = page["Content-Security-Policy"]
    assert {"default-src 'none'", "script-src 'self'"} <= {each.strip() for each in policy.split(";")}
    assert "unsafe" not in policy
    assert "http" not in policy
    edit(base_map="https://tiles.example.org/{z}/{x}/{y}.png")
    assert "img-src 'self' data: https://tiles.example.org" in judge.get()["Content-Security-Policy"]


def test_a_name_with_markup_is_shown_as_text(definition, visit):
    nasty = Areas(("a", "b"), ("<script>alert(1)</script>", '"><img src=x>'), AreaGraph(2, [[0, 1]]))
    page = visit(of=editing.open_study(making.create_study(definition, nasty))).get().text
    assert "<script>alert" not in page
    assert "<img" not in page


def test_the_consent_page_warns_of_a_base_map(visit, edit):
    visitor = visit(agreed=False)
    assert "will see your internet address" not in visitor.get().text
    edit(base_map="https://tiles.example.org/{z}/{x}/{y}.png")
    assert "tiles.example.org, which will see your internet address" in " ".join(visitor.get().text.split())
