"""Compiled trajectories are those that look at every point by itself, draw by draw, to 1e-10."""

from collections.abc import Callable

import numpy as np
import pytest
from synthetic import kicking_evenly

from judgemap.core.model.counts import PairCounts, count_pairs
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, VariancePrior, independent
from judgemap.core.samplers import split_hmc
from judgemap.core.samplers.kernel import HUGE, Arrays, Kernel, broke_down, by_steps
from judgemap.core.samplers.run import START_SPREAD
from judgemap.core.samplers.spatial import hmc
from judgemap.core.samplers.spatial.compiled import look
from judgemap.core.types import BoolArray, FloatArray

Starts = tuple[FloatArray, FloatArray]
"""Strengths and log α² of each chain."""


def study(answers: int, n_areas: int = 20) -> PairCounts:
    rng = np.random.default_rng(4)
    first = rng.integers(n_areas, size=answers)
    return count_pairs(first, (first + rng.integers(1, n_areas, size=answers)) % n_areas, n_areas)


def spread_out(target: hmc.SpatialTarget, chains: int) -> Starts:
    return target.laplace.draw(np.random.default_rng(1), chains, START_SPREAD)


def step_by_step(target: hmc.SpatialTarget, kicks: int) -> Kernel:
    """The same kernel, by a look after every kick."""

    def noise(rng: np.random.Generator, chains: int) -> FloatArray:
        return np.vstack([target.laplace.noise(rng, chains), rng.standard_normal(chains)])

    def log_joint(state: hmc.SpatialState, momentum: FloatArray) -> FloatArray:
        return state.log_density - (momentum**2).sum(axis=0) / 2

    split = split_hmc.Split(noise, log_joint, kicking_evenly(lambda q: look(target.posterior, q)))
    return by_steps(
        hmc.transition(target, kicks).init,
        lambda rng, state: split_hmc.step(rng, split, state, kicks),
        lambda state: hmc.read(target, state),
    )


def both(target: hmc.SpatialTarget, kicks: int, starts: Starts, schedule: tuple[int, int]) -> list[Arrays]:
    """Draws step by step, and compiled, from the same places with the same seed."""
    found = []
    for kernel in (step_by_step(target, kicks), hmc.transition(target, kicks)):
        rng = np.random.default_rng(2)
        state, first = kernel.advance(rng, kernel.init(rng, *starts), *schedule)
        state, then = kernel.advance(rng, state, *schedule)
        found.append({name: np.concatenate([first[name], then[name]], axis=1) for name in first})
    return found


def check_alike(draws: list[Arrays]) -> None:
    plain, compiled = draws
    assert set(plain) == set(compiled)
    for name, values in plain.items():
        assert values.dtype == compiled[name].dtype
        np.testing.assert_allclose(compiled[name], values, rtol=0, atol=1e-10, err_msg=name)


@pytest.mark.parametrize("variance", [InverseGamma(), FixedVariance(2.0)], ids=["inferred", "fixed"])
@pytest.mark.parametrize("chains", [1, 3, 33])
def test_the_same_draws(variance: VariancePrior, chains: int) -> None:
    target = hmc.build_target(Model(study(300), independent(20), variance))
    draws = both(target, 2, spread_out(target, chains), (20, 2))
    check_alike(draws)
    assert 0.5 < draws[1]["acceptance"].mean() < 1
    assert np.ptp(draws[1]["strengths"], axis=1).min() > 0


def out_of_range() -> tuple[hmc.SpatialTarget, Starts]:
    """Four answers, and α² so small that the first kick leads out of the range of numbers: to −∞ or to none at all."""
    target = hmc.build_target(Model(count_pairs([0, 1, 2, 3], [1, 2, 3, 4], 5), independent(5), InverseGamma(0.1, 0.1)))
    strengths, log_variance = target.laplace.draw(np.random.default_rng(1), 32, 1.0)
    log_variance[:8], log_variance[8:16] = -7.0, -12.0
    return target, (strengths, log_variance)


def hopeless() -> tuple[hmc.SpatialTarget, Starts]:
    """Strengths that the answers contradict, from which a single kick leads uphill: a number, but less than −1000."""
    target = hmc.build_target(Model(study(300), independent(20), FixedVariance(2.0)))
    far, near = (target.laplace.draw(np.random.default_rng(1), 16, spread) for spread in (80.0, 1.0))
    return target, (np.concatenate([far[0], near[0]]), np.concatenate([far[1], near[1]]))


@pytest.mark.parametrize("case", [out_of_range, hopeless])
def test_the_same_where_trajectories_break_down(
    case: Callable[[], tuple[hmc.SpatialTarget, Starts]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first 16 chains break down at every step, those not kept too, and stay where they are; the others never.

    No change of energy is near the limit, so that rounding decides nothing. It would if a proposal ended just below the
    largest α² that is not refused: a constant of 10¹⁶ in all strengths swallows their differences.
    """
    changes: list[FloatArray] = []

    def watched(change: FloatArray) -> BoolArray:
        changes.append(change)
        return broke_down(change)

    monkeypatch.setattr(split_hmc, "broke_down", watched)
    target, starts = case()
    draws = both(target, 1, starts, (50, 2))
    finite = np.concatenate(changes)[np.isfinite(np.concatenate(changes))]
    assert np.abs(finite + HUGE).min() > HUGE / 5
    check_alike(draws)
    np.testing.assert_allclose(draws[1]["strengths"][:16, -1], starts[0][:16], rtol=1e-6)
    assert (draws[1]["divergences"] == 2 * (np.arange(32) < 16)[:, None]).all()


def test_a_state_stays_as_it_is() -> None:
    target = hmc.build_target(Model(study(300), independent(20), InverseGamma()))
    kernel, rng = hmc.transition(target, 2), np.random.default_rng(1)
    state = kernel.init(rng, *target.laplace.draw(rng, 4, 1.0))
    before = [each.copy() for each in state]
    kernel.advance(rng, state, 5, 1)
    for was, is_now in zip(before, state, strict=True):
        np.testing.assert_array_equal(was, is_now)
