"""The adaptive design for one judge among others: against the joint covariance written out, and the design without."""

import numpy as np
import pytest

from judgemap.core.design import adaptive
from judgemap.core.design.adaptive import JudgeState, Known, gains, next_pair, state_among
from judgemap.core.model.counts import count_judged
from judgemap.core.model.prior import FixedVariance, Model, exponential
from judgemap.core.simulate.trials import draw_pairs

N, JUDGES = 5, 3
COVARIANCE = exponential(np.random.default_rng(3).random((N, 2)), 0.5)


@pytest.fixture
def counts():
    """Answers of all judges but the last."""
    rng = np.random.default_rng(1)
    left, right = draw_pairs(rng, N, 60).T
    judge = rng.integers(JUDGES - 1, size=60)
    return count_judged(judge, left, right, rng.choice([-1, 1], size=60), n_areas=N, n_judges=JUDGES)


def rows_of(judge, first, second):
    """X of (λ, u_1 … u_K), one row per pair and judge."""
    x = np.zeros((len(judge), JUDGES + 1, N))
    row = np.arange(len(judge))
    for block in (0, 1 + judge):
        x[row, block, first], x[row, block, second] = 1.0, -1.0
    return x.reshape(len(judge), -1)


def chance(d):
    return 1 / (1 + np.exp(-d))


def joint(counts, views):
    """The mode of (λ, u_1 … u_K) by plain Newton steps, and the precision there; α = 2."""
    prior = np.kron(np.eye(JUDGES + 1), np.linalg.inv(views))
    prior[:N, :N] = COVARIANCE.inverse / 4
    X, at = rows_of(counts.judge, counts.first, counts.second), np.zeros(N * (JUDGES + 1))
    for _ in range(50):
        p = chance(X @ at)
        precision = prior + X.T @ ((counts.n * p * (1 - p))[:, None] * X)
        at = at + np.linalg.solve(precision, X.T @ (counts.wins - counts.n * p) - prior @ at)
    return at.reshape(JUDGES + 1, N), precision


def state_of(counts, views, judge):
    """The same for one judge: the mode of μ_k = λ + u_k, Cov(λ, μ_k) and Cov(μ_k)."""
    maps, precision = joint(counts, views)
    V = np.linalg.inv(precision).reshape(JUDGES + 1, N, JUDGES + 1, N)
    own = 1 + judge
    cross = V[0, :, 0] + V[0, :, own]
    return JudgeState(maps[0] + maps[own], cross, cross + V[own, :, 0] + V[own, :, own])


def centred_trace(precision):
    V = np.linalg.inv(precision)[:N, :N]
    return np.trace(V) - V.sum() / N


@pytest.mark.parametrize("judge", range(JUDGES))
def test_gains_are_what_the_trace_loses(counts, judge):
    views = 0.8 * COVARIANCE.matrix
    state, (_, precision) = state_of(counts, views, judge), joint(counts, views)
    found = gains(state)
    for i, j in ((0, 1), (1, 4), (2, 3)):
        (x,), p = rows_of(np.array([judge]), [i], [j]), chance(state.own[i] - state.own[j])
        after = precision + p * (1 - p) * np.outer(x, x)
        assert found[i, j] == pytest.approx(centred_trace(precision) - centred_trace(after), rel=1e-6)


@pytest.mark.parametrize("judge", range(JUDGES))
def test_the_population_and_own_answers_give_the_state_of_all_answers(counts, judge):
    views = 0.8 * COVARIANCE.matrix
    maps, precision = joint(counts, views)
    own = counts.judge == judge
    first, second, wins, n = (each[own].astype(int) for each in (counts.first, counts.second, counts.wins, counts.n))
    winners = np.concatenate([np.repeat(first, wins), np.repeat(second, n - wins)])
    losers = np.concatenate([np.repeat(second, wins), np.repeat(first, n - wins)])
    found = state_among(Known(maps[0], np.linalg.inv(precision)[:N, :N], views), winners, losers)
    for mine, expected in zip(found, state_of(counts, views, judge), strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-4)


def test_judges_alike_are_asked_as_without_judges(counts):
    alike = adaptive.init(Model(counts.pairs(), COVARIANCE, FixedVariance(4.0)))
    np.testing.assert_allclose(gains(state_of(counts, 1e-9 * COVARIANCE.matrix, 2)), gains(alike), rtol=1e-3)


def test_a_new_judge_tells_more_than_one_who_has_answered(counts):
    heard, new = (gains(state_of(counts, 2.0 * COVARIANCE.matrix, judge)).sum() for judge in (0, 2))
    assert new > heard


def test_pairs_are_drawn_by_their_gains(counts):
    state = state_of(counts, 0.8 * COVARIANCE.matrix, 1)
    rng, gain = np.random.default_rng(1), gains(state)
    drawn = [next_pair(rng, state, temperature=0.02) for _ in range(20)]
    best = np.unravel_index(np.argmax(gain), gain.shape)
    assert {frozenset(pair[:2]) for pair in drawn} == {frozenset(best)}
    assert {*next_pair(rng, state, allowed=[1, 3])[:2]} == {1, 3}
