"""Clusters with ties: both samplers against brute-force integration over two areas, and ties counted once caught.

Limits: 5 Monte Carlo standard errors for each of 4 moments, false alarm below 1e-5 a test.
"""

import numpy as np
import pytest
from judges_quadrature import log_chances

from judgemap.core.model.clusters import ClusterPrior, log_marginal
from judgemap.core.model.counts import count_pairs
from judgemap.core.model.outcomes import TieRule
from judgemap.core.samplers.clusters import kernel as clusters
from judgemap.core.samplers.clusters.kernel import ClusterModel
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.run import CLUSTER_SAMPLERS, Plan, sample_clusters

pytestmark = pytest.mark.statistical

PRIOR = ClusterPrior(np.ones((2, 2)), beta=2.0, a0=3.0, b0=3.0)
COUNTS = count_pairs([0] * 5 + [1] * 2, [1] * 5 + [0] * 2, n_areas=2, ties=[(0, 1)] * 3)
MODEL = ClusterModel(COUNTS, PRIOR, TieRule.RAO_KUPPER)
PLAN = Plan(chains=8, warmup=50, draws=125)
LONG = Plan(chains=4, warmup=100, draws=2000, thin=2)


def exact_means():
    """Integrate over both strengths and p; clusters are one unless both links lead home."""
    side, p = np.linspace(-9, 9, 121), (np.arange(60) + 0.5) / 60
    a, b = np.meshgrid(side, side, indexing="ij")
    apart = np.exp([log_marginal(PRIOR, np.array([x])) for x in side])
    together = np.exp([[log_marginal(PRIOR, np.array([x, y])) for y in side] for x in side])
    home = np.prod(np.diagonal(PRIOR.link_weights()) / PRIOR.link_weights().sum(axis=1))
    density = np.array([home * np.outer(apart, apart), (1 - home) * together])
    first, second, tie = log_chances(TieRule.RAO_KUPPER, (a - b)[:, :, None], p)
    likelihood = np.exp(5 * first + 2 * second + 3 * tie)
    weight = density[:, :, :, None] * likelihood
    weight /= weight.sum()
    return {
        "strengths": (weight.sum(axis=(0, 3)) * (a - b)).sum(),
        "spread": (weight.sum(axis=(0, 3)) * (a - b) ** 2).sum(),
        "n_clusters": 2 * weight[0].sum() + weight[1].sum(),
        "tie_chance": weight.sum(axis=(0, 1, 2)) @ p,
    }


def largest_error(sampler, plan=PLAN):
    draws = sample_clusters(np.random.default_rng(1), MODEL, plan, CLUSTER_SAMPLERS[sampler])
    d = draws.strengths[:, :, 0] - draws.strengths[:, :, 1]
    series = {"strengths": d, "spread": d**2, "n_clusters": draws["n_clusters"], "tie_chance": draws["tie_chance"]}
    exact = exact_means()
    return max(abs(x.mean() - exact[name]) / (x.std() / np.sqrt(ess_bulk(x))) for name, x in series.items())


def test_agrees_with_integration():
    assert largest_error("hmc") < 5


@pytest.mark.slow
@pytest.mark.parametrize("sampler", CLUSTER_SAMPLERS)
def test_agrees_with_integration_in_the_long_run(sampler):
    assert largest_error(sampler, LONG) < 5


def test_catches_ties_counted_once(monkeypatch):
    right = clusters._rows

    def once(counts, *, ties):
        first, second, n, wins, s = right(counts, ties=ties)
        return first, second, np.where(s < 0, n - counts.ties.sum(), n), wins, s

    monkeypatch.setattr(clusters, "_rows", once)
    assert largest_error("hmc") > 5


@pytest.mark.parametrize("sampler", CLUSTER_SAMPLERS)
def test_ties_left_out_are_not_looked_at(sampler):
    plan = Plan(chains=2, warmup=10, draws=20)
    one, two = (
        sample_clusters(np.random.default_rng(1), ClusterModel(counts, PRIOR), plan, CLUSTER_SAMPLERS[sampler])
        for counts in (COUNTS, COUNTS.decided())
    )
    np.testing.assert_array_equal(one.strengths, two.strengths)
    assert "tie_chance" not in one.arrays
