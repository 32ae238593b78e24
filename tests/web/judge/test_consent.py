"""Agreeing: stored with the version of the text, and enforced by the server."""

import html

import pytest

from judgemap.web.judge.models import Answer, Consent, Judge, Pair
from judgemap.web.people.inviting import texts_to_send
from judgemap.web.studies import editing


def test_consent_is_stored_with_its_version_and_language(visit, study):
    visitor = visit(agreed=False)
    visitor.post("language", language="fr")
    assert visitor.agree()["Location"] == f"/j/{visitor.token}/"
    consent = Consent.objects.get()
    assert (consent.version_id, consent.language) == (study.current_id, "fr")
    assert consent.text_digest == consent.version.consent_digest


def test_without_the_tick_nothing_is_stored(visit):
    visitor = visit(agreed=False)
    assert visitor.post("consent", begin="now").status_code == 403
    assert not Consent.objects.exists()


def test_consent_twice_is_once(judge):
    judge.agree()
    assert Consent.objects.count() == 1


def test_an_answer_without_consent_is_refused(visit):
    visitor = visit(agreed=False)
    other = visit()
    assert visitor.answer("left", pair=other.pair()["pair"]).json()["why"] == "no consent"
    assert not Answer.objects.exists()


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


def test_wrong_method(judge):
    assert judge.get("consent").status_code == 405


@pytest.mark.parametrize(
    ("pairs", "words"), [(3, "about 1 minute."), (60, "about 10 minutes."), (200, "about 34 minutes.")]
)
def test_how_long_it_takes_depends_on_the_pairs_and_is_the_same_everywhere(visit, edit, study, client, pairs, words):
    edit(recommended=pairs, maximum=200, access="open")
    study.refresh_from_db()
    promise = f"We don't ask for your name or email. It takes {words}"
    for page in (visit(agreed=False).get(), client.get(f"/s/{study.join_code}/")):
        assert promise in " ".join(html.unescape(page.text).split())
    assert promise in texts_to_send(study, "invitation")[0]["text"]
