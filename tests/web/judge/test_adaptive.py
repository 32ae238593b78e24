"""The adaptive design: its state follows from the database alone."""

import numpy as np
import pytest

from judgemap.web.judge import scheduling
from judgemap.web.judge.models import Pair
from judgemap.web.studies import actions


@pytest.fixture
def asked(edit, study):
    edit(design="adaptive", recommended=100, maximum=100)
    scheduling._STATES.clear()
    return actions.find_study(study.slug).version


def state(version):
    return scheduling._state(version)


def afresh(version):
    scheduling._STATES.clear()
    return scheduling._state(version)


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
    for _ in range(6):
        shown = judge.pair()
        assert {shown["left"], shown["right"]} <= {"Ward 4.2", "Ward 4.3", "Ward 4.4"}
        judge.answer("left")
