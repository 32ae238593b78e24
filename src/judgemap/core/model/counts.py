"""Comparisons as counts, which are the sufficient statistics of every model here, and their Bradley-Terry likelihood.

Convention: areas are the integers 0 … N−1. A pair is stored with ``first < second``; ``n`` counts its decided
comparisons, ``wins`` how often ``first`` won, ``ties`` how often neither did. What winning means (a lower or a higher
rate) is up to the study; in the core, the winner is the area with the larger strength: logit P(i beats j) = λ_i − λ_j.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit

from judgemap.core.model.graph import connected_parts
from judgemap.core.types import BoolArray, FloatArray, IntArray, frozen_ints


def _nothing() -> IntArray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class PairCounts:
    """How often each pair of areas was compared, how often its first area won, and how often the two tied.

    Models without ties are fitted to `decided`.

    >>> counts = count_pairs(winners=[0, 1, 2], losers=[1, 0, 1], n_areas=4)
    >>> counts.first, counts.second, counts.n, counts.wins
    (array([0, 1]), array([1, 2]), array([2, 1]), array([1, 0]))
    """

    n_areas: int
    first: IntArray
    second: IntArray
    n: IntArray
    wins: IntArray
    ties: IntArray = field(default_factory=_nothing)
    """If omitted, there are no ties."""

    def __post_init__(self) -> None:
        _freeze(self, "first", "second", "n", "wins", "ties")
        _check_counts(self)
        key = self.first * self.n_areas + self.second
        in_order = bool(np.all(key[1:] > key[:-1]))  # as `count_pairs` returns them; then there is no need to sort
        if not in_order and len(np.unique(key)) != len(key):
            raise ValueError("a pair is stored once; add up its counts")

    @property
    def total(self) -> int:
        """The number of decided comparisons."""
        return int(self.n.sum())

    def decided(self) -> "PairCounts":
        """Leave out the ties, and the pairs that only ever tied.

        >>> counts = count_pairs([0], [1], n_areas=3, ties=[(1, 0), (2, 1)])
        >>> counts.n, counts.ties, counts.decided().n
        (array([1, 0]), array([1, 1]), array([1]))
        """
        if not self.ties.any():
            return self
        there = self.n > 0
        return PairCounts(self.n_areas, self.first[there], self.second[there], self.n[there], self.wins[there])

    def plus(self, more: "PairCounts") -> "PairCounts":
        """Add the counts of further comparisons of the same areas."""
        columns = ("first", "second", "n", "wins", "ties")
        both = (np.concatenate([getattr(self, name), getattr(more, name)]) for name in columns)
        return _add_up(self.n_areas, *both)

    def per_area(self) -> IntArray:
        """How many comparisons each area took part in."""
        return np.bincount(
            np.concatenate([self.first, self.second]), weights=np.concatenate([self.n, self.n]), minlength=self.n_areas
        ).astype(np.int64)

    def excess(self) -> FloatArray:
        """κ = Xᵀ(y − n/2) of the Pólya-Gamma representation: half of each area's wins minus losses."""
        return self.onto_areas(self.wins - self.n / 2)

    def onto_areas(self, values: FloatArray) -> FloatArray:
        """Xᵀv: add each pair's value to its first area and take it from its second.

        >>> count_pairs([0], [1], n_areas=3).onto_areas(np.array([2.0]))
        array([ 2., -2.,  0.])
        """
        gained: FloatArray = np.bincount(self.first, values, self.n_areas).astype(np.float64)
        return gained - np.bincount(self.second, values, self.n_areas)

    def components(self) -> IntArray:
        """Label the connected parts of the comparison graph, so that unconnected areas can be reported."""
        shape = (self.n_areas, self.n_areas)
        graph = sparse.coo_array((np.ones(len(self.n)), (self.first, self.second)), shape=shape)
        return connected_parts(graph)

    def tiers(self) -> int:
        """Count the groups of areas that can be reached from each other along wins, without the ties (Ford, 1957)."""
        won, lost = self.wins > 0, self.wins < self.n
        winner = np.concatenate([self.first[won], self.second[lost]])
        loser = np.concatenate([self.second[won], self.first[lost]])
        beats = sparse.coo_array((np.ones(len(winner)), (winner, loser)), shape=(self.n_areas, self.n_areas))
        return int(sparse.csgraph.connected_components(beats, connection="strong")[0])

    @property
    def contradicted(self) -> bool:
        """Whether any answers contradict each other: areas that beat each other directly, in a circle, or tied.

        If none do, every order that agrees with the answers becomes likelier as its areas move apart, and only the
        prior keeps them together.

        >>> count_pairs([0, 1], [1, 2], 3).contradicted, count_pairs([0, 1, 2], [1, 2, 0], 3).contradicted
        (False, True)
        """
        return bool(self.ties.any()) or self.tiers() < self.n_areas


