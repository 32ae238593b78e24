"""The adaptive design compared with brute force, and its state with the tallies only."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from synthetic import all_pairs, delaunay_map, fit_of_draws

from judgemap.core.design import adaptive
from judgemap.core.design.adaptive import AdaptiveState, gains, init, next_pair, update
from judgemap.core.model.counts import PairCounts, count_pairs, information, score
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability, independent
from judgemap.core.simulate.trials import answer, simulate_counts

COVARIANCE = communicability(delaunay_map(9))


def model(size=40, alpha=3.0, seed=1, covariance=COVARIANCE):
    rng = np.random.default_rng(seed)
    strengths = alpha * covariance.draw(rng, 1)[0]
    counts = simulate_counts(rng, strengths, size) if size else nothing_asked(covariance.n_areas)
    return Model(counts, covariance, FixedVariance(alpha**2))


def nothing_asked(n_areas):
    return PairCounts(n_areas, [], [], [], [])


def brute_force_gains(state):
    """Invert the precision with each pair added, in turn."""
    n = len(state.mode)
    K = np.eye(n) - 1 / n
    prior = state.model.covariance.inverse / state.model.variance.value
    precision = prior + information(state.model.counts, state.mode)
    before = np.trace(K @ np.linalg.inv(precision) @ K)
    gain = np.zeros((n, n))
    for i, j in all_pairs(n):
        x = np.eye(n)[i] - np.eye(n)[j]
        p = 1 / (1 + np.exp(-x @ state.mode))
        after = np.trace(K @ np.linalg.inv(precision + p * (1 - p) * np.outer(x, x)) @ K)
        gain[i, j] = gain[j, i] = before - after
    return gain


@pytest.mark.parametrize("size", [0, 1, 40, 400])
def test_gain_is_what_the_trace_loses(size):
    state = init(model(size))
    expected = brute_force_gains(state)
    np.testing.assert_allclose(gains(state), expected, rtol=1e-7, atol=1e-9 * expected.max())


def test_gain_without_its_denominator_is_caught():
    state = init(model(1))
    doubled = AdaptiveState(state.model, state.mode, 2 * state.covariance)
    assert abs(gains(doubled) / 4 - brute_force_gains(state)).max() > 0.05 * gains(state).max()


@given(st.integers(0, 10_000), st.sampled_from([0.1, 1.0, 3.0, 30.0]), st.integers(0, 60))
def test_the_mode_is_the_mode(seed, alpha, size):
    state = init(model(size, alpha, seed))
    gradient = score(state.model.counts, state.mode) - COVARIANCE.inverse @ state.mode / alpha**2
    assert gradient @ state.covariance @ gradient < 1e-19
    precision = information(state.model.counts, state.mode) + COVARIANCE.inverse / alpha**2
    np.testing.assert_allclose(state.covariance @ precision, np.eye(9), atol=1e-8)


@given(st.integers(0, 10_000), st.sampled_from([0.3, 3.0, 20.0]))
def test_updating_gives_the_state_of_the_tallies(seed, alpha):
    """Warm or cold start, one answer at a time or all at once: the same mode, covariance and next pairs."""
    rng = np.random.default_rng(seed)
    strengths = alpha * COVARIANCE.draw(rng, 1)[0]
    state, given = init(model(0, alpha)), []
    for _ in range(25):
        pair = next_pair(rng, state, temperature=0.5)
        (left_won,) = answer(rng, np.array([[pair.left, pair.right]]), strengths)
        given.append((pair.left, pair.right) if left_won else (pair.right, pair.left))
        state = update(state, *given[-1])
    assert state.model.counts.total == 25
    rebuilt = init(state.model)
    sd = np.sqrt(np.diagonal(rebuilt.covariance))
    for each in (state, update(init(model(0, alpha)), *np.transpose(given))):
        np.testing.assert_allclose(each.mode / sd, rebuilt.mode / sd, atol=1e-8)
        np.testing.assert_allclose(each.covariance, rebuilt.covariance, rtol=1e-7, atol=1e-9 * sd.max() ** 2)
        for draw in range(20):
            ours, theirs = (next_pair(np.random.default_rng(draw), s, temperature=0.5) for s in (each, rebuilt))
            assert ours[:2] == theirs[:2]
            assert ours.probability == pytest.approx(theirs.probability, rel=1e-6)


def test_update_tallies_new_and_old_pairs():
    state = init(Model(count_pairs([0], [1], 4), independent(4), FixedVariance(4.0)))
    expected = count_pairs([0, 1, 3, 2, 0], [1, 0, 2, 3, 1], 4)
    at_once = update(state, [1, 3, 2, 0], [0, 2, 3, 1])
    for winner, loser in ((1, 0), (3, 2), (2, 3), (0, 1)):
        state = update(state, winner, loser)
    for each in (state, at_once):
        for field in ("first", "second", "n", "wins"):
            np.testing.assert_array_equal(getattr(each.model.counts, field), getattr(expected, field))


def test_a_surprising_answer_is_taken_in():
    """Thirty answers one way and then one the other: far from the last mode, where plain steps would overshoot."""
    state = init(Model(count_pairs([0] * 30, [1] * 30, 3), independent(3), FixedVariance(1e4)))
    for _ in range(3):
        state = update(state, 1, 0)
    rebuilt = init(state.model)
    np.testing.assert_allclose(state.mode, rebuilt.mode, atol=1e-7)
    assert state.mode[0] - state.mode[1] == pytest.approx(np.log(30 / 3), abs=0.01)


def shares(state, temperature, areas):
    weights = gains(state)[np.ix_(areas, areas)] ** (1 / temperature)
    q = np.zeros_like(gains(state))
    q[np.ix_(areas, areas)] = weights / (weights.sum() / 2)
    return q


@pytest.mark.statistical
@pytest.mark.parametrize("temperature", [1.0, 3.0])
@pytest.mark.parametrize("allowed", [None, [0, 2, 3, 7]])
def test_pairs_are_drawn_by_gain(temperature, allowed):
    """χ² with a false alarm in 10,000; a wrong temperature must be caught."""
    state, rng = init(model(60)), np.random.default_rng(3)
    areas = np.arange(9) if allowed is None else np.array(allowed)
    drawn = [next_pair(rng, state, temperature, allowed) for _ in range(6_000)]
    pairs = np.array([(pair.left, pair.right) for pair in drawn])
    q = shares(state, temperature, areas)
    assert fit_of_draws(pairs, q) > 1e-4
    assert fit_of_draws(pairs, shares(state, 0.4, areas)) < 1e-9
    np.testing.assert_allclose([pair.probability for pair in drawn], q[pairs[:, 0], pairs[:, 1]], rtol=1e-9)
    assert abs((pairs[:, 0] < pairs[:, 1]).mean() - 0.5) < 3.9 * 0.5 / np.sqrt(len(pairs))


def log_traces_against_uniform(covariance, n_answers, n_studies):
    """log(tr adaptive / tr uniform) of simulated studies with the same strengths."""
    differences = []
    for seed in range(n_studies):
        rng = np.random.default_rng(seed)
        strengths = 3 * covariance.draw(rng, 1)[0]
        state = init(Model(nothing_asked(covariance.n_areas), covariance, FixedVariance(9.0)))
        for _ in range(n_answers):
            left, right, _ = next_pair(rng, state, temperature=0.5)
            (won,) = answer(rng, np.array([[left, right]]), strengths)
            state = update(state, *((left, right) if won else (right, left)))
        uniform = init(Model(simulate_counts(rng, strengths, n_answers), covariance, FixedVariance(9.0)))
        differences.append(np.log(trace(state) / trace(uniform)))
    return np.array(differences)


@pytest.mark.statistical
def test_adaptive_pairs_leave_less_variance_than_uniform_ones(monkeypatch):
    """Ten studies: the mean log ratio is below zero by 4 standard errors, which t₉ does by chance once in 600 runs."""
    covariance = communicability(delaunay_map(30))

    def better():
        ratio = log_traces_against_uniform(covariance, n_answers=120, n_studies=10)
        return ratio.mean() < -4 * ratio.std(ddof=1) / np.sqrt(len(ratio))

    assert better()
    monkeypatch.setattr(adaptive, "gains", lambda state: 1 / (gains(state) + 10 * np.eye(30)) - np.eye(30) / 10)
    assert not better(), "asking the least telling pairs must be caught"


def trace(state):
    return np.trace(state.covariance) - state.covariance.mean() * len(state.mode)


def test_steps_towards_the_mode_are_bounded(monkeypatch):
    monkeypatch.setattr(adaptive, "STEPS", 1)
    with pytest.raises(ValueError, match="mode of the strengths was not found"):
        update(init(Model(nothing_asked(3), independent(3), FixedVariance(9.0))), 0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: next_pair(np.random.default_rng(1), s, 0.0), "temperature must be a positive number"),
        (lambda s: next_pair(np.random.default_rng(1), s, 1.0, [4]), "only one area can be asked"),
        (lambda s: next_pair(np.random.default_rng(1), s, 1.0, []), "no area can be asked"),
        (lambda s: next_pair(np.random.default_rng(1), s, 1.0, [1, 9]), "areas must lie in 0 … 8"),
        (lambda s: update(s, 1, 1), "compares an area with itself"),
        (lambda s: update(s, 1, 9), "areas must lie in 0 … 8"),
        (lambda s: init(Model(s.model.counts, COVARIANCE, InverseGamma())), "needs a fixed α²"),
    ],
)
def test_bad_input_is_one_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call(init(model()))
