"""What draws of partitions say: which areas belong together, how many clusters there are, and whether chains agree.

A partition is an array of labels, one per area; all that matters is which labels are equal. Draws of partitions are an
array (draws, areas). Labels have no meaning across draws, so nothing here averages them.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from judgemap.core.assess.posterior import by_risk
from judgemap.core.samplers.diagnostics import ess_bulk, rhat
from judgemap.core.types import FloatArray, IntArray

FOLLOWED_PAIRS = 500
"""The most pairs of areas whose co-clustering is followed through the chains; on a large map all pairs would not fit
into memory."""


def canonical(partition: IntArray) -> IntArray:
    """Renumber the clusters 0, 1, … in the order of their first area.

    >>> canonical(np.array([7, 2, 7, 5]))
    array([0, 1, 0, 2])
    """
    return canonical_draws(np.asarray(partition)[None])[0]


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
    return together / len(labels)


def cluster_counts(labels: IntArray) -> FloatArray:
    """P(k clusters) for k = 0, 1, …."""
    return np.bincount(canonical_draws(labels).max(axis=1) + 1) / len(labels)


def contingency(a: IntArray, b: IntArray) -> IntArray:
    """n_ks: how many areas are in cluster k of ``a`` and cluster s of ``b``, clusters in the order of their labels."""
    a_labels, a = np.unique(a, return_inverse=True)
    b_labels, b = np.unique(b, return_inverse=True)
    if a.shape != b.shape:
        raise ValueError(f"two partitions of the same areas are needed, received {len(a)} and {len(b)} labels")
    table = np.bincount(a * len(b_labels) + b, minlength=len(a_labels) * len(b_labels))
    return table.reshape(len(a_labels), len(b_labels))


def rand_index(a: IntArray, b: IntArray) -> float:
    """Share of pairs of areas on which two partitions agree: together in both or apart in both. Rand (1971)."""
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
    number[by_risk(mean)] = np.arange(1, len(mean) + 1)
    return number[partition]


def risk_of_clusters(partition: IntArray, risk: FloatArray) -> FloatArray:
    """Mean risk of each cluster's areas in every draw, (draws, clusters), clusters in the order of their labels."""
    member = (np.unique(partition)[:, None] == partition).astype(np.float64)
    return risk @ (member / member.sum(axis=1, keepdims=True)).T


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
    return belongs / times.sum()


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
    """Whether the chains agree, by quantities that do not depend on the labels."""

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

    Among the pairs of areas whose co-clustering is uncertain (probability in 0.05 … 0.95), at most `FOLLOWED_PAIRS`,
    evenly spaced, are followed through the chains.
    """
    labels = np.asarray(labels)
    if labels.ndim != 3 or np.shape(log_posterior) != labels.shape[:2]:
        raise ValueError("convergence needs labels (chain, draw, area) and log posteriors (chain, draw)")
    n_clusters = np.array([canonical_draws(chain).max(axis=1) + 1.0 for chain in labels])
    by_chain = np.array([co_clustering(chain) for chain in labels])
    i, j = np.triu_indices(labels.shape[2], 1)
    overall = by_chain.mean(axis=0)[i, j]
    doubtful = np.flatnonzero((overall > 0.05) & (overall < 0.95))
    doubtful = doubtful[:: max(1, -(-len(doubtful) // FOLLOWED_PAIRS))]
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


SEARCH_DRAWS = 1_000
"""The most draws the search looks at, thinned evenly; fewer if there are very many areas."""
SEARCH_CELLS = 200_000
BEST_DRAWS = 10
MOST_SWEEPS = 100


class Estimate(NamedTuple):
    """A partition, with clusters numbered 0, 1, … by first area, and its expected loss."""

    partition: IntArray
    loss: float


def minimise_vi(labels: IntArray, n_clusters: int | None = None) -> Estimate:
    """Find the partition with the least expected variation of information, with ``n_clusters`` clusters if given."""
    draws = _thinned(canonical_draws(labels))
    ends = [_descend(_Information(start, draws), start, n_clusters) for start in _starts(draws, n_clusters)]
    losses = [expected_vi(end, draws) for end in ends]
    best = ends[int(np.argmin(losses))]
    return Estimate(best, expected_vi(best, labels))


def minimise_binder(labels: IntArray, n_clusters: int | None = None) -> Estimate:
    """Find the partition with the least expected Binder loss, with ``n_clusters`` clusters if given."""
    draws = canonical_draws(labels)
    similarity = co_clustering(draws)
    starts = _starts(_thinned(draws), n_clusters)
    ends = [_descend(_Pairs(start, similarity), start, n_clusters) for start in starts]
    losses = [expected_binder(end, similarity) for end in ends]
    best = int(np.argmin(losses))
    return Estimate(ends[best], losses[best])


class _Information:
    """N · VI = Σ_k f(n_k) + Σ_s f(n_s) − 2 Σ_ks f(n_ks) averaged over draws, f(n) = n log₂ n.

    Slots are clusters, some of them empty. An area is put into a slot by ``move(…, 1)`` and taken out by −1; ``costs``
    says how much the loss grows if an area that is in no slot goes into each, ``join_costs`` if a slot is merged.
    """

    def __init__(self, start: IntArray, draws: IntArray) -> None:
        n_draws, n_areas = draws.shape
        slots = min(n_areas, max(int(start.max()), int(draws.max())) + 3)
        n = np.arange(n_areas + 1)
        self.f = n * np.log2(np.maximum(n, 1))
        self.step = np.append(np.diff(self.f), np.inf)
        width = int(draws.max()) + 1
        self.rows = (draws + width * np.arange(n_draws)[:, None]).T.copy()
        self.n_draws = n_draws
        self.size = np.zeros(slots, dtype=np.int64)
        self.table = np.zeros((n_draws * width, slots), dtype=np.int32)

    def move(self, area: int, slot: int, by: int) -> None:
        self.size[slot] += by
        self.table[self.rows[area], slot] += by

    def costs(self, area: int) -> FloatArray:
        shared = self.step[self.table[self.rows[area]]].sum(axis=0) / self.n_draws
        return self.step[self.size] - 2 * shared

    def join_costs(self, slot: int) -> FloatArray:
        own, table = self.size[slot], self.table
        alone = self.f[table].sum(axis=0)
        most = len(self.f) - 1
        joined = self.f[np.minimum(table + table[:, [slot]], most)].sum(axis=0)
        shared = (joined - alone - alone[slot]) / self.n_draws
        return self.f[np.minimum(self.size + own, most)] - self.f[self.size] - self.f[own] - 2 * shared


class _Pairs:
    """Σ of 1 − 2 p_ij over pairs in the same cluster: Binder's loss up to a constant; used like `_Information`."""

    def __init__(self, start: IntArray, similarity: FloatArray) -> None:
        n_areas = len(similarity)
        slots = min(n_areas, int(start.max()) + 3)
        self.price = 1 - 2 * similarity
        np.fill_diagonal(self.price, 0.0)
        self.size = np.zeros(slots, dtype=np.int64)
        self.member = np.zeros((n_areas, slots))

    def move(self, area: int, slot: int, by: int) -> None:
        self.size[slot] += by
        self.member[area, slot] += by

    def costs(self, area: int) -> FloatArray:
        return self.price[area] @ self.member

    def join_costs(self, slot: int) -> FloatArray:
        return self.member[:, slot] @ self.price @ self.member


