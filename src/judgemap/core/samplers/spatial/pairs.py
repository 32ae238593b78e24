"""The likelihood of the compared pairs in NumPy alone, for runs shorter than it takes to load machine code.

    ℓ(λ) = −Σ (n − y) max(d, 0) + y max(−d, 0) − n log p,   d = λ_first − λ_second, p = 1/(1 + e^{−|d|})
    ∇ℓ = Xᵀ(y − n/2 − n/2 · tanh(d/2)),   tanh(|d|/2) = 2p − 1

These are the equations of `pair_pass`, and they give the same numbers up to rounding. Nothing cancels here either. One
logarithm serves many pairs: p is at least a half, so the product of a few hundred does not underflow.
"""

import numpy as np
from scipy import sparse
from scipy.special import expit

from judgemap.core.model.counts import PairCounts
from judgemap.core.samplers.kernel import Likelihood
from judgemap.core.types import FloatArray

MOST = 1000
"""How many halves can be multiplied before the product underflows, with a little to spare."""


def likelihood(counts: PairCounts) -> Likelihood:
    """Lay out the pairs and return the likelihood function; with ``height=False`` it skips ℓ.

    >>> from judgemap.core.model.counts import count_pairs
    >>> score, height = likelihood(count_pairs([0], [1], 2))(np.zeros((2, 1)))
    >>> score.ravel(), np.round(height, 4)
    (array([ 0.5, -0.5]), array([-0.6931]))
    """
    order = np.argsort(counts.n, kind="stable")
    n, wins = counts.n[order].astype(np.float64), counts.wins[order].astype(np.float64)
    rows, ends = np.arange(len(n)), np.concatenate([counts.first[order], counts.second[order]])
    sides = np.repeat([1.0, -1.0], len(n))
    X = sparse.csr_array((sides, (np.tile(rows, 2), ends)), shape=(len(n), counts.n_areas))
    half_XT = (X.T * (n / 2)).tocsr()
    pull = counts.excess()[:, None]
    # Each product covers pairs with the same number of answers, which the sort above puts next to each other.
    begins = np.flatnonzero((np.diff(n, prepend=-1.0) != 0) | (rows % MOST == 0))

    def at(strengths: FloatArray, *, height: bool = True) -> tuple[FloatArray, FloatArray]:
        d = X @ strengths
        p = expit(np.abs(d))
        score: FloatArray = pull - half_XT @ np.copysign(2 * p - 1, d)
        if not height:
            return score, np.empty(0)
        certain = (n - wins) @ np.maximum(d, 0.0) + wins @ np.maximum(-d, 0.0)
        return score, n[begins] @ np.log(np.multiply.reduceat(p, begins, axis=0)) - certain

    return at
