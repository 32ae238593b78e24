"""Posteriors of two judges on two or three areas by brute force: grids over everything. Not a test module itself.

The population's contrasts and the scales are an outer grid; what belongs to one judge is an inner one, integrated for
each judge alone. The likelihood is written out afresh, in the usual symbols: no code shared with what is tested.
"""

import itertools

import numpy as np
from quadrature import axis_of_variance, log_prior_of_variance

from judgemap.core.model.judges import ATTENTION_SCALE, DISAGREEMENT_SCALE, LAPSE_REST, SIDE_SCALE
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, HalfNormal

SCALES = ("log_variance", "smoothness", "log_disagreement", "tie_chance", "lean", "log_side", "log_attention")


def log_chances(rule, d, p):
    """log P of first, second and tie, by Rao and Kupper's θ or Davidson's ν."""
    if rule is TieRule.DAVIDSON:
        nu = 2 * p / (1 - p)
        total = np.logaddexp(np.logaddexp(d / 2, -d / 2), np.log(nu))
        return d / 2 - total, -d / 2 - total, np.log(nu) - total
    theta = np.log((1 + p) / (1 - p))
    first, second = -np.logaddexp(0, theta - d), -np.logaddexp(0, theta + d)
    with np.errstate(divide="ignore"):
        return first, second, np.log(np.expm1(2 * theta)) + first + second


def exact_moments(model, grid):
    """Means and mean absolute deviations of centred strengths and scales, and means of what belongs to judges.

    ``grid`` says how many points: outer for a contrast and for a scale, inner for an effect of a judge.
    """
    n = model.n_areas
    M = np.eye(n)[:-1] - np.eye(n)[1:]
    back = np.linalg.pinv(M)
    points = {name: each.ravel() for name, each in _mesh(_axes(model, grid)).items()}
    tau = points.get("log_variance", np.log(getattr(model.variance, "value", 1.0)))
    weight = _log_prior(model, points)
    size = len(weight)
    z = np.stack([points[f"z{i}"] for i in range(n - 1)], axis=1)
    rho = points.get("smoothness", np.ones(size))
    contrasts = np.empty_like(z)
    if model.parts.smoothness:
        if n != 2:
            raise ValueError("two areas have one sum of local variances; more would need a grid for each")
        variance = rho * (M @ model.covariance.matrix @ M.T)[0, 0] + (1 - rho) * points["local"]
        contrasts[:, 0] = np.sqrt(variance) * z[:, 0]
    else:
        contrasts = z @ np.linalg.cholesky(M @ model.covariance.matrix @ M.T).T
    strengths = np.exp(np.broadcast_to(tau, size) / 2)[:, None] * contrasts @ back.T

    named = {f"strength_{i}": strengths[:, i] for i in range(n)}
    named |= {k: points[k] for k in SCALES if k in points}
    judges = {}
    for judge in range(model.n_judges):
        log_marginal, effects = _one_judge(model, judge, strengths, points, grid[2], (M, back))
        weight = weight + log_marginal
        judges |= {f"{name} of {judge}": mean for name, mean in effects.items()}
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    result = {}
    for name, values in named.items():
        mean = weight @ values
        result[name] = (mean, weight @ np.abs(values - mean))
    return result | {name: (weight @ values, None) for name, values in judges.items()}


def _axes(model, grid):
    """List what is integrated over in common: contrasts in units of their prior, and scales."""
    parts, (per_contrast, per_scale, _) = model.parts, grid
    axes = {f"z{i}": np.linspace(-5, 5, per_contrast) for i in range(model.n_areas - 1)}
    chance, wide = (np.arange(per_scale) + 0.5) / per_scale, np.linspace(-13, 11, per_scale)
    ranges = {
        "log_variance": (not isinstance(model.variance, FixedVariance), axis_of_variance(model.variance, per_scale)),
        "smoothness": (parts.smoothness, chance),
        "log_disagreement": (parts.disagreement, wide),
        "tie_chance": (parts.ties, chance),
        "lean": (parts.side, np.linspace(-4, 4, per_scale)),
        "log_side": (parts.side, wide),
        "log_attention": (parts.attention, wide),
    }
    axes |= {name: values for name, (on, values) in ranges.items() if on}
    return axes | ({"local": np.geomspace(0.2, 500, per_scale)} if parts.smoothness else {})


def _log_local(total):
    """Log density of log(ψ₁ + ψ₂), ψ ~ InvGamma(2, 1) with density ψ⁻³e^{−1/ψ}: a convolution, by brute force."""
    share = (np.arange(4000) + 0.5) / 4000
    first = total[:, None] * share
    second = total[:, None] - first
    density = np.exp(-3 * np.log(first * second) - 1 / first - 1 / second).mean(axis=1) * total
    return np.log(density) + np.log(total)


def _mesh(axes):
    return dict(zip(axes, np.meshgrid(*axes.values(), indexing="ij"), strict=True))


