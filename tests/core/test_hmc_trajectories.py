"""Compiled trajectories are those of `hmc.trajectory`, which is written plainly in NumPy: draw by draw, to 1e-10."""

from dataclasses import replace

import numpy as np
import pytest

from judgemap.core.comparisons import PairCounts, count_pairs
from judgemap.core.prior import FixedVariance, InverseGamma, Model, VariancePrior, independent
from judgemap.core.samplers import hmc
from judgemap.core.samplers.kernel import Arrays
from judgemap.core.samplers.run import START_SPREAD, Plan, run


def study(answers: int, n_areas: int = 20) -> PairCounts:
    rng = np.random.default_rng(4)
    first = rng.integers(n_areas, size=answers)
    return count_pairs(first, (first + rng.integers(1, n_areas, size=answers)) % n_areas, n_areas)


def both(
    target: hmc.Target, kicks: int, chains: int, schedule: tuple[int, int], *, widely: bool = False
) -> list[Arrays]:
    """Draws in arrays, and compiled, from the same places with the same seed."""
    starts = target.laplace.draw(np.random.default_rng(1), chains, START_SPREAD)
    found = []
    for each in (replace(target, compiled=False), target):
        rng, kernel = np.random.default_rng(2), hmc.transition(each, kicks, widely=widely)
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
    draws = both(target, 2, chains, (20, 2))
    check_alike(draws)
    assert 0.5 < draws[1]["acceptance"].mean() < 1
    assert np.ptp(draws[1]["strengths"], axis=1).min() > 0


def test_the_same_where_trajectories_break_down() -> None:
    """Four answers and one kick: α² could be anything, and some proposals leave the range of numbers."""
    target = hmc.build_target(Model(count_pairs([0, 1, 2, 3], [1, 2, 3, 4], 5), independent(5), InverseGamma(0.1, 0.1)))
    draws = both(target, 1, 32, (50, 1))
    check_alike(draws)
    assert draws[1]["divergences"].sum() > 0


def test_the_same_with_wide_moves() -> None:
    target = hmc.build_target(Model(study(30), independent(20), InverseGamma()))
    check_alike(both(target, 3, 4, (6, 2), widely=True))


def test_a_state_stays_as_it_is() -> None:
    target = hmc.build_target(Model(study(300), independent(20), InverseGamma()))
    kernel, rng = hmc.transition(target, 2), np.random.default_rng(1)
    state = kernel.init(rng, *target.laplace.draw(rng, 4, 1.0))
    before = [each.copy() for each in state]
    kernel.advance(rng, state, 5, 1)
    for was, is_now in zip(before, state, strict=True):
        np.testing.assert_array_equal(was, is_now)


def test_the_same_on_any_number_of_cores() -> None:
    target = hmc.build_target(Model(study(300), independent(20), InverseGamma()))
    starts = target.laplace.draw(np.random.default_rng(1), 70, 1.0)
    one, two = (
        run(np.random.default_rng(2), hmc.transition(target, 2), starts, Plan(70, 3, 8), cores) for cores in (1, 2)
    )
    np.testing.assert_array_equal(one.strengths, two.strengths)


def test_a_block_is_whole() -> None:
    target = hmc.build_target(Model(study(300), independent(20), InverseGamma()))
    kernel, rng = hmc.transition(target, 2), np.random.default_rng(1)
    with pytest.raises(ValueError, match="whole multiple of thin"):
        kernel.advance(rng, kernel.init(rng, *target.laplace.draw(rng, 4, 1.0)), 5, 2)
