"""Answers go when a judge withdraws or their day is over: what judges read, reminders, removal, certificate."""

import re
import smtplib
from dataclasses import replace
from datetime import date, timedelta

import pytest
from django.core import mail
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.web.dashboard import counting
from judgemap.web.dashboard.models import StudyCounts
from judgemap.web.judge.comparisons import History
from judgemap.web.judge.models import Answer, Consent, Judge, Pair, UnknownArea
from judgemap.web.people import retention
from judgemap.web.people.export import export_files
from judgemap.web.people.inviting import studies_overview
from judgemap.web.server.limits import WRONG_GUESSES
from judgemap.web.studies import editing, making
from judgemap.web.studies.editing import set_end
from judgemap.web.studies.keeping import certificate_of
from judgemap.web.studies.models import Act, Study


def in_days(days: int) -> date:
    return timezone.now().date() + timedelta(days=days)


@pytest.fixture
def ending(owned):
    """The study, whose answers are kept for another forty days."""
    return set_end(owned, in_days(40))


@pytest.mark.parametrize(
    ("language", "words"), [("en", "are kept until"), ("fr", "conservées jusqu’au"), ("ar", "تُحفظ إجاباتك حتى")]
)
def test_judges_read_the_day_before_they_agree(ending, visit, language, words):
    judge = visit(agreed=False)
    page = judge.get(**{"Accept-Language": language}).text
    assert words in page
    assert str(ending.answers_until.year) in page


def test_the_day_is_over(ending, judge, visit, later):
    judge.answer("left")
    judge.answer("unknown-left")
    visit().answer("tie")
    later(40)
    assert retention.remove_due() == []
    assert Answer.objects.exists()
    later(1)
    (certificate,) = retention.remove_due()
    assert judge.get().status_code == 404
    retention.erase_hidden()
    for model in (Answer, Pair, Consent, UnknownArea, Judge):
        assert not model.objects.exists()
    ending.refresh_from_db()
    assert (ending.status, ending.join_code) == ("closed", None)
    assert certificate == certificate_of(ending)
    kept = {"kept until": str(ending.answers_until), "judges and links": 2, "answers": 3, "pairs": 5, "consents": 2,
            "unknown areas": 1, "fits that tell judges apart": 0, "fits kept without judges": 0}  # fmt: skip
    assert certificate.detail == kept
    assert retention.remove_due() == []
    assert list(Study.objects.all()) == [ending]
    assert [act.verb for act in ending.acts.order_by("-number")[:2]] == ["answers erased", "answers removed"]


def test_hidden_answers_show_nowhere_and_go_after_a_crash(ending, clients, client, judge, visit, later, monkeypatch):
    """A process that dies between two turns leaves the rest to the next round."""
    code = judge.code
    judge.answer("left")
    visit().answer("tie")
    later(41)
    retention.remove_due()

    def crash(rows, **_):
        rows.filter(pk__in=list(rows.values_list("pk", flat=True)[:1])).delete()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(retention, "delete_in_turns", crash)
        with pytest.raises(KeyboardInterrupt):
            retention.erase_hidden()
    assert Answer.objects.count() == 1
    monkeypatch.setattr(counting, "MANY", 1)
    counting.Upkeep()()
    assert not StudyCounts.objects.exists()
    assert judge.get().status_code == 404
    assert client.post("/withdraw", {"code": code}).status_code == 404
    assert not History.read(ending).answer.size
    assert [row["judges"] for row in studies_overview()] == [0]
    names = list(Judge.objects.values_list("name", flat=True))
    assert clients["owner"].get(f"/studies/wards/dashboard/judges/{names[0]}").status_code == 404
    pages = ("", "judges", "dashboard", "dashboard/now", "dashboard/judges", "log")
    shown = {page: clients["owner"].get(f"/studies/wards/{page}") for page in pages}
    assert {answer.status_code for answer in shown.values()} == {200}
    texts = {page: answer.text for page, answer in shown.items()} | dict(export_files(ending))
    assert not [where for where, text in texts.items() if any(name in text for name in names)]
    retention.keep_promises()
    assert not Judge.objects.exists()
    assert not Answer.objects.exists()
    assert ending.acts.filter(verb="answers erased").count() == 1
    assert list(Study.objects.all()) == [ending]


def test_other_studies_keep_theirs(ending, areas, definition, visit, later):
    other = editing.open_study(making.create_study(definition, areas))
    visit(of=other).answer("left")
    later(41)
    retention.keep_promises()
    assert Answer.objects.count() == 1


