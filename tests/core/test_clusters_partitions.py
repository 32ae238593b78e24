"""Partitions: losses and indices against their definitions, optima against all partitions of up to six areas."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judgemap.core.assess import partitions as clustering
from judgemap.core.assess.partitions import (
    adjusted_rand_index,
    between,
    canonical,
    canonical_draws,
    cluster_counts,
    co_clustering,
    convergence,
    expected_binder,
    expected_vi,
    membership,
    minimise_binder,
    minimise_vi,
    order_by_risk,
    rand_index,
    risk_of_clusters,
    variation_of_information,
)

labels_of = st.integers(2, 8).flatmap(
    lambda n: st.tuples(*[st.lists(st.integers(0, 4), min_size=n, max_size=n).map(np.array)] * 3)
)


def all_partitions(n):
    """Restricted growth strings: every partition of n areas once."""

    def grow(prefix):
        if len(prefix) == n:
            yield np.array(prefix)
            return
        for label in range(max(prefix) + 2):
            yield from grow([*prefix, label])

    return list(grow([0]))


def pairs_agree(a, b):
    agree = [(a[i] == a[j]) == (b[i] == b[j]) for i, j in itertools.combinations(range(len(a)), 2)]
    return np.mean(agree)


def entropy(labels):
    p = np.unique(labels, return_counts=True)[1] / len(labels)
    return -np.sum(p * np.log2(p))


def random_draws(rng, n, size):
    """Draws scattered around one partition, so that there is something to find."""
    centre = rng.integers(3, size=n)
    noise = rng.random((size, n)) < rng.uniform(0.1, 0.8)
    return np.where(noise, rng.integers(4, size=(size, n)), centre)


@given(labels_of)
def test_indices_are_their_definitions(labels):
    a, b, c = labels
    assert rand_index(a, b) == pytest.approx(pairs_agree(a, b))
    joint = entropy(a * 10 + b)
    vi = variation_of_information(a, b)
    assert vi == pytest.approx(2 * joint - entropy(a) - entropy(b), abs=1e-9)
    assert vi <= variation_of_information(a, c) + variation_of_information(c, b) + 1e-9
    assert variation_of_information(a, canonical(a)) == pytest.approx(0)
    assert adjusted_rand_index(a, canonical(a)) == 1
    assert adjusted_rand_index(a, b) == pytest.approx(adjusted_rand_index(b, a))
    assert np.array_equal(canonical(a)[:, None] == canonical(a), a[:, None] == a)


def test_adjusted_rand_is_corrected_for_chance():
    """Its mean over all relabellings of areas is exactly 0; worked example of 0.24 by hand."""
    a, b = np.array([0, 0, 0, 1, 1]), np.array([0, 0, 1, 1, 1])
    mean = np.mean([adjusted_rand_index(a, b[list(order)]) for order in itertools.permutations(range(5))])
    assert mean == pytest.approx(0, abs=1e-12)
    assert adjusted_rand_index(np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 1, 1, 2, 2])) == pytest.approx(
        0.2424, abs=1e-4
    )


def test_co_clustering_is_the_share_of_draws():
    draws = random_draws(np.random.default_rng(1), 7, 40)
    assert co_clustering(draws) == pytest.approx((draws[:, :, None] == draws[:, None, :]).mean(axis=0))
    assert np.array_equal(canonical_draws(draws), [canonical(draw) for draw in draws])
    counts = np.array([len(set(draw.tolist())) for draw in draws])
    assert cluster_counts(draws) == pytest.approx(np.bincount(counts) / 40)


def test_expected_losses_are_means_over_draws():
    draws = random_draws(np.random.default_rng(2), 6, 30)
    for partition in all_partitions(6)[::20]:
        assert expected_vi(partition, draws) == pytest.approx(
            np.mean([variation_of_information(partition, draw) for draw in draws])
        )
        wrong = np.mean([1 - pairs_agree(partition, draw) for draw in draws])
        assert expected_binder(partition, co_clustering(draws)) == pytest.approx(wrong)


@pytest.mark.parametrize("seed", range(5))
def test_search_finds_the_best_of_all_partitions(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 7))
    draws = random_draws(rng, n, 25)
    similarity = co_clustering(draws)
    everything = all_partitions(n)
    vi = np.array([expected_vi(partition, draws) for partition in everything])
    binder = np.array([expected_binder(partition, similarity) for partition in everything])
    size = np.array([partition.max() + 1 for partition in everything])
    assert minimise_vi(draws).loss == pytest.approx(vi.min())
    assert minimise_binder(draws).loss == pytest.approx(binder.min())
    for k in range(1, n + 1):
        assert minimise_vi(draws, n_clusters=k).loss == pytest.approx(vi[size == k].min())
        assert minimise_binder(draws, n_clusters=k).loss == pytest.approx(binder[size == k].min())


def test_estimate_does_not_depend_on_labels():
    """Renaming the clusters of every draw differently changes nothing."""
    rng = np.random.default_rng(4)
    draws = random_draws(rng, 12, 60)
    renamed = np.array([rng.permutation(10)[draw] for draw in draws])
    assert np.array_equal(minimise_vi(draws).partition, minimise_vi(renamed).partition)
    assert np.array_equal(minimise_binder(draws).partition, minimise_binder(renamed).partition)
    partition = minimise_vi(draws).partition
    assert membership(partition, draws) == pytest.approx(membership(partition, renamed))


def test_clusters_by_risk():
    partition = np.array([4, 4, 2, 9])
    risk = np.array([[0.0, 1.0, 5.0, -3.0], [1.0, 0.0, 6.0, -5.0]])
    ordered = order_by_risk(partition, risk.mean(axis=0))
    assert np.array_equal(ordered, [2, 2, 1, 3])
    assert risk_of_clusters(ordered, risk) == pytest.approx(np.array([[5.0, 0.5, -3.0], [6.0, 0.5, -5.0]]))


def test_membership_counts_matched_clusters():
    """A draw that joins two clusters gives the smaller's areas to the larger; one that splits, the rest to none."""
    partition = np.array([1, 1, 1, 2, 2])
    joined, split = np.zeros(5, dtype=int), np.array([0, 0, 7, 3, 3])
    belongs = membership(partition, np.array([joined, split]))
    assert belongs == pytest.approx(np.array([[1, 0], [1, 0], [0.5, 0], [0.5, 0.5], [0.5, 0.5]]))
    assert membership(partition, partition[None]) == pytest.approx(np.eye(2)[partition - 1])