def count_pairs(winners: ArrayLike, losers: ArrayLike, n_areas: int, ties: ArrayLike = ()) -> PairCounts:
    """Count comparisons, given as winner and loser, by pair; ``ties`` lists the two areas of each tie.

    >>> count_pairs([0, 0, 1], [1, 1, 0], n_areas=2, ties=[(1, 0)])
    PairCounts(n_areas=2, first=array([0]), second=array([1]), n=array([3]), wins=array([2]), ties=array([1]))
    """
    winner, loser = np.asarray(winners, dtype=np.int64), np.asarray(losers, dtype=np.int64)
    if winner.shape != loser.shape or winner.ndim != 1:
        raise ValueError("winners and losers must be two lists of the same length")
    tied = np.asarray(ties, dtype=np.int64).reshape(-1, 2)
    left, right = np.concatenate([winner, tied[:, 0]]), np.concatenate([loser, tied[:, 1]])
    first, second = _in_order(left, right, n_areas)
    decided = np.arange(len(left)) < len(winner)
    keys, row = np.unique(first * n_areas + second, return_inverse=True)
    return PairCounts(
        n_areas=n_areas,
        first=keys // n_areas,
        second=keys % n_areas,
        n=_tally(row, decided, len(keys)),
        wins=_tally(row, decided & (left == first), len(keys)),
        ties=_tally(row, ~decided, len(keys)),
    )


@dataclass(frozen=True, slots=True, eq=False)
class JudgedCounts:
    """Counts by judge and side, for models in which judges differ: one row for each (judge, pair, side).

    ``judge`` is one of 0 … n_judges−1. ``first_left`` is 1 if the first area was shown on the left, 0 if on the right,
    and −1 if the side is unknown. ``n``, ``wins`` and ``ties`` are as in `PairCounts`.
    """

    n_areas: int
    n_judges: int
    judge: IntArray
    first: IntArray
    second: IntArray
    first_left: IntArray
    n: IntArray
    wins: IntArray
    ties: IntArray = field(default_factory=_nothing)
    """If omitted, there are no ties."""

    def __post_init__(self) -> None:
        _freeze(self, "judge", "first", "second", "first_left", "n", "wins", "ties")
        _check_counts(self)
        if np.any(self.judge < 0) or np.any(self.judge >= self.n_judges):
            raise ValueError(f"judges must lie in 0 … {self.n_judges - 1}")
        if not np.isin(self.first_left, (-1, 0, 1)).all():
            raise ValueError("first_left must be 1 (left), 0 (right) or −1 (unknown)")
        key = _judged_key(self.judge, self.first, self.second, self.first_left, self.n_areas)
        if len(np.unique(key)) != len(key):
            raise ValueError("each judge, pair and side is stored once; add up its counts")

    def pairs(self) -> PairCounts:
        """Sum over judges and sides."""
        return _add_up(self.n_areas, self.first, self.second, self.n, self.wins, self.ties)


def count_judged(
    judge: ArrayLike,
    left: ArrayLike,
    right: ArrayLike,
    choice: ArrayLike,
    *,
    n_areas: int,
    n_judges: int,
    sides: bool = True,
) -> JudgedCounts:
    """Count comparisons by judge, pair and side; ``choice`` is 1 for the left area, −1 for the right, 0 for a tie.

    With ``sides=False``, left and right say which area won but not where it was shown.

    >>> count_judged([0, 0], left=[0, 1], right=[1, 0], choice=[1, 1], n_areas=2, n_judges=1, sides=False).n
    array([2])
    """
    who, a, b, chosen = (np.asarray(each, dtype=np.int64) for each in (judge, left, right, choice))
    if not who.shape == a.shape == b.shape == chosen.shape or who.ndim != 1:
        raise ValueError("judge, left, right and choice must be lists of the same length")
    first, second = _in_order(a, b, n_areas)
    forward = a == first
    first_left = forward.astype(np.int64) if sides else np.full(len(a), -1)
    keys, row = np.unique(_judged_key(who, first, second, first_left, n_areas), return_inverse=True)
    pair = keys // 3
    return JudgedCounts(
        n_areas=n_areas,
        n_judges=n_judges,
        judge=pair // n_areas**2,
        first=pair // n_areas % n_areas,
        second=pair % n_areas,
        first_left=keys % 3 - 1,
        n=_tally(row, chosen != 0, len(keys)),
        wins=_tally(row, np.where(forward, chosen == 1, chosen == -1), len(keys)),
        ties=_tally(row, chosen == 0, len(keys)),
    )


