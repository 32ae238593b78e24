"""The judges' views, compiled: from coordinates to differences and back, one judge at a time.

What one judge needs fits into the processor's nearest caches. In NumPy whole arrays of all judges would pass through
memory dozens of times for each kick, and every judge would cost a call.

Import this module only where it is used: numba takes a moment to load.
"""

import math
from typing import NamedTuple

import numpy as np

from judgemap.core.model.judges import LAPSE_REST, LOCAL_SHAPE
from judgemap.core.model.outcomes import TieRule, Wins
from judgemap.core.model.prior import FixedVariance
from judgemap.core.samplers.compiled import compiled, exp_of_negative, tanh_of_half, within
from judgemap.core.samplers.judges.layout import Met, Views
from judgemap.core.samplers.judges.target import Effects, JudgesTarget, Placed
from judgemap.core.samplers.slices import MOST_STEPS
from judgemap.core.types import FloatArray, IntArray

SMOOTHNESS_STEP = 3.0
"""How wide the slice of logit ρ is at first: about as wide as its posterior."""


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
    """All that a trajectory needs; see `JudgesTarget`."""

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
    """The numbers of each `Scale`."""
    place: IntArray
    """Where among the scales each of `SCALES` is; −1 for none."""
    at_rest: FloatArray
    """log α² if it is fixed, and log σ̂²."""
    half: FloatArray
    """Half the number of answers of each row; with ties, the wins and ties. Nothing if judges may lapse."""
    excess: FloatArray
    """Wins less that; with ties, nothing."""
    ties: float
    side: Effects
    x: FloatArray
    """The side of each row."""
    attention: Effects
    lapses: FloatArray
    """Means and standard deviations of z, (2, judges), if judges may lapse."""
    counts: FloatArray
    """If judges may lapse, what was answered: the first, the second, a tie, (3, rows)."""
    factor: FloatArray
    """L of each chain, K = LLᵀ, if the smoothness of the map is inferred."""


SCALES = "log_variance", "log_disagreement", "tie_chance", "lean", "log_side", "log_attention"


def plain(target: JudgesTarget) -> Plain | None:
    """Collect what trajectories need, or nothing if this model's must be computed in NumPy."""
    model, at, layout = target.model, target.coordinates, target.layout
    parts, answers, nothing = model.parts, target.layout.answers, np.empty(0)
    lapses, counts = np.empty((2, 0)), np.empty((3, 0))
    if parts.reach is not None or parts.ties is TieRule.DAVIDSON:
        return None
    half, excess, ties = nothing, nothing, 0.0
    if isinstance(answers, Wins):
        half, ties = answers.n[:, 0], answers.ties
    elif parts.lapses:
        lapses, counts = np.hstack([at.lapse_mean, at.lapse_sd]).T.copy(), np.hstack(answers).T.copy()
    elif parts.ties is None:
        half = (answers.first + answers.second)[:, 0] / 2
        excess = answers.first[:, 0] - half
    else:
        return None
    names = [scale.name for scale in target.scales]
    variance = model.variance
    return Plain(
        layout.met,
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
        np.ascontiguousarray(at.scale_factor),  # as SciPy leaves it, all would be compiled again
        np.array([scale.numbers for scale in target.scales]).reshape(-1, 3),
        np.array([names.index(name) if name in names else -1 for name in SCALES]),
        np.array([np.log(variance.value) if isinstance(variance, FixedVariance) else 0.0, at.log_disagreement]),
        half,
        excess,
        ties,
        at.side,
        layout.x[:, 0],
        at.attention,
        lapses,
        counts,
        np.empty((0, 0, 0)) if target.factor is None else target.factor,
    )


@within
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


@within
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


