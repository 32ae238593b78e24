"""One judge against all the others: how probable the judge's answers were beforehand, and what kind of judge this is.

The probability of one judge's answers before anything is known about that judge is also how models are compared.

Given what all judges share (λ, σ², p, b, σ_b², σ_a²), the probability of judge k's answers is

    p(y_k | shared) = ∫ p(y_k | λ + u_k, b_k, a_k, ε_k) p(u_k, b_k, a_k, ε_k | shared)

The unknowns are written as v ~ N(0, I): the part of the view that the answers depend on (u_k = σFv, in as many
coordinates as there are rows or areas), side, attention, and the score of the lapse rate.
The integral is found by importance sampling from the Gaussian at the mode of v, with covariance H⁻¹, H = JᵀWJ + I,
J = ∂η/∂v, but with heavier tails for everything except the view:

    p(y_k | shared) ≈ mean of p(y_k | v) N(v; 0, I) / N(v; v̂, H⁻¹)

All draws of the shared parameters are processed together. `smooth_weights` turns the same probabilities into draws as
they would be without this judge. `kind_chances` asks which kind of judge would have given these answers.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from scipy.special import gammaln, logsumexp

from judgemap.core.model.counts import JudgedCounts
from judgemap.core.model.judges import Disagreement, Parts
from judgemap.core.model.outcomes import (
    Answers,
    curvature,
    log_likelihood,
    slopes,
)
from judgemap.core.model.prior import Covariance, covariance_of
from judgemap.core.samplers.judges.target import lapse_rate
from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray

NEWTON = 25
"""The most Newton steps to the mode."""
LITTLE = 1e-3
"""Step in the score of the lapse rate for finite differences."""
HALVINGS = 6
NEAR = 1e-3
"""The most height that may be left to gain: the points need to lie around the mode, but its exact place does not
matter."""
POINTS = 8
"""Points of the integral, each used with its mirror image."""
TAILS = 5.0
"""Degrees of freedom of the proposal for side, attention and lapses: with views they form ridges beyond the reach of a
Gaussian."""
CHUNK = 4_000_000
"""The most numbers in J at a time."""


class Shared(NamedTuple):
    """What all judges share, one entry per draw; 0 for parts that are off."""

    strengths: FloatArray
    """λ, (draws, areas)."""
    tie_chance: FloatArray
    sigma: FloatArray
    lean: FloatArray
    side_sd: FloatArray
    attention_sd: FloatArray

    def part(self, rows: slice) -> "Shared":
        """Take some of the draws."""
        return Shared(*(each[rows] for each in self))


@dataclass(frozen=True, slots=True, eq=False)
class JudgeRows:
    """One judge's answers, one row for each pair and side."""

    first: IntArray
    second: IntArray
    x: FloatArray
    """1 if the first area was on the left, −1 if on the right, 0 if unknown."""
    answers: Answers
    B: FloatArray
    """X_k u_k = σBv."""


def rows_of(counts: JudgedCounts, judge: int, parts: Parts) -> JudgeRows:
    """Select one judge's rows from the counts; ties are left out if the model has none."""
    own = (counts.judge == judge) & ((counts.n > 0) | (parts.ties is not None))
    first, second = counts.first[own], counts.second[own]
    left = counts.first_left[own]
    B = np.zeros((len(first), 0))
    if parts.disagreement is not None:
        F = parts.disagreement.covariance.factor
        A = F[first] - F[second]
        B = A if len(A) >= A.shape[1] else np.asarray(np.linalg.qr(A.T, mode="r")).T
    ties = counts.ties[own] if parts.ties is not None else np.zeros(len(first))
    answers = Answers(
        *(np.asarray(y, dtype=np.float64)[:, None] for y in (counts.wins[own], counts.n[own] - counts.wins[own], ties))
    )
    return JudgeRows(first, second, np.where(left < 0, 0.0, 2.0 * left - 1), answers, B)


