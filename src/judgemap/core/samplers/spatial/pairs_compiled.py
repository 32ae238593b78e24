"""One compiled pass over the compared pairs: the likelihood and its gradient for many chains at once.

    ℓ(λ) = −Σ (n/2 − (y − n/2) sign d)|d| − n log p,   d = λ_first − λ_second, p = (1 + tanh(|d|/2))/2
    ∇ℓ = Xᵀ(y − n/2 − n/2 · tanh(d/2))

In this form nothing cancels: an answer that is all but certain adds nothing to ℓ. Pairs are processed in blocks that
stay in the processor's first-level cache: gather the differences, respond to all of them in one loop without branches,
which the compiler turns into vector instructions, and scatter. All pairs in a block have the same number of answers, so
that one logarithm serves many p.

Import this module only where it is used: numba is slow to load.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgemap.core.model.counts import PairCounts
from judgemap.core.samplers.compiled import compiled, tanh_of_half
from judgemap.core.samplers.kernel import Likelihood
from judgemap.core.types import FloatArray, IntArray

BLOCK = 1024
"""Differences per block: 8 kB, a quarter of the smallest first-level cache."""
MERGED = 128
"""How many p, each at least a half, are multiplied together; the product does not underflow."""


class Rows(NamedTuple):
    """Compared pairs, grouped by their number of answers n: areas, n/2, y − n/2, and where each group starts."""

    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    half: FloatArray
    excess: FloatArray
    bounds: IntArray


def lay_out(counts: PairCounts) -> Rows:
    """Sort the pairs into the order in which the pass takes them.

    >>> from judgemap.core.model.counts import count_pairs
    >>> lay_out(count_pairs([0, 0, 1], [1, 1, 2], 3))
    Rows(first=array([1, 0], dtype=uint32), second=array([2, 1], dtype=uint32), half=array([0.5, 1. ]), \
excess=array([0.5, 1. ]), bounds=array([0, 1, 2]))
    """
    order = np.argsort(counts.n, kind="stable")
    n, wins = counts.n[order], counts.wins[order]
    # Unsigned areas spare the compiled code a check for negative indices.
    first, second = counts.first[order].astype(np.uint32), counts.second[order].astype(np.uint32)
    return Rows(first, second, n / 2, wins - n / 2, np.flatnonzero(np.diff(n, prepend=-1, append=-1)))


def likelihood(counts: PairCounts) -> Likelihood:
    """Lay out the pairs; ℓ costs half as much as ∇ℓ, and most steps of a trajectory do not need it.

    >>> from judgemap.core.model.counts import count_pairs
    >>> score, height = likelihood(count_pairs([0], [1], 2))(np.zeros((2, 1)))
    >>> score.ravel(), np.round(height, 4)
    (array([ 0.5, -0.5]), array([-0.6931]))
    """
    rows = lay_out(counts)

    def at(strengths: FloatArray, *, height: bool = True) -> tuple[FloatArray, FloatArray]:
        score, fall = np.zeros_like(strengths), np.zeros(strengths.shape[1] if height else 0)
        pass_pairs(rows, strengths, score, fall)
        return score, -fall

    return at


@compiled
def gather(rows: Rows, begin: int, end: int, strengths: FloatArray, d: FloatArray) -> int:
    """Write the differences of a block, the chains of a pair side by side; return how many there are."""
    chains, at = strengths.shape[1], 0
    for row in range(begin, end):
        above, below = strengths[rows.first[row]], strengths[rows.second[row]]
        for k in range(chains):
            d[at + k] = above[k] - below[k]
        at += chains
    return at


@compiled
def add_sizes(rows: Rows, begin: int, end: int, d: FloatArray, fall: FloatArray) -> None:
    """Add Σ (n/2 − (y − n/2) sign d)|d| to ``fall``."""
    at = 0
    for row in range(begin, end):
        half, excess = rows.half[row], rows.excess[row]
        for k in range(len(fall)):
            fall[k] += (half - excess * math.copysign(1.0, d[at + k])) * abs(d[at + k])
        at += len(fall)


@compiled
def respond(d: FloatArray, p: FloatArray, size: int) -> None:
    """Write (1 + tanh(|d|/2))/2 into ``p``, and overwrite d with tanh(d/2)."""
    for q in range(size):
        response = tanh_of_half(abs(d[q]))
        p[q] = 0.5 + 0.5 * response
        d[q] = math.copysign(response, d[q])


@compiled
def scatter(rows: Rows, begin: int, end: int, response: FloatArray, score: FloatArray) -> None:
    """Add Xᵀ(y − n/2 − n/2 · response) to ``score``."""
    chains, at = score.shape[1], 0
    for row in range(begin, end):
        half, excess = rows.half[row], rows.excess[row]
        above, below = score[rows.first[row]], score[rows.second[row]]
        for k in range(chains):
            above[k] += excess - half * response[at + k]
        for k in range(chains):
            below[k] -= excess - half * response[at + k]
        at += chains


@compiled
def add_logs(n: float, left: int, p: FloatArray, fall: FloatArray) -> None:
    """Add −n Σ log p to ``fall`` for the ``left`` pairs in ``p``, which is overwritten."""
    chains, merged = len(fall), 1
    # The second half of the rows is multiplied into the first: long loops, which become vector instructions.
    while left > 1 and merged < MERGED:
        kept, merged = left - left // 2, 2 * merged
        for at in range((left - kept) * chains):
            p[at] *= p[kept * chains + at]
        left = kept
    for row in range(left):
        for k in range(chains):
            fall[k] -= n * math.log(p[row * chains + k])


@compiled
def pass_pairs(rows: Rows, strengths: FloatArray, score: FloatArray, fall: FloatArray) -> None:
    """Add ∇ℓ to ``score``, (areas, chains), and −ℓ to ``fall``, (chains,), unless that is empty."""
    chains = strengths.shape[1]
    size = max(1, BLOCK // chains)
    d, p = np.empty(size * chains), np.empty(size * chains)
    for alike in range(len(rows.bounds) - 1):
        until = rows.bounds[alike + 1]
        for begin in range(rows.bounds[alike], until, size):
            end = min(begin + size, until)
            differences = gather(rows, begin, end, strengths, d)
            if len(fall) > 0:
                add_sizes(rows, begin, end, d, fall)
            respond(d, p, differences)
            scatter(rows, begin, end, d, score)
            if len(fall) > 0:
                add_logs(2 * rows.half[begin], end - begin, p, fall)


@compiled
def add_laplacian(
    first: IntArray, second: IntArray, weights: FloatArray, vectors: FloatArray, result: FloatArray
) -> None:
    """Add XᵀWX times each column of ``vectors`` to ``result``."""
    columns = vectors.shape[1]
    for pair in range(len(weights)):
        above, below, w = vectors[first[pair]], vectors[second[pair]], weights[pair]
        up, down = result[first[pair]], result[second[pair]]
        for k in range(columns):
            moved = w * (above[k] - below[k])
            up[k] += moved
            down[k] -= moved


@compiled
def add_to_triangle(first: IntArray, second: IntArray, weights: FloatArray, matrix: FloatArray) -> None:
    """Add XᵀWX to ``matrix`` on and above the diagonal."""
    for pair in range(len(weights)):
        i, j, w = first[pair], second[pair], weights[pair]
        matrix[i, i] += w
        matrix[j, j] += w
        matrix[i, j] -= w
