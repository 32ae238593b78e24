"""Schedules: lists of pairs drawn from a design, subject to what a real study needs from such a list.

A design says how often each pair should come up; a list must also be pleasant to answer and safe to analyse.
`ListOptions` says which of these rules apply, and `draw_list` draws the list. If an option and the design conflict, the
option wins.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from judgemap.core.design.designs import PairDesign
from judgemap.core.types import IntArray

Pair = tuple[int, int]
PATIENCE = 200
"""Give up on a list after this many batches of draws in a row without a usable next pair."""
ROUNDS = 12
"""Rounds of draws, each twice as long as the one before, in which a design must connect all areas."""
BATCH_LIMIT = 4_000_000
TRIES = 32
"""Proposals for the next area of a path before weighing all the areas that are left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """The rules that a list of pairs must follow.

    Parameters
    ----------
    connected
        The first m − 1 pairs connect all m areas, the soonest possible: a random tree with the design's weights.
    balanced_sides
        Each area is shown on the left as often as on the right, give or take one; otherwise sides are coin tosses.
    balanced_exposure
        At every point in the list the areas' counts differ by at most one, not counting planned repeats. This can fail
        only with ``spacing`` above 1 on maps with very few areas.
    spacing
        At least this many other pairs come before a pair is repeated; 1 means never twice in a row.
    repeats
        The share of the list that shows an earlier pair again with sides swapped, to check judges' self-consistency.

    Examples
    --------
    >>> ListOptions(repeats=0.1).spacing
    1
    """

    connected: bool = True
    balanced_sides: bool = True
    balanced_exposure: bool = False
    spacing: int = 1
    repeats: float = 0.0

    def __post_init__(self) -> None:
        if self.spacing < 0:
            raise ValueError(f"spacing is the number of pairs before a pair is shown again, received {self.spacing}")
        if not 0 <= self.repeats <= 1 / 3:
            raise ValueError(f"planned repeats may be up to a third of the list, received {self.repeats}")


class PairList(NamedTuple):
    """Pairs, one per row, and for each the position in the list of the pair it is planned to repeat, or −1."""

    pairs: IntArray
    repeat_of: IntArray


def draw_list(
    rng: np.random.Generator,
    design: PairDesign,
    n_pairs: int,
    options: ListOptions,
    allowed: ArrayLike | None = None,
) -> PairList:
    """Draw ``n_pairs`` pairs, one per row, column 0 to be shown on the left; from ``allowed`` areas if given."""
    design = design if allowed is None else design.restricted(allowed)
    n_repeats = round(options.repeats * n_pairs)
    _check_length(design, n_pairs, n_repeats, options)
    recent: deque[Pair] = deque(maxlen=options.spacing)
    start = _start(rng, design, options)
    if options.balanced_exposure:
        fresh = _balanced_pairs(rng, design, recent, start)
    else:
        fresh = _independent_pairs(rng, design, recent)
    order = _Order(rng, recent)
    for pair in start:
        order.show(pair)
    for left in range(n_pairs - len(start), 0, -1):
        repeats_left = n_repeats - order.n_repeats
        due = repeats_left == left or rng.random() * left < repeats_left
        if not (due and order.repeat()):
            if repeats_left == left:
                raise ValueError(
                    f"a list of {n_pairs:,} pairs has no room for {n_repeats:,} planned repeats with "
                    f"{options.spacing:,} other pairs in between; draw a longer list, or plan fewer repeats"
                )
            order.show(next(fresh))
    return PairList(_with_sides(rng, order, options), np.array(order.repeat_of, dtype=np.int64))


class _Order:
    """The list as it grows: pairs in order, and for each the position of the pair it repeats, or −1."""

    def __init__(self, rng: np.random.Generator, recent: deque[Pair]) -> None:
        self.rng, self.recent = rng, recent
        self.pairs: list[Pair] = []
        self.repeat_of: list[int] = []
        self.unrepeated: list[int] = []
        self.n_repeats = 0

    def show(self, pair: Pair) -> None:
        self.unrepeated.append(len(self.pairs))
        self._append(pair, -1)

    def repeat(self) -> bool:
        """Show a randomly chosen earlier pair again, if there is one that is not recent."""
        for place in self.rng.permutation(len(self.unrepeated)):
            earlier = self.unrepeated[place]
            if self.pairs[earlier] not in self.recent:
                self.unrepeated[place] = self.unrepeated[-1]
                self.unrepeated.pop()
                self._append(self.pairs[earlier], earlier)
                self.n_repeats += 1
                return True
        return False

    def _append(self, pair: Pair, repeat_of: int) -> None:
        self.pairs.append(pair)
        self.repeat_of.append(repeat_of)
        self.recent.append(pair)


def _check_length(design: PairDesign, n_pairs: int, n_repeats: int, options: ListOptions) -> None:
    n_areas = len(design.areas)
    if n_pairs < 1:
        raise ValueError(f"a list needs at least one pair, received {n_pairs}")
    if options.connected and n_pairs - n_repeats < n_areas - 1:
        besides = f" besides {n_repeats} repeats" if n_repeats else ""
        raise ValueError(
            f"{n_pairs - n_repeats:,} pairs{besides} cannot connect {n_areas:,} areas; ask for at least "
            f"{n_areas - 1:,}, or turn off the connected start"
        )
    if n_areas * (n_areas - 1) // 2 <= options.spacing and n_pairs > 1:
        raise ValueError(
            f"{n_areas:,} areas have too few pairs to keep {options.spacing:,} others between repeats of a pair; use "
            "a smaller spacing"
        )


