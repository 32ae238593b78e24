"""How well the clustering model finds clusters that are known: one simulated study at a time.

The paper's study of accuracy: draw clusters and strengths from the prior on a real map, simulate comparisons of uniform
pairs, fit the model, and hold the estimate against the truth.
"""

from dataclasses import dataclass

import numpy as np

from judgemap.core.cluster_prior import ClusterPrior, simulate_clusters
from judgemap.core.clustering import adjusted_rand_index, convergence, rand_index
from judgemap.core.partition_search import minimise_binder, minimise_vi
from judgemap.core.samplers.clusters import ClusterModel
from judgemap.core.samplers.clusters_run import DEFAULT_PLAN, sample_clusters
from judgemap.core.samplers.run import Plan
from judgemap.core.simulate import simulate_counts
from judgemap.core.types import FloatArray


@dataclass(frozen=True, slots=True)
class Accuracy:
    """One simulated study: Rand's indices of the estimated and the true partition, and the error of the strengths."""

    true_clusters: int
    clusters: int
    rand: float
    adjusted_rand: float
    binder_rand: float
    """Of the partition that minimises Binder's loss instead of the variation of information."""
    binder_adjusted_rand: float
    absolute_error: float
    """Median over areas of |posterior median − truth|, of strengths less their mean."""
    range_of_strengths: float
    rhat: float
    """Largest of the R-hats of the number of clusters and the log posterior."""


def simulate_accuracy(
    rng: np.random.Generator,
    truth_prior: ClusterPrior,
    comparisons: int = 2_000,
    prior: ClusterPrior | None = None,
    plan: Plan = DEFAULT_PLAN,
) -> Accuracy:
    """Simulate one study from ``truth_prior``, fit it with ``prior`` (the same unless given), and measure the errors.

    What can be found depends on ``truth_prior``. With κ0 = 1, as in the paper, the centres of clusters lie no further
    apart than the areas within one, and even strengths that are known exactly do not tell clusters apart; κ0 = 0.1 or
    less, or a small a0, parts them.

    >>> simulate_accuracy(np.random.default_rng(1), ClusterPrior(np.ones((5, 5))), 100, plan=Plan(2, 50, 50)).clusters
    1
    """
    prior = prior or truth_prior
    truth = simulate_clusters(rng, truth_prior)
    counts = simulate_counts(rng, truth.strengths, comparisons)
    draws = sample_clusters(rng, ClusterModel(counts, prior), plan)
    labels = draws.labels.reshape(-1, prior.n_areas)
    partition, binder = minimise_vi(labels).partition, minimise_binder(labels).partition
    centred = _centred(draws.strengths).reshape(-1, prior.n_areas)
    agreement = convergence(draws.labels, draws.log_posterior)
    return Accuracy(
        true_clusters=int(truth.labels.max()) + 1,
        clusters=int(partition.max()) + 1,
        rand=rand_index(partition, truth.labels),
        adjusted_rand=adjusted_rand_index(partition, truth.labels),
        binder_rand=rand_index(binder, truth.labels),
        binder_adjusted_rand=adjusted_rand_index(binder, truth.labels),
        absolute_error=float(np.median(np.abs(np.median(centred, axis=0) - _centred(truth.strengths)))),
        range_of_strengths=float(np.ptp(truth.strengths)),
        rhat=max(agreement.rhat_clusters, agreement.rhat_log_posterior),
    )


def _centred(strengths: FloatArray) -> FloatArray:
    centred: FloatArray = strengths - strengths.mean(axis=-1, keepdims=True)
    return centred
