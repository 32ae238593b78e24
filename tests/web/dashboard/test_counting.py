"""Tallies are what a plain recount gives, whatever judges do and whenever somebody looks."""

import numpy as np
import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st

from judgemap.study.data.comparisons import OUTCOMES, Outcome
from judgemap.web.dashboard import counting
from judgemap.web.dashboard.models import JudgeTally
from judgemap.web.judge import answering as judging
from judgemap.web.judge import joining
from judgemap.web.judge.comparisons import SIDES, load_comparisons
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.judge.place import Refused
from judgemap.web.server.tokens import withdrawal_code

N_JUDGES = 3
acts = st.tuples(
    st.integers(0, N_JUDGES - 1),
    st.sampled_from(["show", "left", "right", "tie", "skipped", "unknown left", "unknown right", "look", "change first",
                     "change last", "forget", "practise", "withdraw"]),
)  # fmt: skip


@pytest.fixture(autouse=True)
def _fast_judges(settings):
    settings.ANSWERS_PER_SECOND = 1e6


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
    """The same from the tallies."""
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
    assert counted(study) == plain, "from the tallies there are, and what came since"
    counting.keep_tallies(study)
    assert counted(study) == plain, "from the tallies alone"


@given(script=st.lists(acts, min_size=15, max_size=40), near=st.sampled_from([0, 3, 5000]))
def test_tallies_equal_a_recount(study, monkeypatch, script, near):
    monkeypatch.setattr(counting, "NEAR", near)
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


def test_only_what_is_new_is_read(study, visit, django_assert_num_queries):
    judges = [visit() for _ in range(3)]
    for judge in judges:
        judge.answer("left")
    counting.keep_tallies(study)
    with django_assert_num_queries(3):
        counting.count(study)
    before = {tally.pk: tally.stamp for tally in JudgeTally.objects.all()}
    judges[1].answer("right")
    counting.count(study)
    assert {tally.pk: tally.stamp for tally in JudgeTally.objects.all()} == before, "a page that is read writes nothing"
    counting.Upkeep()()
    after = {tally.pk: tally.stamp for tally in JudgeTally.objects.all()}
    assert {name for name in after if after[name] != before[name]} == {judges[1].name}


def test_a_pair_that_is_left_alone_is_noticed(study, judge):
    judge.pair()
    check(study)
    act(judge.token, "forget")
    assert counting.count(study).unknown("left").sum() == 1
    check(study)


def test_a_changed_answer_is_noticed(study, judge):
    for _ in range(3):
        judge.answer("left")
    check(study)
    act(judge.token, "change last")
    assert counting.count(study).data.count(Outcome.RIGHT) == 1
    check(study)


def test_a_tally_goes_with_its_judge(study, judge):
    judge.answer("left")
    counting.keep_tallies(study)
    assert JudgeTally.objects.count() == 1
    joining.withdraw(withdrawal_code(judge.token))
    assert JudgeTally.objects.count() == 0
    counting.keep_tallies(study)
    result = counting.count(study)
    assert len(result.data) == 0
    assert JudgeTally.objects.count() == 0


def test_nothing_is_kept_of_a_judge_who_withdraws_while_somebody_looks(study, judge, monkeypatch):
    judge.answer("left")
    keep = counting._keep

    def withdraw_first(tallies):
        joining.withdraw(withdrawal_code(judge.token))
        keep(tallies)

    monkeypatch.setattr(counting, "_keep", withdraw_first)
    counting.keep_tallies(study)
    assert JudgeTally.objects.count() == 0


def test_an_answer_between_two_readings_is_not_lost(study, judge, monkeypatch):
    """The judge changes a pair that is not among the news after they were listed, and then answers one that is."""
    judge.answer("left")
    counting.keep_tallies(study)
    first = Pair.objects.filter(judge_id=judge.name).order_by("position")[0]
    judge.answer("left")
    news = counting._news

    def list_first(near):
        keys = news(near)
        judge.answer("right", pair=first.token, follows="1")
        judge.answer("tie")
        return keys

    monkeypatch.setattr(counting, "_news", list_first)
    counting.keep_tallies(study)
    monkeypatch.setattr(counting, "_news", news)
    check(study)


def test_a_judge_of_another_study_is_not_counted(study, areas, definition, visit):
    from judgemap.web.studies import editing, making

    other = editing.open_study(making.create_study(definition, areas))
    visit().answer("left")
    visit(of=other).answer("right")
    assert counting.count(study).data.count(Outcome.LEFT) == 1
    assert counting.count(other).data.count(Outcome.RIGHT) == 1
    assert counting.count(other).answered.sum() == 1


def test_a_tally_of_an_earlier_version_is_made_again(study, judge):
    judge.answer("left")
    check(study)
    JudgeTally.objects.update(stamp="1 earlier", rows=b"nonsense")
    check(study)
    judge.answer("left")
    check(study)


def test_a_lost_tally_is_made_again(study, judge):
    judge.answer("left")
    check(study)
    JudgeTally.objects.all().delete()
    check(study)
    assert Judge.objects.count() == 1
    assert Answer.objects.count() == 1
