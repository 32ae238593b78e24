"""Running a sampler: seeds, cores, news, Ctrl-C and plans; and how well chains have mixed."""

import os
import signal
import threading

import numpy as np
import pytest

from judgemap.core.approximate import find_mode
from judgemap.core.model.counts import PairCounts, count_pairs, score
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability
from judgemap.core.samplers.diagnostics import assess_sampling, ess_bulk, rhat
from judgemap.core.samplers.kernel import by_steps
from judgemap.core.samplers.run import LONGEST_BLOCK, SAMPLERS, Draws, Plan, run, sample
from judgemap.core.simulate.trials import simulate_counts

GRAPH = AreaGraph(9, [[i, i + 1] for i in range(8)])


def model(variance=None):
    covariance = communicability(GRAPH)
    rng = np.random.default_rng(5)
    counts = simulate_counts(rng, 2 * covariance.draw(rng, 1)[0], 200)
    return Model(counts, covariance, variance or InverseGamma())


def draw(sampler="hmc", seed=1, cores=1, **plan):
    return sample(np.random.default_rng(seed), model(), sampler, Plan(**{"chains": 5, "draws": 60} | plan), cores)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_thinning_keeps_every_kth_draw(sampler):
    whole, thinned = draw(sampler, draws=60), draw(sampler, draws=20, thin=3)
    np.testing.assert_array_equal(thinned.strengths, whole.strengths[:, 2::3])


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_fixed_variance_stays(sampler):
    draws = sample(np.random.default_rng(1), model(FixedVariance(4.0)), sampler, Plan(chains=2, draws=20))
    np.testing.assert_allclose(draws["log_variance"], np.log(4.0))


def test_news_comes_and_grows():
    seen = []
    plan = Plan(chains=2, draws=100)
    sample(np.random.default_rng(1), model(), plan=plan, watch=lambda d, wanted: seen.append((d.n_draws, wanted)))
    lengths = [length for length, _ in seen]
    assert lengths[0] == 0, "the warm-up keeps nothing"
    assert lengths[-1] == 100
    assert lengths == sorted(lengths)
    assert all(wanted == 100 for _, wanted in seen)


def test_chains_that_are_not_good_enough_go_on():
    """And their draws are those of a run that was asked for that many."""
    short, asked = draw(chains=2, draws=20, most=70), draw(chains=2, draws=70)
    assert short.complete
    assert (short.n_draws, short.asked) == (70, 70)
    np.testing.assert_array_equal(short.strengths, asked.strengths)
    np.testing.assert_array_equal(short.divergences, asked.divergences)


def test_chains_that_are_good_enough_stop():
    draws = draw(draws=500, most=4000)
    assert draws.good()
    assert draws.n_draws == 500


def test_ctrl_c_returns_what_was_drawn():
    def interrupt(draws, wanted):
        if draws.n_draws >= 200:
            os.kill(os.getpid(), signal.SIGINT)

    assert threading.current_thread() is threading.main_thread()
    draws = sample(np.random.default_rng(1), model(), plan=Plan(chains=2, draws=40_000), watch=interrupt)
    assert not draws.complete
    assert 200 <= draws.strengths.shape[1] < 40_000
    assert np.isfinite(draws.strengths).all()


def test_ctrl_c_between_two_rounds_is_not_overlooked(monkeypatch):
    def interrupt(draws):
        raise KeyboardInterrupt

    monkeypatch.setattr(Draws, "good", interrupt)
    draws = draw(draws=100, most=400)
    assert (draws.n_draws, draws.asked, draws.complete) == (100, 400, False)


def test_ctrl_c_before_anything_was_drawn_is_passed_on():
    def interrupt(draws, wanted):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample(np.random.default_rng(1), model(), plan=Plan(chains=2, draws=100), watch=interrupt)


@pytest.mark.parametrize(
    ("plan", "sentence"), [({"chains": 0}, "chains must be at least 1, received 0"), ({"draws": 3}, "draws must be")]
)
def test_bad_plans(plan, sentence):
    with pytest.raises(ValueError, match=sentence):
        Plan(**plan)


