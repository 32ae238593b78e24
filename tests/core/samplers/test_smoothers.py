"""Priors that are never a matrix, against the matrix."""

import numpy as np
import pytest
from scipy import linalg
from synthetic import delaunay_map, ring

from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import communicability
from judgemap.core.samplers.large.smoothers import (
    Borders,
    Communicability,
    Independent,
    correlation_among,
    exponential_diagonal,
)

MAPS = {
    "a ring": ring(12),
    "a map": delaunay_map(150),
    "islands": AreaGraph(9, [[0, 1], [1, 2], [2, 0], [4, 5], [6, 7]]),
    "a hub": AreaGraph(101, [[0, i] for i in range(1, 101)]),
    "one area": AreaGraph(1, []),
}


@pytest.mark.parametrize("name", MAPS)
def test_precision_is_that_of_the_matrix(name):
    graph = MAPS[name]
    prior, exact = Communicability(graph), communicability(graph)
    n = graph.n_areas
    largest = np.abs(exact.inverse).max()
    assert np.abs(prior.precision(np.eye(n)) - exact.inverse).max() < 1e-9 * largest
    assert np.allclose(prior.diagonal, np.diagonal(exact.inverse), rtol=1e-9)
    panel = np.zeros((n, n), dtype=np.float32)
    prior.add_columns(0.5, 0, panel)
    assert np.abs(np.tril(panel) - np.tril(exact.inverse) / 2).max() < 1e-5 * largest


def test_the_diagonal_of_an_exponential():
    graph = delaunay_map(80)
    for power in (1.0, -1.0, 0.3):
        exact = np.diagonal(linalg.expm(power * graph.adjacency()))
        assert np.allclose(exponential_diagonal(Borders.of(graph), power), exact, rtol=1e-11)


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["a ring", "islands"])
def test_noise_has_the_covariance_it_says(name):
    """5 standard errors for each of up to 144 entries: a false alarm in 1e-4 tests."""
    graph = MAPS[name]
    prior, exact, rng = Communicability(graph), communicability(graph), np.random.default_rng(1)
    for drawn, C in ((prior.draw(rng, 20_000), exact.matrix), (prior.precision_noise(rng, 20_000), exact.inverse)):
        error = np.sqrt((np.outer(np.diagonal(C), np.diagonal(C)) + C**2) / 20_000)
        assert (np.abs(drawn @ drawn.T / 20_000 - C) < 5 * error).all()


def test_areas_that_border_hundreds_of_others_are_refused():
    with pytest.raises(ValueError, match=r"border very many others .* check the edges"):
        Communicability(AreaGraph(400, [[0, i] for i in range(1, 400)]))


def test_independent_areas():
    prior = Independent(3)
    panel = np.zeros((3, 2), dtype=np.float32)
    prior.add_columns(2.0, 1, panel[1:])
    assert panel.tolist() == [[0, 0], [2, 0], [0, 2]]


def test_correlation_of_a_few_areas_is_that_of_the_whole_map():
    graph, few = delaunay_map(150), np.array([3, 17, 90, 149])
    assert np.allclose(correlation_among(graph, few), communicability(graph).matrix[np.ix_(few, few)], atol=1e-12)
