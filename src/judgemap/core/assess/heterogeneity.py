"""Whether judges differ, judged from a fit that assumes they do not: a score test against replicated answers.

If each judge's map were λ + u_k with u_k ~ N(0, σ²C), the log-likelihood would grow from σ² = 0 at the rate

    ½ Σ_k r_kᵀ C r_k  + a term without y,   r_k = X_kᵀ(y_k − n_k p_k),  p = σ(X_k λ)

A judge who gave most of the answers would swamp the others in that sum. So each judge's term gets the weight it would
have near σ = α/2, where more answers from the same judge soon add nothing:

    T(y, λ) = Σ_k w_k r_kᵀ C r_k,   w_k = 1/(1 + σ² tr(C X_kᵀWX_k)/N),  W = diag n p(1 − p),  σ² = variance of λ / 4

To find the distribution of T among judges who agree, we replicate the answers: for draws λ from the posterior, T of the
answers is compared with T of answers drawn from p. The posterior has already seen the answers, so the share of
replicates above is nearer to ½ than a p-value would be, and false alarms are rarer than the nominal level.
Source: Verbeke and Molenberghs (2003) for the score test; Gelman, Meng and Stern (1996) for the replicates.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import expit

from judgemap.core.model.counts import JudgedCounts
from judgemap.core.types import FloatArray


def differ_share(
    rng: np.random.Generator,
    counts: JudgedCounts,
    strengths: FloatArray,
    C: FloatArray | None = None,
    chance: Callable[[FloatArray], FloatArray] = expit,
) -> float:
    """P(T of a replicate ≥ T of the answers) over draws of the strengths, (draws, areas); C defaults to I.

    ``chance`` is P(first is chosen | it is not a tie) at a given difference of strengths; ties make it steeper.

    >>> from judgemap.core.model.counts import count_judged
    >>> rows = [0] * 50 + [1] * 50
    >>> counts = count_judged(rows, [0] * 100, [1] * 100, [1] * 50 + [-1] * 50, n_areas=2, n_judges=2)
    >>> differ_share(np.random.default_rng(1), counts, np.zeros((99, 2)))
    0.01
    """
    judge, first, second, n = counts.judge, counts.first, counts.second, counts.n
    size = (counts.n_judges, counts.n_areas)
    apart = np.full(len(n), 2.0) if C is None else C[first, first] + C[second, second] - 2 * C[first, second]
    scale = strengths.var(axis=1).mean() / 4 / size[1]

    # On a large map a judge meets few of the areas; without C we keep only those.
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
    # The answers count as one of the replicates, so that the share is never 0.
    return (1 + above) / (1 + len(strengths))
