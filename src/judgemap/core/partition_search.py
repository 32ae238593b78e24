"""One partition to summarise many: the one that minimises the expected variation of information, or Binder's loss.

The search starts from the best of the draws and from linkage clusterings of 1 − P(together), at every number of
clusters. From each start it visits the areas one by one, moving each to where the expected loss is least, and tries to
merge clusters, until nothing improves; it returns the best partition found. Sources: Wade and Ghahramani (2018) for the
losses; Dahl, Johnson and Müller (2022) for the search by single areas.
"""

from typing import NamedTuple, Protocol

import numpy as np

from judgemap.core.clustering import canonical, canonical_draws, co_clustering, expected_binder, expected_vi
from judgemap.core.types import FloatArray, IntArray

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
    """Find the partition with the least expected variation of information, with ``n_clusters`` clusters if given.

    >>> draws = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])
    >>> minimise_vi(draws).partition
    array([0, 0, 1, 1])
    >>> minimise_vi(draws, n_clusters=3).partition
    array([0, 0, 1, 2])
    """
    draws = _thinned(canonical_draws(labels))
    ends = [_descend(_Information(start, draws), start, n_clusters) for start in _starts(draws, n_clusters)]
    losses = [expected_vi(end, draws) for end in ends]
    best = ends[int(np.argmin(losses))]
    return Estimate(best, expected_vi(best, labels))


def minimise_binder(labels: IntArray, n_clusters: int | None = None) -> Estimate:
    """Find the partition with the least expected Binder loss, with ``n_clusters`` clusters if given.

    >>> minimise_binder(np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]])).partition
    array([0, 0, 1, 1])
    """
    draws = canonical_draws(labels)
    similarity = co_clustering(draws)
    starts = _starts(_thinned(draws), n_clusters)
    ends = [_descend(_Pairs(start, similarity), start, n_clusters) for start in starts]
    losses = [expected_binder(end, similarity) for end in ends]
    best = int(np.argmin(losses))
    return Estimate(ends[best], losses[best])


class _Cost(Protocol):
    """The expected loss of a partition as it changes, up to a constant. Slots are clusters, some of them empty."""

    size: IntArray

    def move(self, area: int, slot: int, by: int) -> None:
        """Put the area into a slot (by = 1) or take it out (by = −1)."""

    def costs(self, area: int) -> FloatArray:
        """How much the loss grows if this area, currently in no slot, goes into each slot."""

    def join_costs(self, slot: int) -> FloatArray:
        """How much the loss grows if this slot is merged with each other slot."""


class _Information:
    """N · VI = Σ_k f(n_k) + Σ_s f(n_s) − 2 Σ_ks f(n_ks) averaged over draws, f(n) = n log₂ n."""

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
        costs: FloatArray = self.step[self.size] - 2 * shared
        return costs

    def join_costs(self, slot: int) -> FloatArray:
        own, table = self.size[slot], self.table
        alone = self.f[table].sum(axis=0)
        most = len(self.f) - 1
        joined = self.f[np.minimum(table + table[:, [slot]], most)].sum(axis=0)
        shared = (joined - alone - alone[slot]) / self.n_draws
        costs: FloatArray = self.f[np.minimum(self.size + own, most)] - self.f[self.size] - self.f[own] - 2 * shared
        return costs


class _Pairs:
    """Σ of 1 − 2 p_ij over pairs in the same cluster: Binder's loss up to a constant."""

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
        costs: FloatArray = self.price[area] @ self.member
        return costs

    def join_costs(self, slot: int) -> FloatArray:
        costs: FloatArray = self.member[:, slot] @ self.price @ self.member
        return costs


def _descend(cost: _Cost, start: IntArray, n_clusters: int | None) -> IntArray:
    """Move areas, and merge clusters unless their number is given, until nothing lowers the loss."""
    partition = start.copy()
    for area, slot in enumerate(partition):
        cost.move(area, int(slot), 1)
    for _ in range(MOST_SWEEPS):
        moved = [_improve(cost, partition, area, n_clusters) for area in range(len(partition))]
        if not any(moved) and (n_clusters is not None or not _join(cost, partition)):
            break
    return canonical(partition)


def _improve(cost: _Cost, partition: IntArray, area: int, n_clusters: int | None) -> bool:
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


def _join(cost: _Cost, partition: IntArray) -> bool:
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
