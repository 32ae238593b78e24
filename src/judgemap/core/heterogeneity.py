"""Whether judges differ, told from a fit that takes them to be alike: a score test, against replicated answers.

Were each judge's map λ + u_k with u_k ~ N(0, σ²C), the log-likelihood would grow from σ² = 0 at the rate of

    ½ Σ_k r_kᵀ C r_k  + a term without y,   r_k = X_kᵀ(y_k − n_k p_k),  p = σ(X_k λ)

A judge with most of the answers would drown the others in that sum. So each judge's part is weighted as it is near
σ = α/2, where the answers of one judge soon tell no more:

    T(y, λ) = Σ_k w_k r_kᵀ C r_k,   w_k = 1/(1 + σ² tr(C X_kᵀWX_k)/N),  W = diag n p(1 − p),  σ² = variance of λ / 4

T's distribution among judges who are alike is found by answering again: for draws λ of the posterior, T of the answers
is compared with T of answers drawn from p. The posterior has seen the answers, so the share of replicates above is
nearer to ½ than a p-value, and false alarms are fewer than its level says.
Source: Verbeke and Molenberghs (2003) for the score test; Gelman, Meng and Stern (1996) for the replicates.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from judgemap.core.comparisons import JudgedCounts
from judgemap.core.types import FloatArray


def differ_share(
    rng: np.random.Generator,
    counts: JudgedCounts,
    strengths: FloatArray,
    C: FloatArray | None = None,
    chance: Callable[[FloatArray], FloatArray] = expit,
) -> float:
    """P(T of a replicate ≥ T of the answers) over draws of the strengths, (draws, areas); without C it is I.

    ``chance`` is P(first is chosen | one of them is) at a difference of strengths; ties make it steeper.

    >>> from judgemap.core.comparisons import count_judged
    >>> rows = [0] * 50 + [1] * 50
    >>> counts = count_judged(rows, [0] * 100, [1] * 100, [1] * 50 + [-1] * 50, n_areas=2, n_judges=2)
    >>> differ_share(np.random.default_rng(1), counts, np.zeros((99, 2)))
    0.01
    """
    judge, first, second, n = counts.judge, counts.first, counts.second, counts.n
    size = (counts.n_judges, counts.n_areas)
    apart = np.full(len(n), 2.0) if C is None else C[first, first] + C[second, second] - 2 * C[first, second]
    scale = strengths.var(axis=1).mean() / 4 / size[1]

    # A judge of a large map met few of its areas: without C only those are kept.
    ends = np.concatenate([judge * size[1] + first, judge * size[1] + second])
    met, place = np.unique(ends, return_inverse=True) if C is None else (np.arange(size[0] * size[1]), ends)
    of_first, of_second = place[: len(n)], place[len(n) :]

    def by_judge(excess: FloatArray) -> FloatArray:
        gained = np.bincount(of_first, excess, len(met))
        r = gained - np.bincount(of_second, excess, len(met))
        if C is None:
            return np.bincount(met // size[1], r * r, size[0]).astype(np.float64)
        squares: FloatArray = ((r.reshape(size) @ C) * r.reshape(size)).sum(axis=1)
        return squares

    above = 0
    for draw in strengths:
        p = chance(draw[first] - draw[second])
        weight = 1 / (1 + scale * np.bincount(judge, n * p * (1 - p) * apart, size[0]))
        answered, replicate = (weight @ by_judge(won - n * p) for won in (counts.wins, rng.binomial(n, p)))
        above += int(replicate >= answered)
    return (1 + above) / (1 + len(strengths))