def _log_prior(model, points):
    """Log of the prior density of the points, up to a constant."""
    value = sum(-(points[f"z{i}"] ** 2) / 2 for i in range(model.n_areas - 1))
    if "log_variance" in points:
        tau = points["log_variance"]
        value = value + log_prior_of_variance(model.variance, tau)
    if "local" in points:
        totals, place = np.unique(points["local"], return_inverse=True)
        value = value + _log_local(totals)[place]
    if "log_disagreement" in points:
        value = value + log_prior_of_variance(HalfNormal(DISAGREEMENT_SCALE), points["log_disagreement"])
    half_cauchy = {"log_side": SIDE_SCALE, "log_attention": ATTENTION_SCALE}
    for name in half_cauchy.keys() & points.keys():
        value = value + points[name] / 2 - np.log1p(np.exp(points[name]) / half_cauchy[name] ** 2)
    return value - points["lean"] ** 2 / 2 if "lean" in points else value


def _one_judge(model, judge, strengths, points, per_effect, contrasts):
    """Log of the likelihood of one judge's answers with the judge's effects integrated out, and their means."""
    parts, counts, n = model.parts, model.counts, model.n_areas
    M, back = contrasts
    axes = []
    normal = np.linspace(-5, 5, per_effect)
    u_dims = n - 1 if parts.disagreement is not None else 0
    axes += [normal] * u_dims
    axes += [normal] if parts.side else []
    axes += [normal] if parts.attention else []
    rates = (np.arange(per_effect) + 0.5) / per_effect
    axes += [rates] if parts.lapses else []
    rows = np.flatnonzero(counts.judge == judge)
    total, sums = np.zeros(len(strengths)), {}
    factor = np.linalg.cholesky(M @ parts.disagreement.matrix @ M.T) if u_dims else None
    for nodes in itertools.product(*axes):
        node = list(nodes)
        log_prior = 0.0
        view = np.zeros_like(strengths)
        values = {}
        if u_dims:
            e = np.array(node[:u_dims])
            log_prior -= e @ e / 2
            view = np.exp(points["log_disagreement"] / 2)[:, None] * (back @ factor @ e)
            values["view"] = view[:, 0] - view[:, 1]
            del node[:u_dims]
        side, attention, lapse = 0.0, 1.0, 0.0
        if parts.side:
            e = node.pop(0)
            log_prior -= e**2 / 2
            side = values["side"] = points["lean"] + np.exp(points["log_side"] / 2) * e
        if parts.attention:
            e = node.pop(0)
            log_prior -= e**2 / 2
            attention = values["attention"] = 1 + np.exp(points["log_attention"] / 2) * e
        if parts.lapses:
            lapse = node.pop(0)
            values["lapse"] = np.full(len(strengths), lapse)
            log_prior += (LAPSE_REST - 1) * np.log1p(-lapse)
        value = np.full(len(strengths), log_prior)
        for r in rows:
            i, j = counts.first[r], counts.second[r]
            x = {1: 1.0, 0: -1.0, -1: 0.0}[int(counts.first_left[r])]
            d = attention * (strengths[:, i] + view[:, i] - strengths[:, j] - view[:, j]) + x * side
            logs = log_chances(parts.ties, d, points.get("tie_chance", 0.0))
            if parts.lapses:
                logs = (
                    np.log((1 - lapse) * np.exp(logs[0]) + lapse / 2),
                    np.log((1 - lapse) * np.exp(logs[1]) + lapse / 2),
                    np.log1p(-lapse) + logs[2],
                )
            value += counts.wins[r] * logs[0] + (counts.n[r] - counts.wins[r]) * logs[1]
            if counts.ties[r] and parts.ties is not None:
                value += counts.ties[r] * logs[2]
        density = np.exp(value)
        total += density
        for name, effect in values.items():
            sums[name] = sums.get(name, 0.0) + density * effect
    return _safe_log(total), {name: values / np.maximum(total, 1e-300) for name, values in sums.items()}


def _safe_log(total):
    """Far out on the grid answers can be impossible."""
    return np.log(np.maximum(total, 1e-300))


def sample_means(draws, parts):
    """Return the series of a run that `exact_moments` has moments of."""
    series = {f"strength_{i}": draws.centred[:, :, i] for i in range(draws.strengths.shape[2])}
    series |= {name: draws[name] for name in SCALES if name in draws.arrays}
    judges = {"side": parts.side, "attention": parts.attention, "lapse": parts.lapses}
    for name in (name for name, on in judges.items() if on):
        series |= {f"{name} of {k}": draws[name][:, :, k] for k in range(2)}
    if parts.disagreement is not None:
        views = draws["views"].astype(float)
        series |= {f"view of {k}": views[:, :, k, 0] - views[:, :, k, 1] for k in range(2)}
    return series
