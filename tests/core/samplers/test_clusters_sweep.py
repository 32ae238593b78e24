"""The sweep over links against the enumeration of all link sets, and the planted bugs that this catches.

False alarms: the worst z-score of a test passes its limit with probability 1e-4 where the sampler is exact.
"""

import numpy as np
import pytest
from calibration import worst
from cluster_exactness import density, enumerate_links, partition_of, plain, sweep_scores, tables

from judgemap.core.model.clusters import ClusterPrior, decay, labels_of_links, log_marginal, simulate_clusters, window
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.clusters import compiled

FALSE_ALARM = 1e-4
PATH4 = AreaGraph(4, [[0, 1], [1, 2], [2, 3]])
RING5 = AreaGraph(5, [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]])
STRENGTHS = np.array([0.2, 0.5, -1.4, -1.0, 1.1])
CASES = {
    "4 areas": ClusterPrior(communicability_matrix(PATH4), beta=0.5, mu0=0.3, kappa0=0.2, a0=1.5, b0=0.4),
    "5 areas": ClusterPrior(communicability_matrix(RING5), beta=0.3, mu0=-0.2, kappa0=2.5, a0=2.0, b0=0.5),
    "small β": ClusterPrior(communicability_matrix(RING5), a0=2.0, b0=0.3),
    "window": ClusterPrior(window(RING5, reach=1), beta=0.2, a0=2.0, b0=0.3),
    "decay": ClusterPrior(decay(PATH4, length=0.5), beta=0.1, a0=2.0, b0=0.3),
    "two parts": ClusterPrior(window(AreaGraph(5, [[0, 1], [2, 3], [3, 4]]), reach=1), beta=0.2, b0=0.3),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_sweep_is_exact(name):
    prior = CASES[name]
    strengths = STRENGTHS[: prior.n_areas]
    scores = sweep_scores(np.random.default_rng(21), compiled.sweep_links, prior, strengths, batches=30, length=200)
    assert len(scores) > 3
    assert worst(scores, FALSE_ALARM) < 1


# Planted bugs. The same test, run as plain Python, passes the code as it is and fails each bug. The first assumes that
# the parent's branch does not hang below i, as it does if the links have a cycle; replanting keeps it from crashing.

BUGS = {
    "none": {},
    "cycle ignored": {
        """            areas[n]["below"] = child
            n += 1
""": """            if child != parent:
                areas[n]["below"] = child
                n += 1
""",
        "    for i in range(len(areas)):\n        n_clusters = cut(": """    for i in range(len(areas)):
        n_clusters = plant(areas, clusters, areas["link"].copy(), areas["x"] + hyper[0], tables)
        n_clusters = cut(""",
    },
    "κ0 forgotten": {"max(0.0, square - total * total / (kappa0 + n))": "max(0.0, square - total * total / (1 + n))"},
    "clusters not subtracted": {'joined - tree["log_f"] - other["log_f"]': 'joined - tree["log_f"]'},
}


@pytest.mark.statistical
@pytest.mark.parametrize("bug", BUGS)
def test_sweep_test_catches_bugs(bug):
    """With a κ0 far from 1, forgetting it shows."""
    code = plain(compiled, BUGS[bug])
    scores = sweep_scores(np.random.default_rng(22), code.sweep_links, CASES["4 areas"], STRENGTHS[:4], 20, 100)
    assert (worst(scores, FALSE_ALARM) > 1) == (bug != "none")


@pytest.mark.statistical
def test_sweep_test_catches_self_link_counted_twice():
    """The diagonal of e^A added to β: what happens when affinities are used as they come."""
    affinity = communicability_matrix(PATH4)

    def sweep(rng, links, strengths, table):
        twice = table._replace(weights=table.weights + np.diag(np.diagonal(affinity)))
        return compiled.sweep_links(rng, links, strengths, twice)

    prior = CASES["4 areas"]
    scores = sweep_scores(np.random.default_rng(22), sweep, prior, STRENGTHS[:4], batches=20, length=100)
    assert worst(scores, FALSE_ALARM) > 1


def test_components_with_cycles():
    """Labels of random functional graphs, in which cycles are the rule."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        links = rng.integers(12, size=12)
        assert tuple(labels_of_links(links)) == partition_of(links.tolist())


def test_records_agree_with_links_after_moves():
    """After sweeps, clusters, their sums and log f are those of the links."""
    prior = CASES["5 areas"]
    rng, n, table = np.random.default_rng(6), 5, tables(prior)
    areas, clusters = np.zeros(n, compiled.AREA), np.zeros(n, compiled.CLUSTER)
    n_clusters = compiled.plant(areas, clusters, np.arange(n), STRENGTHS, table)
    for _ in range(200):
        n_clusters = compiled.sweep(rng, areas, clusters, n_clusters, table)
        labels = np.array(partition_of(areas["link"].tolist()))
        assert len(set(areas["label"].tolist())) == n_clusters == labels.max() + 1
        for k in range(n_clusters):
            slot = areas["label"][labels == k]
            assert len(set(slot.tolist())) == 1
            cluster = clusters[slot[0]]
            assert cluster["size"] == np.sum(labels == k)
            assert cluster["log_f"] == pytest.approx(density(prior, STRENGTHS[labels == k]))
        assert sorted(clusters["slot"][:n_clusters]) == sorted(set(areas["label"].tolist()))
        assert np.all(clusters["place"][clusters["slot"]] == np.arange(n))


@pytest.mark.parametrize("name", CASES)
def test_marginal_is_the_textbook_one(name):
    prior = CASES[name]
    for n in range(1, prior.n_areas + 1):
        assert log_marginal(prior, STRENGTHS[:n]) == pytest.approx(density(prior, STRENGTHS[:n]))


def test_marginal_is_a_density():
    """It integrates to one over one and two strengths."""
    prior = CASES["4 areas"]
    grid = np.linspace(-200, 200, 400_001)
    one = np.exp([log_marginal(prior, np.array([x])) for x in grid[::40]])
    assert np.trapezoid(one, grid[::40]) == pytest.approx(1, abs=2e-3)


@pytest.mark.statistical
def test_simulated_clusters_follow_the_prior():
    """Partition frequencies of prior draws against the enumeration without strengths; 1e-4 false alarms."""
    prior = CASES["4 areas"]
    draws = [tuple(simulate_clusters(rng, prior).labels) for rng in np.random.default_rng(9).spawn(4000)]
    flat = ClusterPrior(prior.affinity, beta=prior.beta, a0=1e6, b0=1e6, kappa0=1e9)
    exact, _ = enumerate_links(flat, np.zeros(4))
    z = [(draws.count(p) / 4000 - q) / np.sqrt(q * (1 - q) / 4000) for p, q in exact.items() if q > 0.01]
    assert worst(z, FALSE_ALARM) < 1


def test_clusters_never_span_parts():
    prior = CASES["two parts"]
    links, rng = np.arange(5), np.random.default_rng(3)
    for _ in range(300):
        links = compiled.sweep_links(rng, links, STRENGTHS, tables(prior))
        labels = labels_of_links(links)
        assert not set(labels[:2].tolist()) & set(labels[2:].tolist())


def test_best_cluster_out_of_reach():
    """A cluster that fits far better than any in reach, by more than e^700, must not swallow the others' weights."""
    n = 400
    strengths = np.concatenate([np.full(n - 2, 100.0), [0.0, 100.0]])
    chain = AreaGraph(n, [[i, i + 1] for i in range(n - 1)])
    prior = ClusterPrior(window(chain, reach=1), beta=1e-8, a0=50.0, b0=1e-6)
    links = np.arange(n)
    for _ in range(20):
        links = compiled.sweep_links(np.random.default_rng(1), links, strengths, tables(prior))
        assert np.all(prior.link_weights()[np.arange(n), links] > 0)
