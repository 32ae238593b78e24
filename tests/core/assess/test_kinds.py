"""Judges who differ, and the kinds of them: found on simulated panels, and weighed as integration does."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logsumexp
from synthetic import delaunay_map, draw_panel, simulate_panel

from judgemap.core.approximate import gaussian
from judgemap.core.assess.held_out import ODD, Bench, Cloud, Shared
from judgemap.core.assess.misfit import differ_share
from judgemap.core.model.counts import count_judged
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import Panel, Parts
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability

C = communicability(delaunay_map(20))
KINDS = ("modelled", "little", "reversed", "another_view")
PARTS = Parts(disagreement=C)


@pytest.fixture(scope="module")
def panel():
    """Three judges of each kind on 20 areas, 60 answers each, α = 3 and σ = ½; and what they share, known exactly."""
    rng = np.random.default_rng(4)
    strengths, zero = 3 * C.draw(rng, 1)[0], np.zeros(12)
    views = 0.5 * C.draw(rng, 12)
    views[9:] = 3 * C.draw(rng, 3) - strengths
    attention = np.repeat([1.0, 0.0, -1.0, 1.0], 3)
    counts = simulate_panel(rng, Panel(strengths, views, zero, attention, zero, {}), None, np.full(12, 60))
    return counts, strengths


def weigh(panel, parts=PARTS, judges=range(12)):
    counts, strengths = panel
    shared = Shared(strengths, sigma=0.5, attention_sd=float(parts.attention))
    bench, own = Bench(counts, parts, shared, Cloud(strengths, np.zeros((20, 0)))), np.sqrt(9.25) * C.factor
    return np.array([bench.kind_chances(np.random.default_rng(k), k, own, bench.set_aside(k)[0]) for k in judges])


def test_each_kind_is_told(panel):
    chances = weigh(panel)
    assert np.allclose(chances.sum(axis=1), 1)
    assert [KINDS[place] for place in chances.argmax(axis=1)] == [kind for kind in KINDS for _ in range(3)]
    assert (chances.max(axis=1) > 0.8).all()


def test_a_model_with_attention_or_lapses_has_room_for_two_kinds(panel):
    with_attention = weigh(panel, replace(PARTS, attention=True))
    assert (with_attention[:9, 3] < 0.2).all()
    assert (with_attention[9:, 3] > 0.8).all()
    with_lapses = weigh(panel, replace(PARTS, lapses=True), [0, 6])
    assert with_lapses[0, 0] > 0.8
    assert with_lapses[1, 2] > 0.8


def exact_kinds(wins, losses, draws):
    """Two areas, one difference: p(y | kind, the others' answers) on a grid, and the model's own posterior."""
    grid = np.linspace(-12, 12, 4001)
    prior = -(grid**2) / 2 - np.log(np.sqrt(2 * np.pi)) + np.log(grid[1] - grid[0])
    own = wins * np.log(expit(grid)) + losses * np.log(expit(-grid))
    turned = wins * np.log(expit(-grid)) + losses * np.log(expit(grid))
    others = 4 * np.log(expit(grid)) + 2 * np.log(expit(-grid)) + prior
    seen = others - logsumexp(others)
    logs = [logsumexp(seen + own), (wins + losses) * np.log(0.5), logsumexp(seen + turned), logsumexp(prior + own)]
    weights = np.array(logs) + np.log([1 - 3 * ODD, ODD, ODD, ODD])
    posterior = np.cumsum(np.exp(seen + own - logsumexp(seen + own)))
    d = np.interp((np.arange(draws) + 0.5) / draws, posterior, grid)
    return np.exp(weights - logsumexp(weights)), d


@pytest.mark.parametrize(("wins", "losses"), [(5, 1), (1, 4), (3, 3)])
def test_the_judge_counts_once(wins, losses):
    """A posterior that has seen the judge's answers gives what integration without them gives: within 0.01."""
    expected, d = exact_kinds(wins, losses, draws=4000)
    choice = [1] * wins + [-1] * losses
    counts = count_judged([0] * len(choice), [0] * len(choice), [1] * len(choice), choice, n_areas=2, n_judges=1)
    half = np.array([0.5, -0.5])
    bench = Bench(counts, Parts(), Shared(np.zeros(2)), Cloud(half * d.mean(), half[:, None] * d.std()))
    own = np.eye(2) / np.sqrt(2)  # a difference of variance 1, as the population's
    others, share = bench.set_aside(0)
    found = bench.kind_chances(np.random.default_rng(1), 0, own, others)
    assert np.allclose(found, expected, atol=0.01)
    assert 0.3 < share < 0.8


def test_counting_the_judge_twice_is_caught(monkeypatch):
    """Left as it is, the posterior includes the judge's answers."""
    monkeypatch.setattr(Bench, "set_aside", lambda bench, _judge: (bench.known, 0.5))
    with pytest.raises(AssertionError):
        test_the_judge_counts_once(1, 4)


def test_a_cloud_is_what_its_draws_say():
    draws = 3 * C.draw(np.random.default_rng(1), 2000) + np.arange(20)
    draws -= draws.mean(axis=1, keepdims=True)
    known = Cloud.of(draws)
    assert known.root.shape == (20, 19), "nothing is known about the level"
    np.testing.assert_allclose(
        known.root @ known.root.T, np.cov(draws - draws.mean(axis=1, keepdims=True), rowvar=False)
    )
    np.testing.assert_allclose(known.mean, np.arange(20) - 9.5, atol=0.5)


RING = communicability(AreaGraph(20, [[i, (i + 1) % 20] for i in range(20)]))
ANSWERS = np.array([150, 60, 40, 30, 30, 20])


def share(rng, ratio):
    """The test's share for a panel with σ/α of this ratio, α = 2."""
    parts = Parts(disagreement=RING) if ratio else Parts()
    panel = draw_panel(rng, RING, FixedVariance(4.0), parts, len(ANSWERS))
    if ratio:
        views = 2 * ratio * RING.draw(rng, len(ANSWERS))
        panel = panel._replace(views=views)
    counts = simulate_panel(rng, panel, None, ANSWERS)
    fitted = gaussian(Model(counts.pairs(), RING, InverseGamma()))
    return differ_share(rng, counts, fitted.draw(rng, 99), RING.matrix)


def test_false_alarms_are_at_most_one_in_a_hundred():
    """Of 100 panels 5 alarms or more have a chance below 0.4 % at a rate of 1 %."""
    rng = np.random.default_rng(1)
    assert sum(share(rng, 0.0) <= 0.01 for _ in range(100)) < 5


def test_judges_who_differ_are_seen():
    """Of 150 such panels 142 were seen; at that rate, fewer than 15 of 20 have a chance of 0.1 %."""
    rng = np.random.default_rng(2)
    assert sum(share(rng, 0.9) <= 0.01 for _ in range(20)) >= 15
