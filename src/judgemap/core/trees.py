"""Random trees and paths through all areas, drawn with a design's weights: how a list of pairs gets connected early."""

import numpy as np
from scipy import sparse

from judgemap.core.designs import PairDesign
from judgemap.core.types import IntArray

ROUNDS = 12
"""Rounds of draws, each twice as long as the last, in which a design must have connected all areas."""
BATCH_LIMIT = 4_000_000
TRIES = 32
"""Proposals for the next area of a path before all areas left are weighed."""


def random_tree(rng: np.random.Generator, design: PairDesign) -> IntArray:
    """Draw pairs from the design and keep those that join two parts not yet connected, until there is one part.

    What is kept of a long list of draws is its minimum spanning tree, a pair's cost being the place of its first draw.

    >>> from judgemap.core.designs import uniform
    >>> random_tree(np.random.default_rng(1), uniform(4)).shape
    (3, 2)
    """
    areas, size = design.areas, len(design.areas)
    kept = np.empty((0, 2), dtype=np.int64)
    batch = int(size * (np.log(size) + 1)) + 1
    for _ in range(ROUNDS):
        drawn = np.searchsorted(areas, design.draw(rng, batch))
        kept = _first_to_join(np.concatenate([kept, drawn]), size)
        if len(kept) == size - 1:
            return areas[kept]
        batch = min(2 * batch, BATCH_LIMIT)
    raise ValueError(
        f"the design does not connect these {size} areas: it never, or hardly ever, compares some with the others; "
        "mix it with the uniform design, or do without a connected start"
    )


def _first_to_join(pairs: IntArray, size: int) -> IntArray:
    keys, place = np.unique(pairs.min(axis=1) * size + pairs.max(axis=1), return_index=True)
    costs = sparse.csr_array((place + 1.0, (keys // size, keys % size)), shape=(size, size))
    tree = sparse.csgraph.minimum_spanning_tree(costs).tocoo()
    return pairs[np.sort(tree.data.astype(np.int64)) - 1]


def random_path(rng: np.random.Generator, design: PairDesign) -> IntArray:
    """Walk through all areas, each step to an unvisited area with the design's weights.

    Of the steps, every other one comes first, so that all areas are met once before any is met twice; within that the
    order is random. At no point has an area two pairs more than another.

    >>> from judgemap.core.designs import uniform
    >>> np.sort(np.bincount(random_path(np.random.default_rng(1), uniform(4)).ravel()))
    array([1, 1, 2, 2])
    """
    unvisited = rng.permutation(design.areas)
    bound = design.base + design.offsets.highest
    path = [int(unvisited[-1])]
    for left in range(len(unvisited) - 1, 0, -1):
        place = _next_place(rng, design, path[-1], unvisited[:left], bound)
        path.append(int(unvisited[place]))
        unvisited[place] = unvisited[left - 1]
    steps = np.stack([path[:-1], path[1:]], axis=1)
    apart, linking = rng.permutation(steps[0::2]), steps[1::2]
    last = len(linking) - 1 if len(path) % 2 else len(linking)
    return np.concatenate([apart, linking[last:], rng.permutation(linking[:last])])


def _next_place(rng: np.random.Generator, design: PairDesign, area: int, unvisited: IntArray, bound: float) -> int:
    places = rng.integers(len(unvisited), size=TRIES)
    accepted = rng.random(TRIES) * bound < design.weight(area, unvisited[places])
    if accepted.any():
        return int(places[np.argmax(accepted)])
    weights = design.weight(area, unvisited)
    if not weights.sum() > 0:
        return int(places[0])
    return int(rng.choice(len(unvisited), p=weights / weights.sum()))