def _descend(cost: _Information | _Pairs, start: IntArray, n_clusters: int | None) -> IntArray:
    """Move areas, and merge clusters unless their number is given, until nothing lowers the loss."""
    partition = start.copy()
    for area, slot in enumerate(partition):
        cost.move(area, int(slot), 1)
    for _ in range(MOST_SWEEPS):
        moved = [_improve(cost, partition, area, n_clusters) for area in range(len(partition))]
        if not any(moved) and (n_clusters is not None or not _join(cost, partition)):
            break
    return canonical(partition)


def _improve(cost: _Information | _Pairs, partition: IntArray, area: int, n_clusters: int | None) -> bool:
    """Move one area to where it costs least, and return whether it moved."""
    slot = int(partition[area])
    if n_clusters is not None and cost.size[slot] == 1:
        return False
    cost.move(area, slot, -1)
    allowed = cost.size > 0
    allowed[slot] = True
    if n_clusters is None:
        allowed[np.flatnonzero(~allowed)[:1]] = True
    costs = np.where(allowed, cost.costs(area), np.inf)
    best = int(np.argmin(costs))
    best = best if costs[best] < costs[slot] - 1e-9 else slot
    partition[area] = best
    cost.move(area, best, 1)
    return best != slot


def _join(cost: _Information | _Pairs, partition: IntArray) -> bool:
    """Merge the two clusters whose merger lowers the loss most, and return whether any did."""
    used = np.flatnonzero(cost.size > 0)
    gain, pair = -1e-9, None
    for slot in used:
        costs = cost.join_costs(int(slot))
        for other in used[used > slot]:
            if costs[other] < gain:
                gain, pair = costs[other], (int(slot), int(other))
    if pair is None:
        return False
    for area in np.flatnonzero(partition == pair[1]):
        cost.move(int(area), pair[1], -1)
        cost.move(int(area), pair[0], 1)
    partition[partition == pair[1]] = pair[0]
    return True


def _thinned(draws: IntArray) -> IntArray:
    wanted = min(SEARCH_DRAWS, max(200, SEARCH_CELLS // draws.shape[1]))
    return draws[:: max(1, -(-len(draws) // wanted))]


def _starts(draws: IntArray, n_clusters: int | None) -> list[IntArray]:
    """Cut average and complete linkage at every number of clusters; add the draws with the lowest bounds."""
    from scipy.cluster.hierarchy import cut_tree, linkage
    from scipy.spatial.distance import squareform

    n_areas = draws.shape[1]
    if n_clusters is not None and not 1 <= n_clusters <= n_areas:
        raise ValueError(f"{n_areas:,} areas can form 1 … {n_areas:,} clusters, not {n_clusters:,}")
    if n_areas == 1:
        return [np.zeros(1, dtype=np.int64)]
    similarity = co_clustering(draws)
    trees = [linkage(squareform(1 - similarity, checks=False), method=method) for method in ("average", "complete")]
    numbers = range(1, min(n_areas, int(draws.max()) + 3) + 1) if n_clusters is None else [n_clusters]
    starts = [canonical(cut) for tree in trees for cut in cut_tree(tree, n_clusters=list(numbers)).T]
    seen = np.unique(draws, axis=0)
    if n_clusters is not None:
        seen = seen[seen.max(axis=1) + 1 == n_clusters]
    order = np.argsort([_lower_bound(draw, similarity) for draw in seen])
    return list(np.unique([*starts, *seen[order[:BEST_DRAWS]]], axis=0))


def _lower_bound(partition: IntArray, similarity: FloatArray) -> float:
    """Σ_i log₂|c_i| − 2 log₂ Σ_{j in c_i} p_ij: a bound on the expected VI, by moving the mean inside the log."""
    member = (partition[:, None] == np.arange(partition.max() + 1)).astype(np.float64)
    overlap = np.take_along_axis(similarity @ member, partition[:, None], axis=1)[:, 0]
    return float(np.sum(np.log2(member.sum(axis=0)[partition]) - 2 * np.log2(overlap)))
