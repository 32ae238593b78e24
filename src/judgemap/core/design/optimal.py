"""The optimal design: the pairs that leave the least variance in the strengths, on average over the prior.

f(q) = tr K (M Σ_r q_r w_r x_r x_rᵀ + C⁻¹/α²)⁻¹ K, with M comparisons, x_r = e_i − e_j for pair r, K = I − 11ᵀ/N, and
w_r = E[p_r(1 − p_r)] under the prior, the information expected from an answer. f is convex in q.

For a `Panel` of J judges who differ, u_k ~ N(0, Σ), M Σ_r q_r w_r x_r x_rᵀ = JS is replaced by their information about
the population's map, JG with G = (S⁻¹ + Σ)⁻¹. G is concave in S, so f stays convex; dG = T dS Tᵀ, T = (I + SΣ)⁻¹.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from judgemap.core.approximate import inverse
from judgemap.core.design.designs import PairDesign, weighted
from judgemap.core.design.utility import centred_square, centred_trace, contrasts
from judgemap.core.model.prior import Covariance
from judgemap.core.types import FloatArray

OPTIMAL_LIMIT = 2_000
"""The most areas for which the optimal design is computed: about a hundred dense inverses, minutes at this size."""
STEPS = 20_000
"""The most steps of the update; about a hundred are usual."""
NODES = np.arange(-80, 81) / 80
NEGLIGIBLE = 1e-30
"""Probabilities below this are set to zero, because tiny numbers slow the arithmetic down."""


class Panel(NamedTuple):
    """How many judges share the answers, and Σ, how much they differ."""

    judges: int
    views: FloatArray


def optimal(
    covariance: Covariance,
    alpha: float,
    n_comparisons: int,
    tolerance: float = 5e-3,
    panel: Panel | None = None,
) -> PairDesign:
    """Minimise f(q) by the multiplicative update q_r ← q_r d_r/Σ q d, where d_r = −∂f/∂q_r = M w_r ‖KVx_r‖².

    If a step fails to lower f, it is retaken with the square root of the factor, which always lowers it (Yu, 2010,
    Annals of Statistics 38). Because f is convex, f(q) − f(best) ≤ max_r d_r − Σ q d: the iteration stops once that is
    below ``tolerance`` · f(q), so the result is proven to be that close to the best. (Actual gaps are about a tenth of
    that.)
    """
    n_areas = covariance.n_areas
    if n_areas > OPTIMAL_LIMIT:
        raise ValueError(
            f"{n_areas:,} areas are too many: the optimal design can be computed for up to {OPTIMAL_LIMIT:,}; "
            "use the principal component design"
        )
    if n_areas < 2:
        raise ValueError("a pair needs two different areas, but the map has only one")
    prior, information = problem(covariance, alpha, n_comparisons, panel)
    q = (1 - np.eye(n_areas)) * 2 / (n_areas * (n_areas - 1))
    value, slope = value_and_slope(prior, information, q, panel)
    for _ in range(STEPS):
        average = float((q * slope).sum() / 2)
        if slope.max() - average < tolerance * value:
            return weighted(q)
        factor = slope / average
        trial = _normalised(q * factor)
        trial_value, trial_slope = value_and_slope(prior, information, trial, panel)
        if trial_value > value:
            trial = _normalised(q * np.sqrt(factor))
            trial_value, trial_slope = value_and_slope(prior, information, trial, panel)
        q, value, slope = trial, trial_value, trial_slope
    raise ValueError(f"the optimal design did not get within {tolerance:g} of the best; allow a larger tolerance")


def expected_information(sd: FloatArray) -> FloatArray:
    """E[p(1 − p)] with logit p ~ N(0, sd²), by the trapezoidal rule, accurate to rounding.

    The integrand is analytic within π of the real line and falls off at least as fast as e^{−|x|}, so equal steps of at
    most ½, and at most an eighth of the sd, over ±40 or ±9 sd lose nothing.
    """
    sd = np.maximum(np.asarray(sd, dtype=np.float64), 1e-9)
    reach = np.minimum(9 * sd, 40.0)
    total = np.zeros_like(sd)
    for node in NODES:
        x = reach * node
        p = expit(x)
        total += p * (1 - p) * np.exp(-((x / sd) ** 2) / 2)
    return total * reach / (80 * sd * np.sqrt(2 * np.pi))


def problem(
    covariance: Covariance, alpha: float, n_comparisons: int, panel: Panel | None
) -> tuple[FloatArray, FloatArray]:
    """C⁻¹/α², and M w_ij for all pairs, with a zero diagonal."""
    if not (np.isfinite(alpha) and alpha > 0):
        raise ValueError(f"α must be a positive number, received {alpha}")
    if n_comparisons < 1:
        raise ValueError(f"a design needs at least one comparison, received {n_comparisons}")
    if panel is not None and panel.judges < 1:
        raise ValueError(f"a panel needs at least one judge, received {panel.judges}")
    seen = alpha**2 * covariance.matrix + (0.0 if panel is None else panel.views)
    spread = np.sqrt(np.maximum(contrasts(seen), 0.0))
    information = n_comparisons * expected_information(spread)
    np.fill_diagonal(information, 0.0)
    return covariance.inverse / alpha**2, information


def value_and_slope(
    prior: FloatArray, information: FloatArray, q: FloatArray, panel: Panel | None
) -> tuple[float, FloatArray]:
    """f(q) and −∂f/∂q, the latter as a symmetric matrix with a zero diagonal."""
    weights = information * q
    told = -weights
    told[np.diag_indices_from(told)] += weights.sum(axis=1)
    if panel is None:
        V = inverse(prior + told)
        return centred_trace(V), information * contrasts(centred_square(V))
    T = np.linalg.inv(np.eye(len(told)) + told @ panel.views / panel.judges)
    G = T @ told
    V = inverse(prior + (G + G.T) / 2)
    slope: FloatArray = information * contrasts(T.T @ centred_square(V) @ T)
    return centred_trace(V), slope


def _normalised(q: FloatArray) -> FloatArray:
    result: FloatArray = q * (2 / q.sum())
    result[result < NEGLIGIBLE] = 0.0
    return result
