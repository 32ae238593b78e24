"""Pólya-Gamma draws and their mean.

ω ~ PG(n, d) is the weight that makes a logistic likelihood Gaussian (Polson, Scott and Windle, 2013):
e^{dy}/(1 + e^d)^n ∝ e^{(y − n/2)d} E[e^{−ωd²/2}]. `polyagamma_draws` explains how they are drawn.
"""

import numpy as np

from judgemap.core.types import FloatArray, IntArray


def draw_polyagamma(rng: np.random.Generator, n: IntArray | FloatArray, d: FloatArray) -> FloatArray:
    """Draw ω_r ~ PG(n_r, d_r) for whole numbers n_r of comparisons; the cost grows with n, and n = 0 gives 0.

    >>> omega = draw_polyagamma(np.random.default_rng(1), np.array([0.0, 3.0]), np.array([0.0, 2.0]))
    >>> omega.shape, float(omega[0])
    ((2,), 0.0)
    """
    from judgemap.core.samplers.polyagamma_compiled import draw_each

    omega = np.empty(d.shape)
    draw_each(rng, np.array(n, dtype=np.float64).ravel(), np.array(d, dtype=np.float64).ravel(), omega.ravel())
    return omega


def polyagamma_mean(n: FloatArray, d: FloatArray) -> FloatArray:
    """E ω = n tanh(d/2) / (2d), n/4 at d = 0.

    >>> float(polyagamma_mean(np.array(1.0), np.array(0.0)))
    0.25
    """
    # tanh(h)/4h loses its digits near 0, so small values use the series instead; `safe` avoids dividing by 0.
    half = np.abs(np.asarray(d, dtype=np.float64)) / 2
    safe = np.where(half > 1e-4, half, 1.0)
    return n * np.where(half > 1e-4, np.tanh(safe) / (4 * safe), 0.25 - half**2 / 12)
