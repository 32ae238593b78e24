"""Priors of the strengths: λ ~ N(0, α² C), with C from the map, and α² fixed or with a prior of its own.

Each covariance is a function that returns a `Covariance`. `communicability` is the paper's, `independent` that of the
standard model; the others are the alternatives that the paper names: kernels on centroids and on graph distance. Those
that also work without a matrix are in `model.car` and `model.multiresolution`. `Model` combines counts and prior; the
samplers of the standard and spatial models take nothing else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from judgemap.core.model.counts import PairCounts
from judgemap.core.model.graph import AreaGraph
from judgemap.core.types import FloatArray, frozen_floats

DENSE_LIMIT = 6_000
"""Beyond this many areas dense linear algebra would need gigabytes and hours; ask before trying."""


@dataclass(frozen=True, slots=True, eq=False)
class Covariance:
    """A covariance matrix C with a factor, C = F Fᵀ, its inverse C⁻¹, and its name."""

    matrix: FloatArray
    factor: FloatArray
    inverse: FloatArray
    name: str
    length: float | None = None
    """The kernel's length scale, if it has one."""

    def __post_init__(self) -> None:
        for field in ("matrix", "factor", "inverse"):
            object.__setattr__(self, field, frozen_floats(getattr(self, field)))
        n = len(self.matrix)
        if not self.matrix.shape == self.factor.shape == self.inverse.shape == (n, n):
            raise ValueError("matrix, factor and inverse must be square and the same size")

    @property
    def n_areas(self) -> int:
        """The number of areas."""
        return len(self.matrix)

    def draw(self, rng: np.random.Generator, size: int) -> FloatArray:
        """Draw ``size`` vectors from N(0, C), one per row."""
        return rng.standard_normal((size, self.n_areas)) @ self.factor.T


def independent(n_areas: int) -> Covariance:
    """C = I, the standard model: areas are independent."""
    eye = np.eye(n_areas)
    return Covariance(eye, eye, eye, "independent")


def communicability(graph: AreaGraph) -> Covariance:
    """C = D^{-1/2} e^A D^{-1/2} with D = diag(e^A): close areas with many walks between them are alike.

    From A = U diag(a) Uᵀ: F = D^{-1/2} U e^{a/2} Uᵀ and C⁻¹ = D^{1/2} U e^{−a} Uᵀ D^{1/2}; nothing is inverted.
    Source: Seymour et al., the Bayesian spatial Bradley-Terry model; Estrada and Hatano (2008) for communicability.
    """
    check_size(graph.n_areas)
    values, U = linalg.eigh(graph.adjacency())
    # Eigenvalues of e^A then differ by a factor of 10¹³, and double precision has 16 digits.
    if values[-1] - values[0] > 30:
        raise ValueError(
            f"the graph's eigenvalues span {values[-1] - values[0]:.0f}: some areas border very many others and e^A "
            "cannot be inverted in double precision; check the edges, or use a distance kernel"
        )
    root = np.sqrt(np.einsum("ij,j,ij->i", U, np.exp(values), U))
    matrix = (U * np.exp(values)) @ U.T / np.outer(root, root)
    np.fill_diagonal(matrix, 1.0)
    return Covariance(
        matrix=matrix,
        factor=(U * np.exp(values / 2)) @ U.T / root[:, None],
        inverse=(U * np.exp(-values)) @ U.T * np.outer(root, root),
        name="communicability",
    )


def exponential(points: FloatArray, length: float) -> Covariance:
    """C_ij = exp(−d_ij/ℓ) with Euclidean distances between centroids."""
    return from_kernel("exponential", euclidean(points), length, lambda r: np.exp(-r))


def matern32(points: FloatArray, length: float) -> Covariance:
    """C_ij = (1 + √3 d_ij/ℓ) exp(−√3 d_ij/ℓ): once differentiable in space."""
    root3 = np.sqrt(3)
    return from_kernel("matern32", euclidean(points), length, lambda r: (1 + root3 * r) * np.exp(-root3 * r))


def squared_exponential(points: FloatArray, length: float) -> Covariance:
    """C_ij = exp(−d_ij²/(2ℓ²)): very smooth; nearly singular if ℓ is large compared with the spacing of the areas."""
    return from_kernel("squared-exponential", euclidean(points), length, lambda r: np.exp(-(r**2) / 2))


def graph_exponential(graph: AreaGraph, length: float) -> Covariance:
    """C_ij = exp(−g_ij/ℓ), g_ij the number of borders on the shortest path; 0 between unconnected parts.

    This kernel is not positive definite on every graph; if it is not, the error says so.
    """
    return from_kernel("graph-exponential", graph.distances(), length, lambda r: np.exp(-r))