@within
def respond_or_lapse(
    at: Plain, eta: FloatArray, p: FloatArray, lapse: FloatArray, to_p: FloatArray, to_lapse: FloatArray
) -> FloatArray:
    """Turn log-odds of rows into slopes, in place; add those in p and ε, and return the log-likelihood of each chain.

    Rao and Kupper's rule, which without ties has p = 0: see `outcomes`.
    """
    total = np.zeros(eta.shape[1])
    for k in range(len(at.met.row_starts) - 1):
        for row in range(at.met.row_starts[k], at.met.row_starts[k + 1]):
            first, second, ties = at.counts[0, row], at.counts[1, row], at.counts[2, row]
            for c in range(eta.shape[1]):
                size, looks = abs(eta[row, c]), 1 - lapse[k, c]
                decay = exp_of_negative(-size)
                likelier = 1 / (1 + decay)
                other = decay * likelier
                T = likelier - other if eta[row, c] > 0 else other - likelier
                pT = p[c] * T
                won = (likelier if eta[row, c] > 0 else other) * (1 - p[c]) / (1 - pT)
                lost = (other if eta[row, c] > 0 else likelier) * (1 - p[c]) / (1 + pT)
                either, neither = looks * won + lapse[k, c] / 2, looks * lost + lapse[k, c] / 2
                total[c] += first * math.log(either) + second * math.log(neither)
                if ties > 0:
                    tie = 4 * p[c] * likelier * other / (1 - pT * pT)
                    total[c] += ties * math.log(looks * tie)
                    to_p[c] += ties / p[c]
                to_lapse[k, c] += first * (0.5 - won) / either + second * (0.5 - lost) / neither - ties / looks
                y, z = first * looks * won / either, second * looks * lost / neither
                pull = (y - z + (y + z + 2 * ties) * pT) / (1 - pT * pT)
                to_p[c] += T * pull - (y + z) / (1 - p[c])
                eta[row, c] = (y - z) / 2 - ((y + z) / 2 + ties) * T + 2 * p[c] * likelier * other * pull
    return total


@within
def place_effects(effects: Effects, mean: FloatArray, scale: FloatArray, q: FloatArray, placed: Placed) -> None:
    """Place one effect for each judge, as `place` does, about ``mean``."""
    for k in range(len(q)):
        for c in range(q.shape[1]):
            g = effects.g[k, 0]
            root = 1 / math.sqrt(1 + g * scale[c] * scale[c])
            placed.root[k, c] = root
            placed.centre[k, c] = root * root * scale[c] * (effects.r[k, 0] - g * mean[c])
            placed.w[k, c] = q[k, c] * root + placed.centre[k, c]


@within
def pull_effects(
    effects: Effects, scale: FloatArray, q: FloatArray, placed: Placed, slope: FloatArray, to_both: FloatArray
) -> None:
    """Turn slopes in the judges' effects into those in q, in place; add those in the mean and in log s²."""
    for k in range(len(q)):
        g = effects.g[k, 0]
        for c in range(q.shape[1]):
            w, root, centre = placed.w[k, c], placed.root[k, c], placed.centre[k, c]
            direct = scale[c] * slope[k, c]
            to_w = direct - w
            rooted = to_w * root
            base = root * (-rooted * (q[k, c] * root / 2 + centre) - root / 2)
            to_both[0, c] += slope[k, c] - g * rooted * root * scale[c]
            to_both[1, c] += (direct * w + to_w * centre) / 2 + scale[c] * scale[c] * g * base
            slope[k, c] = rooted


@compiled
def bend(factor: FloatArray, maps: FloatArray) -> None:
    """Multiply the map of each chain by its K⁻¹, in place."""
    for c in range(maps.shape[1]):
        L, v = factor[c], maps[:, c].copy()
        for i in range(len(v)):
            total = v[i]
            for j in range(i):
                total -= L[i, j] * v[j]
            v[i] = total / L[i, i]
        for i in range(len(v) - 1, -1, -1):
            v[i] /= L[i, i]
            for j in range(i):
                v[j] -= L[i, j] * v[i]
        maps[:, c] = v


