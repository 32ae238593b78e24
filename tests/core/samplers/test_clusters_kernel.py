"""The clustering sampler's parts against plain linear algebra, its two ways against each other, and its bad inputs."""

import math

import numpy as np
import pytest
from cluster_exactness import tables

from judgemap.core.model.clusters import ClusterPrior, decay, labels_of_links, simulate_clusters, window
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.counts import count_pairs, log_likelihood, score
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.clusters import compiled
from judgemap.core.samplers.clusters import kernel as clusters
from judgemap.core.samplers.clusters.kernel import ClusterModel, ClusterState, links_of_labels, starting_partitions
from judgemap.core.simulate.trials import simulate_counts

RING = AreaGraph(8, [[i, (i + 1) % 8] for i in range(8)])
PRIOR = ClusterPrior(communicability_matrix(RING), beta=0.01, mu0=0.4, kappa0=0.3, a0=2.0, b0=1.0)


def example(size=60):
    rng = np.random.default_rng(41)
    truth = simulate_clusters(rng, PRIOR)
    return ClusterModel(simulate_counts(rng, truth.strengths, size), PRIOR), truth


def planted(truth):
    areas, records = np.zeros(8, compiled.AREA), np.zeros(8, compiled.CLUSTER)
    n_clusters = compiled.plant(areas, records, truth.links, truth.strengths, tables(PRIOR))
    records["precision"][:n_clusters] = 0.5 + np.arange(n_clusters)
    return areas, records, n_clusters


def dense_precision(labels, precision):
    """Q = ⊕ (I − 11ᵀ/(κ0 + n))/σ², written out."""
    Q = np.zeros((8, 8))
    for k in range(labels.max() + 1):
        members = np.flatnonzero(labels == k)
        block = np.eye(len(members)) - 1 / (PRIOR.kappa0 + len(members))
        Q[np.ix_(members, members)] = precision[k] * block
    return Q


def test_prior_slope_is_that_of_the_gaussian():
    _, truth = example()
    areas, records, _ = planted(truth)
    Q = dense_precision(truth.labels, records["precision"])
    x, slope = truth.strengths - PRIOR.mu0, np.empty(8)
    value = compiled.prior_slope(x, areas, records, PRIOR.kappa0, slope)
    assert slope == pytest.approx(-Q @ x)
    assert value == pytest.approx(-x @ Q @ x / 2)


@pytest.mark.statistical
def test_shift_has_its_conditional_distribution():
    """Mean and variance of the common shift; |z| < 4.5, false alarm 1e-5."""
    _, truth = example()
    _, records, n_clusters = planted(truth)
    Q, one = dense_precision(truth.labels, records["precision"]), np.ones(8)
    rng = np.random.default_rng(42)
    shifts = np.array([compiled.draw_shift(rng, records, n_clusters, PRIOR.kappa0) for _ in range(20_000)])
    x = truth.strengths - PRIOR.mu0
    mean, variance = -one @ Q @ x / (one @ Q @ one), 1 / (one @ Q @ one)
    assert abs(shifts.mean() - mean) < 4.5 * np.sqrt(variance / 20_000)
    assert abs(shifts.var() / variance - 1) < 4.5 * np.sqrt(2 / 20_000)


def test_likelihood_is_the_core_one():
    """Also where a pair was met often, or very often, and where strengths lie far apart."""
    winners, losers = [0] * 7 + [1] * 3 + [2, 4, 5] + [6] * 5000, [1] * 7 + [0] * 3 + [3, 5, 6] + [7] * 5000
    counts = count_pairs(winners, losers, n_areas=8)
    comparisons = clusters._comparisons(counts)
    for scale in (0.1, 1.0, 50.0, 1000.0):
        x = scale * np.random.default_rng(1).normal(size=8)
        slope = np.empty(8)
        compiled.score_likelihood(comparisons, x, slope)
        height = compiled.log_likelihood(comparisons, x)
        assert height == pytest.approx(float(log_likelihood(counts, x)), rel=1e-12, abs=1e-10)
        assert slope == pytest.approx(score(counts, x), abs=1e-12)


