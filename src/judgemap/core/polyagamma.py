"""Pólya-Gamma draws, the one method that is exact.

ω ~ PG(n, d) is the weight that makes a logistic likelihood Gaussian (Polson, Scott and Windle, 2013):
e^{dy}/(1 + e^d)^n ∝ e^{(y − n/2)d} E[e^{−ωd²/2}]. The polyagamma package's other methods, its default among them, are
approximations whose error shows from n = 2 on.
"""

import numpy as np
from polyagamma import random_polyagamma

from judgemap.core.types import FloatArray, IntArray

FAR = 100.0
"""Where |d| is larger, ω is drawn as an inverse Gaussian."""


def draw_polyagamma(rng: np.random.Generator, n: FloatArray, d: FloatArray) -> FloatArray:
    """Draw ω_r ~ PG(n_r, d_r), n_r a whole number of comparisons; cost grows with n.

    >>> draw_polyagamma(np.random.default_rng(1), np.array([1.0, 3.0]), np.array([0.0, 2.0])).shape
    (2,)
    """
    near = np.clip(d, -FAR, FAR)
    omega: FloatArray = random_polyagamma(n, near, method="devroye", disable_checks=True, random_state=rng)
    far = np.abs(d) > FAR
    if far.any():
        # A sum of n inverse Gaussians: the rest of the series is below e^−100 there, and the package's draws are wrong.
        omega[far] = rng.wald(2 * n[far] / np.abs(d[far]), n[far] ** 2) / 4
    return omega


def draw_some_polyagamma(rng: np.random.Generator, n: IntArray | FloatArray, d: FloatArray) -> FloatArray:
    """Draw ω_r ~ PG(n_r, d_r) where n_r > 0; the others are 0.

    >>> draw_some_polyagamma(np.random.default_rng(1), np.array([0.0, 0.0]), np.array([0.0, 2.0]))
    array([0., 0.])
    """
    omega, some = np.zeros_like(d), n > 0
    omega[some] = draw_polyagamma(rng, n[some].astype(np.float64), d[some])
    return omega


def polyagamma_mean(n: FloatArray, d: FloatArray) -> FloatArray:
    """E ω = n tanh(d/2) / (2d), n/4 at d = 0.

    >>> float(polyagamma_mean(np.array(1.0), np.array(0.0)))
    0.25
    """
    half = np.abs(np.asarray(d, dtype=np.float64)) / 2
    safe = np.where(half > 1e-4, half, 1.0)
    return n * np.where(half > 1e-4, np.tanh(safe) / (4 * safe), 0.25 - half**2 / 12)
