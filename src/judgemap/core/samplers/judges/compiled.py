"""The judges' views, compiled: from coordinates to differences and back, one judge at a time.

What one judge needs fits into the processor's nearest caches. In NumPy whole arrays of all judges would pass through
memory dozens of times for each kick, and every judge would cost a call.

Import this module only where it is used: numba takes a moment to load.
"""

import math
from typing import NamedTuple

import numpy as np

from judgemap.core.model.outcomes import Wins
from judgemap.core.model.prior import FixedVariance
from judgemap.core.samplers.compiled import compiled, exp_of_negative, tanh_of_half
from judgemap.core.samplers.judges.layout import Met, Views
from judgemap.core.samplers.judges.target import Effects, JudgesTarget, Placed
from judgemap.core.types import FloatArray, IntArray


@compiled
def turn(views: Views, n_areas: int, noise: FloatArray, first: int, q: FloatArray) -> None:
    """Turn noise (judge, area, chain) of the judges from ``first`` on into coordinates, Vᵀε."""
    chains = noise.shape[2]
    for k in range(len(noise)):
        start, end = views.starts[first + k], views.starts[first + k + 1]
        V = views.V[n_areas * start : n_areas * end].reshape((n_areas, end - start))
        by_view = np.empty((end - start, chains), V.dtype)
        if end > start:
            np.dot(V.T, noise[k], by_view)
        q[start:end] = by_view


@compiled
def complete(views: Views, n_areas: int, w: FloatArray, noise: FloatArray, first: int) -> None:
    """Turn noise into views of the judges from ``first`` on, in units of σF: V(w − Vᵀε) + ε."""
    chains = noise.shape[2]
    by_area = np.empty((n_areas, chains), noise.dtype)
    for k in range(len(noise)):
        start, end = views.starts[first + k], views.starts[first + k + 1]
        if end == start:
            continue
        V = views.V[n_areas * start : n_areas * end].reshape((n_areas, end - start))
        by_view = np.empty((end - start, chains), V.dtype)
        np.dot(V.T, noise[k], by_view)
        for j in range(end - start):
            for c in range(chains):
                by_view[j, c] = w[start + j, c] - by_view[j, c]
        np.dot(V, by_view, by_area)
        noise[k] += by_area


@compiled
def see(  # noqa: C901, PLR0913, PLR0917 - called from two places, once per look
    met: Met,
    views: Views,
    M: FloatArray,
    seen: Effects,
    strengths: FloatArray,
    sigma: FloatArray,
    dimmed: FloatArray,
    q: FloatArray,
    placed: Placed,
) -> FloatArray:
    """Place the views, w = σr/P + q/√P with r = r₀ − dMλ, and return the differences e = X(λ + σGw) of all rows."""
    chains = strengths.shape[1]
    e = np.empty((len(met.above), chains))
    for k in range(len(met.row_starts) - 1):
        areas = met.areas[met.area_starts[k] : met.area_starts[k + 1]]
        view, end = views.starts[k], views.starts[k + 1]
        own = np.empty((len(areas), chains))
        for i in range(len(areas)):
            for c in range(chains):
                own[i, c] = strengths[areas[i], c]
        if end > view:
            by_area, by_view = own.astype(M.dtype), np.empty((end - view, chains), M.dtype)
            np.dot(M[views.cells[k] : views.cells[k + 1]].reshape((end - view, len(areas))), by_area, by_view)
            for j in range(end - view):
                r, g = seen.r[view + j, 0], seen.g[view + j, 0]
                for c in range(chains):
                    root = 1 / math.sqrt(1 + dimmed[c] * g * sigma[c] * sigma[c])
                    centre = root * root * sigma[c] * (r - dimmed[c] * by_view[j, c])
                    w = q[view + j, c] * root + centre
                    placed.root[view + j, c] = root
                    placed.centre[view + j, c] = centre
                    placed.w[view + j, c] = w
                    by_view[j, c] = sigma[c] * w
            np.dot(views.G[views.cells[k] : views.cells[k + 1]].reshape((len(areas), end - view)), by_view, by_area)
            for i in range(len(areas)):
                for c in range(chains):
                    own[i, c] += by_area[i, c]
        for row in range(met.row_starts[k], met.row_starts[k + 1]):
            above, below = met.above[row], met.below[row]
            for c in range(chains):
                e[row, c] = own[above, c] - own[below, c]
    return e


