import numpy as np
import pytest

from judgemap.core.approximate import climb


def parabola(x):
    return -float(x @ x) / 2


def test_steps_that_overshoot_are_halved():
    """Newton's own steps on −√(1 + x²) run away from any start beyond 1."""

    def ascent(x):
        slope, curvature = -x / np.sqrt(1 + x**2), (1 + x**2) ** -1.5
        return slope, slope / curvature

    top = climb(lambda x: -float(np.sqrt(1 + x**2).sum()), ascent, np.array([5.0, -3.0]), close=1e-16)
    np.testing.assert_allclose(top, 0.0, atol=1e-7)


def test_a_search_that_does_not_converge_raises():
    with pytest.raises(FloatingPointError, match="did not find"):
        climb(parabola, lambda x: (-x, -1e-6 * x), np.ones(2), close=1e-12)


def test_a_direction_that_leads_down_raises():
    with pytest.raises(FloatingPointError, match="did not find"):
        climb(parabola, lambda x: (x, x), np.ones(2), close=1e-12)


def test_rounding_at_the_top_counts_as_reached():
    """At a height of 1e9, gains below 1e-7 are lost in rounding; the search ends all the same."""
    top = climb(lambda x: parabola(x) - 1e9, lambda x: (-x, -x / 2 - 1e-8), np.ones(2), close=0.0)
    np.testing.assert_allclose(top, 0.0, atol=1e-3)


def test_a_curvature_that_is_not_positive_definite_is_reported():
    with pytest.raises(FloatingPointError, match="not positive definite"):
        climb(parabola, lambda x: (x, np.linalg.cholesky(-np.eye(2)) @ x), np.ones(2), close=1e-12)
