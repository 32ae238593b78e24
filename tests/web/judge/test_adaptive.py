"""The adaptive design: its state depends only on the database."""

import numpy as np
import pytest

from judgemap.core.design import adaptive
from judgemap.core.design.adaptive import Known, gains, state_among
from judgemap.web.judge import pairs
from judgemap.web.judge.answering import find_judge
from judgemap.web.judge.models import Judge, Pair, PopulationMap
from judgemap.web.studies import editing


@pytest.fixture
def asked(edit, study):
    edit(design="adaptive", recommended=100, maximum=100)
    return editing.find_study(study.slug).version


def state(version):
    return pairs._state(version)


def afresh(version):
    pairs._STATES.clear()
    return pairs._state(version)


def assert_same(one, other):
    assert np.allclose(one.mode, other.mode, atol=1e-8)
    assert np.allclose(one.covariance, other.covariance, atol=1e-8)


def test_it_draws_pairs_with_their_probabilities(judge, asked):
    for outcome in ("left", "right", "tie", "unknown-left", "left"):
        assert judge.answer(outcome).status_code == 200
    pairs = Pair.objects.all()
    assert {pair.design for pair in pairs} == {"adaptive"}
    assert all(0 < pair.probability < 1 for pair in pairs)


def test_after_a_restart_the_state_is_the_same(judge, asked):
    state(asked)
    for outcome in ("left", "right", "tie", "skipped", "left"):
        judge.answer(outcome)
    followed = state(asked)
    assert followed.model.counts.total == 3
    assert_same(followed, afresh(asked))


def test_a_changed_answer_and_a_withdrawal_are_taken_in(judge, visit, asked, client):
    other = visit()
    for visitor in (judge, other):
        visitor.answer("left")
    before = state(asked)
    judge.answer("right", pair=judge.last()["pair"], follows="1")
    assert not np.allclose(state(asked).mode, before.mode)
    assert_same(state(asked), afresh(asked))
    client.post("/withdraw", {"code": other.get("link").context["code"]})
    assert state(asked).model.counts.total == 1
    assert_same(state(asked), afresh(asked))


def test_unknown_areas_are_not_asked(judge, asked):
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(i) for i in range(13)]})
    for _ in range(3):
        shown = judge.pair()
        assert {shown["left"], shown["right"]} <= {"Ward 4.2", "Ward 4.3", "Ward 4.4"}
        judge.answer("left")
    assert judge.pair() == {"place": "elsewhere"}, "all pairs of three areas were asked"


@pytest.fixture
def population(asked, areas):
    """What a fit said: areas alike, and judges who differ area by area."""
    known = Known(np.zeros(len(areas)), 4 * np.eye(len(areas)), np.eye(len(areas)))
    PopulationMap.objects.create(study=asked.study, fit_number=1, packed=pairs.pack_population(known))
    return known


def test_each_judge_is_asked_by_the_population_and_their_own_answers(judge, visit, asked, population):
    other = visit()
    for outcome in ("left", "tie", "right", "skipped"):
        judge.answer(outcome)
    judge.answer("left", pair=judge.last()["pair"], follows="1")
    winners, losers = pairs._own_answers(Judge.objects.get(name=judge.name))
    shown = Pair.objects.filter(judge_id=judge.name, open=False).order_by("position")
    sides = [(pair.left.position, pair.right.position) for pair in shown]
    expected = [sides[0], sides[2][::-1], sides[3]]
    assert list(zip(winners.tolist(), losers.tolist(), strict=True)) == expected
    assert [len(each) for each in pairs._own_answers(Judge.objects.get(name=other.name))] == [0, 0]
    mine = gains(state_among(population, winners, losers))
    theirs = gains(state_among(population, winners[:0], losers[:0]))
    assert mine[sides[0]] < theirs[sides[0]], "a pair that this judge has answered tells less"
    drawn = [pairs.next_pair(np.random.default_rng(1), find_judge(each.token)) for each in (judge, other)]
    assert all(0 < pair.probability < 1 for pair in drawn)


def test_unknown_areas_are_not_asked_by_the_population_either(judge, population):
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(i) for i in range(14)]})
    assert {judge.pair()["left"], judge.pair()["right"]} == {"Ward 4.3", "Ward 4.4"}
    judge.client.post(f"/j/{judge.token}/areas", {"unknown": [str(i) for i in range(15)]})
    assert "left" not in judge.pair()


def test_without_a_fit_of_judges_who_differ_all_are_asked_alike(judge, asked, population, monkeypatch):
    monkeypatch.setattr(adaptive, "state_among", None)
    PopulationMap.objects.all().delete()
    assert judge.answer("left").status_code == 200
