"""Posteriors of two or three areas by brute force: a grid over the contrasts and log α². Not a test module itself."""

import numpy as np

from judgemap.core.model.prior import FixedVariance, HalfNormal, Model, VariancePrior
from judgemap.core.types import FloatArray

KNOWN: dict[tuple[object, ...], dict[str, float]] = {}


def exact_moments(model: Model) -> dict[str, float]:
    """Means and sds of the centred strengths and of log α²; integrated once, because many tests ask for the same."""
    counts = model.counts
    arrays = (counts.first, counts.second, counts.n, counts.wins, model.covariance.matrix)
    key = (*(each.tobytes() for each in arrays), repr(model.variance))
    if key not in KNOWN:
        KNOWN[key] = _integrate(model)
    return KNOWN[key]


def _integrate(model: Model) -> dict[str, float]:
    """Integrate on a grid of contrasts λ_k − λ_{k+1}."""
    n = model.counts.n_areas
    M = np.eye(n)[:-1] - np.eye(n)[1:]
    back = np.linalg.pinv(M)
    prior = M @ model.covariance.matrix @ M.T
    side = np.linspace(-9, 9, 241 if n == 2 else 145)
    if isinstance(model.variance, FixedVariance):
        taus = np.array([np.log(model.variance.value)])
        log_prior_tau = np.zeros(1)
    else:
        taus = axis_of_variance(model.variance, 140)
        log_prior_tau = log_prior_of_variance(model.variance, taus)
    # Contrasts are measured in units of α, so that one grid fits every α.
    z = np.stack(np.meshgrid(*[side] * (n - 1), indexing="ij"), axis=-1).reshape(-1, n - 1)
    log_prior_z = -np.einsum("ki,ij,kj->k", z, np.linalg.inv(prior), z) / 2
    sums = np.zeros(2 * n + 2)
    total = 0.0
    biggest = _log_joint(model, z, back, taus[len(taus) // 2], log_prior_z).max() + log_prior_tau.max()
    for tau, weight_tau in zip(taus, log_prior_tau, strict=True):
        strengths = np.exp(tau / 2) * z @ back.T
        weight = np.exp(_log_joint(model, z, back, tau, log_prior_z) + weight_tau - biggest)
        columns = [strengths, strengths**2, np.full((len(z), 1), tau), np.full((len(z), 1), tau**2)]
        sums += weight @ np.hstack(columns)
        total += weight.sum()
    means = sums / total
    named = {f"strength_{i}": means[i] for i in range(n)}
    named |= {f"strength_{i} sd": np.sqrt(means[n + i] - means[i] ** 2) for i in range(n)}
    return named | {"log α²": means[2 * n], "log α² sd": np.sqrt(max(means[2 * n + 1] - means[2 * n] ** 2, 0.0))}


def axis_of_variance(prior: VariancePrior, points: int) -> FloatArray:
    """Return a grid of log α² that reaches as far as the prior: a half-normal α can be close to 0."""
    return np.linspace(-16 if isinstance(prior, HalfNormal) else -4.5, 6, points)


def log_prior_of_variance(prior: VariancePrior, tau: FloatArray) -> FloatArray:
    """Log density of τ = log α²: that of α times α, or that of α² times α²."""
    if isinstance(prior, HalfNormal):
        alpha = np.exp(tau / 2)
        return np.log(alpha) - (alpha / prior.scale) ** 2 / 2
    return -prior.shape * tau - prior.scale * np.exp(-tau)


def _log_joint(model: Model, z: FloatArray, back: FloatArray, tau: float, log_prior_z: FloatArray) -> FloatArray:
    """Log of likelihood × prior of z, written out afresh: no code shared with what is tested."""
    strengths = np.exp(tau / 2) * z @ back.T
    counts = model.counts
    d = strengths[:, counts.first] - strengths[:, counts.second]
    wins, losses = counts.wins, counts.n - counts.wins
    return -np.log1p(np.exp(-d)) @ wins - np.log1p(np.exp(d)) @ losses + log_prior_z
