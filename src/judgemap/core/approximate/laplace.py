"""The Laplace approximation of the posterior, for every α² at once.

With H = XᵀWX and score s at the mode λ̂, ℓ(λ) ≈ ℓ̂ + sᵀ(λ − λ̂) − ½(λ − λ̂)ᵀH(λ − λ̂). Choose V with VᵀC⁻¹V = I and
VᵀHV = diag(g), and write λ = Vw, τ = log α². Then, for every τ, the coordinates of w are independent in the approximate
posterior: w_k ~ N(r_k/(g_k + e^{−τ}), 1/(g_k + e^{−τ})), r = Vᵀ(Hλ̂ + s). This gives a starting point and good
coordinates; on its own it misses the posterior means of a real study by half a standard deviation.

V = FQ with C = FFᵀ and Q the eigenvectors of FᵀHF. These are not unique: signs are free, and so is the basis where
eigenvalues repeat (areas never compared, symmetric maps), and each processor's linear algebra makes its own choice.
Noise is therefore drawn as one number per area and turned into these coordinates by Qᵀ, which cancels that choice: the
same seed gives the same strengths, up to rounding, on every processor.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from judgemap.core.approximate.newton import climb
from judgemap.core.model.likelihood import information, log_likelihood, score
from judgemap.core.model.prior import FixedVariance, Model
from judgemap.core.types import FloatArray

GRID = np.linspace(-12.0, 14.0, 521)
"""Values of log α² at which its approximate posterior is tabulated: α from 0.0025 to 1,100."""


@dataclass(frozen=True, slots=True, eq=False)
class Laplace:
    """Coordinates in which the posterior is nearly standard normal; the module docstring defines V, Q, g and r."""

    V: FloatArray
    Q: FloatArray
    g: FloatArray
    r: FloatArray
    log_variance_mean: float
    log_variance_sd: float

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """Draw standard normal coordinates, (areas, chains), that do not depend on the choice of eigenvectors."""
        noise: FloatArray = self.Q.T @ rng.standard_normal((len(self.g), chains))
        return noise

    def draw(self, rng: np.random.Generator, chains: int, spread: float) -> tuple[FloatArray, FloatArray]:
        """Draw (strengths, log α²) for each chain, ``spread`` times as dispersed as the approximation."""
        tau = self.log_variance_mean + spread * self.log_variance_sd * rng.standard_normal(chains)
        variance = 1 / (self.g[:, None] + np.exp(-tau))
        w = self.r[:, None] * variance + spread * np.sqrt(variance) * self.noise(rng, chains)
        return (self.V @ w).T, tau


def approximate(model: Model) -> Laplace:
    """Find the mode of λ near the posterior mean of log α², and the coordinates there.

    The joint mode of (λ, α²) is not a sensible centre, because the density grows without bound as α → 0. Instead, α² is
    placed by its approximate marginal posterior, with λ integrated out.
    """
    fixed = isinstance(model.variance, FixedVariance)
    tau = float(np.log(model.variance.value)) if isinstance(model.variance, FixedVariance) else 0.0
    strengths = np.zeros(model.counts.n_areas)
    # A few rounds are enough: this only places the coordinates, so it need not converge.
    for _ in range(6):
        strengths = mode(model, tau, strengths)
        H = information(model.counts, strengths)
        F = model.covariance.factor
        g, Q = linalg.eigh(F.T @ H @ F)
        g, V = np.maximum(g, 0.0), F @ Q
        r = V.T @ (H @ strengths + score(model.counts, strengths))
        if fixed:
            return Laplace(V, Q, g, r, tau, 0.0)
        mean, sd = _log_variance_moments(model, g, r)
        if abs(mean - tau) < 0.25 * sd:
            break
        tau = mean
    return Laplace(V, Q, g, r, mean, sd)


def mode(model: Model, log_variance: float, start: FloatArray) -> FloatArray:
    """Maximise ℓ(λ) − λᵀC⁻¹λ/(2α²), a concave function."""
    precision = model.covariance.inverse * np.exp(-log_variance)

    def height(at: FloatArray) -> float:
        return float(log_likelihood(model.counts, at) - at @ precision @ at / 2)

    def ascent(at: FloatArray) -> tuple[FloatArray, FloatArray]:
        gradient = score(model.counts, at) - precision @ at
        return gradient, linalg.solve(information(model.counts, at) + precision, gradient, assume_a="pos")

    return climb(height, ascent, start, close=1e-9)


def _log_variance_moments(model: Model, g: FloatArray, r: FloatArray) -> tuple[float, float]:
    """Mean and sd of τ under its approximate marginal posterior, by quadrature on a grid.

    log p(τ) ≈ ½Σ r²/(g + e^{−τ}) − ½Σ log(1 + g e^τ) + the log density of the prior.
    """
    if isinstance(model.variance, FixedVariance):
        raise TypeError("a fixed α² has no posterior")
    inverse = np.exp(-GRID)
    gain = (r**2) @ (1 / (g[:, None] + inverse)) / 2
    volume = np.log1p(g[:, None] * np.exp(GRID)).sum(axis=0) / 2
    log_density = gain - volume + model.variance.terms.log_density(GRID)
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    mean = float(weight @ GRID)
    return mean, float(np.sqrt(weight @ (GRID - mean) ** 2))
