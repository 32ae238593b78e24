"""The adaptive design for judges who differ: the pair that would tell us most about the population's map.

Judge k sees μ_k = λ + u_k, u_k ~ N(0, Σ). At the mode of (λ, u_1 … u_K), with S_k the information of judge k's answers
about μ_k, R_k = (S_k + Σ⁻¹)⁻¹ and B_k = R_kΣ⁻¹, the Gaussian approximation (Laplace) has

    V = Cov(λ) = (C⁻¹/α² + Σ_k [S_k − S_kR_kS_k])⁻¹,   Cov(λ, μ_k) = V B_kᵀ = D,   Cov(μ_k) = R_k + B_kVB_kᵀ = M.

Asking judge k the pair x = e_i − e_j reduces the trace of the covariance of the centred population's map by

    gain_ij = w ‖KDx‖² / (1 + w xᵀMx),   w = p(1 − p) at the mode of μ_k.

For a judge about whom nothing is known yet, D = V and M = V + Σ; a judge whose view of a pair is known adds little by
answering it again. α², Σ and the Gaussian shape are taken as known, as in `adaptive`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from judgemap.core.approximate.newton import climb
from judgemap.core.design.adaptive import NextPair, draw_by_gain
from judgemap.core.design.population import Population
from judgemap.core.design.utility import contrasts, inverse
from judgemap.core.model.counts import JudgedCounts
from judgemap.core.types import FloatArray, IntArray

CLOSE = 1e-9


class JudgeState(NamedTuple):
    """What all answers say about the population's map λ and one judge's map μ_k."""

    population: FloatArray
    """The mode of λ."""
    own: FloatArray
    """The mode of μ_k."""
    cross: FloatArray
    """Cov(λ, μ_k)."""
    covariance: FloatArray
    """Cov(μ_k)."""


def judge_state(counts: JudgedCounts, population: Population, judge: int) -> JudgeState:
    """Find the state for one judge from everybody's answers; ties are left out.

    >>> from judgemap.core.model.counts import count_judged
    >>> from judgemap.core.model.prior import independent
    >>> counts = count_judged([0, 0], left=[0, 0], right=[1, 1], choice=[1, 1], n_areas=3, n_judges=2)
    >>> state = judge_state(counts, Population(independent(3), 3.0, np.eye(3)), judge=1)
    >>> bool(state.own[0] > state.own[1])
    True
    """
    if not 0 <= judge < counts.n_judges:
        raise ValueError(f"judges are 0 … {counts.n_judges - 1}, received {judge}")
    n, n_judges = counts.n_areas, counts.n_judges
    prior, views = population.covariance.inverse / population.alpha**2, inverse(population.views)

    def height(at: FloatArray) -> float:
        maps = at.reshape(n_judges + 1, n)
        d = _differences(counts, maps)
        likelihood = counts.wins @ d - counts.n @ np.logaddexp(0.0, d)
        size = maps[0] @ prior @ maps[0] + np.einsum("ki,ij,kj->", maps[1:], views, maps[1:])
        return float(likelihood - size / 2)

    def ascent(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        maps = at.reshape(n_judges + 1, n)
        S, R = _information(counts, maps, views)
        scores = _scores(counts, maps)
        own = scores - maps[1:] @ views
        common = scores.sum(axis=0) - prior @ maps[0]
        SR = S @ R
        V = inverse(prior + (S - SR @ S).sum(axis=0))
        step = V @ (common - np.einsum("kij,kj->i", SR, own))
        steps = np.einsum("kij,kj->ki", R, own - S @ step)
        return np.concatenate([common, own.ravel()]), np.concatenate([step, steps.ravel()])

    maps = climb(height, ascent, np.zeros((n_judges + 1) * n), CLOSE).reshape(n_judges + 1, n)
    S, R = _information(counts, maps, views)
    V = inverse(prior + (S - S @ R @ S).sum(axis=0))
    B = R[judge] @ views
    return JudgeState(maps[0], maps[0] + maps[1 + judge], V @ B.T, R[judge] + B @ V @ B.T)


class Known(NamedTuple):
    """What a fit says about a population of judges: the mean and covariance of λ, and Σ, how much judges differ."""

    mean: FloatArray
    covariance: FloatArray
    views: FloatArray


def state_among(known: Known, winners: IntArray, losers: IntArray) -> JudgeState:
    """Find the state for one judge from what is known about the population and from that judge's own answers.

    This equals `judge_state` if the population is known from all answers, but it needs no other judge's answers and is
    quick: with K = XΣXᵀ for the answers X, G = ΣXᵀ(W⁻¹ + K)⁻¹ gives B = I − GX and R = BΣ. Answers given since the last
    fit inform this judge's map at once, and the population's map at the next fit.

    >>> known = Known(np.zeros(3), 9 * np.eye(3), np.eye(3))
    >>> state = state_among(known, np.array([0, 0]), np.array([1, 1]))
    >>> bool(state.own[0] > state.own[2] > state.own[1]), bool(state.covariance[0, 0] < 10)
    (True, True)
    """
    d = known.mean[winners] - known.mean[losers]
    seen = known.views[winners] - known.views[losers]
    K = seen[:, winners] - seen[:, losers]

    def height(a: FloatArray) -> float:
        f = K @ a
        return float(-np.logaddexp(0.0, -(d + f)).sum() - a @ f / 2)

    def ascent(a: FloatArray) -> tuple[FloatArray, FloatArray]:
        p = expit(d + K @ a)
        step = np.linalg.solve(np.eye(len(a)) + (p * (1 - p))[:, None] * K, 1 - p - a).astype(np.float64)
        return K @ (1 - p - a), step

    a = climb(height, ascent, np.zeros(len(winners)), CLOSE)
    p = expit(d + K @ a)
    weights = p * (1 - p)
    G = np.linalg.solve(np.eye(len(a)) + K * weights, seen).T * weights
    V = known.covariance
    BV = V - G @ (V[winners] - V[losers])
    BVB = BV - (BV[:, winners] - BV[:, losers]) @ G.T
    return JudgeState(known.mean, known.mean + seen.T @ a, BV.T, known.views - G @ seen + BVB)


def next_pair(
    rng: np.random.Generator, state: JudgeState, temperature: float = 1.0, allowed: ArrayLike | None = None
) -> NextPair:
    """Draw the next pair for this judge, as `adaptive.next_pair` does if judges do not differ."""
    return draw_by_gain(rng, gains(state), temperature, allowed)


def gains(state: JudgeState) -> FloatArray:
    """How much asking this judge each pair next would lower the trace; zero diagonal."""
    p = expit(state.own[:, None] - state.own)
    w = p * (1 - p)
    centred = state.cross - state.cross.mean(axis=0)
    gain: FloatArray = w * contrasts(centred.T @ centred) / (1 + w * contrasts(state.covariance))
    np.fill_diagonal(gain, 0.0)
    return np.maximum(gain, 0.0)


def _differences(counts: JudgedCounts, maps: FloatArray) -> FloatArray:
    own = maps[0] + maps[1:]
    differences: FloatArray = own[counts.judge, counts.first] - own[counts.judge, counts.second]
    return differences


def _scores(counts: JudgedCounts, maps: FloatArray) -> FloatArray:
    """X_kᵀ(y − n p) of every judge."""
    rest = counts.wins - counts.n * expit(_differences(counts, maps))
    scores = np.zeros((counts.n_judges, counts.n_areas))
    np.add.at(scores, (counts.judge, counts.first), rest)
    np.add.at(scores, (counts.judge, counts.second), -rest)
    return scores


def _information(counts: JudgedCounts, maps: FloatArray, views: FloatArray) -> tuple[FloatArray, FloatArray]:
    """S_k and R_k of every judge."""
    p = expit(_differences(counts, maps))
    w = counts.n * p * (1 - p)
    S = np.zeros((counts.n_judges, counts.n_areas, counts.n_areas))
    for first, second, sign in (
        (counts.first, counts.first, 1),
        (counts.second, counts.second, 1),
        (counts.first, counts.second, -1),
        (counts.second, counts.first, -1),
    ):
        np.add.at(S, (counts.judge, first, second), sign * w)
    R: FloatArray = np.linalg.inv(S + views).astype(np.float64)
    return S, R
