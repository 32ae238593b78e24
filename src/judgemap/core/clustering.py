"""What draws of partitions say: which areas belong together, how many clusters there are, and whether chains agree.

A partition is an array of labels, one per area; all that matters is which labels are equal. Draws of partitions are an
array (draws, areas). Labels have no meaning across draws, so nothing here averages them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from judgemap.core.diagnostics import ess_bulk, rhat
from judgemap.core.types import FloatArray, IntArray

JUDGED_PAIRS = 500
"""The most pairs of areas whose co-clustering is followed through the chains; on a large map all pairs would not fit
into memory."""


def canonical(partition: IntArray) -> IntArray:
    """Renumber the clusters 0, 1, … in the order of their first area.

    >>> canonical(np.array([7, 2, 7, 5]))
    array([0, 1, 0, 2])
    """
    renumbered: IntArray = canonical_draws(np.asarray(partition)[None])[0]
    return renumbered


def canonical_draws(labels: IntArray) -> IntArray:
    """Renumber the clusters of every draw, shape (draws, areas), in the order of their first area."""
    labels = np.asarray(labels)
    if labels.ndim != 2 or labels.size == 0:
        raise ValueError(f"partition draws must be an array (draws, areas), received shape {labels.shape}")
    values, place = np.unique(labels, return_inverse=True)
    place = place.reshape(labels.shape)
    number = np.full((len(labels), len(values)), -1)
    draws, used = np.arange(len(labels)), np.zeros(len(labels), dtype=np.int64)
    result = np.empty(labels.shape, dtype=np.int64)
    # For all draws at once: a label gets the next number when its first area comes up.
    for area, label in enumerate(place.T):
        new = number[draws, label] < 0
        number[draws[new], label[new]] = used[new]
        used += new
        result[:, area] = number[draws, label]
    return result


def co_clustering(labels: IntArray) -> FloatArray:
    """P(i and j are in the same cluster): the share of draws in which they are.

    >>> co_clustering(np.array([[0, 0, 1], [0, 1, 1]]))
    array([[1. , 0.5, 0. ], [0.5, 1. , 0.5], [0. , 0.5, 1. ]])
    """
    labels = canonical_draws(labels)
    together = np.zeros((labels.shape[1], labels.shape[1]))
    for cluster in range(labels.max() + 1):
        member = labels == cluster
        # Single precision is exact here: it counts draws, and holds every integer up to 2²⁴.
        member = member[member.any(axis=1)].astype(np.float32)
        together += member.T @ member
    shares: FloatArray = together / len(labels)
    return shares


def cluster_counts(labels: IntArray) -> FloatArray:
    """P(k clusters) for k = 0, 1, ….

    >>> cluster_counts(np.array([[0, 0, 1], [0, 1, 2], [0, 1, 1]])).round(2)
    array([0.  , 0.  , 0.67, 0.33])
    """
    chance: FloatArray = np.bincount(canonical_draws(labels).max(axis=1) + 1) / len(labels)
    return chance


def contingency(a: IntArray, b: IntArray) -> IntArray:
    """n_ks: how many areas are in cluster k of ``a`` and cluster s of ``b``, clusters in the order of their labels."""
    a_labels, a = np.unique(a, return_inverse=True)
    b_labels, b = np.unique(b, return_inverse=True)
    if a.shape != b.shape:
        raise ValueError(f"two partitions of the same areas are needed, received {len(a)} and {len(b)} labels")
    table = np.bincount(a * len(b_labels) + b, minlength=len(a_labels) * len(b_labels))
    return table.reshape(len(a_labels), len(b_labels))


def rand_index(a: IntArray, b: IntArray) -> float:
    """Share of pairs of areas on which two partitions agree: together in both or apart in both. Rand (1971).

    >>> rand_index(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1]))
    0.5
    """
    together, in_a, in_b, pairs = _pairs_together(contingency(a, b))
    return float((pairs + 2 * together - in_a - in_b) / pairs)


def adjusted_rand_index(a: IntArray, b: IntArray) -> float:
    """Rand's index corrected for chance: 0 on average for unrelated partitions, 1 for equal ones.

    (T − E)/(½(A + B) − E), where T pairs are together in both, A and B pairs in each, and E = AB/pairs. Hubert and
    Arabie (1985). Two partitions that are both a single cluster, or both all singletons, are equal: 1.

    >>> adjusted_rand_index(np.array([0, 0, 1, 1]), np.array([5, 5, 3, 3]))
    1.0
    """
    together, in_a, in_b, pairs = _pairs_together(contingency(a, b))
    expected = in_a * in_b / pairs
    most = (in_a + in_b) / 2
    return 1.0 if most == expected else float((together - expected) / (most - expected))


def _pairs_together(table: IntArray) -> tuple[float, float, float, float]:
    def pairs(n: IntArray) -> float:
        return float(np.sum(n * (n - 1)) / 2)

    n = table.sum(keepdims=True)
    if n < 2:
        raise ValueError("Rand's index needs at least two areas")
    return pairs(table), pairs(table.sum(axis=1)), pairs(table.sum(axis=0)), pairs(n)


def variation_of_information(a: IntArray, b: IntArray) -> float:
    """H(a) + H(b) − 2 I(a, b), in bits: what each partition says that the other does not. Meilă (2007).

    >>> variation_of_information(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 0]))
    1.0
    """
    table = contingency(a, b)
    information = _xlogx(table.sum(axis=1)) + _xlogx(table.sum(axis=0)) - 2 * _xlogx(table)
    return float(information / table.sum())


def _xlogx(n: IntArray) -> float:
    positive = n[n > 0]
    return float(positive @ np.log2(positive))


def expected_vi(partition: IntArray, labels: IntArray) -> float:
    """Posterior mean of the variation of information between ``partition`` and the true one."""
    return float(np.mean([variation_of_information(partition, draw) for draw in labels]))


def expected_binder(partition: IntArray, similarity: FloatArray) -> float:
    """Posterior mean of Binder's loss: the share of pairs that ``partition`` wrongly joins or separates.

    ``similarity`` is the co-clustering matrix. Binder (1978), with equal costs.

    >>> expected_binder(np.array([0, 0, 1]), np.array([[1, 0.75, 0], [0.75, 1, 0.25], [0, 0.25, 1]]))
    0.16666666666666666
    """
    partition = np.asarray(partition)
    i, j = np.triu_indices(len(partition), 1)
    return float(np.abs((partition[i] == partition[j]) - similarity[i, j]).mean())


def order_by_risk(partition: IntArray, risk: FloatArray) -> IntArray:
    """Renumber the clusters 1, 2, … from the highest mean risk to the lowest.

    >>> order_by_risk(np.array([0, 0, 1, 2]), risk=np.array([0.0, 1.0, 3.0, -1.0]))
    array([2, 2, 1, 3])
    """
    partition = canonical(partition)
    mean = np.bincount(partition, risk) / np.bincount(partition)
    number = np.empty(len(mean), dtype=np.int64)
    number[np.argsort(-mean, kind="stable")] = np.arange(1, len(mean) + 1)
    return number[partition]


def risk_of_clusters(partition: IntArray, risk: FloatArray) -> FloatArray:
    """Mean risk of each cluster's areas in every draw, (draws, clusters), clusters in the order of their labels.

    >>> risk_of_clusters(np.array([1, 1, 2]), risk=np.array([[1.0, 3.0, 0.0]]))
    array([[2., 0.]])
    """
    member = (np.unique(partition)[:, None] == partition).astype(np.float64)
    means: FloatArray = risk @ (member / member.sum(axis=1, keepdims=True)).T
    return means


def membership(partition: IntArray, labels: IntArray) -> FloatArray:
    """P(area i belongs to cluster k of ``partition``), shape (areas, clusters), clusters in the order of their labels.

    The clusters of each draw are matched one to one with those of ``partition`` so that as many areas as possible
    agree; area i belongs to k in that draw if its cluster is matched with k. A row can add up to less than 1: the rest
    is the probability that i is in a cluster that ``partition`` does not have.

    >>> membership(np.array([1, 1, 2, 2]), np.array([[0, 0, 1, 1], [0, 0, 0, 1]]))
    array([[1. , 0. ], [1. , 0. ], [0.5, 0.5], [0. , 1. ]])
    """
    from scipy.optimize import linear_sum_assignment

    clusters, place = np.unique(partition, return_inverse=True)
    belongs = np.zeros((len(place), len(clusters)))
    draws, times = np.unique(canonical_draws(labels), axis=0, return_counts=True)
    for draw, weight in zip(draws, times, strict=True):
        matched, own = linear_sum_assignment(contingency(place, draw), maximize=True)
        cluster_of = np.full(draw.max() + 1, -1)
        cluster_of[own] = matched
        cluster = cluster_of[draw]
        areas = np.flatnonzero(cluster >= 0)
        belongs[areas, cluster[areas]] += weight
    chance: FloatArray = belongs / times.sum()
    return chance


class Between(NamedTuple):
    """An area that lies between two clusters."""

    area: int
    cluster: int
    other: int
    probability: float
    """The probability that the area belongs to its own cluster."""
    other_probability: float


def between(partition: IntArray, belongs: FloatArray, share: float = 0.2) -> list[Between]:
    """Find the areas that belong to a cluster other than their own with probability ``share`` or more.

    ``belongs`` is their `membership`. The most uncertain area comes first.

    >>> between(np.array([1, 1, 2, 2]), np.array([[1, 0], [1, 0], [0.3, 0.7], [0, 1]]))
    [Between(area=2, cluster=2, other=1, probability=0.7, other_probability=0.3)]
    """
    if not 0 < share <= 1:
        raise ValueError(f"the share of an area between two clusters must lie in 0 … 1, received {share}")
    clusters, place = np.unique(partition, return_inverse=True)
    areas = np.arange(len(place))
    others = belongs.copy()
    others[areas, place] = -1.0
    best = others.argmax(axis=1)
    doubtful = [
        Between(
            int(i),
            int(clusters[place[i]]),
            int(clusters[best[i]]),
            float(belongs[i, place[i]]),
            float(others[i, best[i]]),
        )
        for i in np.flatnonzero(others[areas, best] >= share)
    ]
    return sorted(doubtful, key=lambda area: area.probability - area.other_probability)


@dataclass(frozen=True, slots=True)
class Convergence:
    """Whether the chains agree, judged by quantities that do not depend on the labels."""

    rhat_clusters: float
    rhat_log_posterior: float
    rhat_together: float
    """Largest R-hat of the indicators that two areas share a cluster."""
    ess_clusters: float
    ess_log_posterior: float
    ess_together: float
    """Median over the same pairs."""
    together_gap: float
    """Largest difference between two chains in a co-clustering probability."""

    def agrees(self, limit: float = 1.05) -> bool:
        """Say whether every R-hat is below ``limit``."""
        return max(self.rhat_clusters, self.rhat_log_posterior, self.rhat_together) < limit


def convergence(labels: IntArray, log_posterior: FloatArray) -> Convergence:
    """Compare chains: ``labels`` is (chain, draw, area), ``log_posterior`` (chain, draw).

    Among the pairs of areas whose co-clustering is uncertain (probability in 0.05 … 0.95), at most `JUDGED_PAIRS`,
    evenly spaced, are followed through the chains.

    >>> rng = np.random.default_rng(1)
    >>> agreement = convergence(rng.integers(2, size=(2, 500, 5)), rng.normal(size=(2, 500)))
    >>> agreement.agrees(), bool(agreement.together_gap < 0.2)
    (True, True)
    """
    labels = np.asarray(labels)
    if labels.ndim != 3 or np.shape(log_posterior) != labels.shape[:2]:
        raise ValueError("convergence needs labels (chain, draw, area) and log posteriors (chain, draw)")
    n_clusters = np.array([canonical_draws(chain).max(axis=1) + 1.0 for chain in labels])
    by_chain = np.array([co_clustering(chain) for chain in labels])
    i, j = np.triu_indices(labels.shape[2], 1)
    overall = by_chain.mean(axis=0)[i, j]
    doubtful = np.flatnonzero((overall > 0.05) & (overall < 0.95))
    doubtful = doubtful[:: max(1, -(-len(doubtful) // JUDGED_PAIRS))]
    together = (labels[:, :, i[doubtful]] == labels[:, :, j[doubtful]]).astype(np.float64)
    return Convergence(
        rhat_clusters=float(_rhat_of_counts(n_clusters)),
        rhat_log_posterior=float(rhat(log_posterior)),
        rhat_together=float(_rhat_of_counts(together).max(initial=1.0)),
        ess_clusters=float(ess_bulk(n_clusters)),
        ess_log_posterior=float(ess_bulk(log_posterior)),
        ess_together=float(np.median(ess_bulk(together))) if len(doubtful) else float(n_clusters.size),
        together_gap=float((by_chain.max(axis=0) - by_chain.min(axis=0)).max()),
    )


def _rhat_of_counts(draws: FloatArray) -> FloatArray:
    """Split R-hat without ranks, for discrete values: 1 if nothing varies, ∞ if the chains are stuck apart."""
    half = draws.shape[1] // 2
    halves = np.concatenate([draws[:, :half], draws[:, -half:]])
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    ratio = np.divide(between, within, out=np.where(between > 0, np.inf, 0.0), where=within > 0)
    result: FloatArray = np.sqrt((half - 1) / half + ratio) if half > 1 else np.full_like(ratio, np.inf)
    return np.maximum(result, 1.0)
