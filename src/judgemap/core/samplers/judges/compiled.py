"""The posterior of the panel model and its gradient, compiled: see `judges.target` for the equations.

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
from judgemap.core.samplers.judges.target import Common, Effects, JudgesTarget, Placed, Point, Told
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


class Posterior(NamedTuple):
    """A `JudgesTarget`, laid out for compiled code."""

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
    """Half the number of answers of each row; with one-sided rows, the wins and ties. Else nothing."""
    excess: FloatArray
    """Wins less that; with one-sided rows, nothing."""
    ties: float
    """The ties of one-sided rows, in all."""
    side: Effects
    x: FloatArray
    """The side of each row."""
    attention: Effects
    lapses: FloatArray
    """Means and standard deviations of z, (2, judges), if judges may lapse."""
    counts: FloatArray
    """What was answered, if that takes the general way: the first, the second, a tie, (3, rows)."""
    davidson: bool
    """Whether ties follow Davidson's rule."""
    first: IntArray
    second: IntArray
    """The areas of each row."""
    steps: IntArray
    """Between every two areas, if judges may know only a part of the map."""
    log_prior: FloatArray
    """Of every centre and reach."""
    factor: FloatArray
    """L of each chain, K = LLᵀ, if the smoothness of the map is inferred."""


SCALES = "log_variance", "log_disagreement", "tie_chance", "lean", "log_side", "log_attention"


def build_posterior(target: JudgesTarget) -> Posterior:
    """Lay out a target for compiled code."""
    model, at, layout, known = target.model, target.coordinates, target.layout, target.coordinates.known
    parts, answers, nothing = model.parts, target.layout.answers, np.empty(0)
    half, excess, ties, counts = nothing, nothing, 0.0, np.empty((3, 0))
    if isinstance(answers, Wins):
        half, ties = answers.n[:, 0], answers.ties
    elif parts.lapses or parts.ties is not None or parts.reach is not None:
        counts = np.hstack(answers).T.copy()
    else:
        half = (answers.first + answers.second)[:, 0] / 2
        excess = answers.first[:, 0] - half
    names, variance, reach = known.scales.names, model.variance, parts.reach
    at_rest = np.log(variance.value) if isinstance(variance, FixedVariance) else 0.0
    return Posterior(
        layout.met,
        at.views,
        at.M,
        at.seen,
        at.V,
        at.strengths,
        at.fade,
        known.scales.swell,
        known.scales.dim,
        at.shear,
        known.scales.mean,
        np.ascontiguousarray(known.scales.factor),  # as SciPy leaves it, all would be compiled again
        np.array([scale.numbers for scale in target.scales]).reshape(-1, 3),
        np.array([names.index(name) if name in names else -1 for name in SCALES]),
        np.array([at_rest, known.scales.means().get("log_disagreement", 0.0)]),
        half,
        excess,
        ties,
        known.side,
        layout.x[:, 0],
        known.attention,
        np.hstack([known.lapse_mean, known.lapse_sd]).T.copy() if parts.lapses else np.empty((2, 0)),
        counts,
        parts.ties is TieRule.DAVIDSON,
        layout.first,
        layout.second,
        np.empty((0, 0), np.int64) if reach is None else reach.steps,
        np.empty((0, 0)) if reach is None else reach.log_prior,
        np.empty((0, 0, 0)) if target.factor is None else target.factor,
    )


@within
def see(at: Posterior, shared: Common, placed: Placed) -> FloatArray:  # noqa: C901 - judge by judge, in one pass
    """Place the views, w = σr/P + q/√P with r = r₀ − dMλ, and return the differences e = X(λ + σGw) of all rows."""
    met, views, M, q = at.met, at.views, at.M, shared.q[len(at.V) :]
    strengths, sigma, dimmed, chains = shared.strengths, shared.sigma, shared.dimmed, len(shared.sigma)
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
                r, g = at.seen.r[view + j, 0], at.seen.g[view + j, 0]
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


