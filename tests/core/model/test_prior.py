import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import expm

from judgemap.core.model import prior
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import (
    DENSE_LIMIT,
    FixedVariance,
    InverseGamma,
    communicability,
    graph_exponential,
    independent,
)

POINTS = np.random.default_rng(1).uniform(0, 10, size=(12, 2))


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 8))
    pairs = [(i, j) for i in range(n) for j in range(i)]
    return AreaGraph(n, draw(st.lists(st.sampled_from(pairs), max_size=12)) if pairs else [])


def assert_consistent(covariance):
    n = covariance.n_areas
    np.testing.assert_allclose(covariance.factor @ covariance.factor.T, covariance.matrix, atol=1e-8)
    np.testing.assert_allclose(covariance.matrix @ covariance.inverse, np.eye(n), atol=1e-6)
    np.testing.assert_allclose(np.diag(covariance.matrix), 1.0, atol=1e-12)


@given(graphs())
def test_communicability_is_the_scaled_matrix_exponential(graph):
    covariance = communicability(graph)
    power = expm(graph.adjacency())
    scale = np.sqrt(np.diag(power))
    np.testing.assert_allclose(covariance.matrix, power / np.outer(scale, scale), atol=1e-9)
    assert_consistent(covariance)


@given(graphs(), st.integers(0, 2**31))
def test_relabelling_areas_relabels_the_prior(graph, seed):
    order = np.random.default_rng(seed).permutation(graph.n_areas)
    moved = AreaGraph(graph.n_areas, order[graph.edges] if len(graph.edges) else [])
    a, b = communicability(graph).matrix, communicability(moved).matrix
    np.testing.assert_allclose(b[np.ix_(order, order)], a, atol=1e-9)


def test_parts_of_a_map_are_independent():
    matrix = communicability(AreaGraph(4, [[0, 1], [2, 3]])).matrix
    np.testing.assert_allclose(matrix[:2, 2:], 0.0, atol=1e-15)


@pytest.mark.parametrize("kernel", [prior.exponential, prior.matern32, prior.squared_exponential])
def test_kernels_on_centroids(kernel):
    covariance = kernel(POINTS, length=1.0)
    assert_consistent(covariance)
    distance = np.hypot(*(POINTS[0] - POINTS).T)
    order = np.argsort(distance)
    assert np.all(np.diff(covariance.matrix[0][order]) <= 1e-12), "nearer areas are more alike"


def test_kernel_formulas():
    points = np.array([[0.0, 0.0], [2.0, 0.0]])
    assert prior.exponential(points, 4.0).matrix[0, 1] == pytest.approx(np.exp(-0.5))
    assert prior.squared_exponential(points, 4.0).matrix[0, 1] == pytest.approx(np.exp(-0.125))
    r = np.sqrt(3) / 2
    assert prior.matern32(points, 4.0).matrix[0, 1] == pytest.approx((1 + r) * np.exp(-r))


def test_graph_distances_count_borders():
    path = AreaGraph(5, [[0, 1], [1, 2], [2, 3]])
    matrix = graph_exponential(path, length=2.0).matrix
    assert matrix[0, 3] == pytest.approx(np.exp(-1.5))
    assert matrix[0, 4] == 0.0


def test_draws_have_the_covariance():
    """20,000 draws: each entry of the sample covariance within 5 standard errors; false alarm below 1e-4."""
    covariance = communicability(AreaGraph(4, [[0, 1], [1, 2], [2, 3]]))
    draws = covariance.draw(np.random.default_rng(1), 20_000)
    error = np.sqrt((1 + covariance.matrix**2) / 20_000)
    assert np.abs(np.cov(draws.T) - covariance.matrix).max() < 5 * error.max()


@pytest.mark.parametrize(
    ("build", "sentence"),
    [
        (lambda: prior.exponential(POINTS, 0.0), "length scale must be a positive number, received 0.0"),
        (lambda: prior.exponential(POINTS, float("nan")), "length scale"),
        (lambda: prior.exponential(np.full((2, 2), np.nan), 1.0), "finite"),
        (lambda: prior.squared_exponential(POINTS, 1e4), "not positive definite on these areas at length 10000"),
        (lambda: graph_exponential(AreaGraph(7, [[0, i] for i in range(1, 7)]), 100.0), None),
        (lambda: communicability(AreaGraph(400, [[0, i] for i in range(1, 400)])), "border very many others"),
        (lambda: communicability(AreaGraph(DENSE_LIMIT + 1, [])), "coarser map"),
        (lambda: InverseGamma(0.0, 1.0), "shape χ .* positive number, received 0.0"),
        (lambda: InverseGamma(1.0, float("inf")), "scale ω"),
        (lambda: FixedVariance(-1.0), "positive number, received -1.0"),
    ],
)
def test_bad_priors(build, sentence):
    if sentence is None:
        assert_consistent(build())
        return
    with pytest.raises(ValueError, match=sentence):
        build()


def test_independent_is_the_identity():
    assert_consistent(independent(3))


@pytest.mark.parametrize(
    ("n", "edges", "sentence"), [(2, [[0, 2]], "0 … 1"), (2, [[1, 1]], "itself"), (0, [], "at least one area")]
)
def test_bad_graphs(n, edges, sentence):
    with pytest.raises(ValueError, match=sentence):
        AreaGraph(n, edges)
