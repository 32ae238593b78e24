"""The optimal design against the conditions that an optimum must meet."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from synthetic import all_pairs, delaunay_map, matrix_of

from judgemap.core.approximate import inverse
from judgemap.core.design import optimal as optimal_module
from judgemap.core.design.designs import principal_component, uniform, weighted
from judgemap.core.design.optimal import Panel, expected_information, optimal, problem, value_and_slope
from judgemap.core.design.utility import centred_square, centred_trace, contrasts
from judgemap.core.model.prior import communicability, independent

MAP = delaunay_map(10)
PROBLEM = (communicability(MAP), 3.0, 80)
TOLERANCE = 1e-5


@pytest.fixture(scope="module")
def best():
    return optimal(*PROBLEM, tolerance=TOLERANCE)


def expected_trace(design, covariance, alpha, n_comparisons, panel=None):
    """f(q) of a design: roughly the trace of the posterior covariance of the centred strengths to expect."""
    return value_and_slope(*problem(covariance, alpha, n_comparisons, panel), matrix_of(design), panel)[0]


def sensitivity(design, covariance, alpha, n_comparisons, panel=None):
    """−∂f/∂q_ij for all pairs: a design is optimal if and only if none exceeds their mean, Σ q d."""
    return value_and_slope(*problem(covariance, alpha, n_comparisons, panel), matrix_of(design), panel)[1]


def excess(design):
    """By how much the equivalence theorem is missed: max d − Σ q d, relative to f."""
    d = sensitivity(design, *PROBLEM)
    return (d.max() - (matrix_of(design) * d).sum() / 2) / expected_trace(design, *PROBLEM)


def test_equivalence_theorem_holds(best):
    assert excess(best) < TOLERANCE
    assert excess(uniform(10)) > 0.1
    assert excess(principal_component(MAP)) > 0.1


def test_optimal_design_of_areas_that_are_all_alike_is_uniform():
    design = optimal(independent(5), alpha=2.0, n_comparisons=30)
    np.testing.assert_allclose(matrix_of(design), matrix_of(uniform(5)), atol=1e-12)


def test_sensitivity_is_the_derivative(best):
    q, d, step = matrix_of(best), sensitivity(best, *PROBLEM), 1e-6
    value = expected_trace(best, *PROBLEM)
    average = (q * d).sum() / 2
    for i, j in all_pairs(10)[::7]:
        more = (1 - step) * q
        more[i, j] += step
        more[j, i] += step
        slope = (expected_trace(weighted(more), *PROBLEM) - value) / step
        assert slope == pytest.approx(average - d[i, j], abs=1e-3 * value)


@pytest.mark.parametrize("sd", [1e-3, 0.1, 0.7, 1.0, 3.0, 4.3, 4.6, 12.0, 80.0])
def test_expected_information_is_the_integral(sd):
    def integrand(z):
        return expit(sd * z) * expit(-sd * z) * np.exp(-z * z / 2) / np.sqrt(2 * np.pi)

    exact = 2 * quad(integrand, 0, min(12.0, 80 / sd), epsabs=1e-15, epsrel=1e-13, limit=400)[0]
    assert expected_information(np.array([sd]))[0] == pytest.approx(exact, rel=1e-11)


def test_traces_are_those_of_the_matrices():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(6, 6))
    V, K = root @ root.T, np.eye(6) - 1 / 6
    assert centred_trace(V) == pytest.approx(np.trace(K @ V @ K))
    np.testing.assert_allclose(centred_square(V), V @ K @ V, atol=1e-12)
    x = np.eye(6)[1] - np.eye(6)[4]
    assert contrasts(V)[1, 4] == pytest.approx(x @ V @ x)
    np.testing.assert_allclose(inverse(V), np.linalg.inv(V), rtol=1e-8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: optimal(independent(2_001), 3.0, 100), "the optimal design can be computed for up to 2,000"),
        (lambda: optimal(independent(1), 3.0, 100), "the map has only one"),
        (lambda: optimal(independent(3), 0.0, 100), "α must be a positive number"),
        (lambda: optimal(independent(3), 3.0, 0), "at least one comparison"),
        (lambda: inverse(-np.eye(2)), "not positive definite"),
    ],
)
def test_bad_input_is_one_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_search_that_takes_too_long_is_given_up(monkeypatch):
    monkeypatch.setattr(optimal_module, "STEPS", 2)
    with pytest.raises(ValueError, match="allow a larger tolerance"):
        optimal(*PROBLEM, tolerance=1e-9)


def test_a_panel_of_judges_who_differ():
    """The slope is that of f, the design beats the uniform one, and judges alike bring back the design without."""
    panel, even = Panel(judges=3, views=2.0 * PROBLEM[0].matrix), uniform(10)
    flat = expected_trace(even, *PROBLEM, panel)
    assert expected_trace(optimal(*PROBLEM, panel=panel), *PROBLEM, panel) < flat
    assert flat > expected_trace(even, *PROBLEM)
    q, d, step = matrix_of(even), sensitivity(even, *PROBLEM, panel), 1e-6
    for i, j in all_pairs(10)[::11]:
        more = (1 - step) * q
        more[[i, j], [j, i]] += step
        slope = (expected_trace(weighted(more), *PROBLEM, panel) - flat) / step
        assert slope == pytest.approx((q * d).sum() / 2 - d[i, j], abs=1e-3 * flat)
    alike = Panel(judges=3, views=1e-12 * PROBLEM[0].matrix)
    assert expected_trace(even, *PROBLEM, alike) == pytest.approx(expected_trace(even, *PROBLEM), rel=1e-6)
