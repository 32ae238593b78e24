"""The adaptive design for one judge among others: against the joint covariance written out, and the design without."""

import numpy as np
import pytest

from judgemap.core.design import adaptive
from judgemap.core.design.adaptive_judges import (
    Known,
    gains,
    judge_state,
    next_pair,
    state_among,
)
from judgemap.core.design.population import Population
from judgemap.core.model.counts import count_judged
from judgemap.core.model.prior import FixedVariance, Model, exponential
from judgemap.core.simulate.trials import draw_pairs

N, JUDGES = 5, 3
COVARIANCE = exponential(np.random.default_rng(3).random((N, 2)), 0.5)


@pytest.fixture
def counts():
    rng = np.random.default_rng(1)
    left, right = draw_pairs(rng, N, 60).T
    judge = rng.integers(JUDGES - 1, size=60)
    return count_judged(judge, left, right, rng.choice([-1, 1], size=60), n_areas=N, n_judges=JUDGES)


def joint_precision(counts, people, maps):
    """The precision of (λ, u_1 … u_K), row by row."""
    precision = np.kron(np.eye(JUDGES + 1), np.linalg.inv(people.views))
    precision[:N, :N] = people.covariance.inverse / people.alpha**2
    for row in range(len(counts.n)):
        k, i, j = counts.judge[row], counts.first[row], counts.second[row]
        d = maps[k][i] - maps[k][j]
        x = direction(k, i, j)
        precision += counts.n[row] * np.outer(x, x) / (2 + np.exp(d) + np.exp(-d))
    return precision


def direction(k, i, j):
    x = np.zeros((JUDGES + 1, N))
    x[0, [i, j]] = x[1 + k, [i, j]] = 1, -1
    return x.ravel()


def centred_trace(precision):
    V = np.linalg.inv(precision)[:N, :N]
    return np.trace(V) - V.sum() / N


@pytest.mark.parametrize("judge", range(JUDGES))
def test_gains_are_what_the_trace_loses(counts, judge):
    people = Population(COVARIANCE, 2.0, 0.8 * COVARIANCE.matrix)
    maps = [judge_state(counts, people, each).own for each in range(JUDGES)]
    precision = joint_precision(counts, people, maps)
    found = gains(judge_state(counts, people, judge))
    for i, j in ((0, 1), (1, 4), (2, 3)):
        d = maps[judge][i] - maps[judge][j]
        x = direction(judge, i, j)
        after = precision + np.outer(x, x) / (2 + np.exp(d) + np.exp(-d))
        assert found[i, j] == pytest.approx(centred_trace(precision) - centred_trace(after), rel=1e-6)


def test_the_mode_is_a_mode(counts):
    people = Population(COVARIANCE, 2.0, 0.8 * COVARIANCE.matrix)
    states = [judge_state(counts, people, each) for each in range(JUDGES)]
    score = np.zeros(N)
    for row in range(len(counts.n)):
        own, i, j = states[counts.judge[row]].own, counts.first[row], counts.second[row]
        rest = counts.wins[row] - counts.n[row] / (1 + np.exp(own[j] - own[i]))
        score[i], score[j] = score[i] + rest, score[j] - rest
    np.testing.assert_allclose(score, COVARIANCE.inverse @ states[0].population / 4, atol=1e-4)


def test_judges_alike_are_asked_as_without_judges(counts):
    people = Population(COVARIANCE, 2.0, 1e-9 * COVARIANCE.matrix)
    alike = adaptive.init(Model(counts.pairs(), COVARIANCE, FixedVariance(4.0)))
    np.testing.assert_allclose(gains(judge_state(counts, people, 2)), adaptive.gains(alike), rtol=1e-3)


def test_a_new_judge_tells_more_than_one_who_has_answered(counts):
    people = Population(COVARIANCE, 2.0, 2.0 * COVARIANCE.matrix)
    heard, new = (gains(judge_state(counts, people, judge)).sum() for judge in (0, 2))
    assert new > heard


def test_pairs_are_drawn_by_their_gains(counts):
    state = judge_state(counts, Population(COVARIANCE, 2.0, 0.8 * COVARIANCE.matrix), 1)
    rng, gain = np.random.default_rng(1), gains(state)
    drawn = [next_pair(rng, state, temperature=0.02) for _ in range(20)]
    best = np.unravel_index(np.argmax(gain), gain.shape)
    assert {frozenset(pair[:2]) for pair in drawn} == {frozenset(best)}
    assert {*next_pair(rng, state, allowed=[1, 3])[:2]} == {1, 3}


def test_a_judge_who_is_not_there(counts):
    with pytest.raises(ValueError, match=r"judges are 0 … 2"):
        judge_state(counts, Population(COVARIANCE, 2.0, COVARIANCE.matrix), 3)


@pytest.mark.parametrize("judge", range(JUDGES))
def test_what_is_known_of_the_population_and_own_answers_give_the_same_state(counts, judge):
    """The last judge has no answers."""
    people = Population(COVARIANCE, 2.0, 0.8 * COVARIANCE.matrix)
    states = [judge_state(counts, people, each) for each in range(JUDGES)]
    V = np.linalg.inv(joint_precision(counts, people, [state.own for state in states]))[:N, :N]
    own = counts.judge == judge
    first, second, wins = counts.first[own], counts.second[own], counts.wins[own].astype(int)
    losses = counts.n[own].astype(int) - wins
    winners = np.concatenate([np.repeat(first, wins), np.repeat(second, losses)])
    losers = np.concatenate([np.repeat(second, wins), np.repeat(first, losses)])
    found = state_among(Known(states[judge].population, V, people.views), winners, losers)
    for mine, expected in zip(found, states[judge], strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-4)
