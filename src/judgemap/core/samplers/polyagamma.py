"""Compiled, exact Pólya-Gamma draws by the method of Devroye (2009) and Polson, Scott and Windle (2013).

ω ~ PG(n, d) is the weight that makes a logistic likelihood Gaussian: e^{dy}/(1 + e^d)^n ∝ e^{(y − n/2)d} E[e^{−ωd²/2}].
The polyagamma package draws by the same method 1.8 times more slowly for n = 1, the usual number of answers per pair,
and 1.4 times for n = 5 (20,000 weights, d ~ N(0, 4), the fastest of seven alternating rounds); its default is inexact.

PG(1, d) is J/4, where J has a density ∝ e^{−z²x/2} f(x), z = |d|/2, and f = Σ (−1)^k a_k for either of two series:

    a_k(x) = (2k + 1) b^{k(k + 1)} a_0(x)
    for x ≤ t: a_0 = 2(2πx³)^{−½} e^{−1/2x}, b = e^{−2/x};  for x > t: a_0 = (π/2) e^{−π²x/8}, b = e^{−π²x/2}

Propose from a_0(x) e^{−z²x/2}. The partial sums lie alternately above and below f, so a few terms settle whether a
uniform number is below f/a_0; in 99 of 100 cases the first term is enough. To the right of t the proposal is an
exponential with rate K = π²/8 + z²/2 and mass (π/2K) e^{−Kt}. To the left we do not compute the mass but bound it, and
reject the excess: for small z by 4Φ(−1/√t), the mass at z = 0, with x = N^{−2}, |N| ≥ 1/√t; for large z by 2e^{−z},
with x drawn from the whole inverse Gaussian of which the proposal is a part.

Import this module only where it is used: numba is slow to load.
"""

import math

import numpy as np

from judgemap.core.samplers.compiled import compiled, exp_of_negative, within
from judgemap.core.types import FloatArray, IntArray

T = 0.64
"""t, where both series converge about equally fast."""
AT_ZERO = 2 * math.erfc(math.sqrt(0.5 / T))
"""4Φ(−1/√t)."""
LARGE = math.log(2 / AT_ZERO)
"""Above this z, 2e^{−z} is the tighter bound."""
SURE = 0.994
"""A lower bound on f/a_0 everywhere: 3b² is at most 0.0058, at t."""
MOST = 10_000
"""The most proposals or terms tried; at least one proposal in two is accepted."""


@compiled
def draw_each(rng: np.random.Generator, n: FloatArray, d: FloatArray, omega: FloatArray) -> None:
    """Write draws from PG(n_r, d_r), each a sum of n_r independent draws, into ``omega``; n = 0 gives 0."""
    scale, right = np.empty(len(d)), np.empty(len(d))
    for r in range(len(d)):
        z = abs(d[r]) / 2
        rate = math.pi**2 / 8 + z * z / 2
        scale[r] = 1 / rate
        # Only the ratio of the masses matters: for large z both are multiplied by e^z, so that neither underflows.
        right[r] = math.pi / 2 * scale[r] * exp_of_negative((0.0 if z < LARGE else z) - rate * T)
    for r in range(len(d)):
        z, total = abs(d[r]) / 2, 0.0
        for _ in range(int(n[r])):
            total += draw_one(rng, z, scale[r], right[r])
        omega[r] = total / 4


@within
def draw_one(rng: np.random.Generator, z: float, scale: float, right: float) -> float:
    """Draw J: one uniform number picks the side of t, and what remains of it decides whether to accept."""
    left = AT_ZERO if z < LARGE else 2.0
    for _ in range(MOST):
        u = rng.random() * (left + right)
        if u < right:
            x = T + rng.standard_exponential() * scale
            if u < SURE * right or below_series(u / right, x):
                return x
        elif z < LARGE:
            x = draw_short(rng)
            u, y = (u - right) / left, z * z * x / 2
            # These terms of its series bound e^{−y} from below.
            if u < SURE * (1 - y * (1 - y / 2 * (1 - y / 3))) or below_series(u / exp_of_negative(-y), x):
                return x
        else:
            x = draw_inverse_gaussian(rng, 1 / z)
            if x <= T and below_series((u - right) / left, x):
                return x
    raise FloatingPointError("no Pólya-Gamma weight was found: are the strengths numbers?")


@within
def draw_short(rng: np.random.Generator) -> float:
    """Draw x = N^{−2} ≤ t, with N in the normal tail beyond 1/√t."""
    for _ in range(MOST):
        beyond = rng.standard_exponential()
        if T * beyond * beyond <= 2 * rng.standard_exponential():
            return T / (1 + T * beyond) ** 2
    raise FloatingPointError("no number was found in the normal distribution's tail")


@within
def draw_inverse_gaussian(rng: np.random.Generator, mean: float) -> float:
    """Draw from the inverse Gaussian of shape 1, choosing between the two roots of its quadratic (Michael, 1976)."""
    half = mean * rng.standard_normal() ** 2 / 2
    x = mean / (1 + half + math.sqrt(half * (2 + half)))
    return x if rng.random() * (mean + x) <= mean else mean * mean / x


@compiled
def below_series(u: float, x: float) -> bool:
    """Whether u < f(x)/a_0(x), summing as many terms as that takes; false if u ≥ 1."""
    if u < SURE or u >= 1:
        return u < SURE
    b = exp_of_negative(-2 / x if x <= T else -(math.pi**2) * x / 2)
    total, term = 1.0, 1.0
    for k in range(1, MOST):
        term *= b ** (2 * k)
        if k % 2 == 1:
            total -= (2 * k + 1) * term
            if u <= total:
                return True
        else:
            total += (2 * k + 1) * term
            if u > total:
                return False
    return True


def draw_polyagamma(rng: np.random.Generator, n: IntArray | FloatArray, d: FloatArray) -> FloatArray:
    """Draw ω_r ~ PG(n_r, d_r) for whole numbers n_r of comparisons; the cost grows with n, and n = 0 gives 0."""
    omega = np.empty(d.shape)
    draw_each(rng, np.array(n, dtype=np.float64).ravel(), np.array(d, dtype=np.float64).ravel(), omega.ravel())
    return omega