@within
def look(at: Plain, q: FloatArray, residual: FloatArray, height: bool) -> FloatArray:  # noqa: C901, FBT001, PLR0912, PLR0915
    """Write ∇ log p(q) + q, and return log p(q) if ``height`` is true: `gradient` and `log_density` in one pass."""
    size, chains = q.shape
    n, scales, judges = len(at.V), len(at.scale_mean), len(at.met.row_starts) - 1
    first, sheared, upright = size - scales, len(at.shear), q
    q = q.copy()
    for i in range(sheared):
        for s in range(scales):
            for c in range(chains):
                q[i, c] += at.shear[i, s] * q[first + s, c]
    tau, upsilon, tie, lean, siding, attending = at.place
    # 1. The scales.
    x, to_x = np.zeros((scales + 1, chains)), np.zeros((scales, chains))  # the last is 0: that of parts that are off
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
            elif s == lean:
                to_x[s, c] = -x[s, c]
                density[c] -= x[s, c] * x[s, c] / 2
            elif s in (siding, attending):
                above = x[s, c] - at.priors[s, 0]
                to_x[s, c] = 0.5 - 1 / (1 + math.exp(-above))
                density[c] += x[s, c] / 2 - max(above, 0.0) - math.log1p(math.exp(-abs(above)))
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
    # What the prior pulls at, V'K⁻¹Vw: w itself, unless the smoothness of the map is inferred.
    held = w
    if len(at.factor):
        maps, held = strengths / alpha, np.empty((n, chains))
        bend(at.factor, maps)
        np.dot(at.V.T, maps, held)
    # 3. The views, the other effects of judges, and the answers.
    until = sheared
    own = q[n:until]
    placed = Placed(np.empty(own.shape), np.empty(own.shape), np.empty(own.shape))
    e = see(at.met, at.views, at.M, at.seen, strengths, sigma, dimmed, own, placed)
    each = (judges, chains)
    side_scale, attention_scale = np.exp(x[siding] / 2), np.exp(x[attending] / 2)
    sides = Placed(np.zeros(each), np.ones(each), np.zeros(each))
    attentions = Placed(np.zeros(each), np.ones(each), np.zeros(each))
    by_side = by_attention = q[until:until]
    if siding >= 0:
        by_side, until = q[until : until + judges], until + judges
        place_effects(at.side, x[lean], side_scale, by_side, sides)
    if attending >= 0:
        by_attention, until = q[until : until + judges], until + judges
        place_effects(at.attention, np.zeros(chains), attention_scale, by_attention, attentions)
    eta = e
    if siding >= 0 or attending >= 0:
        eta = np.empty_like(e)
        for k in range(judges):
            for row in range(at.met.row_starts[k], at.met.row_starts[k + 1]):
                for c in range(chains):
                    lent = at.x[row] * (x[lean, c] + side_scale[c] * sides.w[k, c])
                    eta[row, c] = (1 + attention_scale[c] * attentions.w[k, c]) * e[row, c] + lent
    if height:
        for i in range(n):
            for c in range(chains):
                density[c] += math.log(root[i, c]) - w[i, c] * held[i, c] / 2
        for effects in (placed, sides, attentions):
            for i in range(len(effects.w)):
                for c in range(chains):
                    density[c] += math.log(effects.root[i, c]) - effects.w[i, c] * effects.w[i, c] / 2
    if at.lapses.shape[1] == 0:
        if height:
            density += heights(at, eta, theta)
            for c in range(chains):
                if tie >= 0:
                    density[c] += at.ties * (math.log(4 * chance[c]) - 2 * math.log1p(-chance[c]))
        respond(at, eta, theta)
        for c in range(chains):
            if tie >= 0:
                total = 0.0
                for row in range(len(eta)):
                    total += eta[row, c]
                p = chance[c]
                to_p = at.ties * (1 / p + 2 / (1 - p)) - 2 * total / (1 - p * p)
                to_x[tie, c] += to_p * p * (1 - p)
    else:
        z, lapse, speed = np.empty(each), np.empty(each), np.empty(each)
        lapsing, to_lapse, to_chance = until, np.zeros(each), np.zeros(chains)
        for k in range(judges):
            for c in range(chains):
                at_z = at.lapses[0, k] + at.lapses[1, k] * q[lapsing + k, c]
                tail = math.erfc(abs(at_z) / math.sqrt(2)) / 2
                log_rest = math.log(tail) if at_z > 0 else math.log1p(-tail)  # log Φ(−z)
                z[k, c], lapse[k, c] = at_z, -math.expm1(log_rest / LAPSE_REST)
                speed[k, c] = math.exp(-at_z * at_z / 2 + (1 / LAPSE_REST - 1) * log_rest)
                density[c] -= at_z * at_z / 2
        density += respond_or_lapse(at, eta, chance, lapse, to_chance, to_lapse)
        for k in range(judges):
            for c in range(chains):
                slope = to_lapse[k, c] * speed[k, c] / (math.sqrt(2 * math.pi) * LAPSE_REST) - z[k, c]
                residual[lapsing + k, c] = at.lapses[1, k] * slope
        if tie >= 0:
            to_x[tie] += to_chance * chance * (1 - chance)
    # 4. Back again.
    if siding >= 0 or attending >= 0:
        to_side, to_attention = np.zeros(each), np.zeros(each)
        for k in range(judges):
            for row in range(at.met.row_starts[k], at.met.row_starts[k + 1]):
                for c in range(chains):
                    to_side[k, c] += at.x[row] * eta[row, c]
                    to_attention[k, c] += e[row, c] * eta[row, c]
                    e[row, c] = (1 + attention_scale[c] * attentions.w[k, c]) * eta[row, c]
        to_scales, until = np.zeros((2, chains)), sheared
        if siding >= 0:
            pull_effects(at.side, side_scale, by_side, sides, to_side, to_scales)
            residual[until : until + judges] = to_side
            to_x[lean] += to_scales[0]
            to_x[siding] += to_scales[1]
            to_scales[...], until = 0.0, until + judges
        if attending >= 0:
            pull_effects(at.attention, attention_scale, by_attention, attentions, to_attention, to_scales)
            residual[until : until + judges] = to_attention
            to_x[attending] += to_scales[1]
    strengths[...] = 0.0
    to_both = pull(at.met, at.views, at.M, at.seen, sigma, dimmed, own, placed, e, residual[n:sheared], strengths)
    np.dot(at.V.T, strengths, scaled)
    for c in range(chains):
        to_tau = to_upsilon = along = 0.0
        for i in range(n):
            to_w = alpha[c] * scaled[i, c]
            to_tau += to_w * w[i, c] / 2
            to_w -= held[i, c]
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
    for i in range(sheared):
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


