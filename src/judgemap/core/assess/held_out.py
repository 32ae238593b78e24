"""One judge against all the others: how probable the judge's answers were beforehand, and what kind of judge this is.

The probability of one judge's answers before anything is known about that judge is also how models are compared.

Given the population's map λ and the other parameters that all judges share (σ, p, b, σ_b, σ_a), the probability of
judge k's answers is

    p(y_k | λ) = ∫ p(y_k | λ + u_k, b_k, a_k, ε_k) p(u_k, b_k, a_k, ε_k)

The unknowns are written as v ~ N(0, I): the part of the view that the answers depend on (X_k u_k = Bv, in as many
coordinates as there are rows or areas), side, attention, and the score of the lapse rate. The integral is found by
importance sampling from the Gaussian at the mode of v, with covariance H⁻¹, H = JᵀWJ + I, J = ∂η/∂v, but with heavier
tails for everything except the view:

    p(y_k | λ) ≈ mean of p(y_k | v) N(v; 0, I) / N(v; v̂, H⁻¹)

What *everyone else's* answers say about λ comes from the posterior, once this judge's are taken out (`set_aside`); its
uncertainty then counts as part of the judge's view. The other parameters are taken at their medians.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh, lapack, solve_triangular
from scipy.special import gammaln, logsumexp

from judgemap.core.model.counts import JudgedCounts
from judgemap.core.model.judges import Parts
from judgemap.core.model.outcomes import Answers, curvature, log_likelihood, slopes
from judgemap.core.samplers.judges.target import lapse_rate
from judgemap.core.types import FloatArray, IntArray

NEWTON, HALVINGS = 25, 6
"""The most Newton steps to the mode, and how often a step that leads downhill is halved."""
LITTLE = 1e-3
"""Step in the score of the lapse rate for finite differences."""
NEAR = 1e-3
"""The most height that may be left to gain: the points need to lie around the mode, but its exact place does not
matter."""
POINTS = 32
"""Points of the integral, each used with its mirror image."""
TAILS = 5.0
"""Degrees of freedom of the proposal for side, attention and lapses: with views they form ridges beyond the reach of a
Gaussian."""


class Shared(NamedTuple):
    """What all judges share; 0 for parts that are off."""

    strengths: FloatArray
    """λ, by area."""
    tie_chance: float = 0.0
    sigma: float = 0.0
    lean: float = 0.0
    side_sd: float = 0.0
    attention_sd: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class JudgeRows:
    """One judge's answers, one row for each pair and side."""

    first: IntArray
    second: IntArray
    x: FloatArray
    """1 if the first area was on the left, −1 if on the right, 0 if unknown."""
    answers: Answers
    B: FloatArray
    """X_k u_k = Bv."""


def rows_of(counts: JudgedCounts, judge: int, parts: Parts, view: FloatArray | None = None) -> JudgeRows:
    """Select one judge's rows from the counts; ties are left out if the model has none.

    ``view`` is F if the judge's view is Fv, (areas, coordinates); without it, the judge has no view of their own.
    """
    own = (counts.judge == judge) & ((counts.n > 0) | (parts.ties is not None))
    first, second, left = counts.first[own], counts.second[own], counts.first_left[own]
    B = np.zeros((len(first), 0))
    if view is not None:
        view = _narrow(view) if len(first) > len(view) else view
        B = _narrow(view[first] - view[second])
    ties = counts.ties[own] if parts.ties is not None else np.zeros(len(first))
    answers = Answers(
        *(np.asarray(y, dtype=np.float64)[:, None] for y in (counts.wins[own], counts.n[own] - counts.wins[own], ties))
    )
    return JudgeRows(first, second, np.where(left < 0, 0.0, 2.0 * left - 1), answers, B)


def _narrow(F: FloatArray) -> FloatArray:
    """Return a matrix with the same FFᵀ that is no wider than high."""
    return F if F.shape[1] <= len(F) else np.asarray(np.linalg.qr(F.T, mode="r")).T


