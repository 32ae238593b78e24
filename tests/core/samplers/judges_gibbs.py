"""Gibbs sampling of judges who differ and of ties, written out plainly: the sampler of judges is held to it.

A row holds one judge's answers (y₁, y₂, t) to a pair, with the log-odds η = Xe of e = (λ, u_1 … u_K). With Rao and
Kupper's θ = 2 artanh p, A = y₁ + t and B = y₂ + t,

    z₁ ~ PG(A, η − θ),  z₂ ~ PG(B, η + θ),  z = z₁ + z₂,  κ = (A − B)/2 + θ(z₁ − z₂)

make the likelihood exp(κη − zη²/2), so that map and views are one Gaussian draw. Every scale is drawn given its effects
and then given the effects in units of it (interweaving). Not a test module itself.
Source: Polson, Scott and Windle (2013), JASA 108, 1339-1349; Yu and Meng (2011), JCGS 20, 531-570.
"""

import numpy as np
from judges_quadrature import log_chances
from quadrature import log_prior_of_variance
from scipy import linalg
from scipy.special import expit

from judgemap.core.model.judges import PanelModel
from judgemap.core.model.prior import FixedVariance, HalfNormal
from judgemap.core.samplers.polyagamma import draw_polyagamma
from judgemap.core.samplers.run import Draws, Plan
from judgemap.core.samplers.slices import slice_sample


def sample_by_gibbs(rng: np.random.Generator, model: PanelModel, plan: Plan) -> Draws:
    """Draw the map, the views, their scales and the chance of a tie."""
    chains = [_chain(each, model, plan) for each in rng.spawn(plan.chains)]
    return Draws({name: np.array([chain[name] for chain in chains]) for name in chains[0]})


def _chain(rng: np.random.Generator, model: PanelModel, plan: Plan) -> dict[str, list]:
    counts, n_areas, views, rule = model.counts, model.n_areas, model.parts.disagreement, model.parts.ties
    ties = counts.ties if rule is not None else 0 * counts.n
    first, second = counts.wins + ties, counts.n - counts.wins + ties
    X = _design(model)
    size = X.shape[1]
    blocks = {"log_variance": (slice(0, n_areas), model.covariance.inverse, _of_variance(model.variance))}
    if views is not None:
        inverse = np.kron(np.eye(model.n_judges), views.covariance.inverse)
        blocks["log_disagreement"] = (slice(n_areas, size), inverse, _of_variance(HalfNormal(views.scale)))
    scale, x_tie, theta = dict.fromkeys(blocks, 0.0), -1.0, 0.0
    if isinstance(model.variance, FixedVariance):
        scale["log_variance"] = np.log(model.variance.value)
    e, kept = np.zeros(size), {name: [] for name in ("strengths", "views", "tie_chance", *blocks)}
    for step in range(plan.warmup + plan.draws * plan.thin):
        # 1. The chance of a tie, from the likelihood itself; the prior of p is uniform.
        eta = X @ e
        if rule is not None:
            x_tie = slice_sample(rng, x_tie, _of_ties(rule, eta, (first - ties, second - ties, ties)))
            theta = 2 * np.arctanh(expit(x_tie))
        # 2. Weights that make the likelihood Gaussian, and all effects given them.
        up, down = draw_polyagamma(rng, first, eta - theta), draw_polyagamma(rng, second, eta + theta)
        z, kappa = up + down, (first - second) / 2 + theta * (up - down)
        precision = X.T @ (z[:, None] * X)
        for name, (part, inverse, _) in blocks.items():
            precision[part, part] += inverse * np.exp(-scale[name])
        L = linalg.cholesky(precision, lower=True)
        mean = linalg.solve_triangular(L, X.T @ kappa, lower=True)
        e = linalg.solve_triangular(L, mean + rng.standard_normal(size), lower=True, trans=1)
        # 3. Scales, twice each.
        for name, (part, inverse, log_prior) in ((name, each) for name, each in blocks.items() if each[2]):
            count, square = len(inverse), e[part] @ inverse @ e[part]
            x = slice_sample(
                rng, scale[name], lambda x, a=log_prior, n=count, s=square: a(x) - n * x / 2 - s * np.exp(-x) / 2
            )
            unit = e[part] * np.exp(-x / 2)
            f = X[:, part] @ unit
            linear, bend = (kappa - z * (X @ e - X[:, part] @ e[part])) @ f, z @ f**2
            scale[name] = slice_sample(
                rng, x, lambda x, a=log_prior, b=linear, c=bend: a(x) + b * np.exp(x / 2) - c * np.exp(x) / 2
            )
            e[part] = unit * np.exp(scale[name] / 2)
        if step >= plan.warmup and (step - plan.warmup + 1) % plan.thin == 0:
            values = {"strengths": e[:n_areas], "views": e[n_areas:].reshape(-1, n_areas), "tie_chance": expit(x_tie)}
            for name, value in (values | scale).items():
                kept[name].append(np.array(value))
    absent = {"views": views is None, "tie_chance": rule is None, "log_variance": blocks["log_variance"][2] is None}
    return {name: values for name, values in kept.items() if not absent.get(name)}


def _design(model):
    """One row per judge and pair, one column per area of the map and of every view."""
    counts, row = model.counts, np.arange(len(model.counts.n))
    X = np.zeros((len(row), 1 + model.n_judges * (model.parts.disagreement is not None), model.n_areas))
    for block in (0, 1 + counts.judge)[: X.shape[1]]:
        X[row, block, counts.first] += 1
        X[row, block, counts.second] -= 1
    return X.reshape(len(row), -1)


def _of_variance(prior):
    if isinstance(prior, FixedVariance):
        return None
    return lambda x: log_prior_of_variance(prior, x)


def _of_ties(rule, eta, answers):
    def log_density(x):
        logs = log_chances(rule, eta, expit(x))
        return float(sum(y @ each for y, each in zip(answers, logs, strict=True)) + x - 2 * np.log1p(np.exp(x)))

    return log_density
