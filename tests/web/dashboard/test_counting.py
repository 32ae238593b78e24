"""Counts are what a plain recount gives, whatever judges do and whenever somebody looks, kept by a worker or not."""

import numpy as np
import pytest
from django.db import transaction
from django.urls import reverse
from hypothesis import given, settings
from hypothesis import strategies as st

from judgemap.study.data.comparisons import OUTCOMES, Outcome
from judgemap.web.dashboard import counting
from judgemap.web.dashboard.counting import Numbers, add_up, numbers_of
from judgemap.web.dashboard.models import StudyCounts
from judgemap.web.judge import answering as judging
from judgemap.web.judge import joining
from judgemap.web.judge.comparisons import SIDES, load_comparisons
from judgemap.web.judge.models import Pair
from judgemap.web.judge.place import Refused
from judgemap.web.people import retention
from judgemap.web.server.tokens import withdrawal_code
from judgemap.web.studies import editing, making

N_JUDGES = 3
acts = st.tuples(
    st.integers(0, N_JUDGES - 1),
    st.sampled_from(["show", "left", "right", "tie", "skipped", "unknown left", "unknown right", "look", "change first",
                     "change last", "forget", "practise", "withdraw"]),
)  # fmt: skip


def act(token: str, what: str) -> None:
    """Do one thing that a judge can do; what is refused changes nothing."""
    try:
        if what == "withdraw":
            joining.withdraw(withdrawal_code(token))
        elif what == "forget":
            shown = judging.current_pair(token)
            judging.mark_unknown(token, [shown.left.position] if shown else [], range(100))
        elif what == "practise":
            judging.end_practice(token)
        elif what.startswith("change"):
            change(token, last=what == "change last")
        elif (pair := judging.current_pair(token)) is not None and what != "show":
            outcome, _, side = what.partition(" ")
            judging.answer(token, judging.GivenAnswer(pair.token, outcome, side, seen_ms=None if side else 1234))
    except Refused:
        pass


def change(token: str, last: bool) -> None:
    """Change an answer: the last, or one that lies far back, which is refused."""
    pairs = Pair.objects.filter(judge=judging.find_judge(token), open=False, practice=False)
    pair = pairs.order_by("-position" if last else "position").first()
    if pair is not None:
        latest = pair.answers.order_by("-revision")[0]
        outcome = "right" if latest.outcome == "left" else "left"
        judging.answer(token, judging.GivenAnswer(pair.token, outcome, follows=latest.revision, seen_ms=77))


def recount(study) -> dict[tuple[str, int], tuple]:
    """Every pair that was shown with what was last said, read plainly."""
    by_pair = {}
    for pair in Pair.objects.filter(judge__study=study, practice=False).select_related("left", "right"):
        last = pair.answers.order_by("revision").last()
        facts: tuple = ("", None, None)
        if last:
            words = f"unknown {last.unknown_side}" if last.outcome == "unknown" else last.outcome
            elapsed = round((last.answered_at - pair.issued_at).total_seconds(), 3)
            facts = (words, elapsed if last.seen_ms is None else last.seen_ms / 1000, last.answered_at)
        by_pair[pair.judge_id, pair.position] = (pair.left.position, pair.right.position, *facts)
    return by_pair


def counted(study) -> dict[tuple[str, int], tuple]:
    """The same from what pages count."""
    result = counting.count(study)
    by_pair = {}
    data = result.data
    for row, (judge, outcome) in enumerate(zip(data.judge_names, data.outcome, strict=True)):
        side = SIDES[result.unknown_side[row]]
        facts: tuple = ("", None, None)
        if outcome != Outcome.OPEN:
            moment = np.datetime64(round(data.answered_at[row] * 1e6), "us").item()
            facts = (f"{OUTCOMES[outcome]} {side}".strip(), float(data.seconds[row]), moment)
        by_pair[judge, int(result.position[row])] = (int(data.left[row]), int(data.right[row]), *facts)
    assert [facts.name for facts in result.judges] == list(data.judges)
    return by_pair


def check(study) -> None:
    plain = {
        key: (*row[:4], row[4] and row[4].replace(tzinfo=None)) for key, row in recount(study).items()
    }  # fmt: skip
    assert counted(study) == plain, "read at once"
    counting.keep_counts(study)
    assert counted(study) == plain, "from what the worker keeps"
    StudyCounts.objects.all().delete()


@pytest.fixture
def many(monkeypatch):
    """Treat a few answers as very many."""
    monkeypatch.setattr(counting, "MANY", 1)


