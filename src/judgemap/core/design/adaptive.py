"""The adaptive design: each pair is chosen in the light of all answers so far.

The posterior is approximated by a Gaussian, N(λ̂, V) with V⁻¹ = XᵀWX + C⁻¹/α² at its mode λ̂ (Laplace). Asking pair
x = e_i − e_j adds w x xᵀ to the precision, w = p(1 − p) at the mode, and so reduces the trace of the covariance of the
centred strengths by exactly

    gain_ij = tr KVK − tr K(V⁻¹ + w x xᵀ)⁻¹K = w ‖KVx‖² / (1 + w xᵀVx).

Three things are approximate: the Gaussian shape, taking α² as known, and taking w at the mode, before the answer moves
it. The mode and V are not: they are brought to convergence after every answer, so the state depends only on the
tallies, and a server that restarts goes on with the pairs it would have asked anyway.

If judges differ, judge k sees μ_k = λ + u_k, u_k ~ N(0, Σ). With S the information of judge k's own answers about μ_k,
R = (S + Σ⁻¹)⁻¹ and B = RΣ⁻¹, the population's map λ and the judge's own have D = Cov(λ, μ_k) = VBᵀ and
M = Cov(μ_k) = R + BVBᵀ, and asking this judge pair x reduces the trace of the centred population's map by

    gain_ij = w ‖KDx‖² / (1 + w xᵀMx),   w = p(1 − p) at the mode of μ_k.

For a judge about whom nothing is known yet, D = V and M = V + Σ; a judge whose view of a pair is known adds little by
answering it again.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from judgemap.core.approximate import climb, find_mode, inverse
from judgemap.core.design.designs import known_areas
from judgemap.core.design.utility import centred_square, contrasts
from judgemap.core.model.counts import count_pairs, differences, information, score
from judgemap.core.model.prior import FixedVariance, Model
from judgemap.core.types import FloatArray, IntArray, frozen_floats

CONVERGED = 1e-20
"""The mode counts as reached at this squared distance from it, in posterior standard deviations."""
CLOSE = 1e-9
"""The same for one judge's map."""
STEPS = 60
"""The most steps allowed to reach the mode; about six are usual."""


@dataclass(frozen=True, slots=True, eq=False)
class AdaptiveState:
    """The model with its tallies, the mode λ̂ of the strengths, and their covariance V there."""

    model: Model
    mode: FloatArray
    covariance: FloatArray

    def __post_init__(self) -> None:
        object.__setattr__(self, "mode", frozen_floats(self.mode))
        object.__setattr__(self, "covariance", frozen_floats(self.covariance))


class JudgeState(NamedTuple):
    """What all answers say about one judge's map μ_k, and about it and the population's map λ together."""

    own: FloatArray
    """The mode of μ_k."""
    cross: FloatArray
    """Cov(λ, μ_k)."""
    covariance: FloatArray
    """Cov(μ_k)."""


class NextPair(NamedTuple):
    """A pair to ask, and the probability with which it was drawn, whichever way round."""

    left: int
    right: int
    probability: float


def init(model: Model) -> AdaptiveState:
    """Find the state from the tallies alone; α² must be fixed, at a guess or a pilot's estimate."""
    return _settle(model, _newton(model, np.zeros(model.counts.n_areas)))


def update(state: AdaptiveState, winners: ArrayLike, losers: ArrayLike) -> AdaptiveState:
    """Add one answer or several, and find the new mode starting from the last one.

    V updated for the new pairs (Sherman-Morrison) is nearly the inverse Hessian at the new mode, so a few products with
    it converge. V is then computed afresh, so that no error builds up.
    """
    counts, V, mode = state.model.counts, state.covariance, state.mode
    new = count_pairs(np.atleast_1d(winners), np.atleast_1d(losers), counts.n_areas)
    p = expit(differences(new, mode))
    for first, second, w in zip(new.first, new.second, new.n * p * (1 - p), strict=True):
        change = V[:, first] - V[:, second]
        V = V - np.outer(change, change * (w / (1 + w * (change[first] - change[second]))))
    model = Model(counts.plus(new), state.model.covariance, state.model.variance)
    return _settle(model, AdaptiveState(model, mode, V))