def _start(rng: np.random.Generator, design: PairDesign, options: ListOptions) -> list[Pair]:
    if not options.connected:
        return []
    pairs = random_path(rng, design) if options.balanced_exposure else random_tree(rng, design)
    return [_pair(row) for row in pairs]


def _independent_pairs(rng: np.random.Generator, design: PairDesign, recent: deque[Pair]) -> Iterator[Pair]:
    """Draw pairs from the design, conditional on not being recent."""
    idle = 0
    while idle < PATIENCE:
        idle += 1
        for row in design.draw(rng, 256):
            pair = _pair(row)
            if pair not in recent:
                idle = 0
                yield pair
    raise ValueError("the design nearly always picks the same few pairs; use another")


def _balanced_pairs(
    rng: np.random.Generator, design: PairDesign, recent: deque[Pair], start: list[Pair]
) -> Iterator[Pair]:
    """Pair the least asked areas with each other in turn, by weight; the last one with one of the next least asked.

    Pairs that are recent are left out; keeping the balance can need a pair of weight zero.
    """
    counts = np.bincount(np.array(start, dtype=np.int64).ravel(), minlength=design.n_areas)
    bound = design.base + design.offsets.highest

    def partners(area: int, pool: IntArray) -> IntArray:
        met = [area, *(first + second - area for first, second in recent if area in (first, second))]
        if len(near := pool[~np.isin(pool, met)]):
            return near
        others = rng.permutation(np.setdiff1d(design.areas, met))
        return others[counts[others] == counts[others].min(initial=counts.max())]

    while True:
        level = counts[design.areas]
        pool = rng.permutation(design.areas[level == level.min()])
        while len(pool):
            found = ((int(area), partners(int(area), pool)) for area in chain(pool, design.areas))
            area, others = next(((area, others) for area, others in found if len(others)), (0, pool[:0]))
            if not len(others):
                raise ValueError("these areas have too few pairs for this spacing; use a smaller one")
            other = int(others[_next_place(rng, design, area, others, bound)])
            pool = pool[(pool != area) & (pool != other)]
            counts[[area, other]] += 1
            yield _pair((area, other))


def _pair(areas: ArrayLike) -> Pair:
    first, second = np.asarray(areas).tolist()
    return (first, second) if first < second else (second, first)


def _with_sides(rng: np.random.Generator, order: _Order, options: ListOptions) -> IntArray:
    """Choose sides: repeats opposite to the pair they repeat, so they cancel out; the others balanced or by a coin."""
    sided = rng.permuted(np.array(order.pairs, dtype=np.int64), axis=1)
    repeat_of = np.array(order.repeat_of)
    again = np.flatnonzero(repeat_of >= 0)
    single = np.setdiff1d(np.arange(len(sided)), np.concatenate([again, repeat_of[again]]))
    if options.balanced_sides:
        sided[single] = _balanced_sides(rng, sided[single])
    sided[again] = sided[repeat_of[again]][:, ::-1]
    return sided


def _balanced_sides(rng: np.random.Generator, pairs: IntArray) -> IntArray:
    """Swap pairs so that each area is on the left as often as on the right, give or take one.

    Walk along unused pairs, always leaving from the area just reached. If every area has an even number of pairs, a
    walk ends where it began; an area with an odd number gets one extra pair with a helper area, dropped at the end.
    """
    n_areas = int(pairs.max(initial=0)) + 1
    odd = np.flatnonzero(np.bincount(pairs.ravel(), minlength=n_areas) % 2)
    ends = np.concatenate([pairs, np.stack([odd, np.full_like(odd, n_areas)], axis=1)]).tolist()
    at: list[list[int]] = [[] for _ in range(n_areas + 1)]
    for number in rng.permutation(len(ends)):
        at[ends[number][0]].append(int(number))
        at[ends[number][1]].append(int(number))
    used = [False] * len(ends)
    turned = np.empty((len(ends), 2), dtype=np.int64)
    for origin in range(n_areas + 1):
        here, backwards = origin, bool(rng.integers(2))
        while at[here]:
            number = at[here].pop()
            if used[number]:
                continue
            used[number] = True
            there = ends[number][0] + ends[number][1] - here
            turned[number] = (there, here) if backwards else (here, there)
            here = there
    return turned[: len(pairs)]


def random_tree(rng: np.random.Generator, design: PairDesign) -> IntArray:
    """Draw pairs from the design, keeping those that join two unconnected parts, until there is one part.

    For a long list of draws, these are its minimum spanning tree, where a pair costs the position of its first draw.
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
        f"the design does not connect these {size:,} areas: it never, or hardly ever, compares some with the others; "
        "use another, or turn off the connected start"
    )


def _first_to_join(pairs: IntArray, size: int) -> IntArray:
    keys, place = np.unique(pairs.min(axis=1) * size + pairs.max(axis=1), return_index=True)
    costs = sparse.csr_array((place + 1.0, (keys // size, keys % size)), shape=(size, size))
    tree = sparse.csgraph.minimum_spanning_tree(costs).tocoo()
    return pairs[np.sort(tree.data.astype(np.int64)) - 1]


def random_path(rng: np.random.Generator, design: PairDesign) -> IntArray:
    """Walk through all areas, each step to an unvisited area with the design's weights.

    Every other step comes first, so that all areas come up once before any comes up twice; apart from that the order is
    random. At no point does an area have two pairs more than another.
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
