"""Running the clustering sampler in several chains."""

import numpy as np
import pytest

from judgemap.core.model.clusters import ClusterPrior
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.clusters.kernel import ClusterModel
from judgemap.core.samplers.run import Plan, sample_clusters
from judgemap.core.simulate.trials import simulate_counts

RING = AreaGraph(10, [[i, (i + 1) % 10] for i in range(10)])
PRIOR = ClusterPrior(communicability_matrix(RING))
LEVELS = np.repeat([3.0, -3.0], 5)
MODEL = ClusterModel(simulate_counts(np.random.default_rng(61), LEVELS, 150), PRIOR)
PLAN = Plan(chains=3, warmup=20, draws=90, thin=2)


FIELDS = ("strengths", "labels", "n_clusters", "log_posterior", "acceptance", "divergences")


def test_same_seed_same_draws_on_any_number_of_cores():
    one = sample_clusters(np.random.default_rng(1), MODEL, PLAN, cores=1)
    two = sample_clusters(np.random.default_rng(1), MODEL, PLAN, cores=2)
    assert all(np.array_equal(one[field], two[field]) for field in FIELDS)
    assert one.strengths.shape == one["labels"].shape == (3, 90, 10)
    assert all(one[field].shape == (3, 90) for field in FIELDS[2:])
    assert one.complete


def test_chains_differ_and_find_the_same():
    draws = sample_clusters(np.random.default_rng(2), MODEL, PLAN)
    assert not np.array_equal(draws.strengths[0], draws.strengths[1])
    together = (draws["labels"][:, :, :1] == draws["labels"]).mean(axis=1)
    assert np.all(together[:, :5] > 0.6)
    assert np.all(together[:, 5:] < 0.4)


def test_news_on_the_way():
    seen = []
    sample_clusters(
        np.random.default_rng(3), MODEL, PLAN, watch=lambda so_far, wanted: seen.append((so_far.n_draws, wanted))
    )
    counts = [count for count, _ in seen]
    assert counts == sorted(counts)
    assert counts[0] < 10
    assert seen[-1] == (90, 90)


def test_interrupted_run_returns_what_there_is():
    def interrupt(so_far, wanted):
        if so_far.n_draws >= 30:
            raise KeyboardInterrupt

    draws = sample_clusters(np.random.default_rng(4), MODEL, PLAN, watch=interrupt)
    assert 30 <= draws.n_draws < 90
    assert not draws.complete

    def at_once(so_far, wanted):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sample_clusters(np.random.default_rng(4), MODEL, PLAN, watch=at_once)
