import numpy as np
import pytest

from judgemap.core.samplers.diagnostics import assess_sampling, ess_bulk, rhat


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