@pytest.mark.parametrize("tau", [-6.0, 0.0, 8.0])
def test_mode_is_where_the_slope_is_nought(tau):
    """From far away too: step halving makes Newton's method safe."""
    m = model()
    found = find_mode(m, tau, np.full(9, 30.0) * np.arange(-4, 5))
    slope = score(m.counts, found) - m.covariance.inverse @ found * np.exp(-tau)
    np.testing.assert_allclose(slope, 0.0, atol=1e-4)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_little_data_and_a_wide_prior_do_not_break_it(sampler):
    """One comparison, χ = ω = 0.1: α² has a very heavy tail, and every number must stay finite."""
    lone = Model(count_pairs([0], [1], 9), communicability(GRAPH), InverseGamma())
    draws = sample(np.random.default_rng(1), lone, sampler, Plan(chains=4, draws=300))
    assert np.isfinite(draws.strengths).all()


def test_no_comparisons_at_all_give_back_the_prior():
    empty = Model(PairCounts(9, [], [], [], []), communicability(GRAPH), FixedVariance(1.0))
    draws = sample(np.random.default_rng(1), empty, "hmc", Plan(chains=16, draws=500))
    cov = np.cov(draws.strengths.reshape(-1, 9).T)
    np.testing.assert_allclose(cov, communicability(GRAPH).matrix, atol=0.1)


def test_a_long_run_is_often_between_two_blocks():
    """There it can be stopped: a worker has seconds to put its job back when the server is shut down."""
    walk = by_steps(lambda rng, start: start, lambda rng, state: state + 1, lambda state: {"strengths": state})
    seen = [0]
    plan = Plan(chains=2, warmup=0, draws=12_345)
    run(
        np.random.default_rng(1),
        walk,
        (np.zeros((2, 1)),),
        plan,
        watch=lambda draws, wanted: seen.append(draws.n_draws),
    )
    assert max(np.diff(seen)) == LONGEST_BLOCK
    assert seen[-1] == plan.draws


def series(seed, chains, draws, memory):
    """Autoregressive chains in which some draws repeat, as after a rejected proposal."""
    x = np.random.default_rng(seed).normal(size=(chains, draws, 3))
    for t in range(1, draws):
        x[:, t] += memory * x[:, t - 1]
    x[:, 50:60] = x[:, 49:50]
    return x


@pytest.mark.parametrize("memory", [0.0, 0.5, 0.95, -0.4])
@pytest.mark.parametrize(("chains", "draws"), [(4, 500), (1, 301), (16, 250), (2, 100)])
def test_agrees_with_arviz(memory, chains, draws):
    import arviz as az  # three seconds, which no other worker has to spend

    x = series(1, chains, draws, memory)
    each = range(x.shape[2])
    np.testing.assert_allclose(ess_bulk(x), [az.ess(x[..., k], method="bulk") for k in each], rtol=1e-8)
    tails = [az.ess(x[..., k], method="tail", prob=(0.05, 0.95)) for k in each]
    np.testing.assert_allclose(assess_sampling(x).ess_tail, tails, rtol=1e-8)
    if chains > 1:
        np.testing.assert_allclose(rhat(x), [az.rhat(x[..., k]) for k in each], rtol=1e-10)


def test_chains_apart_are_seen():
    x = series(2, 4, 300, 0.0)
    x[0] += 1.0
    assert rhat(x).min() > 1.05
    x = series(2, 4, 300, 0.0)
    x[0] *= 3.0
    assert rhat(x).min() > 1.05, "chains that differ in spread alone"


def test_a_constant_is_worth_all_its_draws():
    assert ess_bulk(np.ones((2, 50))) == 100


def test_too_few_draws():
    with pytest.raises(ValueError, match="at least four draws"):
        rhat(np.zeros((2, 3)))


def test_draws_that_swing_to_and_fro_are_worth_the_most_there_is():
    import arviz as az

    x = np.tile([1.0, -1.0], (4, 50)) + 0.01 * series(3, 4, 100, 0.0)[..., 0]
    assert ess_bulk(x) == pytest.approx(400 * np.log10(400))
    assert ess_bulk(x) == pytest.approx(az.ess(x, method="bulk"))
