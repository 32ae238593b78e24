"""Answers: to the pair that was shown, once, and changed while they are the last; anything else is refused kindly."""

from datetime import timedelta

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from judgemap.web.judge.models import Answer, Judge, Pair, UnknownArea
from judgemap.web.studies import editing


def outcomes() -> list[str]:
    return list(Answer.objects.order_by("pk").values_list("outcome", flat=True))


def shown_earlier(minutes: int) -> None:
    """Pretend that every pair was shown that long ago."""
    Pair.objects.update(issued_at=F("issued_at") - timedelta(minutes=minutes))


@pytest.mark.parametrize("outcome", ["left", "right", "tie", "skipped"])
def test_an_answer_is_stored_and_brings_the_next_pair(judge, outcome):
    first = judge.pair()
    shown_earlier(minutes=1)
    after = judge.answer(outcome, seen_ms="1234").json()
    answer = Answer.objects.get()
    assert (answer.pair.token, answer.outcome, answer.seen_ms) == (first["pair"], outcome, 1234)
    assert answer.answered_at >= answer.pair.issued_at
    assert after["pair"] != first["pair"]
    assert after["place"] == "pair"
    assert after == judge.pair()


def test_a_repeated_answer_changes_nothing(judge):
    pair = judge.pair()["pair"]
    once, twice = judge.answer("left", pair=pair), judge.answer("left", pair=pair)
    assert once.json() == twice.json()
    assert outcomes() == ["left"]
    assert Judge.objects.get(name=judge.name).judged == 1


def test_another_answer_to_an_answered_pair_is_refused(judge):
    pair = judge.pair()["pair"]
    judge.answer("left", pair=pair)
    response = judge.answer("right", pair=pair)
    assert (response.status_code, response.json()["why"]) == (409, "answered")
    assert outcomes() == ["left"]


def test_a_changed_answer_is_a_new_revision_and_the_old_one_is_kept(judge):
    judge.answer("left")
    waiting = judge.pair()
    last = judge.last()
    assert last["follows"] == 1
    after = judge.answer("right", pair=last["pair"], follows="1").json()
    assert after == waiting
    assert list(Answer.objects.order_by("pk").values_list("revision", "outcome")) == [(1, "left"), (2, "right")]
    assert Judge.objects.get(name=judge.name).judged == 1


def test_the_same_change_twice_is_one_revision(judge):
    judge.answer("left")
    pair = judge.last()["pair"]
    for _ in range(2):
        assert judge.answer("tie", pair=pair, follows="1").status_code == 200
    assert outcomes() == ["left", "tie"]


@pytest.mark.parametrize(("field", "outcome", "why"), [("ties", "tie", "no ties"), ("skips", "skipped", "no skips")])
def test_ties_and_skips_where_they_are_off_are_refused(judge, edit, field, outcome, why):
    edit(**{field: False})
    response = judge.answer(outcome)
    assert (response.status_code, response.json()["why"]) == (400, why)
    assert not Answer.objects.exists()
    page = judge.get().text
    assert f'value="{outcome}"' not in page
    assert "Give a reason for a tie or a skip" not in page, "only what can be given has a reason"


def test_a_pair_keeps_the_rules_that_it_was_shown_under(judge, edit):
    pair = judge.pair()["pair"]
    edit(ties=False)
    assert judge.answer("tie", pair=pair).status_code == 200
    assert judge.answer("tie").status_code == 400


def test_an_answer_past_the_maximum_is_refused(judge, edit):
    judge.answer("left")
    judge.answer("left")
    pair = judge.pair()["pair"]
    edit(recommended=1, maximum=2)
    response = judge.answer("left", pair=pair)
    assert (response.status_code, response.json()["why"]) == (409, "maximum")
    assert len(outcomes()) == 2


def test_undoing_unknown_cannot_pass_the_maximum(judge, edit):
    judge.answer("left")
    judge.answer("unknown-left")
    pair = judge.last()["pair"]
    edit(recommended=1, maximum=1)
    response = judge.answer("left", pair=pair, follows="1")
    assert response.json()["why"] == "maximum"
    assert Judge.objects.get(name=judge.name).judged == 1


def test_the_database_itself_holds_the_limits(judge, study):
    judge.pair()
    row = Judge.objects.get(name=judge.name)
    with pytest.raises(IntegrityError), transaction.atomic():
        Judge.objects.filter(pk=row.pk).update(judged=6)
    pair = Pair.objects.get()
    pair.pk, pair.token, pair.position = None, "x" * 22, 2
    with pytest.raises(IntegrityError), transaction.atomic():
        pair.save(force_insert=True)
    judge.answer("left")
    with pytest.raises(Exception, match="only ever added"), transaction.atomic():
        Answer.objects.update(outcome="right")


def test_dont_know_this_area_removes_it_and_does_not_count(judge):
    pair = judge.pair()
    after = judge.answer("unknown-right").json()
    answer = Answer.objects.get()
    assert (answer.outcome, answer.unknown_side) == ("unknown", "right")
    assert UnknownArea.objects.get().area.name == pair["right"]
    assert after["counter"] == "1 of about 3"


