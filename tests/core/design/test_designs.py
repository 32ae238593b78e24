"""Designs against their definitions, and draws against designs."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg
from scipy.special import iv
from synthetic import all_pairs, delaunay_map, fit_of_draws, matrix_of, only, ring

from judgemap.core.design.designs import (
    PairDesign,
    naive_spatial,
    principal_component,
    principal_component_of,
    uniform,
    weighted,
)
from judgemap.core.design.optimal import optimal
from judgemap.core.model import communicability as communicability_module
from judgemap.core.model.communicability import PairValues, exact_pairs, from_matrix, sparse_pairs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import communicability, exponential

FALSE_ALARM = 1e-4
"""A χ² test fails a right program with this probability; seeds are fixed."""
MAP = delaunay_map(12)


def designs():
    return {
        "uniform": uniform(12),
        "naive": naive_spatial(MAP),
        "principal": principal_component(MAP),
        "principal of a kernel": principal_component_of(exponential(np.random.default_rng(2).random((12, 2)), 0.5)),
        "optimal": optimal(communicability(MAP), alpha=3.0, n_comparisons=60),
        "mixed": PairDesign(np.arange(12), 0.01, optimal(communicability(MAP), 3.0, 60).offsets),
        "principal, mixed": PairDesign(np.arange(12), 2.0, principal_component(MAP).offsets),
    }


def spectral(covariance):
    """The paper's definition: Σ_c (u_r^(c))² ψ^(c) / Σψ over the eigenpairs of the covariance of all differences."""
    i, j = all_pairs(len(covariance)).T
    delta = covariance[np.ix_(i, i)] - covariance[np.ix_(i, j)] - covariance[np.ix_(j, i)] + covariance[np.ix_(j, j)]
    values, vectors = linalg.eigh(delta)
    q = np.zeros_like(covariance)
    q[i, j] = q[j, i] = (vectors**2 @ values) / values.sum()
    return q