@within
def weigh_smoothness(C: FloatArray, at: FloatArray, psi: FloatArray, x: float) -> tuple[float, FloatArray]:
    """Return log p(x | λ/α, ψ) of x = logit ρ, up to a constant, and the factor of K = ρC + (1 − ρ)Ψ."""
    rough = 1 / (1 + math.exp(x))
    rho = 1 - rough if x > 0 else math.exp(x) * rough
    K = rho * C
    for i in range(len(K)):
        K[i, i] += rough * psi[i]
    L = np.ascontiguousarray(np.linalg.cholesky(K))
    height, v = math.log(rho) + math.log(rough), at.copy()
    for i in range(len(v)):
        for j in range(i):
            v[i] -= L[i, j] * v[j]
        v[i] /= L[i, i]
        height -= math.log(L[i, i]) + v[i] * v[i] / 2
    return height, L


@within
def draw_smoothness(
    rng: np.random.Generator, C: FloatArray, at: FloatArray, psi: FloatArray, x: float
) -> tuple[float, FloatArray]:
    """Draw logit ρ by slice, stepping out and then shrinking; return also the factor of K there."""
    height, L = weigh_smoothness(C, at, psi, x)
    level = height + math.log(rng.random())
    low = x - SMOOTHNESS_STEP * rng.random()
    high = low + SMOOTHNESS_STEP
    for _ in range(MOST_STEPS):
        if weigh_smoothness(C, at, psi, low)[0] <= level:
            break
        low -= SMOOTHNESS_STEP
    for _ in range(MOST_STEPS):
        if weigh_smoothness(C, at, psi, high)[0] <= level:
            break
        high += SMOOTHNESS_STEP
    for _ in range(MOST_STEPS):
        trial = low + (high - low) * rng.random()
        height, tried = weigh_smoothness(C, at, psi, trial)
        if height > level:
            return trial, tried
        low, high = (trial, high) if trial < x else (low, trial)
    return x, L


@compiled
def redraw(
    rng: np.random.Generator,
    C: FloatArray,
    F: FloatArray,
    maps: FloatArray,
    logit: FloatArray,
    local: FloatArray,
    factor: FloatArray,
) -> None:
    """Draw ρ and then ψ of each chain given λ/α, the rows of ``maps``, in place; see `target`."""
    n = len(C)
    for chain in range(len(maps)):
        at, psi = maps[chain], local[chain]
        x, L = draw_smoothness(rng, C, at, psi, logit[chain])
        rough = 1 / (1 + math.exp(x))
        rho = 1 - rough
        # t = t* + (1 − ρ)ΨK⁻¹(λ/α − s* − t*), with s* and t* from their priors.
        white, t, missing = np.empty(n), np.empty(n), np.empty((n, 1))
        for i in range(n):
            white[i] = rng.standard_normal()
        smooth = math.sqrt(rho) * np.dot(F, white)
        for i in range(n):
            t[i] = math.sqrt(rough * psi[i]) * rng.standard_normal()
            missing[i, 0] = at[i] - smooth[i] - t[i]
        bend(L.reshape((1, n, n)), missing)
        for i in range(n):
            t[i] += rough * psi[i] * missing[i, 0]
            psi[i] = (LOCAL_SHAPE - 1 + t[i] * t[i] / (2 * rough)) / rng.standard_gamma(LOCAL_SHAPE + 0.5)
        logit[chain] = x
        factor[chain] = weigh_smoothness(C, at, psi, x)[1]


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
