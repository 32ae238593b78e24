"""Draft, open, paused, closed."""

import pytest

from judgemap.web.judge.models import Answer
from judgemap.web.studies.models import Act


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


def test_closing_asks_first_and_is_for_good(owned, clients):
    url = f"/studies/{owned.slug}/close"
    assert "for good?" in clients["owner"].get(url).content.decode()
    owned.refresh_from_db()
    assert owned.status == "open"
    clients["owner"].post(url)
    owned.refresh_from_db()
    assert owned.status == "closed"
    assert "cannot become open" in act(clients["owner"], owned, "open")
    assert clients["owner"].post(url).status_code == 302


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
    assert "Close this study for good" not in page


def test_the_overview_counts(owned, clients, judge):
    judge.answer("left")
    summary = clients["owner"].get(f"/studies/{owned.slug}/").context["summary"]
    assert (summary.areas, summary.invited, summary.begun, summary.judged, summary.withdrawn) == (16, 1, 1, 1, 0)
    assert summary.next_step == "wait"


def test_the_overview_knows_the_last_answer(owned, clients, judge, visit):
    """Whatever the outcomes: not all count among the pairs judged, by which the overview looks for it."""
    other = visit()
    given = ((judge, "left"), (other, "right"), (other, "unknown-left"), (judge, "unknown-right"), (judge, "skipped"))
    for who, outcome in given:
        assert who.answer(outcome).status_code == 200
        summary = clients["owner"].get(f"/studies/{owned.slug}/").context["summary"]
        assert summary.last_answer == Answer.objects.latest("answered_at").answered_at