def test_an_unknown_area_is_never_shown_again(judge, edit):
    edit(recommended=200, maximum=200)
    unknown = {judge.pair()["left"]}
    judge.answer("unknown-left")
    shown = set()
    for _ in range(60):
        state = judge.pair()
        shown |= {state["left"], state["right"]}
        judge.answer("left")
        Judge.objects.update(busy_until=None)
    assert not shown & unknown
    assert len(shown) == 15


def test_taking_unknown_back_asks_about_the_area_again(judge):
    judge.answer("unknown-left")
    last = judge.last()
    judge.answer("right", pair=last["pair"], follows="1")
    assert not UnknownArea.objects.exists()
    assert Judge.objects.get(name=judge.name).judged == 1


def test_a_reason_is_kept_for_ties_and_skips_only(judge):
    judge.answer("tie", reason=" the\0 same \n" + "x" * 300)
    judge.answer("left", reason="because")
    first, second = Answer.objects.order_by("pk")
    assert first.reason.startswith("the same")
    assert len(first.reason) == 200
    assert second.reason == ""


def test_a_time_that_is_none_is_left_out_and_the_answer_kept(judge, edit):
    edit(recommended=20, maximum=20)
    rubbish = ("", "-5", "1e9", "99999999999999999999", "nan", "½")
    for seen in rubbish:
        judge.answer("left", seen_ms=seen)
    assert list(Answer.objects.values_list("seen_ms", flat=True)) == [None] * len(rubbish)


def test_time_in_view_is_at_most_what_the_server_saw(judge):
    judge.pair()
    shown_earlier(minutes=2)
    judge.answer("left", seen_ms="86000000")
    judge.answer("right", pair=judge.last()["pair"], follows="1", seen_ms="86000000")
    judge.answer("left", seen_ms="86000000")
    first, change, second = Answer.objects.order_by("pk").values_list("seen_ms", flat=True)
    assert 120_000 <= first < 180_000
    assert max(change, second) < 60_000


def test_time_in_view_is_the_browsers_where_the_servers_clock_went_back(judge):
    judge.pair()
    shown_earlier(minutes=-60)
    judge.answer("left", seen_ms="1500")
    assert Answer.objects.get().seen_ms == 1500


@pytest.mark.parametrize("back", [timedelta(seconds=20), timedelta(hours=1)])
def test_a_clock_that_went_back_refuses_nobody(judge, back):
    for _ in range(2):
        judge.answer("left")
    Judge.objects.update(busy_until=F("busy_until") + back)
    assert judge.answer("left").status_code == 200
    assert Judge.objects.get(name=judge.name).busy_until < timezone.now() + timedelta(seconds=2)


def test_only_the_last_answer_can_be_changed(judge):
    first = judge.pair()["pair"]
    judge.answer("left")
    judge.answer("left")
    refused = judge.answer("right", pair=first, follows="1")
    assert (refused.status_code, refused.json()["why"]) == (409, "not last")
    assert judge.answer("left", pair=first).status_code == 200, "the same answer again is no change"
    assert outcomes() == ["left", "left"]


def test_a_practice_answer_stays_once_judging_began(visit):
    judge = visit(agreed=False)
    judge.agree(begin="practice")
    practice = judge.pair()["pair"]
    judge.answer("left")
    judge.answer("left")
    assert judge.answer("right", pair=practice, follows="1").json()["why"] == "not last"


def test_a_judge_faster_than_anybody_is_slowed(judge, settings, edit):
    edit(recommended=500, maximum=500)
    settings.ANSWERS_PER_SECOND = 0.05
    statuses = [judge.answer("left").status_code for _ in range(8)]
    assert statuses[0] == 200
    assert statuses[-1] == 429
    stored = len(outcomes())
    Judge.objects.update(busy_until=Judge.objects.get(name=judge.name).busy_until - timedelta(minutes=2))
    assert judge.answer("left").status_code == 200
    assert len(outcomes()) == stored + 1


def test_a_refusal_without_a_script_is_a_kind_page(judge):
    page = judge.post("answer", pair="A" * 22, outcome="left")
    assert page.status_code == 409
    assert f'href="/j/{judge.token}/"' in page.text


def test_a_judgement_takes_a_handful_of_queries(judge):
    pair = judge.pair()["pair"]
    judge.answer("left", pair=pair)
    pair = judge.pair()["pair"]
    with CaptureQueriesContext(connection) as queries:
        judge.answer("left", pair=pair)
    asked = [each["sql"] for each in queries if not each["sql"].startswith(("SAVEPOINT", "RELEASE"))]
    assert len(asked) <= 9, "\n".join(asked)


def test_sides_are_random(judge, edit):
    edit(recommended=500, maximum=500)
    for _ in range(40):
        judge.answer("left")
        Judge.objects.update(busy_until=None)
    lower_left = sum(pair.left.position < pair.right.position for pair in Pair.objects.select_related("left", "right"))
    assert 5 < lower_left < 36, "a fair coin goes beyond this less than once in a million runs"


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


def test_with_nothing_to_undo_it_leads_home(judge, study):
    assert judge.get("last")["Location"] == f"/j/{judge.token}/"
    judge.answer("left")
    editing.close_study(study)
    assert judge.get("last")["Location"] == f"/j/{judge.token}/"
