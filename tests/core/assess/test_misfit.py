from itertools import product

import numpy as np
import pytest
from scipy import integrate
from scipy.special import expit

from judgemap.core.approximate import mean_chance
from judgemap.core.assess.misfit import mean_squares, share_interval


def moments_by_enumeration(p):
    """Mean and sd of outfit and infit over all answers that there can be, each with its probability."""
    answers = np.array(list(product([0, 1], repeat=len(p))))
    weight = np.where(answers == 1, p, 1 - p).prod(axis=1)
    group = np.zeros(len(p), dtype=np.int64)
    found = np.array([[s.outfit[0], s.infit[0]] for s in (mean_squares(y, p, group, 1) for y in answers)])
    mean = weight @ found
    return mean, np.sqrt(weight @ (found - mean) ** 2)


def test_mean_squares_have_mean_one_and_the_sd_they_say():
    p = np.array([0.05, 0.3, 0.5, 0.62, 0.9, 0.98])
    mean, sd = moments_by_enumeration(p)
    said = mean_squares(np.ones(6), p, np.zeros(6, dtype=np.int64), 1)
    np.testing.assert_allclose(mean, 1.0)
    np.testing.assert_allclose(sd, [said.outfit_sd[0], said.infit_sd[0]])


def test_groups_are_apart_and_an_empty_one_is_nan():
    y, p, group = np.array([1, 0, 1]), np.array([0.2, 0.5, 0.5]), np.array([0, 2, 2])
    squares = mean_squares(y, p, group, 3)
    np.testing.assert_allclose(squares.outfit, [0.64 / 0.16, np.nan, 1.0])
    np.testing.assert_allclose(squares.infit, [0.64 / 0.16, np.nan, 1.0])


@pytest.mark.parametrize("chance", [0.0, 1.0])
def test_a_certain_answer_has_no_mean_square(chance):
    with pytest.raises(ValueError, match="between 0 and 1"):
        mean_squares([1], [chance], np.array([0]), 1)


@pytest.mark.parametrize(("mean", "sd"), [(0.3, 0.5), (2.0, 1.5), (-4.0, 3.0)])
def test_mean_chance_is_the_integral(mean, sd):
    def density(x):
        return expit(mean + sd * x) * np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)

    exact = integrate.quad(density, -12, 12)[0]
    assert mean_chance([mean], [sd**2])[0] == pytest.approx(exact, abs=1e-5)


def test_wilson_ends_solve_their_equation():
    k, n, z = np.array([0, 3, 10]), np.array([10, 10, 10]), 1.959964
    low, high = share_interval(k, n)
    for end, rows in ((low, [1, 2]), (high, [0, 1])):
        s = end[rows]
        np.testing.assert_allclose(np.abs(k - n * end)[rows], z * np.sqrt(n[rows] * s * (1 - s)), rtol=1e-5)
    assert low[0] == 0
    assert high[2] == 1
    np.testing.assert_array_equal(np.concatenate(share_interval([0], [0])), [0, 1])
