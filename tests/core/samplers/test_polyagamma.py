"""Moments of Pólya-Gamma draws against closed forms. 200,000 draws a setting, 36 settings, two moments each: a limit
of 5 standard errors has a false alarm rate below 5e-5. At d = 3.1 and 3.2 the draws' proposals change."""

import numpy as np
import pytest

from judgemap.core.samplers.polyagamma import below_series, draw_polyagamma

pytestmark = pytest.mark.statistical

SETTINGS = [(n, d) for n in (1, 2, 4) for d in (0.0, 0.7, 2.0, 3.1, 3.2, 6.0)]
SIZE = 200_000


def mean_of(n, d):
    """E ω = n tanh(d/2) / (2d); n/4 at 0."""
    return n / 4 if d == 0 else n * np.tanh(d / 2) / (2 * d)


def variance(n, d):
    """Var ω = n (sinh d − d) / (4 d³ cosh²(d/2)); n/24 at 0."""
    return n / 24 if d == 0 else n * (np.sinh(d) - d) / (4 * d**3 * np.cosh(d / 2) ** 2)


def scores(omega, n, d):
    mean, var = mean_of(n, d), variance(n, d)
    square = (omega - mean) ** 2
    first = (omega.mean() - mean) / np.sqrt(var / len(omega))
    return first, (square.mean() - var) / (square.std() / np.sqrt(len(omega)))


@pytest.mark.parametrize(("n", "d"), SETTINGS)
@pytest.mark.parametrize("sign", [1, -1])
def test_moments(n, d, sign):
    rng = np.random.default_rng(n * 100 + int(10 * d) + sign)
    omega = draw_polyagamma(rng, np.full(SIZE, float(n)), np.full(SIZE, sign * d))
    assert max(map(abs, scores(omega, n, d))) < 5


@pytest.mark.parametrize("d", [0.0, 1.0, 3.1, 3.2, 20.0])
@pytest.mark.parametrize("s", [0.5, 5.0, 50.0])
def test_laplace_transform(d, s):
    """E e^{−sω} = (cosh(d/2)/cosh √(d²/4 + s/2))^n: the whole distribution, not just two moments."""
    found = np.exp(-s * draw_polyagamma(np.random.default_rng(int(10 * d + s)), np.ones(SIZE), np.full(SIZE, d)))
    expected = np.cosh(d / 2) / np.cosh(np.sqrt(d**2 / 4 + s / 2))
    assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(SIZE)


def test_the_series_by_hand():
    """f/a_0 = 1 − 3b² + 5b⁶ − …: 0.999995, 0.99421, 0.99509 and 0.99999999 at these places."""
    x = np.array([0.3, 0.64, 0.65, 2.0])
    assert [below_series(0.9999, each) for each in x] == [True, False, False, True]
    assert all(below_series(0.99, each) for each in x)


@pytest.mark.parametrize("d", [99.0, 101.0, -400.0, 5000.0])
def test_moments_far_out(d):
    """The mean n tanh(d/2)/(2d) and the variance n/(2|d|³) in the limit; 5 standard errors."""
    draws = draw_polyagamma(np.random.default_rng(1), np.full(20_000, 3.0), np.full(20_000, d))
    mean, variance = 3 / (2 * abs(d)), 3 / (2 * abs(d) ** 3)
    assert abs(draws.mean() - mean) < 5 * np.sqrt(variance / 20_000)
    assert abs(draws.var() / variance - 1) < 0.06