def next_pair(
    rng: np.random.Generator,
    state: AdaptiveState | JudgeState,
    temperature: float = 1.0,
    allowed: ArrayLike | None = None,
) -> NextPair:
    """Draw the next pair with probability ∝ gain^{1/temperature}, sides at random, from ``allowed`` areas if given.

    At a low temperature the most informative pairs are nearly always asked; these are close calls, and hard for judges.
    At a high temperature all pairs are equally likely, for early and late judges alike. The cost is O(N³) for VKV and
    O(N²) for the pairs.
    """
    gain = gains(state)
    if not (np.isfinite(temperature) and temperature > 0):
        raise ValueError(f"the temperature must be a positive number, received {temperature}")
    n_areas = len(gain)
    areas = known_areas(np.arange(n_areas) if allowed is None else allowed, n_areas)
    weights = gain[np.ix_(areas, areas)] if len(areas) < n_areas else gain.copy()
    if not weights.max() > 0:
        raise ValueError("no pair of these areas would tell us anything more; ask about other areas, or end the study")
    weights /= weights.max()
    if temperature != 1:
        np.power(weights, 1 / temperature, out=weights)
    return draw_by_weight(rng, areas, weights)


def draw_by_weight(rng: np.random.Generator, areas: IntArray, weights: FloatArray) -> NextPair:
    """Draw a pair of areas with probability ∝ its weight in a symmetric table with a zero diagonal, sides at random.

    >>> draw_by_weight(np.random.default_rng(1), np.array([3, 7]), np.array([[0.0, 2.0], [2.0, 0.0]])).probability
    1.0
    """
    of_rows = weights.sum(axis=1)
    left = _draw_place(rng, of_rows)
    right = _draw_place(rng, weights[left])
    return NextPair(int(areas[left]), int(areas[right]), float(2 * weights[left, right] / of_rows.sum()))


def gains(state: AdaptiveState | JudgeState) -> FloatArray:
    """How much asking each pair next would lower the trace of the centred strengths' covariance; zero diagonal."""
    own, cross = (state.mode, state.covariance) if isinstance(state, AdaptiveState) else (state.own, state.cross)
    w = _binomial_variance(own)
    gain = contrasts(centred_square(cross))
    gain *= w
    w *= contrasts(state.covariance)
    w += 1.0
    gain /= w
    np.fill_diagonal(gain, 0.0)
    return np.maximum(gain, 0.0, out=gain)


def _draw_place(rng: np.random.Generator, weights: FloatArray) -> int:
    cumulative = np.cumsum(weights)
    place = np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right")
    return min(int(place), len(weights) - 1)


def _binomial_variance(strengths: FloatArray) -> FloatArray:
    """p_ij(1 − p_ij) = a_i a_j / (a_i + a_j)² for all pairs, a = e^λ; the clip keeps a² from overflowing."""
    middle = (strengths.max() + strengths.min()) / 2
    a = np.exp(np.clip(strengths - middle, -150.0, 150.0))
    result: FloatArray = np.add.outer(a, a)
    result *= result
    return np.divide(np.outer(a, a), result, out=result)


def _known_variance(model: Model) -> float:
    match model.variance:
        case FixedVariance(value):
            return value
        case _:
            raise ValueError("the adaptive design needs a fixed α²; use a guess, or the posterior mean of a pilot")


def _newton(model: Model, start: FloatArray) -> AdaptiveState:
    variance = _known_variance(model)
    mode = find_mode(model, float(np.log(variance)), start)
    return AdaptiveState(model, mode, inverse(information(model.counts, mode) + model.covariance.inverse / variance))


def _settle(model: Model, near: AdaptiveState) -> AdaptiveState:
    """Move from a state near the mode to the mode by λ ← λ + Vg, with full Newton steps where that stops gaining."""
    precision = model.covariance.inverse / _known_variance(model)
    mode, V, last = near.mode, near.covariance, np.inf
    for _ in range(STEPS):
        gradient = score(model.counts, mode) - precision @ mode
        step = V @ gradient
        distance = float(gradient @ step)
        if distance < CONVERGED:
            return AdaptiveState(model, mode, inverse(information(model.counts, mode) + precision))
        # V is too far from the inverse Hessian here to converge quickly: take exact Newton steps, and its V.
        if distance > last / 4:
            newton = _newton(model, mode)
            mode, V, last = newton.mode, newton.covariance, np.inf
        else:
            mode, last = mode + step, distance
    raise ValueError("the mode of the strengths was not found; check the prior's covariance and α²")


class Known(NamedTuple):
    """What a fit says about a population of judges: the mean and covariance of λ, and Σ, how much judges differ."""

    mean: FloatArray
    covariance: FloatArray
    views: FloatArray


def state_among(known: Known, winners: IntArray, losers: IntArray) -> JudgeState:
    """Find the state for one judge from what is known about the population and from that judge's own answers.

    No other judge's answers are needed: with K = XΣXᵀ for the answers X, G = ΣXᵀ(W⁻¹ + K)⁻¹ gives B = I − GX and
    R = BΣ. Answers given since the last fit inform this judge's map at once, and the population's map at the next fit.
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
    return JudgeState(known.mean + seen.T @ a, BV.T, known.views - G @ seen + BVB)