@compiled
def pull(  # noqa: C901, PLR0913, PLR0917 - likewise
    met: Met,
    views: Views,
    M: FloatArray,
    seen: Effects,
    sigma: FloatArray,
    dimmed: FloatArray,
    q: FloatArray,
    placed: Placed,
    to_e: FloatArray,
    slope: FloatArray,
    to_strengths: FloatArray,
) -> FloatArray:
    """From the slope in e: write that in q, add that in λ, and return those in log σ² and log d; see `pull_back`."""
    chains = to_e.shape[1]
    to_scale = np.zeros((2, chains))
    for k in range(len(met.row_starts) - 1):
        areas = met.areas[met.area_starts[k] : met.area_starts[k + 1]]
        view, end = views.starts[k], views.starts[k + 1]
        own = np.zeros((len(areas), chains))
        for row in range(met.row_starts[k], met.row_starts[k + 1]):
            above, below = met.above[row], met.below[row]
            for c in range(chains):
                own[above, c] += to_e[row, c]
                own[below, c] -= to_e[row, c]
        if end > view:
            by_area, by_view = own.astype(M.dtype), np.empty((end - view, chains), M.dtype)
            np.dot(views.G[views.cells[k] : views.cells[k + 1]].reshape((len(areas), end - view)).T, by_area, by_view)
            for j in range(end - view):
                r, g = seen.r[view + j, 0], seen.g[view + j, 0]
                for c in range(chains):
                    w, root, centre = placed.w[view + j, c], placed.root[view + j, c], placed.centre[view + j, c]
                    direct = sigma[c] * by_view[j, c]
                    to_w = direct - w
                    rooted = to_w * root
                    base = root * (-rooted * (q[view + j, c] * root / 2 + centre) - root / 2)
                    spread = sigma[c] * sigma[c] * dimmed[c] * g * base
                    to_scale[0, c] += (direct * w + to_w * centre) / 2 + spread
                    to_scale[1, c] += spread + to_w * (centre - root * root * sigma[c] * r)
                    slope[view + j, c] = rooted
                    by_view[j, c] = rooted * root * sigma[c] * dimmed[c]
            np.dot(M[views.cells[k] : views.cells[k + 1]].reshape((end - view, len(areas))).T, by_view, by_area)
            for i in range(len(areas)):
                for c in range(chains):
                    own[i, c] -= by_area[i, c]
        for i in range(len(areas)):
            for c in range(chains):
                to_strengths[areas[i], c] += own[i, c]
    return to_scale


class Plain(NamedTuple):
    """All that a trajectory needs if nothing but views and ties distinguishes judges; see `JudgesTarget`."""

    met: Met
    views: Views
    M: FloatArray
    seen: Effects
    V: FloatArray
    strengths: Effects
    fade: FloatArray
    swell: FloatArray
    dim: FloatArray
    shear: FloatArray
    scale_mean: FloatArray
    scale_factor: FloatArray
    priors: FloatArray
    """The numbers of each scale's `Terms`; those of the chance of a tie are not used."""
    place: IntArray
    """Which scales are log α², log σ² and logit p; −1 for none."""
    at_rest: FloatArray
    """log α² if it is fixed, and log σ̂²."""
    half: FloatArray
    """Half the number of answers of each row; with ties, the wins and ties."""
    excess: FloatArray
    """Wins less that; with ties, nothing."""
    ties: float


def plain(target: JudgesTarget) -> Plain | None:
    """Collect what trajectories need, or nothing if this model's must be computed in NumPy."""
    model, at, answers = target.model, target.coordinates, target.layout.answers
    parts = model.parts
    if any(each is not None for each in (parts.side, parts.attention, parts.lapses, parts.reach, parts.smoothness)):
        return None
    if isinstance(answers, Wins):
        half, excess, ties = answers.n[:, 0], np.empty(0), answers.ties
    elif parts.ties is None:
        half, ties = (answers.first + answers.second)[:, 0] / 2, 0.0
        excess = answers.first[:, 0] - half
    else:
        return None
    names = [scale.name for scale in target.scales]
    variance = model.variance
    return Plain(
        target.layout.met,
        at.views,
        at.M,
        at.seen,
        at.V,
        at.strengths,
        at.fade,
        at.swell,
        at.dim,
        at.shear,
        at.scale_mean,
        at.scale_factor,
        np.array([scale.terms or (0.0, 0.0, 0.0) for scale in target.scales]).reshape(-1, 3),
        np.array([names.index(n) if n in names else -1 for n in ("log_variance", "log_disagreement", "tie_chance")]),
        np.array([np.log(variance.value) if isinstance(variance, FixedVariance) else 0.0, at.log_disagreement]),
        half,
        excess,
        ties,
    )


@compiled
def respond(at: Plain, e: FloatArray, theta: FloatArray) -> None:
    """Turn differences of rows into slopes of the log-likelihood, in place."""
    ties = len(at.excess) == 0
    for row in range(len(e)):
        half = at.half[row]
        for c in range(e.shape[1]):
            z = e[row, c] - theta[c]
            T = tanh_of_half(abs(z))
            T = T if z > 0 else -T
            e[row, c] = half / 2 * (1 - T) if ties else at.excess[row] - half * T