def test_principal_component_is_the_spectral_definition():
    C = communicability(MAP).matrix
    np.testing.assert_allclose(matrix_of(principal_component(MAP)), spectral(C), rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(matrix_of(principal_component_of(communicability(MAP))), spectral(C), rtol=1e-10)


def test_principal_component_of_unequal_variances_is_the_spectral_definition():
    base = communicability(MAP)
    scale = np.linspace(0.5, 2.0, 12)
    unequal = base.matrix * np.outer(scale, scale)
    covariance = replace(
        base, matrix=unequal, factor=base.factor * scale[:, None], inverse=base.inverse / np.outer(scale, scale)
    )
    np.testing.assert_allclose(matrix_of(principal_component_of(covariance)), spectral(unequal), rtol=1e-10)


def test_naive_spatial_is_the_papers_formula():
    E = linalg.expm(MAP.adjacency())
    i, j = all_pairs(12).T
    p = 1 - E[i, j] / E[i, j].sum()
    np.testing.assert_allclose(naive_spatial(MAP).probability(i, j), p / p.sum(), rtol=1e-10)


@pytest.mark.parametrize("name", designs())
def test_probabilities_sum_to_one(name):
    design = designs()[name]
    q = matrix_of(design)
    assert q.min() >= 0
    assert q.sum() / 2 == pytest.approx(1, abs=1e-12)
    np.testing.assert_allclose(design.exposure(), q.sum(axis=1), atol=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("name", designs())
def test_draws_follow_the_design(name):
    design = designs()[name]
    q = matrix_of(design)
    q[q < 1e-4] = 0  # the optimal design has pairs that would need a million draws
    pairs = design.draw(np.random.default_rng(1), 60_000)
    common = q[pairs[:, 0], pairs[:, 1]] > 0
    assert common.mean() > 0.99
    assert fit_of_draws(pairs[common], q / (q.sum() / 2)) > FALSE_ALARM
    left_first = (pairs[:, 0] < pairs[:, 1]).mean()
    assert abs(left_first - 0.5) < 3.9 * 0.5 / np.sqrt(len(pairs))


@pytest.mark.statistical
def test_accepting_with_the_correlation_itself_is_caught(monkeypatch):
    design = principal_component(MAP)
    q = matrix_of(design)
    with monkeypatch.context() as planted:
        planted.setattr(PairDesign, "weight", lambda self, i, j: -self.offsets.at(i, j))
        pairs = design.draw(np.random.default_rng(1), 60_000)
    assert fit_of_draws(pairs, q) < 1e-12
    assert fit_of_draws(uniform(12).draw(np.random.default_rng(1), 60_000), q) < 1e-12


@pytest.mark.parametrize("name", designs())
def test_restricted_design_is_the_conditional_distribution(name):
    design, known = designs()[name], np.array([1, 4, 5, 9, 10])
    q = matrix_of(design)
    conditional = np.zeros_like(q)
    conditional[np.ix_(known, known)] = q[np.ix_(known, known)]
    conditional /= conditional.sum() / 2
    restricted = design.restricted(known)
    np.testing.assert_allclose(matrix_of(restricted), conditional, atol=1e-12)
    np.testing.assert_allclose(restricted.exposure(), conditional.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(
        matrix_of(design.restricted([0, 1, 4, 5, 9, 10]).restricted([1, 2, 4, 5, 9, 10])), conditional, atol=1e-12
    )


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["naive", "principal", "mixed"])
def test_restricted_draws_follow_the_conditional_distribution(name):
    restricted = designs()[name].restricted([1, 4, 5, 9, 10])
    pairs = restricted.draw(np.random.default_rng(3), 20_000)
    assert fit_of_draws(pairs, matrix_of(restricted)) > FALSE_ALARM
    one_area_too_many = designs()[name].restricted([1, 4, 5, 8, 9, 10]).draw(np.random.default_rng(3), 20_000)
    assert fit_of_draws(one_area_too_many, matrix_of(restricted)) == 0
    if name != "naive":
        without_weights = uniform(12).restricted([1, 4, 5, 9, 10]).draw(np.random.default_rng(3), 20_000)
        assert fit_of_draws(without_weights, matrix_of(restricted)) < 1e-12


@pytest.mark.statistical
def test_areas_that_are_nearly_the_same_are_drawn_from_a_list():
    n = 6
    alike = np.random.default_rng(1).uniform(1e-8, 1e-7, (n, n))
    design = PairDesign(np.arange(n), 1.0, from_matrix(-1 + (alike + alike.T) / 2))
    pairs = design.draw(np.random.default_rng(2), 5_000)
    assert fit_of_draws(pairs, matrix_of(design)) > FALSE_ALARM
    assert fit_of_draws(uniform(n).draw(np.random.default_rng(2), 5_000), matrix_of(design)) < 1e-12


@given(st.permutations(range(9)), st.integers(0, 5))
def test_relabelling_areas_permutes_the_design(order, seed):
    graph, order = delaunay_map(9, seed), np.array(order)
    renamed = AreaGraph(9, order[graph.edges])
    makers = (
        naive_spatial,
        principal_component,
        lambda map_: optimal(communicability(map_), alpha=2.0, n_comparisons=40),
    )
    for make in makers:
        np.testing.assert_allclose(matrix_of(make(renamed))[np.ix_(order, order)], matrix_of(make(graph)), atol=1e-9)


def test_the_sparse_exponential_is_accurate(monkeypatch):
    monkeypatch.setattr(communicability_module, "BLOCK", 90)
    graph = delaunay_map(400)
    approximate, exact = sparse_pairs(graph), exact_pairs(graph)
    i, j = all_pairs(400).T
    error = abs(approximate.correlation().at(i, j) - exact.correlation().at(i, j)).max()
    assert error < 1e-5
    assert len(approximate.pairs.keys) < 0.95 * len(i)


def test_a_map_too_closely_knit_is_refused(monkeypatch):
    monkeypatch.setattr(communicability_module, "STORED_LIMIT", 100)
    with pytest.raises(ValueError, match="so densely connected"):
        sparse_pairs(delaunay_map(100))


def test_35000_areas_in_a_ring_have_the_closed_form():
    n = 35_000
    design = principal_component(ring(n))
    steps = np.arange(1, 40)
    exact = 1 - iv(steps, 2.0) / iv(0, 2.0)
    np.testing.assert_allclose(design.weight(7, (7 + steps) % n), exact, atol=1e-5)
    np.testing.assert_allclose(design.weight(7, (7 - steps) % n), exact, atol=1e-5)
    expected = n * (n - 1) / 2 - n * (iv(np.arange(1, 100), 2.0) / iv(0, 2.0)).sum()
    assert design.total() == pytest.approx(expected, rel=1e-9)
    pairs = design.draw(np.random.default_rng(1), 1_000)
    assert pairs.min() >= 0
    assert pairs.max() < n
    assert np.all(pairs[:, 0] != pairs[:, 1])
    known = np.arange(500, 600)
    assert np.isin(design.restricted(known).draw(np.random.default_rng(1), 100), known).all()
    assert design.offsets.keys.nbytes < 20e6


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: uniform(1), "only one area can be asked"),
        (lambda: uniform(5).restricted([2]), "only one area can be asked"),
        (lambda: uniform(5).restricted([]), "no area can be asked"),
        (lambda: uniform(5).restricted([2, 5]), "areas must lie in 0 … 4"),
        (lambda: weighted(np.zeros((3, 3))), "all pairs have weight zero"),
        (lambda: weighted(-np.ones((3, 3))), "must be zero or more"),
        (lambda: weighted([[0, 1], [2, 0]]), "symmetric"),
        (lambda: weighted([1.0, 2.0]), "square matrix"),
        (lambda: weighted([[0, np.nan], [np.nan, 0]]), "symmetric|finite"),
        (lambda: only(4, (0, 1)).restricted([2, 3]).draw(np.random.default_rng(1), 1), "zero weight to every"),
        (lambda: only(4, (0, 1)).restricted([2, 3]).probability(2, 3), "zero weight to every"),
        (lambda: PairDesign(np.arange(3), -1.0, uniform(3).offsets), "base weight"),
        (lambda: PairDesign(np.arange(2), 1.0, PairValues(2, [1], [-2.0])), "negative weight"),
        (lambda: PairValues(3, [5, 1], [1.0, 1.0]), "sorted"),
        (lambda: PairValues(3, [3], [1.0]), "i < j"),
        (lambda: PairValues(3, [1], [1.0, 2.0]), "do not match"),
    ],
)
def test_bad_input_is_one_clear_sentence(call, message):
    with pytest.raises(ValueError, match=message) as caught:
        call()
    assert "\n" not in str(caught.value)