def test_a_promised_day_comes_sooner_but_not_later(ending, visit):
    set_end(ending, in_days(50))
    visit()
    for day in (in_days(51), None):
        with pytest.raises(StudyError, match=r"judges have agreed .* you can only bring the date forward"):
            set_end(ending, day)
    assert set_end(ending, in_days(2)).answers_until == in_days(2)
    with pytest.raises(StudyError, match="in the past"):
        set_end(ending, in_days(-1))


def test_answers_without_an_end_can_be_given_one_when_the_study_is_closed(study, judge):
    editing.close_study(study)
    assert set_end(study, in_days(1)).answers_until == in_days(1)


def test_a_day_is_set_with_the_study_and_edited_with_its_form(owned, clients, areas, definition):
    made = making.create_study(replace(definition, answers_until=in_days(9)), areas)
    assert editing.definition_of(made).answers_until == in_days(9)
    with pytest.raises(StudyError, match="in the past"):
        making.create_study(replace(definition, answers_until=in_days(-9)), areas)
    page = clients["owner"].get("/studies/wards/judging")
    fields = {name: value for name, value in page.context["form"].initial.items() if value not in (None, False)}
    fields |= {"answers_until": str(in_days(12))}
    assert clients["owner"].post("/studies/wards/judging", fields).status_code == 302
    owned.refresh_from_db()
    assert owned.answers_until == in_days(12)
    page = clients["owner"].post("/studies/wards/judging", fields | {"answers_until": "2001-01-01", "based_on": "2"})
    assert "in the past" in page.text


def test_researchers_see_the_day_and_then_the_certificate(ending, clients, judge, later):
    judge.answer("left")
    page = clients["teammate"].get("/studies/wards/").text
    assert "deleted in 40 days" in page
    assert "Download what you may keep" not in page
    set_end(ending, in_days(20))
    assert "Download what you may keep" in clients["teammate"].get("/studies/wards/").text
    Study.objects.update(answers_until=in_days(-1))
    retention.keep_promises()
    page = clients["teammate"].get("/studies/wards/").text
    assert "The answers were removed" in page
    assert "answers: 1" in page


def test_owners_are_reminded_once_for_each_time(ending, later, settings):
    retention.remind_due()
    assert not mail.outbox
    settings.MAIL_IS_SENT = True
    for days, sent in ((0, 0), (9, 0), (1, 1), (0, 1), (25, 2), (5, 3)):
        later(days)
        retention.remind_due()
        assert len(mail.outbox) == sent
    assert mail.outbox[0].to == ["owner@example.org"]
    assert f"kept until {ending.answers_until}" in mail.outbox[0].body
    assert [act.detail["days"] for act in Act.objects.filter(verb="reminded").order_by("pk")] == [30, 7, 1]


def test_a_reminder_that_cannot_be_sent_stops_nothing(ending, later, settings, monkeypatch, caplog):
    def fail(*_):
        raise smtplib.SMTPServerDisconnected("gone")

    settings.MAIL_IS_SENT = True
    monkeypatch.setattr(retention, "send_mail", fail)
    later(39)
    retention.keep_promises()
    assert "a reminder was not sent" in caplog.text
    later(2)
    retention.keep_promises()
    assert Act.objects.filter(verb="answers removed").count() == 1


def test_the_link_page_shows_link_qr_code_and_code(judge):
    page = judge.get("link").text
    assert f"http://testserver/j/{judge.token}/" in page
    assert "data:image/svg+xml" in page
    code = re.search(r"[A-Z2-7]{4}(-[A-Z2-7]{4}){3}", page)[0]
    assert code == judge.code
    stored = str(Judge.objects.filter(name=judge.name).values().get())
    assert code not in stored
    assert code.replace("-", "") not in stored


@pytest.mark.parametrize("spelt", [str, str.lower, lambda code: f" {code.replace('-', ' ')} "])
def test_the_code_removes_what_this_judge_gave_and_nothing_else(judge, visit, client, spelt):
    other = visit()
    for visitor in (judge, other):
        visitor.answer("left")
        visitor.answer("unknown-left")
    page = client.post("/withdraw", {"code": spelt(judge.code)})
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
    code = judge.code
    judge.answer("left")
    editing.close_study(study)
    for _ in range(2):
        assert client.post("/withdraw", {"code": code}).status_code == 200
    assert not Answer.objects.exists()


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
    sent["code"] = judge.code
    assert f'<html lang="{language}"' in judge.client.post("/withdraw", sent).text


def test_the_form(client, db):
    assert client.get("/withdraw").status_code == 200
    assert client.put("/withdraw").status_code == 405
    assert '<html lang="es"' in client.get("/withdraw", headers={"Accept-Language": "de, es"}).text
