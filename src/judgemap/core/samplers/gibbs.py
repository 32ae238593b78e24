"""The paper's sampler: Pólya-Gamma Gibbs.

    z_ij | λ ~ PG(n_ij, λ_i − λ_j)                         for every compared pair
    λ | z, α² ~ N(μ, B),  B = (XᵀZX + C⁻¹/α²)⁻¹,  μ = B Xᵀ(y − n/2)
    α² | λ ~ InvGamma(χ + N/2, ω + λᵀC⁻¹λ/2)               or generalised inverse Gaussian, if α is half-normal

λ is not centred inside the chain: with a proper prior the draw is exact as it is.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from judgemap.core.model.prior import FixedVariance, Model, VariancePrior
from judgemap.core.samplers.kernel import Arrays, Kernel, by_steps
from judgemap.core.types import FloatArray


class GibbsState(NamedTuple):
    """One row per chain."""

    strengths: FloatArray
    log_variance: FloatArray


def kernel(model: Model) -> Kernel:
    """Build the Gibbs sampler of ``model``; a batch is one chain, because chains would have nothing to share."""
    kappa = model.counts.excess()

    def step(rng: np.random.Generator, state: GibbsState) -> GibbsState:
        strengths, log_variance = np.empty_like(state.strengths), np.empty_like(state.log_variance)
        for chain, (old, log_alpha2) in enumerate(zip(state.strengths, state.log_variance, strict=True)):
            new = draw_strengths(rng, model, kappa, old, log_alpha2)
            strengths[chain] = new
            log_variance[chain] = draw_log_variance(rng, model.variance, model.covariance.inverse, new)
        return GibbsState(strengths, log_variance)

    return by_steps(_init, step, _read)


def _init(_rng: np.random.Generator, strengths: FloatArray, log_variance: FloatArray) -> GibbsState:
    return GibbsState(strengths.copy(), log_variance.copy())


def _read(state: GibbsState) -> Arrays:
    return state._asdict() | {"acceptance": np.ones(len(state.log_variance))}


def draw_strengths(
    rng: np.random.Generator, model: Model, kappa: FloatArray, strengths: FloatArray, log_variance: float
) -> FloatArray:
    """Draw z given λ, then λ given z and α²; ``kappa`` is κ = Xᵀ(y − n/2)."""
    from judgemap.core.samplers.polyagamma import draw_polyagamma
    from judgemap.core.samplers.spatial.compiled import add_to_triangle

    counts = model.counts
    z = draw_polyagamma(rng, counts.n, strengths[counts.first] - strengths[counts.second])
    precision = model.covariance.inverse * np.exp(-log_variance)
    add_to_triangle(counts.first, counts.second, z, precision)
    return draw_gaussian(rng, precision, kappa)


def draw_gaussian(rng: np.random.Generator, precision: FloatArray, linear: FloatArray) -> FloatArray:
    """Draw x ~ N(P⁻¹h, P⁻¹), from the upper triangle of the ``precision`` P, which is overwritten, and h = ``linear``.

    One Cholesky factor, P = LLᵀ, serves both mean and draw: x = L⁻ᵀ(L⁻¹h + ε), ε ~ N(0, I).

    >>> draw_gaussian(np.random.default_rng(1), np.diag([1e20, 1e20]), np.array([1e20, 2e20])).round(6)
    array([1., 2.])
    """
    # A row-major upper triangle is a column-major lower triangle, so LAPACK needs no copy.
    factor, failed = lapack.dpotrf(precision.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise FloatingPointError("the precision of the strengths is not positive definite in double precision")
    half, _ = lapack.dtrtrs(factor, linear, lower=1)
    return lapack.dtrtrs(factor, half + rng.standard_normal(len(linear)), lower=1, trans=1)[0]


def draw_log_variance(
    rng: np.random.Generator, prior: VariancePrior, inverse: FloatArray, strengths: FloatArray
) -> float:
    """Draw log α² from its full conditional, or return the fixed value."""
    if isinstance(prior, FixedVariance):
        return float(np.log(prior.value))
    return prior.terms.given(len(strengths), float(strengths @ inverse @ strengths)).draw(rng)