@compiled
def heights(at: Plain, e: FloatArray, theta: FloatArray) -> FloatArray:
    """Return the log-likelihood of every chain."""
    total = np.zeros(e.shape[1])
    ties = len(at.excess) == 0
    for row in range(len(e)):
        half = at.half[row]
        for c in range(e.shape[1]):
            z = e[row, c] - theta[c]
            size = abs(z)
            cosh = math.log1p(exp_of_negative(-size))
            if ties:
                total[c] += half * (min(z, 0.0) - cosh)
            else:
                total[c] += (at.excess[row] * z - half * size) - 2 * half * cosh
    return total


@compiled
def look(at: Plain, q: FloatArray, residual: FloatArray, height: bool) -> FloatArray:  # noqa: C901, FBT001, PLR0912, PLR0915
    """Write ∇ log p(q) + q, and return log p(q) if ``height`` is true: `gradient` and `log_density` in one pass."""
    size, chains = q.shape
    n, scales = len(at.V), len(at.scale_mean)
    first, upright = size - scales, q
    q = q.copy()
    for i in range(first):
        for s in range(scales):
            for c in range(chains):
                q[i, c] += at.shear[i, s] * q[first + s, c]
    tau, upsilon, tie = at.place
    # 1. The scales.
    x, to_x = np.empty((scales, chains)), np.zeros((scales, chains))
    alpha, sigma, theta, chance = np.empty(chains), np.empty(chains), np.zeros(chains), np.zeros(chains)
    dimmed, swelling, faded = np.empty(chains), np.empty(chains), np.empty(chains)
    density = np.zeros(chains)
    for c in range(chains):
        dim = swell = 0.0
        for s in range(scales):
            away = 0.0
            for t in range(s + 1):
                away += at.scale_factor[s, t] * q[first + t, c]
            x[s, c] = at.scale_mean[s] + away
            dim += at.dim[s] * away
            swell += at.swell[s] * away
            if s == tie:
                chance[c] = 1 / (1 + math.exp(-x[s, c]))
                theta[c] = 2 * math.atanh(chance[c])
                to_x[s, c] = 1 - 2 * chance[c]
                density[c] += math.log(chance[c]) + math.log1p(-chance[c])
            else:
                power, inverse, direct = at.priors[s]
                up = math.exp(x[s, c])
                to_x[s, c] = power + inverse / up - direct * up
                density[c] += power * x[s, c] - inverse / up - direct * up
        alpha[c] = math.exp((at.at_rest[0] if tau < 0 else x[tau, c]) / 2)
        faded[c] = 0.0 if upsilon < 0 else x[upsilon, c] - at.at_rest[1]
        sigma[c] = math.exp((at.at_rest[1] + faded[c]) / 2)
        dimmed[c], swelling[c] = math.exp(math.tanh(dim)), math.tanh(swell)
    # 2. The map.
    w, root, centre = np.empty((n, chains)), np.empty((n, chains)), np.empty((n, chains))
    scaled, strengths = np.empty((n, chains)), np.empty((n, chains))
    swollen = np.exp(swelling)
    for i in range(n):
        for c in range(chains):
            fading = math.exp(-at.fade[i, 0] * faded[c])
            root[i, c] = 1 / math.sqrt(1 + at.strengths.g[i, 0] * fading * alpha[c] * alpha[c])
            centre[i, c] = root[i, c] * root[i, c] * at.strengths.r[i, 0] * fading * swollen[c] * alpha[c]
            w[i, c] = q[i, c] * root[i, c] + centre[i, c]
            scaled[i, c] = alpha[c] * w[i, c]
    np.dot(at.V, scaled, strengths)
    # 3. The views and the answers.
    own = q[n:first]
    placed = Placed(np.empty(own.shape), np.empty(own.shape), np.empty(own.shape))
    e = see(at.met, at.views, at.M, at.seen, strengths, sigma, dimmed, own, placed)
    if height:
        density += heights(at, e, theta)
        for c in range(chains):
            if tie >= 0:
                density[c] += at.ties * (math.log(4 * chance[c]) - 2 * math.log1p(-chance[c]))
        for i in range(n):
            for c in range(chains):
                density[c] += math.log(root[i, c]) - w[i, c] * w[i, c] / 2
        for i in range(len(own)):
            for c in range(chains):
                density[c] += math.log(placed.root[i, c]) - placed.w[i, c] * placed.w[i, c] / 2
    respond(at, e, theta)
    if tie >= 0:
        for c in range(chains):
            total = 0.0
            for row in range(len(e)):
                total += e[row, c]
            p = chance[c]
            to_p = at.ties * (1 / p + 2 / (1 - p)) - 2 * total / (1 - p * p)
            to_x[tie, c] += to_p * p * (1 - p)
    # 4. Back again.
    strengths[...] = 0.0
    to_both = pull(at.met, at.views, at.M, at.seen, sigma, dimmed, own, placed, e, residual[n:first], strengths)
    np.dot(at.V.T, strengths, scaled)
    for c in range(chains):
        to_tau = to_upsilon = along = 0.0
        for i in range(n):
            to_w = alpha[c] * scaled[i, c]
            to_tau += to_w * w[i, c] / 2
            to_w -= w[i, c]
            rooted = to_w * root[i, c]
            base = root[i, c] * (-rooted * (q[i, c] * root[i, c] / 2 + centre[i, c]) - root[i, c] / 2)
            spread = alpha[c] * alpha[c] * at.strengths.g[i, 0] * math.exp(-at.fade[i, 0] * faded[c]) * base
            to_tau += to_w * centre[i, c] / 2 + spread
            to_upsilon -= at.fade[i, 0] * (to_w * centre[i, c] + spread)
            along += to_w * centre[i, c]
            residual[i, c] = rooted
        if tau >= 0:
            to_x[tau, c] += to_tau
        if upsilon >= 0:
            to_x[upsilon, c] += to_upsilon + to_both[0, c]
        along *= 1 - swelling[c] * swelling[c]
        dims = to_both[1, c] * (1 - math.log(dimmed[c]) ** 2) if upsilon >= 0 else 0.0
        for s in range(scales):
            to_x[s, c] += at.swell[s] * along + at.dim[s] * dims
        for t in range(scales):
            total = 0.0
            for s in range(t, scales):
                total += at.scale_factor[s, t] * to_x[s, c]
            residual[first + t, c] = total
    for i in range(first):
        for s in range(scales):
            for c in range(chains):
                residual[first + s, c] += at.shear[i, s] * residual[i, c]
    residual += upright
    return density


