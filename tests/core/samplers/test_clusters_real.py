"""The clustering model on the Nottinghamshire study: chains from different starts, and figures computed elsewhere.

Limits: 4.5 standard errors, false alarm below 1e-4 a test.
"""

from functools import partial

import numpy as np
import pandas as pd
import pytest

from judgemap.core.assess.partitions import convergence
from judgemap.core.model.clusters import ClusterPrior
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.counts import count_pairs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.clusters import kernel as clusters
from judgemap.core.samplers.clusters.kernel import ClusterModel
from judgemap.core.samplers.diagnostics import ess_bulk
from judgemap.core.samplers.run import Plan, sample_clusters

pytestmark = pytest.mark.statistical

LIMIT = 4.5
PROTOTYPE = {"clusters": (3.6756, 0.0007), "variance": (7.2497, 0.0018)}
"""Mean number of clusters and mean variance of λ over areas, with their errors, by two other implementations (HMC and
Pólya-Gamma, six seeds each) with β = 1e-8, κ0 = a0 = b0 = 1, μ0 = 0."""


@pytest.fixture(scope="module")
def study(nottinghamshire):
    graph = AreaGraph(76, pd.read_csv(nottinghamshire / "edges.csv").to_numpy() - 1)
    winners, losers = pd.read_csv(nottinghamshire / "comparisons.csv")[["winner", "loser"]].to_numpy().T - 1
    prior = ClusterPrior(communicability_matrix(graph), a0=1.0, b0=1.0)
    return ClusterModel(count_pairs(winners, losers, 76), prior)


@pytest.fixture(scope="module")
def draws(study):
    return sample_clusters(np.random.default_rng(51), study, Plan(chains=4, warmup=300, draws=1000, thin=3))


def functions(draws):
    return {"clusters": draws["n_clusters"].astype(float), "variance": draws.strengths.var(axis=2)}


def estimate(x):
    return x.mean(), x.std() / np.sqrt(ess_bulk(x))


@pytest.mark.parametrize("name", PROTOTYPE)
def test_figures_computed_elsewhere(draws, name):
    mean, error = estimate(functions(draws)[name])
    other, other_error = PROTOTYPE[name]
    assert abs(mean - other) < LIMIT * np.hypot(error, other_error)


@pytest.mark.slow
def test_carrying_cures_tight_clusters(study):
    """If clusters are tighter than what comparisons say about one area, sweeps on their own leave chains apart."""
    prior = ClusterPrior(study.prior.affinity, kappa0=0.01, a0=10.0, b0=0.5)
    model, plan = ClusterModel(study.counts, prior), Plan(chains=4, warmup=500, draws=2000, thin=5)
    carried = sample_clusters(np.random.default_rng(54), model, plan)
    held = sample_clusters(np.random.default_rng(54), model, plan, partial(clusters.kernel, carry_every=10**9))
    with_it, without = (convergence(d["labels"], d["log_posterior"]) for d in (carried, held))
    assert with_it.agrees(1.05)
    assert with_it.together_gap < without.together_gap
    assert with_it.ess_together > 1.5 * without.ess_together
