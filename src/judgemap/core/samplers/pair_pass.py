"""One pass over the compared pairs, compiled: what the likelihood says of many chains at once.

    ℓ(λ) = −Σ (n/2 − (y − n/2) sign d)|d| + n log(1 + e^{−|d|}),   d = λ_first − λ_second − shift
    ∇ℓ = Xᵀ(y − n/2 − n/2 · tanh(d/2)),   tanh(|d|/2) = (1 − e^{−|d|})/(1 + e^{−|d|})

Written so, nothing cancels: an answer as certain as you like adds nothing to ℓ. Pairs are taken in blocks that stay in
the processor's nearest cache: gather the differences, respond to all of them in one loop without branches, which the
compiler turns into vector instructions, and scatter. One logarithm does for many factors
1 + e^{−|d|}.

Import this module only where it is used: numba takes a moment to load.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgemap.core.comparisons import PairCounts
from judgemap.core.samplers.compiled import compiled, exp_of_negative
from judgemap.core.samplers.kernel import Likelihood
from judgemap.core.types import FloatArray, IntArray

BLOCK = 1024
"""Differences in a block: 8 kB, a quarter of the smallest first-level cache."""

FEW, MERGED = 7.0, 128
"""So many times a factor is multiplied with itself at most, a pair with more answers having a logarithm of its own, and
so many pairs are multiplied with each other: a product of 896 factors between 1 and 2 is still a number."""


class Rows(NamedTuple):
    """Compared pairs: areas, n/2, y − n/2, and what is taken off the difference (0 without ties)."""

    first: NDArray[np.uint32]
    second: NDArray[np.uint32]
    half: FloatArray
    excess: FloatArray
    shift: FloatArray


def likelihood(counts: PairCounts) -> Likelihood:
    """Lay out the pairs; ℓ costs as much as ∇ℓ, and most steps of a trajectory do without it.

    >>> from judgemap.core.comparisons import count_pairs
    >>> score, height = likelihood(count_pairs([0], [1], 2))(np.zeros((2, 1)))
    >>> score.ravel(), np.round(height, 4)
    (array([ 0.5, -0.5]), array([-0.6931]))
    """
    # Unsigned areas spare the compiled code a look at negative indices.
    first, second = counts.first.astype(np.uint32), counts.second.astype(np.uint32)
    rows = Rows(first, second, counts.n / 2, counts.wins - counts.n / 2, np.zeros(len(counts.n)))

    def at(strengths: FloatArray, *, height: bool = True) -> tuple[FloatArray, FloatArray]:
        score, fall = np.zeros_like(strengths), np.zeros(strengths.shape[1] if height else 0)
        pass_pairs(rows, strengths, score, fall)
        return score, -fall

    return at


@compiled
def gather(rows: Rows, begin: int, end: int, strengths: FloatArray, d: FloatArray) -> int:
    """Write the differences of a block, all chains of a pair beside each other; return how many there are."""
    chains, at = strengths.shape[1], 0
    for row in range(begin, end):
        above, below, shift = strengths[rows.first[row]], strengths[rows.second[row]], rows.shift[row]
        for k in range(chains):
            d[at + k] = above[k] - below[k] - shift
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
def respond(d: FloatArray, factor: FloatArray, size: int) -> None:
    """Write 1 + e^{−|d|} into ``factor``, and tanh(d/2) over d."""
    for q in range(size):
        e = exp_of_negative(-abs(d[q]))
        factor[q] = 1 + e
        d[q] = math.copysign((1 - e) / (1 + e), d[q])


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
def add_logs(rows: Rows, begin: int, end: int, factor: FloatArray, fall: FloatArray) -> None:
    """Add Σ n log(factor) to ``fall``, ``factor`` being used up."""
    chains, left, merged = len(fall), end - begin, 1
    for row in range(left):
        n = 2 * rows.half[begin + row]
        if n > 1:
            for at in range(row * chains, (row + 1) * chains):
                power = factor[at]
                if n > FEW:
                    fall[at - row * chains] += n * math.log(power)
                    factor[at] = 1.0
                else:
                    for _ in range(1, n):
                        power *= factor[at]
                    factor[at] = power
    # The rows' second half is multiplied into the first: long loops, which become vector instructions.
    while left > 1 and merged < MERGED:
        kept, merged = left - left // 2, 2 * merged
        for at in range((left - kept) * chains):
            factor[at] *= factor[kept * chains + at]
        left = kept
    for row in range(left):
        for k in range(chains):
            fall[k] += math.log(factor[row * chains + k])


@compiled
def pass_pairs(rows: Rows, strengths: FloatArray, score: FloatArray, fall: FloatArray) -> None:
    """Add ∇ℓ to ``score``, (areas, chains), and −ℓ to ``fall``, (chains,), or to nothing if that is empty."""
    n_rows, chains = len(rows.half), strengths.shape[1]
    size = max(1, BLOCK // chains)
    d, factor = np.empty(size * chains), np.empty(size * chains)
    for begin in range(0, n_rows, size):
        end = min(begin + size, n_rows)
        differences = gather(rows, begin, end, strengths, d)
        if len(fall) > 0:
            add_sizes(rows, begin, end, d, fall)
        respond(d, factor, differences)
        scatter(rows, begin, end, d, score)
        if len(fall) > 0:
            add_logs(rows, begin, end, factor, fall)


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
