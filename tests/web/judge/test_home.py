"""The page behind a judge's link: what the server shows, consent first, in which language; and unknown areas."""

import html
import re
from pathlib import Path

import polib
import pytest
from django.conf import settings

from judgemap.core.model.graph import AreaGraph
from judgemap.geo.maps import Areas
from judgemap.web.judge.models import Answer, Consent, Judge, Pair, UnknownArea
from judgemap.web.people.inviting import texts_to_send
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


def test_consent_is_stored_with_its_version_and_language(visit, study):
    visitor = visit(agreed=False)
    visitor.post("language", language="fr")
    assert visitor.agree()["Location"] == f"/j/{visitor.token}/"
    consent = Consent.objects.get()
    assert (consent.version_id, consent.language) == (study.current_id, "fr")
    assert consent.text_digest == consent.version.consent_digest
    visitor.agree()
    assert Consent.objects.count() == 1


def test_an_answer_to_ones_own_pair_after_a_new_consent_text_is_refused(judge, edit):
    pair = judge.pair()["pair"]
    edit(consent="A new text.")
    response = judge.answer("left", pair=pair)
    assert (response.status_code, response.json()["why"]) == (403, "no consent")
    assert not Answer.objects.exists()


def test_practice_is_two_pairs_that_do_not_count(visit):
    visitor = visit(agreed=False)
    visitor.agree(begin="practice")
    assert visitor.pair()["counter"] == "Practice 1 of 2"
    visitor.answer("left")
    assert visitor.answer("tie").json()["counter"] == "1 of about 3"
    assert Pair.objects.filter(practice=True).count() == 2
    assert Judge.objects.get(name=visitor.name).judged == 0


def test_positions_start_again_after_practice(visit):
    visitor = visit(agreed=False)
    visitor.agree(begin="practice")
    visitor.pair()
    visitor.answer("left")
    first = visitor.answer("tie").json()
    assert first["undo"] is False
    assert list(Pair.objects.filter(practice=False).values_list("position", flat=True)) == [1]
    assert visitor.answer("left").json()["undo"] is True
    assert list(Pair.objects.filter(practice=False).order_by("pk").values_list("position", flat=True)) == [1, 2]


def test_practice_can_be_ended(visit):
    visitor = visit(agreed=False)
    visitor.agree(begin="practice")
    visitor.pair()
    visitor.post("begin")
    assert visitor.pair()["counter"] == "1 of about 3"


def test_consent_to_a_closed_study_is_refused(visit, study):
    visitor = visit(agreed=False)
    editing.close_study(study)
    assert visitor.agree().status_code == 409
    assert not Consent.objects.exists()


@pytest.mark.parametrize(
    ("pairs", "words"), [(3, "about 1 minute."), (60, "about 10 minutes."), (200, "about 34 minutes.")]
)
def test_how_long_it_takes_depends_on_the_pairs_and_is_the_same_everywhere(visit, edit, client, pairs, words):
    study = edit(recommended=pairs, maximum=200, access="open")
    promise = f"We don't ask for your name or email. It takes {words}"
    for page in (visit(agreed=False).get(), client.get(f"/s/{study.join_code}/")):
        assert promise in " ".join(html.unescape(page.text).split())
    assert promise in texts_to_send(study, "invitation")[0]["text"]


def test_the_judge_chooses_and_the_choice_stays(judge):
    judge.post("language", language="fr")
    page = judge.get().text
    assert '<html lang="fr" dir="ltr">' in page
    assert "Quel quartier ?" in page
    assert judge.pair()["counter"] == "1 sur environ 3"
    assert judge.answer("left").json()["counter"] == "2 sur environ 3"


def test_arabic_runs_right_to_left_and_falls_back_to_the_studys_own_texts(judge):
    judge.post("language", language="ar")
    page = judge.get().text
    assert '<html lang="ar" dir="rtl">' in page
    assert "أي حي؟" in page
    assert "Wards" in page, "the title is not translated"


def test_the_browsers_wish_is_taken_until_the_judge_chooses(visit):
    visitor = visit(agreed=False)
    assert 'lang="fr"' in visitor.get(**{"Accept-Language": "de-DE,fr-CA;q=0.8,en;q=0.5"}).text
    visitor.post("language", language="en")
    assert '<html lang="en"' in visitor.get(**{"Accept-Language": "fr"}).text


def test_a_language_that_the_study_does_not_have_is_passed_over(judge, edit):
    edit(languages=("en",), translations={})
    judge.post("language", language="fr")
    assert '<html lang="en"' in judge.get(**{"Accept-Language": "fr"}).text


BLANKS = ("%(number)d", "%(total)d", "%(n)s", "%(most)s", "%(host)s", "%(day)s", "%(title)s", "<strong>")


@pytest.mark.parametrize("language", ["fr", "es", "ar"])
def test_every_text_of_the_templates_is_translated_and_keeps_its_blanks(language):
    web = Path(settings.LOCALE_SOURCE).parent
    catalogue = polib.pofile(str(web / "locale" / language / "LC_MESSAGES/django.po"))
    assert not catalogue.untranslated_entries() + catalogue.fuzzy_entries()
    for entry in catalogue:
        for text in filter(None, [entry.msgstr, *entry.msgstr_plural.values()]):
            assert [blank in text for blank in BLANKS] == [blank in entry.msgid for blank in BLANKS]
    texts = {
        text
        for page in [*(web / "judge").glob("templates/**/*.*"), *(web / "people").glob("templates/**/*.txt")]
        for _, text in re.findall(r"{% translate (['\"])(.*?)\1 ", page.read_text(encoding="utf-8"))
    }
    assert texts
    assert texts <= {entry.msgid for entry in catalogue}


def test_a_refusal_speaks_the_judges_language(judge):
    judge.post("language", language="fr")
    assert judge.answer("left", pair="A" * 22).json()["said"].startswith("Cette paire")


def tick(judge, *positions):
    """Save the page with these areas ticked, as a browser sends it."""
    listed = judge.get("areas").context["listed"]
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(each) for each in positions], "listed": listed})


def unknown_to(judge):
    return sorted(UnknownArea.objects.filter(judge=judge.name).values_list("area__position", flat=True))


def test_ticked_areas_are_stored_and_taken_back(judge):
    tick(judge, 1, 5)
    assert unknown_to(judge) == [1, 5]
    assert judge.get("areas").text.count("checked") == 2
    tick(judge, 5)
    assert unknown_to(judge) == [5]


def test_a_mark_made_since_the_page_was_shown_stays(judge):
    """In another window, or on an area that the page did not list."""
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["1", "5", "9"], "listed": ""})
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": ["2"], "listed": "0,1,2,3"})
    assert unknown_to(judge) == [2, 5, 9]


def test_an_open_pair_with_such_an_area_is_left_alone_and_does_not_count(judge, study):
    shown = judge.pair()
    left = study.areas.get(name=shown["left"]).position
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(left)]})
    after = judge.pair()
    assert after["pair"] != shown["pair"]
    assert after["counter"] == shown["counter"]
    assert Answer.objects.get().outcome == "unknown"


def test_with_fewer_than_two_known_it_says_so_and_goes_on_when_one_is_back(judge):
    tick(judge, *range(15))
    assert judge.get()["Location"] == f"/j/{judge.token}/areas"
    assert "fewer than two" in judge.get("areas").text
    tick(judge, *range(14))
    shown = judge.pair()
    assert {shown["left"], shown["right"]} == {"Ward 4.3", "Ward 4.4"}
