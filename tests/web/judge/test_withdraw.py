"""The link page with the withdrawal code, and what the code does."""

import re

import pytest

from judgemap.web.judge.models import Answer, Consent, Judge, Pair, UnknownArea
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.studies import editing


def code_of(judge) -> str:
    return re.search(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", judge.get("link").text)[0]


def test_the_link_page_shows_link_qr_code_and_code(judge):
    page = judge.get("link").text
    assert f"http://testserver/j/{judge.token}/" in page
    assert "data:image/svg+xml" in page
    assert code_of(judge) == code_of(judge)


def test_the_code_is_not_stored(judge):
    code = code_of(judge)
    stored = str(Judge.objects.filter(name=judge.name).values().get())
    assert code not in stored
    assert code.replace("-", "") not in stored


@pytest.mark.parametrize("spelt", [str, str.lower, lambda code: f" {code.replace('-', ' ')} "])
def test_the_code_removes_what_this_judge_gave_and_nothing_else(judge, visit, client, spelt):
    other = visit()
    for visitor in (judge, other):
        visitor.answer("left")
        visitor.answer("unknown-left")
    page = client.post("/withdraw", {"code": spelt(code_of(judge))})
    assert "You have withdrawn" in page.text
    for model in (Answer, Pair, Consent, UnknownArea):
        field = "pair__judge" if model is Answer else "judge"
        assert not model.objects.filter(**{field: judge.name}).exists()
        assert model.objects.filter(**{field: other.name}).exists()
    row = Judge.objects.get(name=judge.name)
    assert (row.group, row.language, row.places, row.busy_until, row.went_on) == (None, "", [], None, False)
    assert "You have withdrawn" in judge.get().text
    assert judge.agree().status_code == 410
    assert other.pair()["place"] == "pair"


def test_it_works_when_the_study_is_closed_and_twice(judge, study, client):
    code = code_of(judge)
    judge.answer("left")
    editing.close_study(study)
    for _ in range(2):
        assert client.post("/withdraw", {"code": code}).status_code == 200
    assert not Answer.objects.exists()


@pytest.mark.parametrize("code", ["", "AAAA-AAAA-AAAA-AAAA", "\0", "x" * 5000])
def test_a_wrong_code_removes_nothing(judge, client, code):
    judge.answer("left")
    page = client.post("/withdraw", {"code": code})
    assert page.status_code == 404
    assert "We do not recognise this code" in page.text
    assert Answer.objects.exists()


def test_guessing_codes_is_slowed(client, db, monkeypatch):
    monkeypatch.setattr(WRONG_GUESSES, "_seconds", 1e6)
    statuses = [client.post("/withdraw", {"code": f"AAAA-{i}"}).status_code for i in range(60)]
    assert (statuses[0], statuses[-1]) == (404, 429)


@pytest.mark.parametrize(("language", "words"), [("fr", "Se retirer"), ("ar", "الانسحاب")])
def test_the_form_speaks_the_language_of_the_judge(judge, language, words):
    judge.post("language", language=language)
    address = f"/withdraw?language={language}"
    assert f'href="{address}"' in judge.get().text
    page = judge.client.get(address)
    assert f'<html lang="{language}"' in page.text
    assert words in page.text
    sent = {"code": "AAAA", "language": page.context["language"]}
    assert f'<html lang="{language}"' in judge.client.post("/withdraw", sent).text
    sent["code"] = code_of(judge)
    assert f'<html lang="{language}"' in judge.client.post("/withdraw", sent).text


def test_the_form_speaks_the_browsers_language(client, db):
    assert '<html lang="es"' in client.get("/withdraw", headers={"Accept-Language": "de, es"}).text


def test_the_form(client, db):
    assert client.get("/withdraw").status_code == 200
    assert client.put("/withdraw").status_code == 405