@pytest.mark.parametrize("shift", [0.7, -40.0, 0.0])
@pytest.mark.parametrize("answers", [40, 5000])
def test_likelihood_of_a_shifted_tree(answers, shift):
    """Also where a pair was met hundreds of times, and where the shift takes the tree far away."""
    _, truth = example()
    counts = simulate_counts(np.random.default_rng(2), truth.strengths, answers)
    comparisons = clusters._comparisons(counts)
    areas, _, _ = planted(truth)
    areas["below"][:3] = [1, 4, 5]
    shifted = truth.strengths.copy()
    shifted[[1, 4, 5]] += shift
    rows = len(comparisons.other)
    gain = compiled.shifted_likelihood(
        areas, 3, np.zeros(8, dtype=bool), shift, comparisons, np.empty(rows), np.empty(rows)
    )
    expected = log_likelihood(counts, shifted) - log_likelihood(counts, truth.strengths)
    assert gain == pytest.approx(float(expected), rel=1e-10, abs=1e-10)


def test_log_posterior_of_the_draws():
    """What the compiled loop reports is log p(y, λ, θ) of the state it is in."""
    model, truth = example()
    sampler = clusters.kernel(model)
    state = ClusterState(truth.links, truth.strengths)
    for seed in range(20):
        state, draws = sampler.advance(np.random.default_rng(seed), state, 3, 3)
        assert draws["log_posterior"][0, 0] == pytest.approx(clusters.log_posterior(model, state))
        assert np.array_equal(draws["labels"][0, 0], labels_of_links(state.links))
        assert np.array_equal(draws["strengths"][0, 0], state.strengths)


def test_starting_partitions_become_links():
    model, _ = example()
    starts = starting_partitions(model, chains=6)
    assert [len(np.unique(s)) for s in starts] == [1, 8, 2, 3, 4, 5]
    for labels in starts:
        found = labels_of_links(links_of_labels(PRIOR, labels))
        assert np.array_equal(found[:, None] == found, labels[:, None] == labels)


def test_start_in_two_parts():
    """All together means together within each part of the map."""
    prior = ClusterPrior(window(AreaGraph(4, [[0, 1], [2, 3]]), reach=1))
    assert np.array_equal(labels_of_links(links_of_labels(prior, np.zeros(4, dtype=int))), [0, 0, 1, 1])
    assert np.array_equal(prior.parts(), [0, 0, 1, 1])


@pytest.mark.parametrize("name", ["beta", "kappa0", "a0", "b0"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_hyperparameters_out_of_range(name, value):
    with pytest.raises(ValueError, match=f"{name} of the cluster prior must be a positive number"):
        ClusterPrior(np.ones((3, 3)), **{name: value})


def test_bad_priors():
    with pytest.raises(ValueError, match="area 2 has no affinity with any other"):
        ClusterPrior(window(AreaGraph(3, [[0, 1]]), reach=1))
    with pytest.raises(ValueError, match="mu0 of the cluster prior must be a finite number"):
        ClusterPrior(np.ones((3, 3)), mu0=np.nan)
    with pytest.raises(ValueError, match="affinities must be a square matrix"):
        ClusterPrior(np.ones((3, 2)))
    with pytest.raises(ValueError, match="affinities must be finite and not negative"):
        ClusterPrior(-np.ones((3, 3)))
    with pytest.raises(ValueError, match="a window must reach"):
        window(RING, reach=0)
    with pytest.raises(ValueError, match="the decay length must be a positive number"):
        decay(RING, length=0.0)


def test_bad_uses():
    model, _ = example()
    sampler, rng = clusters.kernel(model), np.random.default_rng(1)
    with pytest.raises(ValueError, match="the comparisons cover 3 areas, the prior 8"):
        ClusterModel(count_pairs([0], [1], n_areas=3), PRIOR)
    with pytest.raises(ValueError, match="one label per area"):
        sampler.init(rng, np.zeros((1, 3), dtype=int))
    with pytest.raises(ValueError, match="whole multiple of thin steps, received 0"):
        sampler.advance(rng, sampler.init(rng, np.zeros((1, 8), dtype=int)), 0, 1)


def test_communicability_matrix_to_the_last_digit():
    """A path of 30 areas: (e^A)_ij from eigenvectors drowns in rounding where the series does not."""
    path = AreaGraph(31, [[i, i + 1] for i in range(30)])
    affinity = communicability_matrix(path)
    values, U = np.linalg.eigh(path.adjacency())
    assert affinity == pytest.approx((U * np.exp(values)) @ U.T, abs=1e-13)
    assert np.all(affinity > 0)
    assert affinity[0, 30] == pytest.approx(1 / math.factorial(30), rel=0.01)