@within
def pull(  # noqa: C901 - likewise
    at: Posterior, point: Point, to_e: FloatArray, slope: FloatArray, to_strengths: FloatArray
) -> FloatArray:
    """From the slope in e: write that in q, add that in λ, and return those in log σ² and log d."""
    met, views, M, q, placed = at.met, at.views, at.M, point.shared.q[len(at.V) :], point.views
    sigma, dimmed, chains = point.shared.sigma, point.shared.dimmed, to_e.shape[1]
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
                r, g = at.seen.r[view + j, 0], at.seen.g[view + j, 0]
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


@within
def respond(at: Posterior, e: FloatArray, theta: FloatArray) -> None:
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
def heights(at: Posterior, e: FloatArray, theta: FloatArray) -> FloatArray:
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


class Rows(NamedTuple):
    """The log-likelihood of every row, and its slopes in η, p and ε, (rows, chains)."""

    value: FloatArray
    eta: FloatArray
    tie_chance: FloatArray
    lapse: FloatArray


@within
def assess_rows(at: Posterior, eta: FloatArray, p: FloatArray, lapse: FloatArray) -> Rows:
    """Assess what was answered at log-odds η, by either rule of ties or none (p = 0): see `outcomes`."""
    rows = Rows(np.empty(eta.shape), np.empty(eta.shape), np.empty(eta.shape), np.empty(eta.shape))
    for k in range(len(at.met.row_starts) - 1):
        for row in range(at.met.row_starts[k], at.met.row_starts[k + 1]):
            first, second, ties = at.counts[0, row], at.counts[1, row], at.counts[2, row]
            for c in range(eta.shape[1]):
                decay, looks = exp_of_negative(-abs(eta[row, c])), 1 - lapse[k, c]
                likelier = 1 / (1 + decay)
                other = decay * likelier
                T = likelier - other if eta[row, c] > 0 else other - likelier
                S, pT = 2 * math.sqrt(decay) * likelier, p[c] * T
                total = 1 - p[c] + p[c] * S
                won = (likelier if eta[row, c] > 0 else other) * (1 - p[c]) / (total if at.davidson else 1 - pT)
                lost = (other if eta[row, c] > 0 else likelier) * (1 - p[c]) / (total if at.davidson else 1 + pT)
                either, neither = looks * won + lapse[k, c] / 2, looks * lost + lapse[k, c] / 2
                y, z = first * looks * won / either, second * looks * lost / neither
                value, to_p = first * math.log(either) + second * math.log(neither), -(y + z) / (1 - p[c])
                if ties > 0:
                    tie = p[c] * S / total if at.davidson else p[c] * S * S / (1 - pT * pT)
                    value += ties * math.log(looks * tie)
                    to_p += ties / p[c]
                rows.value[row, c] = value
                rows.lapse[row, c] = first * (0.5 - won) / either + second * (0.5 - lost) / neither - ties / looks
                if at.davidson:
                    share = (y + z + ties) / total
                    rows.eta[row, c] = (y - z) / 2 - T / 2 * (y + z + ties - p[c] * S * share)
                    rows.tie_chance[row, c] = to_p + (1 - S) * share
                else:
                    force = (y - z + (y + z + 2 * ties) * pT) / (1 - pT * pT)
                    rows.eta[row, c] = (y - z) / 2 - ((y + z) / 2 + ties) * T + p[c] * S * S / 2 * force
                    rows.tie_chance[row, c] = to_p + T * force
    return rows


@compiled
def tell(at: Posterior, eta: FloatArray, unseen: FloatArray, p: FloatArray, lapse: FloatArray) -> Told:
    """Sum over what each judge may know."""
    without = assess_rows(at, unseen, p, lapse).value
    gain = assess_rows(at, eta, p, lapse).value - without
    value, known = sum_over_reach(at, gain)
    return Told(gain, known, value + without.sum(axis=0))


@within
def place_effects(effects: Effects, mean: FloatArray, scale: FloatArray, q: FloatArray, placed: Placed) -> None:
    """Place one effect for each judge, about ``mean``."""
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


