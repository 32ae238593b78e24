"""A study's life: draft, open, paused, closed, deleted and copied; in whose list it is, and who shares it."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.utils import timezone

from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.results.models import FitRun
from judgemap.web.studies import access, editing
from judgemap.web.studies.areas import load_graph
from judgemap.web.studies.keeping import GRACE, delete_study, remove_due
from judgemap.web.studies.log import verify_log
from judgemap.web.studies.models import Act, Draft, Drawing, Study, StudyVersion


def act(client, study, what):
    return client.post(f"/studies/{study.slug}/status", {"act": what}, follow=True).text


def test_what_cannot_be_is_said_and_not_done(draft, clients):
    assert "cannot become paused" in act(clients["owner"], draft, "pause")
    act(clients["owner"], draft, "fly")
    draft.refresh_from_db()
    assert draft.status == "draft"


def test_closing_asks_first_and_can_be_undone(owned, clients, judge):
    url = "/studies/wards/close"
    assert clients["owner"].get(url).status_code == 200
    owned.refresh_from_db()
    assert owned.status == "open"
    for _ in range(2):
        assert clients["owner"].post(url).status_code == 302
        owned.refresh_from_db()
        assert owned.status == "closed"
    assert "cannot become open" in act(clients["owner"], owned, "open")
    assert "/studies/wards/reopen" in clients["owner"].get("/studies/wards/").text
    assert clients["owner"].post("/studies/wards/reopen").status_code == 302
    owned.refresh_from_db()
    assert (owned.status, owned.closed_at) == ("open", None)
    assert judge.answer("left").status_code == 200
    assert Act.objects.filter(study=owned, verb="reopened", researcher__email="owner@example.org").count() == 1


def test_a_study_whose_answers_were_removed_stays_closed(owned, clients):
    editing.close_study(owned)
    Study.objects.filter(pk=owned.pk).update(answers_removed_at=timezone.now())
    page = clients["owner"].get("/studies/wards/").text
    assert "/studies/wards/reopen" not in page
    refused = clients["owner"].post("/studies/wards/reopen", follow=True).text
    assert "were removed, so it stays closed" in refused
    owned.refresh_from_db()
    assert owned.status == "closed"


def test_before_opening_the_page_lists_what_to_look_at(draft, clients):
    checks = clients["owner"].get("/studies/wards/open").context["checks"]
    doubtful = [check.said for check in checks if not check.fine]
    assert len(checks) == 7
    for words in ("names no email address", "still our example", "no instructions", "Links would start with"):
        assert any(words in said for said in doubtful)
    assert any(check.fine and "about 1 minute" in check.said for check in checks)
    own = "Ask Ann Hill, ann@example.org, about this study."
    described = replace(editing.definition_of(draft), consent=own, example="Pick the safer one.")
    editing.change_study(draft, draft.owner, described)
    checks = clients["owner"].get("/studies/wards/open").context["checks"]
    assert [check.page for check in checks if not check.fine] == ["inviting:judges"]
    draft.refresh_from_db()
    editing.change_study(draft, draft.owner, replace(described, languages=("en", "fr", "ar", "es")))
    checks = clients["owner"].get("/studies/wards/open").context["checks"]
    assert any("cannot choose them: Spanish" in check.said for check in checks if not check.fine)


@pytest.mark.parametrize(("page", "fields"), [("close", {}), ("share", {"remove": "1"}), ("map", {"a": "0", "b": "5"})])
def test_what_is_done_to_a_study_that_is_gone_is_refused_in_a_sentence(owned, clients, monkeypatch, page, fields):
    """A colleague deletes it between the page that found it and the lock."""
    real = editing.locked

    def gone(study):
        Study.objects.filter(pk=study.pk).update(deleted_at=timezone.now())
        return real(study)

    for module in (editing, access):
        monkeypatch.setattr(module, "locked", gone)
    response = clients["owner"].post(f"/studies/wards/{page}", fields, follow=True)
    assert response.status_code in (200, 400)
    assert "was deleted or made again meanwhile" in response.text


def test_the_overview_counts(owned, clients, judge):
    judge.answer("left")
    summary = clients["owner"].get("/studies/wards/").context["summary"]
    assert [summary[name] for name in ("areas", "invited", "begun", "judged", "withdrawn")] == [16, 1, 1, 1, 0]
    assert summary["next_step"] == "wait"


def test_the_overview_knows_the_last_answer(owned, clients, judge, visit):
    """Whatever the outcomes: not all count among the pairs judged, by which the overview looks for it."""
    other = visit()
    given = ((judge, "left"), (other, "right"), (other, "unknown-left"), (judge, "unknown-right"), (judge, "skipped"))
    for who, outcome in given:
        assert who.answer(outcome).status_code == 200
        summary = clients["owner"].get("/studies/wards/").context["summary"]
        assert summary["last_answer"] == Answer.objects.latest("answered_at").answered_at


def test_the_overview_knows_the_last_answer_of_a_judge_who_marked_an_area_later(owned, clients, judge, visit):
    other = visit()
    for who in (other, judge):
        who.answer("left")
    Judge.objects.filter(name=other.name).update(busy_until=timezone.now() - timedelta(hours=1))
    other.client.post(f"/j/{other.token}/areas", {"unknown": [str(i) for i in range(16)]})
    summary = clients["owner"].get(f"/studies/{owned.slug}/").context["summary"]
    last = Answer.objects.latest("answered_at")
    assert (last.outcome, summary["last_answer"]) == ("unknown", last.answered_at)


def test_a_researcher_sees_own_and_shared_studies_only(owned, clients):
    assert "Wards" in clients["owner"].get("/studies/").text
    shared = clients["teammate"].get("/studies/").text
    assert "Wards" in shared
    assert "shared with you" in shared
    assert "Wards" not in clients["stranger"].get("/studies/").text


def test_it_asks_for_a_sign_in(clients):
    assert clients["anonymous"].get("/").status_code == 302
    assert clients["owner"].post("/studies/").status_code == 405


def test_studies_are_found_by_title(owned, clients):
    assert "Wards" in clients["owner"].get("/studies/", {"q": "WARD"}).text
    nothing = clients["owner"].get("/studies/", {"q": "zebra\0<b>"}).text
    assert "No title contains “zebra&lt;b&gt;”" in nothing
    assert "Show all" in nothing


def test_a_page_that_is_not_there_leads_home(clients):
    lost = clients["owner"].get("/nothing/here")
    assert lost.status_code == 404
    assert 'href="/studies/"' in lost.text
    assert 'href="/"' in clients["anonymous"].get("/nothing/here").text


def test_the_title_must_be_typed(owned, clients):
    page = "/studies/wards/delete"
    assert clients["owner"].get(page).status_code == 200
    refused = clients["owner"].post(page, {"title": "wrong"})
    assert refused.status_code == 400
    assert "exactly: Wards" in str(refused.context["form"].errors["title"])
    assert clients["teammate"].post(page, {"title": "Wards"}).status_code == 403
    owned.refresh_from_db()
    assert owned.deleted_at is None


def test_a_deleted_study_is_out_of_sight_and_can_come_back(owned, clients, judge):
    open_pair = judge.pair()["pair"]
    clients["owner"].post("/studies/wards/delete", {"title": " Wards "})
    for name in ("owner", "teammate"):
        assert clients[name].get("/studies/wards/").status_code == 404
    assert "Bring it back" in clients["owner"].get("/studies/").text
    assert judge.answer("left", pair=open_pair).status_code != 200
    assert clients["stranger"].post("/studies/wards/undelete").status_code == 404
    clients["owner"].post("/studies/wards/undelete")
    owned.refresh_from_db()
    assert (owned.status, owned.deleted_at) == ("paused", None)
    assert clients["owner"].get("/studies/wards/").status_code == 200
    assert {"deleted", "brought back"} <= set(Act.objects.values_list("verb", flat=True))


def test_after_the_grace_period_everything_goes_but_the_log(owned, judge):
    judge.answer("left")
    FitRun.objects.create(study=owned, number=1, version=owned.version)
    delete_study(owned, "Wards", owned.owner)
    remove_due()
    assert Study.objects.filter(pk=owned.pk).exists()
    Study.objects.update(deleted_at=timezone.now() - GRACE - timedelta(minutes=1))
    remove_due()
    for model in (Study, StudyVersion, Judge, Pair, Answer, FitRun, Drawing):
        assert not model.objects.exists(), model
    removed = Act.objects.get(verb="removed")
    assert removed.detail == {"study": "wards", "title": "Wards", "areas": 16, "judges": 1}
    assert verify_log() == []


def test_a_copy_has_the_map_and_the_texts_and_no_judges(owned, clients, judge, carry_out):
    clients["owner"].post("/studies/wards/map", {"a": "0", "b": "1"})
    first, second = (clients["owner"].post("/studies/wards/duplicate")["Location"] for _ in range(2))
    assert first == second, "a button pressed twice makes one copy"
    carry_out(Draft.objects.get())
    copy = Study.objects.exclude(pk=owned.pk).get()
    owned.refresh_from_db()
    assert (copy.status, copy.version.title, copy.owner) == ("draft", "Wards (copy)", owned.owner)
    assert copy.version.thanks == owned.version.thanks
    assert load_graph(copy.version).edges.tolist() == load_graph(owned.version).edges.tolist()
    assert copy.judges.count() == 0
    assert Drawing.objects.get(study=copy).paths == Drawing.objects.get(study=owned).paths


@pytest.mark.parametrize("may", ["", "read"])
def test_a_study_is_shared_by_address_and_taken_back(owned, clients, people, may):
    share = "/studies/wards/share"
    assert clients["owner"].post(share, {"email": " Stranger@Example.org ", "may": may}).status_code == 302
    assert clients["stranger"].get("/studies/wards/").status_code == 200
    clients["owner"].post(share, {"remove": str(people["stranger"].pk)})
    assert clients["stranger"].get("/studies/wards/").status_code == 404
    assert [act.verb for act in Act.objects.filter(study=owned, researcher=people["owner"])] == ["shared", "unshared"]


@pytest.mark.parametrize("key", ["", "x", "999999", "-1", "१", "9" * 40, "9" * 5000])
def test_taking_back_from_nobody_does_nothing(owned, clients, key):
    assert clients["owner"].post("/studies/wards/share", {"remove": key}).status_code in (302, 400)
    assert owned.colleagues.count() == 1


def test_a_colleague_becomes_a_reader_and_back(owned, clients, people):
    share = "/studies/wards/share"
    email = people["teammate"].email
    clients["owner"].post(share, {"email": email, "may": "read"})
    assert (owned.colleagues.count(), owned.readers.count()) == (0, 1)
    page = clients["teammate"].get("/studies/wards/").text
    assert "You can look at everything here" in page
    refused = clients["teammate"].post("/studies/wards/status", {"act": "pause"})
    assert refused.status_code == 403
    assert "You can look at this study but not change it" in refused.text
    clients["owner"].post(share, {"email": email, "may": "change"})
    assert (owned.colleagues.count(), owned.readers.count()) == (1, 0)
    assert clients["teammate"].post("/studies/wards/status", {"act": "pause"}).status_code == 302