@compiled
def travel(
    at: Plain, q: FloatArray, residual: FloatArray, momentum: FloatArray, angle: float, kicks: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Kick and rotate, as `split_hmc.step` does; change the momentum in place, and return q, residual and log p."""
    q, residual, density = q.copy(), residual.copy(), np.zeros(q.shape[1])
    cos, sin = math.cos(angle), math.sin(angle)
    for kick in range(kicks):
        for i in range(len(q)):
            for c in range(q.shape[1]):
                v = momentum[i, c] + angle / 2 * residual[i, c]
                momentum[i, c] = cos * v - sin * q[i, c]
                q[i, c] = cos * q[i, c] + sin * v
        density = look(at, q, residual, kick == kicks - 1)
        for i in range(len(q)):
            for c in range(q.shape[1]):
                momentum[i, c] += angle / 2 * residual[i, c]
    return q, residual, density


@compiled
def weigh_reach(
    first: IntArray, second: IntArray, steps: IntArray, log_prior: FloatArray, gain: FloatArray
) -> FloatArray:
    """Return log P(c, s) + what a judge's rows gain within s steps of c, for every centre and reach."""
    table = np.zeros_like(log_prior)
    for row in range(len(gain)):
        from_first, from_second = steps[first[row]], steps[second[row]]
        for centre in range(len(steps)):
            table[centre, max(from_first[centre], from_second[centre])] += gain[row]
    for centre in range(len(steps)):
        within = 0.0
        for reach in range(table.shape[1]):
            within += table[centre, reach]
            table[centre, reach] = within + log_prior[centre, reach]
    return table


@compiled
def sum_over_reach(
    row_starts: IntArray, first: IntArray, second: IntArray, steps: IntArray, log_prior: FloatArray, gain: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Sum over what judges know: what all rows gain in each chain, and how likely the areas of each are known."""
    value, known = np.zeros(gain.shape[1]), np.zeros_like(gain)
    for judge in range(len(row_starts) - 1):
        start, stop = row_starts[judge], row_starts[judge + 1]
        for chain in range(gain.shape[1]):
            table = weigh_reach(first[start:stop], second[start:stop], steps, log_prior, gain[start:stop, chain].copy())
            top = table.max()
            table = np.exp(table - top)
            total = table.sum()
            value[chain] += top + np.log(total)
            # The chance of reaching at least so far from each centre.
            for centre in range(len(steps)):
                beyond = 0.0
                for reach in range(table.shape[1] - 1, -1, -1):
                    beyond += table[centre, reach] / total
                    table[centre, reach] = beyond
            for row in range(start, stop):
                from_first, from_second = steps[first[row]], steps[second[row]]
                for centre in range(len(steps)):
                    known[row, chain] += table[centre, max(from_first[centre], from_second[centre])]
    return value, known
