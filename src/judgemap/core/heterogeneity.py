"""Whether judges differ, told from a fit that takes them to be alike: a score test, against replicated answers.

Were each judge's map λ + u_k with u_k ~ N(0, σ²C), the log-likelihood would grow from σ² = 0 at the rate of

    T(y, λ) = ½ Σ_k r_kᵀ C r_k  + a term without y,   r_k = X_kᵀ(y_k − n_k p_k),  p = σ(X_k λ)

so T is what a test for σ² > 0 looks at. Its distribution among judges who are alike is found by answering again: for
draws λ of the posterior, T of the answers is compared with T of answers drawn from p. The posterior has seen the
answers, so the share of replicates above is nearer to ½ than a p-value, and false alarms are fewer than its level says.
Source: Verbeke and Molenberghs (2003) for the score test; Gelman, Meng and Stern (1996) for the replicates.
"""

import numpy as np
from scipy.special import expit

from judgemap.core.comparisons import JudgedCounts
from judgemap.core.types import FloatArray


def differ_share(
    rng: np.random.Generator, counts: JudgedCounts, strengths: FloatArray, factor: FloatArray | None
) -> float:
    """P(T of a replicate ≥ T of the answers) over draws of the strengths, (draws, areas); C = FFᵀ, or I without F.

    >>> from judgemap.core.comparisons import count_judged
    >>> rows = [0] * 50 + [1] * 50
    >>> counts = count_judged(rows, [0] * 100, [1] * 100, [1] * 50 + [-1] * 50, n_areas=2, n_judges=2)
    >>> differ_share(np.random.default_rng(1), counts, np.zeros((99, 2)), None)
    0.01
    """
    judge, first, second, n = counts.judge, counts.first, counts.second, counts.n
    size = (counts.n_judges, counts.n_areas)

    def statistic(excess: FloatArray) -> float:
        gained = np.bincount(judge * size[1] + first, excess, size[0] * size[1])
        r = (gained - np.bincount(judge * size[1] + second, excess, size[0] * size[1])).reshape(size)
        return float(((r if factor is None else r @ factor) ** 2).sum())

    above = 0
    for draw in strengths:
        p = expit(draw[first] - draw[second])
        replicate = rng.binomial(n, p)
        above += statistic(replicate - n * p) >= statistic(counts.wins - n * p)
    return (1 + above) / (1 + len(strengths))