def _add_up(n_areas: int, first: IntArray, second: IntArray, *counts: IntArray) -> PairCounts:
    """Add up rows of the same pair."""
    keys, row = np.unique(first * n_areas + second, return_inverse=True)
    sums = (np.bincount(row, each, len(keys)).astype(np.int64) for each in counts)
    return PairCounts(n_areas, keys // n_areas, keys % n_areas, *sums)


def _freeze(counts: PairCounts | JudgedCounts, *columns: str) -> None:
    """Store read-only copies of the columns; missing ties become zeros."""
    for name in columns:
        object.__setattr__(counts, name, frozen_ints(getattr(counts, name)))
    if len(counts.ties) == 0:
        object.__setattr__(counts, "ties", frozen_ints(np.zeros(len(counts.first))))
    if len({len(getattr(counts, name)) for name in columns}) != 1:
        raise ValueError(f"{', '.join(columns)} must have the same length")


def _check_counts(counts: PairCounts | JudgedCounts) -> None:
    if counts.n_areas < 1:
        raise ValueError(f"a model needs at least one area, received {counts.n_areas}")
    if np.any(counts.first < 0) or np.any(counts.second >= counts.n_areas):
        raise ValueError(f"areas must lie in 0 … {counts.n_areas - 1}")
    if np.any(counts.first >= counts.second):
        raise ValueError("a pair is stored with first < second")
    if np.any(counts.wins < 0) or np.any(counts.wins > counts.n) or np.any(counts.ties < 0):
        raise ValueError("counts must satisfy 0 ≤ wins ≤ n and ties ≥ 0")
    if np.any(counts.n + counts.ties < 1):
        raise ValueError("a row needs at least one comparison: n + ties ≥ 1")


def _in_order(left: IntArray, right: IntArray, n_areas: int) -> tuple[IntArray, IntArray]:
    """Check the areas, and return the smaller and the larger of each comparison."""
    if np.any(left == right):
        raise ValueError(f"comparison {int(np.argmax(left == right))} compares an area with itself")
    first, second = np.minimum(left, right), np.maximum(left, right)
    if len(first) and (first.min() < 0 or second.max() >= n_areas):
        raise ValueError(f"areas must lie in 0 … {n_areas - 1}")
    return first, second


def _judged_key(judge: IntArray, first: IntArray, second: IntArray, first_left: IntArray, n_areas: int) -> IntArray:
    """Pack a judge, a pair and a side into one integer, because integers sort much faster than rows."""
    return ((judge * n_areas + first) * n_areas + second) * 3 + first_left + 1


def _tally(row: IntArray, kept: BoolArray, size: int) -> IntArray:
    return np.bincount(row[kept], minlength=size).astype(np.int64)


def differences(counts: PairCounts, strengths: FloatArray) -> FloatArray:
    """λ_first − λ_second for every compared pair; areas are the first axis."""
    return strengths[counts.first] - strengths[counts.second]


def log_likelihood(counts: PairCounts, strengths: FloatArray) -> FloatArray:
    """ℓ = Σ y d − n log(1 + e^d), d = λ_first − λ_second. Areas are the first axis; other axes are kept."""
    d = differences(counts, strengths)
    return counts.wins @ d - counts.n @ np.logaddexp(0.0, d)


def score(counts: PairCounts, strengths: FloatArray) -> FloatArray:
    """∇ℓ = Xᵀ(y − n p) at one vector of strengths."""
    return counts.onto_areas(counts.wins - counts.n * expit(differences(counts, strengths)))


def laplacian(counts: PairCounts, weights: FloatArray) -> FloatArray:
    """XᵀWX = Σ_pairs w (e_i − e_j)(e_i − e_j)ᵀ, a weighted graph Laplacian, filled in without a matrix product."""
    i, j = counts.first, counts.second
    n = counts.n_areas
    flat = np.zeros(n * n)  # indexing with one number instead of two takes half the time
    flat[i * n + j] = flat[j * n + i] = -weights
    flat[:: n + 1] = np.bincount(i, weights, n) + np.bincount(j, weights, n)
    return flat.reshape(n, n)


def information(counts: PairCounts, strengths: FloatArray) -> FloatArray:
    """−∇²ℓ = XᵀWX with w = n p (1 − p)."""
    p = expit(differences(counts, strengths))
    return laplacian(counts, counts.n * p * (1 - p))