@compiled
def common(at: Posterior, q: FloatArray) -> Common:
    """Compute what all judges share at q."""
    chains, n, scales, sheared = q.shape[1], len(at.V), len(at.scale_mean), len(at.shear)
    first, slanted = len(q) - scales, q.copy()
    for i in range(sheared):
        for s in range(scales):
            for c in range(chains):
                slanted[i, c] += at.shear[i, s] * q[first + s, c]
    # 1. The scales.
    tau, upsilon = at.place[0], at.place[1]
    x = np.zeros((scales + 1, chains))
    alpha, sigma, faded = np.empty(chains), np.empty(chains), np.empty(chains)
    dimmed, swelling = np.empty(chains), np.empty(chains)
    for c in range(chains):
        dim = swell = 0.0
        for s in range(scales):
            away = 0.0
            for t in range(s + 1):
                away += at.scale_factor[s, t] * q[first + t, c]
            x[s, c] = at.scale_mean[s] + away
            dim += at.dim[s] * away
            swell += at.swell[s] * away
        alpha[c] = math.exp((at.at_rest[0] if tau < 0 else x[tau, c]) / 2)
        faded[c] = 0.0 if upsilon < 0 else x[upsilon, c] - at.at_rest[1]
        sigma[c] = math.exp((at.at_rest[1] + faded[c]) / 2)
        dimmed[c], swelling[c] = math.exp(math.tanh(dim)), math.tanh(swell)
    # 2. The map.
    placed = Placed(np.empty((n, chains)), np.empty((n, chains)), np.empty((n, chains)))
    scaled, strengths, swollen = np.empty((n, chains)), np.empty((n, chains)), np.exp(swelling)
    for i in range(n):
        for c in range(chains):
            fading = math.exp(-at.fade[i, 0] * faded[c])
            root = 1 / math.sqrt(1 + at.strengths.g[i, 0] * fading * alpha[c] * alpha[c])
            centre = root * root * at.strengths.r[i, 0] * fading * swollen[c] * alpha[c]
            placed.root[i, c], placed.centre[i, c] = root, centre
            placed.w[i, c] = slanted[i, c] * root + centre
            scaled[i, c] = alpha[c] * placed.w[i, c]
    np.dot(at.V, scaled, strengths)
    return Common(slanted, x, alpha, sigma, faded, dimmed, swelling, placed, strengths)


@compiled
def parameters(at: Posterior, q: FloatArray) -> Point:
    """Compute all parameters and the log-odds of every row from q."""
    shared, chains, judges = common(at, q), q.shape[1], len(at.met.row_starts) - 1
    lean, siding, attending = at.place[3], at.place[4], at.place[5]
    x, until = shared.x, len(at.shear)
    size = until - len(at.V), chains
    views = Placed(np.empty(size), np.empty(size), np.empty(size))
    e = see(at, shared, views)
    each = (judges, chains)
    sides = Placed(np.zeros(each), np.ones(each), np.zeros(each))
    attentions = Placed(np.zeros(each), np.ones(each), np.zeros(each))
    side, attention = np.exp(x[siding] / 2), np.exp(x[attending] / 2)
    if siding >= 0:
        place_effects(at.side, x[lean], side, shared.q[until : until + judges], sides)
        until += judges
    if attending >= 0:
        place_effects(at.attention, np.zeros(chains), attention, shared.q[until : until + judges], attentions)
        until += judges
    eta, unseen = e, np.zeros((len(e) if len(at.steps) else 0, chains))
    if siding >= 0 or attending >= 0:
        eta = np.empty_like(e)
        for k in range(judges):
            for row in range(at.met.row_starts[k], at.met.row_starts[k + 1]):
                for c in range(chains):
                    lent = at.x[row] * (x[lean, c] + side[c] * sides.w[k, c])
                    eta[row, c] = (1 + attention[c] * attentions.w[k, c]) * e[row, c] + lent
                    if len(unseen):
                        unseen[row, c] = lent
    lapses = at.lapses.shape[1]
    z = np.empty((lapses, chains))
    for k in range(lapses):
        for c in range(chains):
            z[k, c] = at.lapses[0, k] + at.lapses[1, k] * q[until + k, c]
    return Point(shared, views, e, sides, attentions, z, eta, unseen)


