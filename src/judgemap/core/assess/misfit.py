"""How well answers agree with a model: mean squares, replicated answers, its prior, and whether judges differ.

An answer y is 1 or 0 with P(y = 1) = p, so its residual is y − p, with variance v = p(1 − p).

For every draw of the strengths the same pairs are answered again. The judges' answers are then compared with these
replicates by some measure T; the Bayesian p-value is P(T(replicate) > T(answers)), with equal values counting half.
Some measures depend on the draw of the strengths as well as on the answers (realised discrepancies, Gelman, Meng and
Stern, 1996).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, logsumexp, ndtri, xlogy

from judgemap.core.approximate import find_mode
from judgemap.core.model.counts import JudgedCounts, information, log_likelihood
from judgemap.core.model.judges import Reach
from judgemap.core.model.prior import FixedVariance, Model
from judgemap.core.types import BoolArray, FloatArray, IntArray

LEVEL = 0.95


class MeanSquares(NamedTuple):
    """Outfit and infit of groups of answers, each with the standard deviation expected if the chances are right."""

    outfit: FloatArray
    outfit_sd: FloatArray
    infit: FloatArray
    infit_sd: FloatArray


def mean_squares(won: ArrayLike, chance: ArrayLike, group: IntArray, n_groups: int) -> MeanSquares:
    """Outfit = mean of (y − p)²/v and infit = Σ(y − p)² / Σv over each group's answers; nan for an empty group.

    Both have expectation 1 if y is 1 with probability p. Var (y − p)² = v(1 − 4v), so for independent answers their
    standard deviations are √Σ(1/v − 4) / n and √Σv(1 − 4v) / Σv. One nearly impossible answer makes outfit large but
    hardly moves infit. Source: Wright and Masters (1982), Rating Scale Analysis; Pollitt (2012) for judges.
    """
    y, p = np.asarray(won, dtype=np.float64), np.asarray(chance, dtype=np.float64)
    v = p * (1 - p)
    if np.any(v <= 0):
        raise ValueError("a probability must lie strictly between 0 and 1")
    squared = (y - p) ** 2

    def total(values: FloatArray) -> FloatArray:
        return np.bincount(group, values, n_groups).astype(np.float64)

    with np.errstate(divide="ignore", invalid="ignore"):
        n, information = total(np.ones_like(p)), total(v)
        return MeanSquares(
            outfit=total(squared / v) / n,
            outfit_sd=np.sqrt(total(np.maximum(1 / v - 4, 0.0))) / n,
            infit=total(squared) / information,
            infit_sd=np.sqrt(total(np.maximum(v * (1 - 4 * v), 0.0))) / information,
        )


def share_interval(count: ArrayLike, total: ArrayLike, level: float = LEVEL) -> tuple[FloatArray, FloatArray]:
    """Return Wilson's interval for a share: all s with |count − n s| ≤ z √(n s(1 − s)); 0 to 1 where n = 0.

    Source: Wilson (1927). Its coverage is close to nominal even for few answers.
    """
    k, n = np.asarray(count, dtype=np.float64), np.asarray(total, dtype=np.float64)
    z2 = float(ndtri((1 + level) / 2)) ** 2
    middle = (k + z2 / 2) / (n + z2)
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.sqrt(z2 * (k * (n - k) / n + z2 / 4)) / (n + z2)
    half = np.where(n > 0, half, 0.5)
    return np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)


TRIAD_WORK = 2e10
"""The most multiplications spent on counting circular triads; with more areas, fewer replicates are counted."""
FEWEST_TRIADS = 50

EXTREME = 0.01
"""A p-value closer to 0 or 1 than this counts as unusual."""


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """Pairs as they were shown and answered, one entry each; ``pair`` numbers the distinct pairs, ignoring sides.

    For a distinct pair, ``first`` and ``second`` are the areas and ``n`` how often it was shown; ``forward`` says for
    each entry whether the pair's first area was on the left.
    """

    n_areas: int
    pair: IntArray
    first: IntArray
    second: IntArray
    forward: BoolArray
    first_won: BoolArray

    @property
    def left_won(self) -> BoolArray:
        """Which answers are for the left area."""
        return np.equal(self.first_won, self.forward)

    @property
    def n(self) -> IntArray:
        """How often each distinct pair was shown."""
        return np.bincount(self.pair, minlength=len(self.first)).astype(np.int64)

    def wins(self, first_won: BoolArray) -> IntArray:
        """How often the first area of each distinct pair won."""
        return np.bincount(self.pair[first_won], minlength=len(self.first)).astype(np.int64)

    def onto_areas(self, of_first: FloatArray | IntArray, of_second: FloatArray | IntArray) -> FloatArray:
        """Add up one value per pair by its first area, and another by its second."""
        onto: FloatArray = np.bincount(self.first, of_first, self.n_areas).astype(np.float64)
        return onto + np.bincount(self.second, of_second, self.n_areas)


class Replicates(NamedTuple):
    """Measures of the answers and of their replicates, one value per draw."""

    wins: IntArray
    """Wins of each area, (draws, areas), in the replicates."""
    areas: FloatArray
    """Σ (wins − expected)² / variance over the areas: (draws, 2), of the answers and of the replicate."""
    pairs: FloatArray
    """Deviance over the pairs, likewise."""
    left: IntArray
    """Answers for the left area in the replicates."""
    triads: IntArray
    """Circular triads in the replicates of some of the draws; empty if there are too many areas."""


def replicate(rng: np.random.Generator, shown: Shown, chances: Iterable[FloatArray]) -> Replicates:
    """Answer the pairs again for each draw, and compute the measures.

    ``chances`` has one array per draw: P(the pair's first area is chosen), with one entry per pair shown.
    """
    n, observed = shown.n, shown.wins(shown.first_won)
    answered = shown.onto_areas(observed, n - observed)
    size = np.arange(n.max(initial=0) + 1)
    by_log: FloatArray = xlogy(size, size).astype(np.float64)
    every, best = n.astype(np.float64), _saturated(by_log, n, observed)
    counted = int(TRIAD_WORK / (2 * shown.n_areas**3))
    wins, areas, pairs, left, circles = [], [], [], [], []
    for each, chance in enumerate(chances):
        first_won = rng.random(len(shown.pair)) < chance
        won = shown.wins(first_won)
        gained = shown.onto_areas(won, n - won)
        wins.append(gained)
        p = np.clip(np.bincount(shown.pair, chance, len(n)) / np.maximum(n, 1), 1e-300, 1 - 1e-16)
        spread = np.bincount(shown.pair, chance * (1 - chance), len(n))
        variance = shown.onto_areas(spread, spread)
        expected = shown.onto_areas(every * p, every * (1 - p))
        areas.append([_area_distance(w - expected, variance) for w in (answered, gained)])
        lost = np.log1p(-p)
        odds, never = np.log(p) - lost, float(every @ lost)
        saturated = (best, _saturated(by_log, n, won))
        # Σ w log p + (n − w) log(1 − p), w the wins of a pair's first area
        likely = (float(w.astype(np.float64) @ odds) + never for w in (observed, won))
        pairs.append([2 * (most - found) for most, found in zip(saturated, likely, strict=True)])
        left.append((first_won == shown.forward).sum())
        if counted >= FEWEST_TRIADS and each < counted:
            circles.append(circular_triads(shown, won))
    whole = (np.array(each, dtype=np.int64) for each in (wins, left, circles))
    return Replicates(next(whole), np.array(areas), np.array(pairs), next(whole), next(whole))


def circular_triads(shown: Shown, wins: IntArray) -> int:
    """Count circular triads: three areas, each of which beat the next, by majority if a pair came up more than once.

    ``wins`` counts the wins of the first area of each distinct pair. With M_ij = 1 if i beat j, this is trace(M³)/3.
    Source: Kendall and Babington Smith (1940).

    >>> yes = np.ones(3, bool)
    >>> shown = Shown(3, np.arange(3), np.array([0, 1, 0]), np.array([1, 2, 2]), forward=yes, first_won=yes)
    >>> circular_triads(shown, np.array([1, 1, 0])), circular_triads(shown, np.array([1, 1, 1]))
    (1, 0)
    """
    margin = 2 * wins - shown.n
    beats = np.zeros((shown.n_areas, shown.n_areas), dtype=np.float32)
    beats[shown.first[margin > 0], shown.second[margin > 0]] = 1
    beats[shown.second[margin < 0], shown.first[margin < 0]] = 1
    return round(float(((beats @ beats) * beats.T).sum(dtype=np.float64)) / 3)


def tail_share(replicates: FloatArray | IntArray, observed: FloatArray | IntArray | float) -> FloatArray:
    """P(replicate > observed) + P(replicate = observed)/2 over the first axis.

    >>> tail_share(np.array([1, 2, 3, 4]), 3)
    array(0.375)
    """
    higher, like = (replicates > observed).mean(axis=0), (replicates == observed).mean(axis=0)
    return np.asarray(higher + like / 2, dtype=np.float64)


def _area_distance(excess: FloatArray, variance: FloatArray) -> float:
    """Σ (wins − expected)² / variance over the compared areas."""
    there = variance > 0
    return float((excess[there] ** 2 / variance[there]).sum())


def _saturated(by_log: FloatArray, n: IntArray, w: IntArray) -> float:
    """Σ w log(w/n) + (n − w) log((n − w)/n), the highest possible log-likelihood.

    The deviance is twice the amount by which a model's log-likelihood, Σ w log p + (n − w) log(1 − p), falls short of
    it. ``by_log`` is k log k for k = 0, 1, …, computed once for all replicates.
    """
    return float((by_log[w] + by_log[n - w] - by_log[n]).sum())


def sharpness(strengths: FloatArray, edges: IntArray, C: FloatArray) -> FloatArray:
    """Σz⁴/(Σz²)² × borders: how far a few borders stand out from the others; one value per draw, (draws, areas).

    z is the difference of two neighbours' strengths in units of its standard deviation under N(0, C). Plateaus with
    sharp borders make it large, whatever their scale. If strengths come from N(0, α²C), then over all studies a draw of
    the posterior is a draw of that prior: p = P(sharpness of a prior draw > that of a posterior draw) is uniform for a
    single draw, and its mean over draws is below x in at most 2x of all studies (Rüschendorf, 1982).

    >>> path = np.array([[0, 1], [1, 2], [2, 3], [3, 4]])
    >>> sharpness(np.array([[0.0, 1, 2, 3, 4], [0, 0, 0, 4, 4]]), path, np.eye(5))
    array([1., 4.])
    """
    a, b = np.asarray(edges).T
    z2 = (strengths[:, a] - strengths[:, b]) ** 2 / (C[a, a] + C[b, b] - 2 * C[a, b])
    return (z2**2).mean(axis=1) / np.maximum(z2.mean(axis=1) ** 2, np.finfo(float).tiny)


def log_evidence(model: Model) -> float:
    """Return log P(answers | prior) for a known α², by Laplace's approximation.

    ℓ(λ̂) − λ̂ᵀC⁻¹λ̂/(2α²) − ½ log det(I + α²FᵀHF), with C = FFᵀ and H = XᵀWX at the mode λ̂. If the answers come from one
    prior, another makes them x times as probable in at most one study in x.
    """
    if not isinstance(model.variance, FixedVariance):
        raise TypeError("the evidence is for a known α²")
    counts, C, variance = model.counts, model.covariance, model.variance.value
    mode = find_mode(model, float(np.log(variance)), np.zeros(counts.n_areas))
    inside = np.eye(counts.n_areas) + variance * C.factor.T @ information(counts, mode) @ C.factor
    height = log_likelihood(counts, mode) - mode @ C.inverse @ mode / (2 * variance)
    return float(height - np.linalg.slogdet(inside)[1] / 2)


CLOSELY = np.array([-1.0, -0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
"""How closely a judge may follow the others' map: the wrong way round, not at all, or more closely than they do."""


def log_parts(reach: Reach, first: IntArray, second: IntArray, first_won: BoolArray, chance: FloatArray) -> float:
    """Return the logarithm of the Bayes factor for a judge who knows one part of the map against one who knows it all.

    ``chance`` is P(the first area is chosen) by what others say. Where a judge knows both areas, the log-odds are a
    times theirs, with any a of `CLOSELY`, so that judges who agree little with the others everywhere are no evidence;
    elsewhere the judge guesses. Every part, the areas within r borders of an area c, is equally likely:

        mean over c, r and a of ∏_known 2P_a(y)  /  mean over a of ∏_all 2P_a(y)

    If others guess too, their map is flatter than what a judge knows, hence a > 1.
    """
    n, furthest = len(reach.steps), int(reach.steps.max())
    if furthest < 2 or len(first) == 0:
        return 0.0
    odds = np.where(first_won, 1, -1) * logit(np.clip(chance, 1e-12, 1 - 1e-12))
    gain = np.log(2) - np.logaddexp(0, -CLOSELY[:, None] * odds)
    needed = np.maximum(reach.steps[:, first], reach.steps[:, second])
    place = (np.arange(n)[:, None] * (furthest + 1) + needed).ravel()
    inside = []
    for each in gain:
        by_steps = np.bincount(place, np.tile(each, n), n * (furthest + 1)).reshape(n, -1)
        inside.append(logsumexp(by_steps.cumsum(axis=1)[:, 1:furthest]) - np.log(n * (furthest - 1)))
    return float(logsumexp(inside) - logsumexp(gain.sum(axis=1)))


def differ_share(
    rng: np.random.Generator,
    counts: JudgedCounts,
    strengths: FloatArray,
    C: FloatArray | None = None,
    chance: Callable[[FloatArray], FloatArray] = expit,
) -> float:
    """P(T of a replicate ≥ T of the answers) over draws of the strengths, (draws, areas); C defaults to I.

    This is a score test of whether judges differ, from a fit that assumes they do not. If each judge's map were λ + u_k
    with u_k ~ N(0, σ²C), the log-likelihood would grow from σ² = 0 at the rate

        ½ Σ_k r_kᵀ C r_k  + a term without y,   r_k = X_kᵀ(y_k − n_k p_k),  p = σ(X_k λ)

    A judge who gave most of the answers would swamp the others in that sum. So each judge's term gets the weight it
    would have near σ = α/2, where more answers from the same judge soon add nothing:

        T(y, λ) = Σ_k w_k r_kᵀ C r_k,   w_k = 1/(1 + σ² tr(C X_kᵀWX_k)/N),  W = diag n p(1 − p),  σ² = variance of λ / 4

    The posterior has already seen the answers, so the share of replicates above is nearer to ½ than a p-value would be,
    and false alarms are rarer than the nominal level. Source: Verbeke and Molenberghs (2003).

    ``chance`` is P(first is chosen | it is not a tie) at a given difference of strengths; ties make it steeper.
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
        return ((r.reshape(size) @ C) * r.reshape(size)).sum(axis=1)

    above = 0
    for draw in strengths:
        p = chance(draw[first] - draw[second])
        weight = 1 / (1 + scale * np.bincount(judge, n * p * (1 - p) * apart, size[0]))
        answered, replicate = (weight @ by_judge(won - n * p) for won in (counts.wins, rng.binomial(n, p)))
        above += int(replicate >= answered)
    # The answers count as one of the replicates, so that the share is never 0.
    return (1 + above) / (1 + len(strengths))