def log_probability(rng: np.random.Generator, rows: JudgeRows, parts: Parts, shared: Shared) -> FloatArray:
    """Return log p(y_k | shared) for each draw of the shared parameters.

    >>> from judgemap.core.model.counts import count_judged
    >>> counts = count_judged([0, 0], left=[0, 0], right=[1, 1], choice=[1, 1], n_areas=2, n_judges=1)
    >>> zero = np.zeros(1)
    >>> shared = Shared(np.zeros((1, 2)), zero, zero, zero, zero, zero)
    >>> value = log_probability(np.random.default_rng(1), rows_of(counts, 0, Parts()), Parts(), shared)
    >>> bool(np.isclose(value[0], 2 * np.log(0.5)))
    True
    """
    parts_of_draws = pieces(len(shared.tie_chance), CHUNK // max(1, len(rows.first) * (rows.B.shape[1] + 3)))
    # The mode at typical parameters is close to the mode at each draw, and finding it costs no more than one draw.
    typical = Shared(*(each.mean(axis=0, keepdims=True) for each in shared))
    start, _ = _Judge(rows, parts, typical).mode()
    return np.concatenate([_Judge(rows, parts, shared.part(piece)).integrate(rng, start) for piece in parts_of_draws])


class _Judge:
    """The unknowns of one judge at several draws of the shared parameters; v has shape (draws, unknowns)."""

    def __init__(self, rows: JudgeRows, parts: Parts, shared: Shared) -> None:
        self.rows, self.parts, self.shared = rows, parts, shared
        self.d = shared.strengths[:, rows.first] - shared.strengths[:, rows.second]
        views = rows.B.shape[1]
        self.side = views if parts.side is not None else None
        self.attention = views + (parts.side is not None) if parts.attention is not None else None
        self.size = views + (parts.side is not None) + (parts.attention is not None) + (parts.lapses is not None)
        self.views = slice(0, views)

    def e(self, v: FloatArray) -> FloatArray:
        """X_k μ_k, (draws, rows)."""
        view: FloatArray = self.d + self.shared.sigma[:, None] * (v[:, self.views] @ self.rows.B.T)
        return view

    def eta(self, v: FloatArray) -> FloatArray:
        eta = self.steepness(v) * self.e(v)
        if self.side is not None:
            eta = eta + (self.shared.lean + self.shared.side_sd * v[:, self.side])[:, None] * self.rows.x
        return eta

    def lapse(self, v: FloatArray) -> FloatArray:
        if self.parts.lapses is None:
            return np.zeros((1, 1))
        return np.clip(lapse_rate(self.parts.lapses, v[:, -1]), 1e-12, 1 - 1e-9)[None, :]

    def log_posterior(self, v: FloatArray) -> FloatArray:
        """Return log p(y_k | v) − |v|²/2."""
        rows = log_likelihood(self.rows.answers, self.parts.ties, self.eta(v).T, self.shared.tie_chance, self.lapse(v))
        value: FloatArray = rows.sum(axis=0) - (v**2).sum(axis=1) / 2
        return value

    def steepness(self, v: FloatArray) -> FloatArray:
        """Return a_k, (draws, 1)."""
        if self.attention is None:
            return np.ones((len(v), 1))
        steep: FloatArray = (1 + self.shared.attention_sd * v[:, self.attention])[:, None]
        return steep

    def scale(self, v: FloatArray) -> FloatArray:
        """Return s in ∂η/∂v = sB for the view, (draws, 1)."""
        return self.shared.sigma[:, None] * self.steepness(v)

    def own(self, v: FloatArray) -> FloatArray:
        """Return ∂η/∂v for everything except the view, (draws, rows, unknowns)."""
        own = np.zeros((*self.d.shape, self.size - self.views.stop))
        if self.attention is not None:
            own[:, :, self.attention - self.views.stop] = self.shared.attention_sd[:, None] * self.e(v)
        if self.side is not None:
            own[:, :, self.side - self.views.stop] = self.shared.side_sd[:, None] * self.rows.x
        return own

    def slope(self, v: FloatArray) -> FloatArray:
        """Return the gradient of the log posterior at v."""
        few, p = self.views.stop, self.shared.tie_chance
        rows = slopes(self.rows.answers, self.parts.ties, self.eta(v).T, p, self.lapse(v)).eta.T
        slope = -v
        slope[:, :few] += self.scale(v) * (rows @ self.rows.B)
        slope[:, few:] += np.einsum("dr,dru->du", rows, self.own(v))
        if self.parts.lapses is not None:
            slope[:, -1] += (self._at_lapse(v, LITTLE) - self._at_lapse(v, -LITTLE)) / (2 * LITTLE)
        return slope

    def information(self, v: FloatArray) -> FloatArray:
        """Return H at v. B is the same for all draws, so J, by far the largest array, is never formed."""
        few, own, scale, B = self.views.stop, self.own(v), self.scale(v), self.rows.B
        bent = curvature(self.rows.answers, self.parts.ties, self.eta(v).T, self.shared.tie_chance)
        weight = np.maximum(bent, 0.0).T * (1 - self.lapse(v).T)
        H = np.empty((len(v), self.size, self.size))
        H[:, :few, :few] = B.T @ ((scale**2 * weight)[:, :, None] * B)
        H[:, few:, :few] = np.swapaxes(own, 1, 2) @ ((scale * weight)[:, :, None] * B)
        H[:, :few, few:] = np.swapaxes(H[:, few:, :few], 1, 2)
        H[:, few:, few:] = np.swapaxes(own, 1, 2) @ (weight[:, :, None] * own)
        H += np.eye(self.size)
        if self.parts.lapses is not None:
            ahead, middle, behind = (self._at_lapse(v, step) for step in (LITTLE, 0.0, -LITTLE))
            H[:, -1, -1] += np.maximum(-(ahead - 2 * middle + behind) / LITTLE**2, 0.0)
        return H

    def linear(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ∂ℓ/∂η, W and J of the first draw, one row per answer."""
        p, eta = self.shared.tie_chance, self.eta(v).T
        slope = slopes(self.rows.answers, self.parts.ties, eta, p, self.lapse(v)).eta[:, 0]
        bent = curvature(self.rows.answers, self.parts.ties, eta, p)[:, 0]
        weight = np.maximum(bent, 0.0) * (1 - self.lapse(v)[0, 0])
        return slope, weight, np.hstack([self.scale(v)[0] * self.rows.B, self.own(v)[0]])

    def _at_lapse(self, v: FloatArray, step: float) -> FloatArray:
        """Return log p(y_k | v) with the lapse score shifted by a step."""
        moved = v.copy()
        moved[:, -1] += step
        value: FloatArray = self.log_posterior(moved) + (moved**2).sum(axis=1) / 2
        return value

    def mode(self, start: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return v̂ and H there, searching from ``start`` (one row for all draws) or from 0."""
        v = np.zeros((len(self.d), self.size))
        v += 0.0 if start is None else start
        height = self.log_posterior(v)
        for _ in range(NEWTON):
            slope, H = self.slope(v), self.information(v)
            step = np.linalg.solve(H, slope[:, :, None])[:, :, 0]
            if (slope * step).sum(axis=1).max() < NEAR:
                break
            for _ in range(HALVINGS):
                higher = self.log_posterior(v + step)
                worse = higher < height - 1e-9
                if not worse.any():
                    break
                step[worse] /= 2
            step[worse] = 0.0
            v, height = v + step, np.where(worse, height, higher)
        return v, self.information(v)

    def integrate(self, rng: np.random.Generator, start: FloatArray) -> FloatArray:
        if self.size == 0:
            return self.log_posterior(np.zeros((len(self.d), 0)))
        v, H = self.mode(start)
        few = self.views.stop
        L = _factor(H)
        half_log_det = np.log(np.abs(np.diagonal(L, axis1=1, axis2=2))).sum(axis=1)
        values = []
        points = rng.standard_normal((POINTS, *v.shape))
        points[:, :, few:] = rng.standard_t(TAILS, points[:, :, few:].shape)
        offsets = np.moveaxis(np.linalg.solve(np.swapaxes(L, 1, 2), np.moveaxis(points, 0, 2)), 2, 0)
        for z, offset in zip(points, offsets, strict=True):
            density = half_log_det - (z[:, :few] ** 2).sum(axis=1) / 2
            density += (_log_t(z[:, few:]) + np.log(2 * np.pi) / 2).sum(axis=1)
            values += [self.log_posterior(v + offset) - density, self.log_posterior(v - offset) - density]
        total: FloatArray = logsumexp(values, axis=0) - np.log(2 * POINTS)
        return total


def _factor(H: FloatArray) -> FloatArray:
    """Return L with LLᵀ = H, where H is I plus a positive semi-definite matrix, so no eigenvalue is below 1.

    At a draw of enormous scale rounding can hide that, and eigenvalues that come out lower are raised to 1. The
    integral remains correct: any matrix may shape the points at which it is evaluated.
    """
    try:
        lower = np.linalg.cholesky(H)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(H)
        root = vectors * np.sqrt(np.maximum(values, 1.0))[:, None, :]
        lower = np.swapaxes(np.linalg.qr(np.swapaxes(root, 1, 2)).R, 1, 2)
    return np.asarray(lower, dtype=np.float64)


def _log_t(z: FloatArray) -> FloatArray:
    """Student's log-density with `TAILS` degrees of freedom; scipy.stats has it too but is slow to load."""
    constant = gammaln((TAILS + 1) / 2) - gammaln(TAILS / 2) - np.log(TAILS * np.pi) / 2
    density: FloatArray = constant - (TAILS + 1) / 2 * np.log1p(z**2 / TAILS)
    return density


GOOD_K = 0.7
"""Above this Pareto k, importance sampling cannot be relied on (Vehtari et al., 2024)."""
FEWEST = 5
"""The fewest draws in the tail from which k is estimated."""


class Smoothed(NamedTuple):
    """Normalised log-weights, one per draw, and k̂, which is infinite if there are too few draws to estimate it."""

    log_weights: FloatArray
    k: float


def smooth_weights(log_ratios: FloatArray) -> Smoothed:
    """Smooth importance ratios, one per draw, given as logarithms up to a constant.

    Draws s from the posterior given all answers, weighted by r_s = 1 / p(y_k | s), stand in for the posterior given
    everyone else's answers. A few weights may dwarf all the others. The largest M = min(S/5, 3√S) of the S weights are
    therefore replaced by the quantiles of a generalised Pareto distribution fitted to them, capped at the largest raw
    weight. Its shape k̂ says how heavy the tail is: above `GOOD_K`, no practical number of draws is enough.

    Vehtari, Simpson, Gelman, Yao and Gabry (2024); the fit is that of Zhang and Stephens (2009), with the paper's weak
    prior on k. ArviZ provides this as ``psislw`` but takes seconds to import; the tests compare the two.

    >>> weights, k = smooth_weights(np.random.default_rng(1).standard_normal(1000))
    >>> round(float(np.exp(weights).sum()), 6), k < GOOD_K
    (1.0, True)
    """
    x = log_ratios - log_ratios.max()
    order = np.argsort(x, kind="stable")
    size = int(np.ceil(min(len(x) / 5, 3 * np.sqrt(len(x)))))
    # A threshold below the smallest positive number would be 0 once it is exponentiated.
    cut = max(x[order[max(len(x) - size - 1, 0)]], np.log(np.finfo(float).tiny))
    tail = order[x[order] > cut]
    k = np.inf
    if len(tail) >= FEWEST:
        k, scale = _fit_tail(np.exp(x[tail]) - np.exp(cut))
    if np.isfinite(k):
        quantiles = (np.arange(len(tail)) + 0.5) / len(tail)
        x[tail] = np.minimum(np.log(_pareto_quantile(quantiles, k, scale) + np.exp(cut)), 0.0)
    return Smoothed(x - logsumexp(x), float(k))


def _fit_tail(excess: FloatArray) -> tuple[float, float]:
    """Return the shape and scale of a generalised Pareto distribution fitted to sorted excesses over a threshold."""
    n = len(excess)
    candidates = 30 + int(np.sqrt(n))
    b = 1 - np.sqrt(candidates / (np.arange(candidates) + 0.5))
    b = b / (3 * excess[int(n / 4 + 0.5) - 1]) + 1 / excess[-1]
    shapes = np.log1p(-b[:, None] * excess).mean(axis=1)
    profile = n * (np.log(-b / shapes) - shapes - 1)
    weights = np.exp(profile - logsumexp(profile))
    middle = float(weights @ b)
    shape = float(np.log1p(-middle * excess).mean())
    # The weak prior on k acts as if ten more draws had k = 0.5.
    return (n * shape + 10 * 0.5) / (n + 10), -shape / middle


def _pareto_quantile(p: FloatArray, k: float, scale: float) -> FloatArray:
    if abs(k) < np.finfo(float).eps:
        return -scale * np.log1p(-p)
    value: FloatArray = scale * np.expm1(-k * np.log1p(-p)) / k
    return value


LEAST_SPREAD = 1e-9
"""Added to variances, so that a covariance can be factored where nothing is uncertain."""
ODD = 0.05
"""Prior share of judges of each kind other than `modelled`."""


class Kinds(NamedTuple):
    """The probability of each kind of judge; they add up to 1.

    A model with attention or lapses allows for more: there, a judge as modelled can also have a_k near 0 or below, or
    lapse, and the caller adds that.
    """

    modelled: float
    """μ_k = λ + u_k, with side, attention and lapses as in the model."""
    little: float
    """Answers by chance: η = 0, apart from a lean to one side."""
    reversed: float
    """−μ_k instead of μ_k: the judge took the question the other way round."""
    another_view: float
    """μ_k ~ N(0, M): a map as varied as any judge's, M = α²C + σ²C_u, unrelated to the population's."""


MOST_OWN = 0.98
"""The largest share of what is known in any direction that is taken to be one judge's; V comes from draws, and is not
exact."""
ROUNDS, STILL = 6, 1e-3
"""How often the others' map is improved, and the squared step, in posterior standard deviations, that ends this."""


class Others(NamedTuple):
    """What everyone else's answers say about the population's map, nearly N(mean, covariance)."""

    mean: FloatArray
    covariance: FloatArray
    own_share: float
    """The judge's share of all that is known, in the direction in which it is largest."""


def set_aside(rows: JudgeRows, parts: Parts, typical: Shared, root: FloatArray) -> Others:
    """Take one judge's answers out of the posterior of λ, nearly N(m, LLᵀ).

    With λ = m + Ly, the others' answers leave log p(y) = −½|y|² − ℓ_k(y), where ℓ_k is the log probability of this
    judge's answers given λ. At the judge's mode, with M = ∂η/∂y, J = ∂η/∂v, W and H, the slope of ℓ_k is Mᵀ times the
    rows' slopes, and its curvature G = MᵀWM − MᵀWJ H⁻¹ JᵀWM. Newton's method finds the new centre, and the covariance
    is then L(I − G)⁻¹Lᵀ. To weight draws by 1 / p(y_k | λ) instead would take very many of them if the judge matters.

    Parameters
    ----------
    rows, parts
        The judge's answers, and the model.
    typical
        What all judges share, one draw: m and the medians of the rest.
    root
        L, (areas, directions).
    """
    m, apart = typical.strengths[0], root[rows.first] - root[rows.second]
    y, v, remaining, share = np.zeros(root.shape[1]), None, np.eye(root.shape[1]), 0.0
    for each in range(ROUNDS):
        judge = _Judge(rows, parts, typical._replace(strengths=(m + root @ y)[None]))
        v, H = judge.mode(v)
        M = judge.steepness(v)[0] * apart
        slope, weight, J = judge.linear(v)
        if each == 0 and len(y):  # further out, N(m, LLᵀ) is less exact than at its centre
            bent = J.T @ (weight[:, None] * M)
            G = M.T @ (weight[:, None] * M) - bent.T @ np.linalg.solve(H[0], bent)
            share = float(eigh((G + G.T) / 2, eigvals_only=True, subset_by_index=[len(y) - 1] * 2)[0])
            remaining -= G * (MOST_OWN / max(share, MOST_OWN))
        step = np.linalg.solve(remaining, -y - M.T @ slope)
        y += step * min(1.0, 2 * np.sqrt(len(y) / max(float(step @ step), 1e-300)))
        if step @ step < STILL:
            break
    return Others(m + root @ y, root @ np.linalg.solve(remaining, root.T), share)


def kind_chances(
    rng: np.random.Generator,
    counts: JudgedCounts,
    judge: int,
    parts: Parts,
    typical: Shared,
    root: FloatArray,
    own: Covariance,
) -> tuple[Kinds, float]:
    """Weigh the kinds for one judge; return also the judge's share of what is known, as `Others.own_share`.

    How probable each kind makes the judge's answers is found with the map that everyone else's answers suggest
    (`set_aside`), whose uncertainty counts as part of the judge's view.

    Parameters
    ----------
    rng, counts, judge, parts
        The answers of all judges, which judge this is, and the model.
    typical
        What all judges share, one draw: the posterior mean of λ, and the medians of the rest.
    root
        L, (areas, directions): LLᵀ is the posterior covariance of λ.
    own
        M, the covariance of a judge's map.

    Examples
    --------
    >>> from judgemap.core.model.counts import count_judged
    >>> from judgemap.core.model.prior import independent
    >>> counts = count_judged([0] * 20, left=[0] * 20, right=[1] * 20, choice=[-1] * 20, n_areas=2, n_judges=1)
    >>> zero = np.zeros(1)
    >>> shared = Shared(np.array([[1.5, -1.5]]), zero, zero, zero, zero, zero)
    >>> kinds, _ = kind_chances(np.random.default_rng(1), counts, 0, Parts(), shared, np.zeros((2, 0)), independent(2))
    >>> max(kinds._fields, key=lambda name: getattr(kinds, name))
    'reversed'
    """
    rows = rows_of(counts, judge, parts)
    others = set_aside(rows, parts, typical, root)
    views = 0.0 if parts.disagreement is None else typical.sigma[0] ** 2 * parts.disagreement.covariance.matrix
    jitter = LEAST_SPREAD * np.eye(counts.n_areas)
    uncertain = Disagreement(covariance_of(others.covariance + views + jitter))

    def log_chance(other: Parts, strengths: FloatArray) -> float:
        at = typical._replace(strengths=strengths[None], sigma=np.ones(1))
        return float(log_probability(rng, rows_of(counts, judge, other), other, at)[0])

    straight, nowhere = replace(parts, attention=None), np.zeros(counts.n_areas)
    chances = [
        log_chance(replace(parts, disagreement=uncertain), others.mean),
        log_chance(Parts(ties=parts.ties, side=parts.side), nowhere),
        log_chance(replace(straight, disagreement=uncertain), -others.mean),
        log_chance(replace(straight, disagreement=Disagreement(own)), nowhere),
    ]
    odds = np.log([1 - 3 * ODD, ODD, ODD, ODD]) + chances
    return Kinds(*np.exp(odds - logsumexp(odds)).tolist()), others.own_share