def test_areas_between_clusters():
    partition = np.array([1, 1, 2, 2, 3])
    belongs = np.array([[0.9, 0.05, 0.05], [0.5, 0.45, 0.05], [0.0, 1.0, 0.0], [0.2, 0.3, 0.25], [0.0, 0.0, 1.0]])
    found = between(partition, belongs)
    assert [(area.area, area.cluster, area.other) for area in found] == [(1, 1, 2), (3, 2, 3)]
    assert between(partition, belongs, share=0.3) == [found[0]]
    with pytest.raises(ValueError, match="must lie in 0 … 1"):
        between(partition, belongs, share=0.0)


def chains(rng, different):
    """Two chains around one partition, or around two."""
    centre = np.array([[0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 0, 1]])
    draws = np.repeat(centre[[0, int(different)]][:, None], 300, axis=1)
    return np.where(rng.random(draws.shape) < 0.2, rng.integers(3, size=draws.shape), draws)


def test_convergence_sees_a_stuck_chain():
    rng = np.random.default_rng(5)
    good = convergence(chains(rng, different=False), rng.normal(size=(2, 300)))
    assert good.agrees()
    stuck = convergence(chains(rng, different=True), rng.normal(size=(2, 300)))
    assert not stuck.agrees()
    assert stuck.together_gap > 0.5 > good.together_gap
    assert stuck.rhat_together > 1.1
    lower = convergence(chains(rng, different=False), rng.normal([[0], [3]], size=(2, 300)))
    assert lower.rhat_log_posterior > 1.1


def test_bad_partitions():
    with pytest.raises(ValueError, match="partition draws must be an array"):
        co_clustering(np.zeros(4, dtype=int))
    with pytest.raises(ValueError, match="received 3 and 4 labels"):
        rand_index(np.zeros(3, dtype=int), np.zeros(4, dtype=int))
    with pytest.raises(ValueError, match="at least two areas"):
        clustering.adjusted_rand_index(np.zeros(1, dtype=int), np.zeros(1, dtype=int))
    with pytest.raises(ValueError, match="4 areas can form 1 … 4 clusters, not 5"):
        minimise_vi(np.zeros((3, 4), dtype=int), n_clusters=5)
    with pytest.raises(ValueError, match="convergence needs labels"):
        convergence(np.zeros((3, 4), dtype=int), np.zeros(3))
