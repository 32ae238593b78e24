"""Moments of Pólya-Gamma draws against closed forms. 200,000 draws a setting, 12 settings, two moments each: a limit of
5 standard errors has a false alarm rate below 2e-5."""

import numpy as np
import pytest
from polyagamma import random_polyagamma

from judgemap.core.polyagamma import draw_polyagamma, polyagamma_mean

pytestmark = pytest.mark.statistical

SETTINGS = [(n, d) for n in (1, 2, 4) for d in (0.0, 0.7, 2.0, 6.0)]
SIZE = 200_000


def variance(n, d):
    """Var ω = n (sinh d − d) / (4 d³ cosh²(d/2)); n/24 at 0."""
    return n / 24 if d == 0 else n * (np.sinh(d) - d) / (4 * d**3 * np.cosh(d / 2) ** 2)


def scores(omega, n, d):
    mean, var = float(polyagamma_mean(np.float64(n), np.float64(d))), variance(n, d)
    square = (omega - mean) ** 2
    first = (omega.mean() - mean) / np.sqrt(var / len(omega))
    return first, (square.mean() - var) / (square.std() / np.sqrt(len(omega)))


@pytest.mark.parametrize(("n", "d"), SETTINGS)
@pytest.mark.parametrize("sign", [1, -1])
def test_moments(n, d, sign):
    rng = np.random.default_rng(n * 100 + int(10 * d) + sign)
    omega = draw_polyagamma(rng, np.full(SIZE, float(n)), np.full(SIZE, sign * d))
    assert max(map(abs, scores(omega, n, d))) < 5


def test_another_method_would_fail():
    """Why the method is pinned: the package's default falls back on this one, and it is biased from n = 2 on."""
    rng = np.random.default_rng(1)
    omega = random_polyagamma(np.full(SIZE, 2.0), np.full(SIZE, 0.7), method="alternate", random_state=rng)
    assert max(map(abs, scores(omega, 2, 0.7))) > 5


def test_mean_is_smooth_at_zero():
    d = np.array([0.0, 1e-6, 1.9e-4, 2.1e-4, 1e-2])
    np.testing.assert_allclose(polyagamma_mean(np.ones(5), d), [0.25 - x**2 / 48 for x in d], rtol=1e-9)


def test_same_seed_same_draws():
    one, two = (draw_polyagamma(np.random.default_rng(4), np.ones(9), np.zeros(9)) for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("d", [99.0, 101.0, -400.0, 5000.0])
def test_moments_far_out(d):
    """The mean n tanh(d/2)/(2d) and the variance n/(2|d|³) in the limit; 5 standard errors."""
    draws = draw_polyagamma(np.random.default_rng(1), np.full(20_000, 3.0), np.full(20_000, d))
    mean, variance = 3 / (2 * abs(d)), 3 / (2 * abs(d) ** 3)
    assert abs(draws.mean() - mean) < 5 * np.sqrt(variance / 20_000)
    assert abs(draws.var() / variance - 1) < 0.06