def euclidean(points: FloatArray) -> FloatArray:
    """Return the distances between all pairs of centroids."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not np.all(np.isfinite(points)):
        raise ValueError("centroids must be an array of finite (x, y), one row per area")
    steps = points[:, None, :] - points[None, :, :]
    return np.hypot(steps[..., 0], steps[..., 1])


def from_kernel(
    name: str, distance: FloatArray, length: float, kernel: Callable[[FloatArray], FloatArray]
) -> Covariance:
    """Build a covariance from a kernel of distance divided by length."""
    if not (np.isfinite(length) and length > 0):
        raise ValueError(f"the length scale must be a positive number, received {length}")
    check_size(len(distance))
    matrix = kernel(distance / length)
    values, U = linalg.eigh(matrix)
    if values[0] < 1e-10 * values[-1]:
        raise ValueError(
            f"this kernel is not positive definite on these areas at length {length:g} "
            f"(smallest eigenvalue {values[0]:.1e}); try a shorter length or another kernel"
        )
    return Covariance(matrix, (U * np.sqrt(values)) @ U.T, (U / values) @ U.T, name, length)


def covariance_of(matrix: FloatArray, name: str = "given") -> Covariance:
    """Factor and invert a positive definite matrix."""
    factor = linalg.cholesky(matrix, lower=True)
    return Covariance(matrix, factor, linalg.cho_solve((factor, True), np.eye(len(matrix))), name)


def check_size(n_areas: int) -> None:
    """Refuse maps that would need gigabytes and hours."""
    if n_areas > DENSE_LIMIT:
        raise ValueError(
            f"{n_areas:,} areas are too many: dense linear algebra handles up to {DENSE_LIMIT:,}; "
            "use a coarser map, or split it"
        )


class Terms(NamedTuple):
    """A density of τ = log α², log p(τ) = kτ − ωe^{−τ} − ηe^τ: α² then has a generalised inverse Gaussian distribution.

    Every prior of α² has this form, and so has α² given the strengths (`given`).
    """

    power: float
    """k."""
    inverse: float
    """ω."""
    direct: float
    """η."""

    def log_density(self, tau: FloatArray) -> FloatArray:
        """Return log p(τ), up to a constant."""
        return self.power * tau - self.inverse * np.exp(-tau) - self.direct * np.exp(tau)

    def slope(self, tau: FloatArray) -> FloatArray:
        """Return the derivative of log p(τ)."""
        return self.power + self.inverse * np.exp(-tau) - self.direct * np.exp(tau)

    def given(self, n: float, size: float) -> "Terms":
        """Return the density given n strengths λ ~ N(0, α²C) with λᵀC⁻¹λ = ``size``."""
        return Terms(self.power - n / 2, self.inverse + size / 2, self.direct)

    @property
    def mode(self) -> float:
        """The τ at which p(τ) is highest: ηα⁴ − kα² − ω = 0."""
        return float(np.log(2 * self.inverse / (np.sqrt(self.power**2 + 4 * self.direct * self.inverse) - self.power)))

    def draw(self, rng: np.random.Generator) -> float:
        """Draw τ."""
        if self.direct == 0:
            return float(np.log(self.inverse) - np.log(rng.standard_gamma(-self.power)))
        if self.inverse == 0:
            return float(np.log(rng.standard_gamma(self.power)) - np.log(self.direct))
        from scipy.stats import geninvgauss

        both = np.sqrt(self.inverse * self.direct)
        return float(np.log(self.inverse / both * geninvgauss.rvs(self.power, 2 * both, random_state=rng)))


@dataclass(frozen=True, slots=True)
class HalfNormal:
    """α ~ N(0, scale²), α > 0: weakly informative, with finite moments even where no answer contradicts another.

    An area one standard deviation from the average wins against it with odds of e^α to 1. At the default scale of 5,
    α is below 3.4 with probability one half, and below 9.8 (odds of 18,000) with probability 0.95.
    """

    scale: float = 5.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"the scale of the prior of α must be a positive number, received {self.scale}")

    @property
    def terms(self) -> Terms:
        """The density of log α²."""
        return Terms(0.5, 0.0, 1 / (2 * self.scale**2))


@dataclass(frozen=True, slots=True)
class InverseGamma:
    """α² ~ InvGamma(χ, ω), density ∝ (α²)^{−χ−1} e^{−ω/α²}. The paper's choice is χ = ω = 0.1."""

    shape: float = 0.1
    """χ."""
    scale: float = 0.1
    """ω."""

    def __post_init__(self) -> None:
        for name, value in (("shape χ", self.shape), ("scale ω", self.scale)):
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"the {name} of the prior of α² must be a positive number, received {value}")

    @property
    def terms(self) -> Terms:
        """The density of log α²."""
        return Terms(-self.shape, self.scale, 0.0)


@dataclass(frozen=True, slots=True)
class FixedVariance:
    """A known α²."""

    value: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.value) and self.value > 0):
            raise ValueError(f"a fixed α² must be a positive number, received {self.value}")


VariancePrior = HalfNormal | InverseGamma | FixedVariance


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """logit P(i beats j) = λ_i − λ_j, λ ~ N(0, α² C), α² fixed or with a prior."""

    counts: PairCounts
    covariance: Covariance
    variance: VariancePrior

    def __post_init__(self) -> None:
        if self.counts.n_areas != self.covariance.n_areas:
            raise ValueError(
                f"the comparisons cover {self.counts.n_areas:,} areas, the covariance {self.covariance.n_areas:,}"
            )