@within
def weigh_scales(at: Posterior, x: FloatArray, to_x: FloatArray) -> FloatArray:
    """Write the slope of the log prior of every scale, and return their sum for each chain."""
    _, _, tie, lean, siding, attending = at.place
    density = np.zeros(x.shape[1])
    for s in range(len(at.scale_mean)):
        for c in range(x.shape[1]):
            if s == tie:
                chance = 1 / (1 + math.exp(-x[s, c]))
                to_x[s, c] = 1 - 2 * chance
                density[c] += math.log(chance) + math.log1p(-chance)
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
    return density


@within
def respond_generally(
    at: Posterior, point: Point, chance: FloatArray, residual: FloatArray, to_e: FloatArray, to_eta: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Write the slopes in what is seen, in all log-odds, and in lapses; return the log-likelihood and the slope in p.

    If judges may know only a part of the map, a row counts with its areas as far as they are likely to be known.
    """
    judges, lapses, chains = len(at.met.row_starts) - 1, len(point.lapse), len(chance)
    first = len(residual) - len(at.scale_mean) - lapses
    lapse, speed, density = np.zeros((judges, chains)), np.empty((lapses, chains)), np.zeros(chains)
    for k in range(lapses):
        for c in range(chains):
            z = point.lapse[k, c]
            tail = math.erfc(abs(z) / math.sqrt(2)) / 2
            log_rest = math.log(tail) if z > 0 else math.log1p(-tail)  # log Φ(−z)
            lapse[k, c] = -math.expm1(log_rest / LAPSE_REST)
            speed[k, c] = math.exp(-z * z / 2 + (1 / LAPSE_REST - 1) * log_rest)
            density[c] -= z * z / 2
    rows = assess_rows(at, point.eta, chance, lapse)
    to_e[...] = rows.eta
    to_eta[...] = rows.eta
    to_p, to_lapse = rows.tie_chance, rows.lapse
    if len(at.steps):
        others = assess_rows(at, point.unseen, chance, lapse)
        value, known = sum_over_reach(at, rows.value - others.value)
        density += value + others.value.sum(axis=0)
        to_e *= known
        to_eta[...] = to_e + (1 - known) * others.eta
        to_p, to_lapse = known * to_p + (1 - known) * others.tie_chance, known * to_lapse + (1 - known) * others.lapse
    else:
        density += rows.value.sum(axis=0)
    for k in range(lapses):
        for c in range(chains):
            slope = to_lapse[at.met.row_starts[k] : at.met.row_starts[k + 1], c].sum()
            slope *= speed[k, c] / (math.sqrt(2 * math.pi) * LAPSE_REST)
            residual[first + k, c] = at.lapses[1, k] * (slope - point.lapse[k, c])
    return density, to_p.sum(axis=0)


@within
def look(at: Posterior, q: FloatArray, residual: FloatArray, height: bool) -> FloatArray:  # noqa: C901, FBT001, PLR0912, PLR0915
    """Write ∇ log p(q) + q, and return log p(q) if ``height`` is true."""
    size, chains = q.shape
    n, scales, judges, sheared = len(at.V), len(at.scale_mean), len(at.met.row_starts) - 1, len(at.shear)
    first = size - scales
    tau, upsilon, tie, lean, siding, attending = at.place
    point = parameters(at, q)
    shared, e, eta = point.shared, point.e, point.eta
    x, alpha, placed, slanted = shared.x, shared.alpha, shared.map, shared.q
    # 1. The prior. It pulls at V'K⁻¹Vw: w itself, unless the smoothness of the map is inferred.
    to_x = np.zeros((scales, chains))
    density, held = weigh_scales(at, x, to_x), placed.w
    if len(at.factor):
        maps, held = shared.strengths / alpha, np.empty((n, chains))
        bend(at.factor, maps)
        np.dot(at.V.T, maps, held)
    if height:
        for i in range(n):
            for c in range(chains):
                density[c] += math.log(placed.root[i, c]) - placed.w[i, c] * held[i, c] / 2
        for effects in (point.views, point.side, point.attention):
            for i in range(len(effects.w)):
                for c in range(chains):
                    density[c] += math.log(effects.root[i, c]) - effects.w[i, c] * effects.w[i, c] / 2
    # 2. The answers.
    chance, to_chance = np.zeros(chains), np.zeros(chains)
    if tie >= 0:
        chance = 1 / (1 + np.exp(-x[tie]))
    to_e, to_eta = eta, eta
    if at.counts.shape[1]:
        to_e, to_eta = np.empty_like(eta), np.empty_like(eta)
        gained, to_chance = respond_generally(at, point, chance, residual, to_e, to_eta)
        density += gained
    else:
        theta = 2 * np.arctanh(chance)
        if height:
            density += heights(at, eta, theta)
            for c in range(chains):
                if tie >= 0:
                    density[c] += at.ties * (math.log(4 * chance[c]) - 2 * math.log1p(-chance[c]))
        respond(at, eta, theta)
        for c in range(chains):
            if tie >= 0:
                total, p = 0.0, chance[c]
                for row in range(len(eta)):
                    total += eta[row, c]
                to_chance[c] = at.ties * (1 / p + 2 / (1 - p)) - 2 * total / (1 - p * p)
    if tie >= 0:
        to_x[tie] += to_chance * chance * (1 - chance)
    # 3. Back again.
    if siding >= 0 or attending >= 0:
        side, attention = np.exp(x[siding] / 2), np.exp(x[attending] / 2)
        to_side, to_attention = np.zeros((judges, chains)), np.zeros((judges, chains))
        for k in range(judges):
            for row in range(at.met.row_starts[k], at.met.row_starts[k + 1]):
                for c in range(chains):
                    to_side[k, c] += at.x[row] * to_eta[row, c]
                    to_attention[k, c] += e[row, c] * to_e[row, c]
                    to_e[row, c] *= 1 + attention[c] * point.attention.w[k, c]
        to_scales, until = np.zeros((2, chains)), sheared
        if siding >= 0:
            pull_effects(at.side, side, slanted[until : until + judges], point.side, to_side, to_scales)
            residual[until : until + judges] = to_side
            to_x[lean] += to_scales[0]
            to_x[siding] += to_scales[1]
            to_scales[...], until = 0.0, until + judges
        if attending >= 0:
            own = slanted[until : until + judges]
            pull_effects(at.attention, attention, own, point.attention, to_attention, to_scales)
            residual[until : until + judges] = to_attention
            to_x[attending] += to_scales[1]
    scaled, to_strengths = np.empty((n, chains)), np.zeros((n, chains))
    to_both = pull(at, point, to_e, residual[n:sheared], to_strengths)
    np.dot(at.V.T, to_strengths, scaled)
    for c in range(chains):
        to_tau = to_upsilon = along = 0.0
        for i in range(n):
            w, root, centre = placed.w[i, c], placed.root[i, c], placed.centre[i, c]
            to_w = alpha[c] * scaled[i, c]
            to_tau += to_w * w / 2
            to_w -= held[i, c]
            rooted = to_w * root
            base = root * (-rooted * (slanted[i, c] * root / 2 + centre) - root / 2)
            spread = alpha[c] * alpha[c] * at.strengths.g[i, 0] * math.exp(-at.fade[i, 0] * shared.faded[c]) * base
            to_tau += to_w * centre / 2 + spread
            to_upsilon -= at.fade[i, 0] * (to_w * centre + spread)
            along += to_w * centre
            residual[i, c] = rooted
        if tau >= 0:
            to_x[tau, c] += to_tau
        if upsilon >= 0:
            to_x[upsilon, c] += to_upsilon + to_both[0, c]
        along *= 1 - shared.swelling[c] * shared.swelling[c]
        dims = to_both[1, c] * (1 - math.log(shared.dimmed[c]) ** 2) if upsilon >= 0 else 0.0
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
    residual += q
    return density


@compiled
def travel(
    at: Posterior, q: FloatArray, residual: FloatArray, momentum: FloatArray, angle: float, kicks: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Kick at equal angles and rotate (see `split_hmc`), changing the momentum; return q, residual and log p."""
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


@within
def sum_over_reach(at: Posterior, gain: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sum over what judges know: what all rows gain in each chain, and how likely the areas of each are known."""
    row_starts, first, second, steps, log_prior = at.met.row_starts, at.first, at.second, at.steps, at.log_prior
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
