"""Maps that are not smooth: how smooth a map is, and which areas stand out, given the map.

    λ = α(s + t),   s ~ N(0, ρC),   t_i ~ N(0, (1 − ρ)ψ_i),   ψ_i ~ InvGamma(2, 1),   ρ ~ U(0, 1)

ψ_i has mean 1, so λ has covariance α²(ρC + (1 − ρ)I), and t_i has a Student t distribution with 4 degrees of freedom. A
hot spot has its own large ψ_i and does not make the whole map rough, as it would if all areas shared one variance.

Given ρ and ψ the map is Gaussian again, λ ~ N(0, α²K) with K = ρC + (1 − ρ)Ψ, and both samplers draw it that way. Then,
given the map in units of α, they draw

    ρ      by slice, s and t integrated out
    t      exactly: t = t* + (1 − ρ)ΨK⁻¹(λ/α − s* − t*), with s* and t* from their priors
    ψ_i    ~ InvGamma(2 + ½, 1 + t_i²/(2(1 − ρ)))
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.special import expit

from judgemap.core.model.judges import Smoothness
from judgemap.core.model.prior import Covariance
from judgemap.core.samplers.slices import slice_sample
from judgemap.core.types import FloatArray

SHAPE = Smoothness.shape
FIRST_LOGIT, FIRST_SPREAD = 1.0, 1.0
"""Where chains start: the mean of logit ρ, and its standard deviation."""


class Roughness(NamedTuple):
    """ρ and ψ of some chains, and the resulting precision of the map."""

    logit: FloatArray
    """logit ρ, (chains,)."""
    local: FloatArray
    """ψ, (chains, areas)."""
    precision: FloatArray
    """K⁻¹, (chains, areas, areas)."""

    @property
    def rho(self) -> FloatArray:
        """ρ of each chain."""
        rho: FloatArray = expit(self.logit)
        return rho


def roughness(C: Covariance, logit: FloatArray, local: FloatArray) -> Roughness:
    """Find K⁻¹ for these ρ and ψ.

    >>> from judgemap.core.model.prior import independent
    >>> roughness(independent(1), np.zeros(1), np.array([[3.0]])).precision
    array([[[0.5]]])
    """
    precision = np.empty((len(logit), C.n_areas, C.n_areas))
    for chain, (x, psi) in enumerate(zip(logit, local, strict=True)):
        lower, _ = lapack.dpotri(_factor(C.matrix, expit(x), psi), lower=1)
        precision[chain] = np.tril(lower) + np.tril(lower, -1).T
    return Roughness(logit, local, precision)


def begin(rng: np.random.Generator, C: Covariance, chains: int) -> Roughness:
    """Start with maps of varying smoothness on which no area stands out."""
    logit = FIRST_LOGIT + FIRST_SPREAD * rng.standard_normal(chains)
    return roughness(C, logit, np.ones((chains, C.n_areas)))


def redraw(rng: np.random.Generator, C: Covariance, maps: FloatArray, now: Roughness) -> Roughness:
    """Draw ρ and then ψ given λ/α, with one row of ``maps`` per chain."""
    logit, local = np.empty_like(now.logit), np.empty_like(now.local)
    for chain, (at, x, psi) in enumerate(zip(maps, now.logit, now.local, strict=True)):
        logit[chain] = slice_sample(rng, float(x), _log_density(C.matrix, at, psi))
        local[chain] = _draw_local_given(rng, C, at, expit(logit[chain]), psi)
    return roughness(C, logit, local)


def _log_density(C: FloatArray, at: FloatArray, psi: FloatArray) -> Callable[[float], float]:
    """Return log p(logit ρ | λ/α, ψ), up to a constant."""

    def log_density(x: float) -> float:
        rho = expit(x)
        factor = _factor(C, rho, psi)
        half, _ = lapack.dtrtrs(factor, at, lower=1)
        return float(np.log(rho * (1 - rho)) - np.log(np.diagonal(factor)).sum() - half @ half / 2)

    return log_density


def _draw_local_given(
    rng: np.random.Generator, C: Covariance, at: FloatArray, rho: float, psi: FloatArray
) -> FloatArray:
    own = (1 - rho) * psi
    smooth = np.sqrt(rho) * C.draw(rng, 1)[0]
    rough = np.sqrt(own) * rng.standard_normal(len(at))
    missing, _ = lapack.dpotrs(_factor(C.matrix, rho, psi), at - smooth - rough, lower=1)
    t = rough + own * missing
    drawn: FloatArray = (SHAPE - 1 + t**2 / (2 * (1 - rho))) / rng.standard_gamma(SHAPE + 0.5, len(at))
    return drawn


def _factor(C: FloatArray, rho: float, psi: FloatArray) -> FloatArray:
    """Factor K."""
    K = rho * C
    K.flat[:: len(K) + 1] += (1 - rho) * psi  # the diagonal; an index array of it would take longer than the factor
    factor: FloatArray
    factor, failed = lapack.dpotrf(K, lower=1)
    if failed:
        raise FloatingPointError("the covariance of the strengths is not positive definite in double precision")
    return factor
