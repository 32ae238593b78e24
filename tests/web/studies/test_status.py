"""Draft, open, paused, closed."""

from dataclasses import replace

import pytest
from django.utils import timezone

from judgemap.web.judge.models import Answer
from judgemap.web.studies import access, editing
from judgemap.web.studies.models import Act, Study


def act(client, study, what):
    return client.post(f"/studies/{study.slug}/status", {"act": what}, follow=True).content.decode()


def test_a_draft_is_opened_paused_and_opened_again(draft, clients):
    owner = clients["owner"]
    for what, status in (("open", "open"), ("pause", "paused"), ("open", "open")):
        assert f"The study is {status} now." in act(owner, draft, what)
        draft.refresh_from_db()
        assert draft.status == status
    assert Act.objects.filter(study=draft, researcher__email="owner@example.org", verb="paused").count() == 1


def test_what_cannot_be_is_said_and_not_done(draft, clients):
    assert "cannot become paused" in act(clients["owner"], draft, "pause")
    act(clients["owner"], draft, "fly")
    draft.refresh_from_db()
    assert draft.status == "draft"


def test_closing_asks_first_and_can_be_undone(owned, clients, judge):
    url = f"/studies/{owned.slug}/close"
    assert clients["owner"].get(url).status_code == 200
    owned.refresh_from_db()
    assert owned.status == "open"
    for _ in range(2):
        assert clients["owner"].post(url).status_code == 302
        owned.refresh_from_db()
        assert owned.status == "closed"
    assert "cannot become open" in act(clients["owner"], owned, "open")
    assert f"/studies/{owned.slug}/reopen" in clients["owner"].get(f"/studies/{owned.slug}/").content.decode()
    assert clients["owner"].post(f"/studies/{owned.slug}/reopen").status_code == 302
    owned.refresh_from_db()
    assert (owned.status, owned.closed_at) == ("open", None)
    assert judge.answer("left").status_code == 200
    assert Act.objects.filter(study=owned, verb="reopened", researcher__email="owner@example.org").count() == 1


def test_a_study_whose_answers_were_removed_stays_closed(owned, clients):
    editing.close_study(owned)
    Study.objects.filter(pk=owned.pk).update(answers_removed_at=timezone.now())
    page = clients["owner"].get(f"/studies/{owned.slug}/").content.decode()
    assert f"/studies/{owned.slug}/reopen" not in page
    refused = clients["owner"].post(f"/studies/{owned.slug}/reopen", follow=True).content.decode()
    assert "were removed, so it stays closed" in refused
    owned.refresh_from_db()
    assert owned.status == "closed"


def test_before_opening_the_page_lists_what_to_look_at(draft, clients):
    checks = clients["owner"].get(f"/studies/{draft.slug}/open").context["checks"]
    doubtful = [check.said for check in checks if not check.fine]
    assert len(checks) == 7
    for words in ("names no email address", "still our example", "no instructions", "Links would start with"):
        assert any(words in said for said in doubtful)
    assert any(check.fine and "about 1 minute" in check.said for check in checks)
    own = "Ask Ann Hill, ann@example.org, about this study."
    described = replace(editing.definition_of(draft), consent=own, example="Pick the safer one.")
    editing.change_study(draft, draft.owner, described)
    checks = clients["owner"].get(f"/studies/{draft.slug}/open").context["checks"]
    assert [check.page for check in checks if not check.fine] == ["inviting:judges"]
    draft.refresh_from_db()
    editing.change_study(draft, draft.owner, replace(described, languages=("en", "fr", "ar", "es")))
    checks = clients["owner"].get(f"/studies/{draft.slug}/open").context["checks"]
    assert any("cannot choose them: Spanish" in check.said for check in checks if not check.fine)


@pytest.mark.parametrize("who", ["closed", "unshared", "joined"])
def test_what_is_done_to_a_study_that_is_gone_is_refused_in_a_sentence(owned, clients, people, who, monkeypatch):
    """A colleague deletes it between the page that found it and the lock."""
    real = editing.locked

    def gone(study):
        Study.objects.filter(pk=study.pk).update(deleted_at=timezone.now())
        return real(study)

    for module in (editing, access):
        monkeypatch.setattr(module, "locked", gone)
    path, fields = {
        "closed": ("close", {}),
        "unshared": ("share", {"remove": str(people["teammate"].pk)}),
        "joined": ("map", {"a": "0", "b": "5"}),
    }[who]
    response = clients["owner"].post(f"/studies/{owned.slug}/{path}", fields, follow=True)
    assert response.status_code in (200, 400)
    assert "was deleted or made again meanwhile" in response.content.decode()


@pytest.mark.parametrize(
    ("what", "words"), [(None, "What to do next"), ("pause", "The study is paused"), ("close", "See the results")]
)
def test_the_overview_says_what_to_do_next(owned, clients, what, words):
    if what == "pause":
        act(clients["owner"], owned, "pause")
    elif what == "close":
        clients["owner"].post(f"/studies/{owned.slug}/close")
    page = clients["teammate"].get(f"/studies/{owned.slug}/").content.decode()
    assert words in page
    assert f"/studies/{owned.slug}/close" not in page


def test_the_overview_counts(owned, clients, judge):
    judge.answer("left")
    summary = clients["owner"].get(f"/studies/{owned.slug}/").context["summary"]
    assert [summary[name] for name in ("areas", "invited", "begun", "judged", "withdrawn")] == [16, 1, 1, 1, 0]
    assert summary["next_step"] == "wait"


def test_the_overview_knows_the_last_answer(owned, clients, judge, visit):
    """Whatever the outcomes: not all count among the pairs judged, by which the overview looks for it."""
    other = visit()
    given = ((judge, "left"), (other, "right"), (other, "unknown-left"), (judge, "unknown-right"), (judge, "skipped"))
    for who, outcome in given:
        assert who.answer(outcome).status_code == 200
        summary = clients["owner"].get(f"/studies/{owned.slug}/").context["summary"]
        assert summary["last_answer"] == Answer.objects.latest("answered_at").answered_at