@settings(max_examples=settings.default.max_examples // 2)
@given(script=st.lists(acts, min_size=15, max_size=40), at_once=st.sampled_from([1, 2, 500]))
def test_counts_equal_a_recount(study, many, monkeypatch, script, at_once):
    monkeypatch.setattr(counting, "AT_ONCE", at_once)
    counting._rows_at.cache_clear()
    with transaction.atomic():
        tokens = [each.token for each in joining.invite(study, N_JUDGES)]
        for number, token in enumerate(tokens):
            judging.give_consent(token, "en", number)
        for judge, what in script:
            if what == "look":
                check(study)
            else:
                act(tokens[judge], what)
        check(study)
        check(study)
        transaction.set_rollback(True)


def test_the_numbers_are_those_of_the_comparisons(study, visit):
    judges = [visit() for _ in range(2)]
    for judge, outcomes in zip(judges, (["left", "tie"], ["skipped", "right", "left"]), strict=True):
        for outcome in outcomes:
            judge.answer(outcome, seen_ms="2000")
    data, result = load_comparisons(study), counting.count(study)
    for column in ("judge_names", "left", "right", "outcome", "seconds", "answered_at"):
        np.testing.assert_array_equal(getattr(result.data, column), getattr(data, column))
    assert result.data.digest() == data.digest()
    assert result.judged.sum() == 5 == sum(judge.judged for judge in result.judges)


def test_nothing_is_read_again_until_something_happens(study, visit, django_assert_num_queries):
    judges = [visit() for _ in range(3)]
    for judge in judges:
        judge.answer("left")
    counting.count(study)
    with django_assert_num_queries(5):
        counting.count(study)
    judges[1].answer("right")
    assert counting.count(study).data.count(Outcome.RIGHT) == 1


def test_counts_go_with_a_judge_who_withdraws(study, many, judge):
    judge.answer("left")
    counting.keep_counts(study)
    assert StudyCounts.objects.count() == 1
    joining.withdraw(withdrawal_code(judge.token))
    assert StudyCounts.objects.count() == 0
    assert len(counting.count(study).data) == 0


def test_counts_go_with_the_answers_when_their_day_is_over(study, many, judge):
    judge.answer("left")
    counting.keep_counts(study)
    retention.hide_answers(study)
    assert StudyCounts.objects.count() == 0


def test_nothing_is_kept_of_a_judge_who_withdraws_while_the_worker_counts(study, many, judge, monkeypatch):
    judge.answer("left")
    add_up = counting.add_up

    def withdraw_first(counted, n_areas):
        joining.withdraw(withdrawal_code(judge.token))
        return add_up(counted, n_areas)

    monkeypatch.setattr(counting, "add_up", withdraw_first)
    counting.keep_counts(study)
    assert StudyCounts.objects.count() == 0


def test_a_judge_who_comes_after_the_worker_counted_is_there_without_answers(study, many, judge, visit):
    judge.answer("left")
    counting.keep_counts(study)
    late = visit()
    late.answer("right")
    result = counting.count(study)
    assert {facts.name for facts in result.judges} == {judge.name, late.name}
    assert set(result.data.judge_names) == {judge.name}


def test_a_judge_of_another_study_is_not_counted(study, areas, definition, visit):
    other = editing.open_study(making.create_study(definition, areas))
    visit().answer("left")
    visit(of=other).answer("right")
    assert counting.count(study).data.count(Outcome.LEFT) == 1
    assert counting.count(other).data.count(Outcome.RIGHT) == 1
    assert counting.count(other).answered.sum() == 1


def test_packed_counts_are_the_same(played):
    added = add_up(counting.count(played), 16)
    again = Numbers.unpack(added.pack())
    assert all(np.array_equal(getattr(again, name), getattr(added, name)) for name in Numbers.__slots__)
    assert added.outcomes.sum() == len(counting.count(played).data)
    assert added.in_hour.sum() == added.at_position.sum()


def test_counts_of_few_answers_are_not_kept(played):
    assert counting.keep_counts(played)
    assert not StudyCounts.objects.exists()


def test_the_page_reads_what_the_worker_kept(played, clients, visit, many):
    keep_up = counting.Upkeep()
    keep_up()
    before = numbers_of(played, 16).outcomes.tolist()
    judge = visit(of=played)
    judge.answer("left")
    assert numbers_of(played, 16).outcomes.tolist() == before, "kept a moment ago"
    keep_up()
    assert numbers_of(played, 16).outcomes.tolist() == before
    StudyCounts.objects.update(due_at="2026-01-01T00:00:00Z")
    keep_up()  # no answer has come since, but this study was behind
    assert numbers_of(played, 16).outcomes[0] == before[0] + 1
    assert clients["owner"].get(reverse("dashboard:live", args=[played.slug])).status_code == 200