def log_probability(rng: np.random.Generator, rows: JudgeRows, parts: Parts, shared: Shared) -> float:
    """Return log p(y_k | λ)."""
    return _Judge(rows, parts, shared).integrate(rng)


class _Judge:
    """The unknowns of one judge, v, at one or several points: (points, unknowns)."""

    def __init__(self, rows: JudgeRows, parts: Parts, shared: Shared) -> None:
        self.rows, self.parts, self.shared = rows, parts, shared
        self.d = shared.strengths[rows.first] - shared.strengths[rows.second]
        self.p = np.array([shared.tie_chance])
        self.views = rows.B.shape[1]
        self.side = self.views if parts.side else None
        self.attention = self.views + parts.side if parts.attention else None
        self.size = self.views + parts.side + parts.attention + parts.lapses

    def e(self, v: FloatArray) -> FloatArray:
        """X_k μ_k, (points, rows)."""
        return self.d + v[:, : self.views] @ self.rows.B.T

    def steepness(self, v: FloatArray) -> FloatArray:
        """Return a_k, (points, 1)."""
        if self.attention is None:
            return np.ones((len(v), 1))
        return 1 + self.shared.attention_sd * v[:, [self.attention]]

    def eta(self, v: FloatArray) -> FloatArray:
        """η, (points, rows)."""
        eta = self.steepness(v) * self.e(v)
        if self.side is not None:
            eta = eta + (self.shared.lean + self.shared.side_sd * v[:, [self.side]]) * self.rows.x
        return eta

    def lapse(self, v: FloatArray) -> FloatArray:
        """ε_k, (1, points)."""
        if not self.parts.lapses:
            return np.zeros((1, 1))
        return np.clip(lapse_rate(v[:, -1]), 1e-12, 1 - 1e-9)[None, :]

    def log_posterior(self, v: FloatArray) -> FloatArray:
        """Return log p(y_k | v) − |v|²/2, by point."""
        rows = log_likelihood(self.rows.answers, self.parts.ties, self.eta(v).T, self.p, self.lapse(v))
        return rows.sum(axis=0) - (v**2).sum(axis=1) / 2

    def linear(self, v: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return ∂ℓ/∂η and W by row, and J, (rows, unknowns), at one point."""
        eta, lapse = self.eta(v).T, self.lapse(v)
        slope = slopes(self.rows.answers, self.parts.ties, eta, self.p, lapse)[:, 0]
        weight = np.maximum(curvature(self.rows.answers, self.parts.ties, eta, self.p), 0.0)[:, 0] * (1 - lapse[0, 0])
        J = np.zeros((len(self.d), self.size))
        J[:, : self.views] = self.steepness(v)[0] * self.rows.B
        if self.attention is not None:
            J[:, self.attention] = self.shared.attention_sd * self.e(v)[0]
        if self.side is not None:
            J[:, self.side] = self.shared.side_sd * self.rows.x
        return slope, weight, J

    def bend(self, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the gradient of the log posterior at one point, and H there."""
        slope, weight, J = self.linear(v)
        gradient, H = J.T @ slope - v[0], J.T @ (weight[:, None] * J) + np.eye(self.size)
        if self.parts.lapses:
            moved = np.repeat(v, 3, axis=0)
            moved[:, -1] += [-LITTLE, 0.0, LITTLE]
            behind, middle, ahead = self.log_posterior(moved) + (moved**2).sum(axis=1) / 2
            gradient[-1] += (ahead - behind) / (2 * LITTLE)
            H[-1, -1] += max(-(ahead - 2 * middle + behind) / LITTLE**2, 0.0)
        return gradient, H

    def mode(self, start: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return v̂, as one point, and L with LLᵀ = H there, searching from ``start`` or from 0."""
        v = np.zeros((1, self.size)) if start is None else start
        if self.size == 0:
            return v, np.zeros((0, 0))
        height = self.log_posterior(v)[0]
        for _ in range(NEWTON):
            gradient, H = self.bend(v)
            L = _factor(H)
            step = _solve(L, gradient)
            if gradient @ step < NEAR:
                break
            for _ in range(HALVINGS):
                tried = v + step
                higher = self.log_posterior(tried)[0]
                if higher > height:
                    break
                step = step / 2
            else:
                break
            v, height = tried, higher
        return v, L

    def integrate(self, rng: np.random.Generator) -> float:
        """Return the logarithm of the integral over v."""
        if self.size == 0:
            return float(self.log_posterior(np.zeros((1, 0)))[0])
        v, L = self.mode()
        z = rng.standard_normal((POINTS, self.size))
        z[:, self.views :] = rng.standard_t(TAILS, (POINTS, self.size - self.views))
        offset = solve_triangular(L, z.T, lower=True, trans="T").T
        density = np.log(np.diag(L)).sum() - (z[:, : self.views] ** 2).sum(axis=1) / 2
        density += (_log_t(z[:, self.views :]) + np.log(2 * np.pi) / 2).sum(axis=1)
        values = self.log_posterior(np.concatenate([v + offset, v - offset])) - np.tile(density, 2)
        return float(logsumexp(values) - np.log(len(values)))


def _factor(H: FloatArray) -> FloatArray:
    """Return L with LLᵀ = H, where H is I plus a positive semi-definite matrix, so no eigenvalue is below 1.

    At an enormous scale rounding can hide that, and eigenvalues that come out lower are raised to 1. The integral
    remains correct: any matrix may shape the points at which it is evaluated.
    """
    try:
        lower = np.linalg.cholesky(H)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(H)
        root = np.linalg.qr((vectors * np.sqrt(np.maximum(values, 1.0))).T).R.T
        lower = root * np.sign(np.diag(root))
    return np.asarray(lower, dtype=np.float64)


def _solve(L: FloatArray, b: FloatArray) -> FloatArray:
    """Solve LLᵀx = b; for matrices as small as these, scipy's own function spends most of its time on checks."""
    return lapack.dpotrs(L.T, b, lower=0)[0]


def _log_t(z: FloatArray) -> FloatArray:
    """Student's log-density with `TAILS` degrees of freedom; scipy.stats has it too but is slow to load."""
    constant = gammaln((TAILS + 1) / 2) - gammaln(TAILS / 2) - np.log(TAILS * np.pi) / 2
    return constant - (TAILS + 1) / 2 * np.log1p(z**2 / TAILS)


LEAST_SPREAD = 1e-9
"""Directions in which the draws' variance is smaller than this share of the largest are taken as known."""
MOST_OWN = 0.98
"""The largest share of what is known in any direction that is taken to be one judge's: V comes from draws, and is not
exact."""
ROUNDS, STILL = 6, 1e-3
"""How often the others' map is improved, and the squared step, in posterior standard deviations, that ends this."""


class Cloud(NamedTuple):
    """What is known about the population's map: nearly N(mean, LLᵀ), L (areas, directions)."""

    mean: FloatArray
    root: FloatArray

    @classmethod
    def of(cls, draws: FloatArray) -> "Cloud":
        """Summarise draws, (draws, areas), by their medians and covariance."""
        return cls.around(np.median(draws, axis=0), np.atleast_2d(np.cov(draws, rowvar=False)))

    @classmethod
    def around(cls, mean: FloatArray, covariance: FloatArray) -> "Cloud":
        """Return N(mean, covariance)."""
        variance, axes = np.linalg.eigh(covariance)
        there = variance > LEAST_SPREAD * max(variance[-1], LEAST_SPREAD)
        return cls(mean, axes[:, there] * np.sqrt(variance[there]))


@dataclass(frozen=True, slots=True, eq=False)
class Bench:
    """All that is needed to say how probable a judge's answers were, given everyone else's."""

    counts: JudgedCounts
    parts: Parts
    shared: Shared
    """Its strengths are not used."""
    known: Cloud
    """The posterior of λ, from all judges' answers."""

    def view(self, others: Cloud) -> FloatArray:
        """Return F if a judge's view, with what is uncertain about the map, is Fv."""
        disagreement = self.parts.disagreement
        own = [] if disagreement is None else [self.shared.sigma * disagreement.factor]
        return np.hstack([others.root, *own])

    def set_aside(self, judge: int) -> tuple[Cloud, float]:
        """Take one judge's answers out of the posterior of λ; return also the judge's largest share of what is known.

        With λ = m + Ly, the others' answers leave log p(y) = −½|y|² − ℓ_k(y), where ℓ_k is the log probability of this
        judge's answers given λ. At the judge's mode, with M = ∂η/∂y, J, W and H, the slope of ℓ_k is Mᵀ times the rows'
        slopes, and its curvature G = MᵀWM − MᵀWJ H⁻¹ JᵀWM. Newton's method finds the new centre, and the covariance is
        then L(I − G)⁻¹Lᵀ. The largest eigenvalue of G is the judge's share of what is known in its direction. To
        weight draws by 1 / p(y_k | λ) instead would take very many of them if the judge matters.
        """
        m, root = self.known
        disagreement = self.parts.disagreement
        own = None if disagreement is None else self.shared.sigma * disagreement.factor
        rows = rows_of(self.counts, judge, self.parts, own)
        apart = root[rows.first] - root[rows.second]
        y, v, left, share = np.zeros(root.shape[1]), None, np.eye(root.shape[1]), 0.0
        for each in range(ROUNDS if len(y) else 0):
            at = _Judge(rows, self.parts, self.shared._replace(strengths=m + root @ y))
            v, H = at.mode(v)
            M = at.steepness(v)[0] * apart
            slope, weight, J = at.linear(v)
            if each == 0:  # further out, N(m, LLᵀ) is less exact than at its centre
                bent = solve_triangular(H, J.T @ (weight[:, None] * M), lower=True)
                G = M.T @ (weight[:, None] * M) - bent.T @ bent
                share = float(eigh((G + G.T) / 2, eigvals_only=True, subset_by_index=[len(y) - 1] * 2)[0])
                left = np.linalg.cholesky(left - G * (MOST_OWN / max(share, MOST_OWN)))
            step = _solve(left, -y - M.T @ slope)
            y += step * min(1.0, 2 * np.sqrt(len(y) / max(float(step @ step), 1e-300)))
            if step @ step < STILL:
                break
        return Cloud(m + root @ y, solve_triangular(left, root.T, lower=True).T), share

    def log_chance(self, rng: np.random.Generator, judge: int, others: Cloud) -> float:
        """Return log p(a judge's answers | the others')."""
        return self._chance(rng, judge, self.parts, others.mean, self.view(others))

    def _chance(
        self, rng: np.random.Generator, judge: int, parts: Parts, mean: FloatArray, view: FloatArray | None
    ) -> float:
        rows = rows_of(self.counts, judge, parts, view)
        return log_probability(rng, rows, parts, self.shared._replace(strengths=mean))

    def kind_chances(self, rng: np.random.Generator, judge: int, own: FloatArray, others: Cloud) -> "Kinds":
        """Weigh the kinds for one judge, given what the ``others`` say.

        ``own`` is F with FFᵀ = M, the covariance of a judge's map.
        """
        view, nowhere, straight = self.view(others), np.zeros_like(others.mean), replace(self.parts, attention=False)
        chances = [
            self._chance(rng, judge, self.parts, others.mean, view),
            self._chance(rng, judge, Parts(ties=self.parts.ties, side=self.parts.side), nowhere, None),
            self._chance(rng, judge, straight, -others.mean, view),
            self._chance(rng, judge, straight, nowhere, own),
        ]
        odds = np.log([1 - 3 * ODD, ODD, ODD, ODD]) + chances
        return Kinds(*np.exp(odds - logsumexp(odds)).tolist())


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
