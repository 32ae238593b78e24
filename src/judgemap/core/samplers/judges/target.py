"""The posterior of a panel in the coordinates of `panel_coordinates`, and its gradient, for all parts and chains.

q stacks the coordinates of the map, the views, the sides, the attention, the lapses (z_k = m_k + s_k q, where
1 − ε_k = Φ(−z_k)^{1/rest}, so that z_k ~ N(0, 1) in the prior), and the scales (x = m + Lv). The log density, up to a
constant, is

    ℓ(η) + Σ log prior of the scales − ½ Σ w² − ½ Σ log P − ½ Σ z²

with −½(Vw)ᵀK⁻¹Vw for the map if its smoothness is inferred: K, one per chain, is drawn between trajectories
(`panel_smoothness`). Gradients are written by hand, going backwards through the same steps.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, log_ndtr

from judgemap.core.model import outcomes
from judgemap.core.model.judges import Lapses, PanelModel
from judgemap.core.model.outcomes import add_up
from judgemap.core.model.prior import FixedVariance
from judgemap.core.samplers.judges.coordinates import (
    Coordinates,
    Effects,
    Placed,
    place,
    pull_back,
)
from judgemap.core.samplers.judges.layout import Layout
from judgemap.core.samplers.judges.scales import Scale
from judgemap.core.types import FloatArray


@dataclass(frozen=True, eq=False)
class Target:
    """Everything that `parameters`, `gradient` and `log_density` need."""

    model: PanelModel
    layout: Layout
    scales: tuple[Scale, ...]
    scatter: sparse.csr_array
    """Xᵀ."""
    coordinates: Coordinates
    precision: FloatArray | None = None
    """K⁻¹ of each chain, if the smoothness of the map is inferred."""

    @cached_property
    def sections(self) -> dict[str, slice]:
        """Where in q to find each block of coordinates."""
        parts, judges = self.model.parts, self.layout.n_judges
        sizes = {
            "map": self.layout.n_areas,
            "views": self.layout.n_views if parts.disagreement is not None else 0,
            "side": judges if parts.side is not None else 0,
            "attention": judges if parts.attention is not None else 0,
            "lapses": judges if parts.lapses is not None else 0,
            "scales": len(self.scales),
        }
        ends = np.cumsum(list(sizes.values()))
        return {name: slice(int(end) - size, int(end)) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(self.sections["scales"].stop)

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """Draw q ~ N(0, I)."""
        return self.coordinates.noise(rng, self.layout, self.size, chains)


class Point(NamedTuple):
    """The parameters at q, one column per chain, and intermediate results that the gradient needs."""

    x: dict[str, FloatArray]
    """Scales by name, (chains,)."""
    alpha: FloatArray
    sigma: FloatArray
    map_effects: Effects
    map: Placed
    strengths: FloatArray
    views: Placed
    e: FloatArray
    """X_k μ_k."""
    side: Placed | None
    attention: Placed | None
    lapse: FloatArray | None
    """z_k, (judges, chains)."""
    eta: FloatArray
    """The log-odds of every row."""


def build_scatter(layout: Layout) -> sparse.csr_array:
    """Return Xᵀ as a sparse matrix."""
    rows, ones = np.arange(len(layout.first)), np.ones(len(layout.first))
    at = (np.r_[layout.first, layout.second], np.r_[rows, rows])
    return sparse.csr_array((np.r_[ones, -ones], at), shape=(layout.n_areas, len(rows)))


def tie_chance(x: dict[str, FloatArray]) -> FloatArray:
    """Return p, or 0 if there are no ties."""
    chance: FloatArray = expit(x["tie_chance"]) if "tie_chance" in x else np.zeros(1)
    return chance


class Common(NamedTuple):
    """What all judges share at q: the fields of `Point` with the same names."""

    x: dict[str, FloatArray]
    alpha: FloatArray
    sigma: FloatArray
    map_effects: Effects
    map: Placed
    strengths: FloatArray


def common(target: Target, q: FloatArray) -> Common:
    """Compute the scales and the map from q."""
    at, part = target.coordinates, target.sections
    values = at.scale_mean[:, None] + at.scale_factor @ q[part["scales"]]
    x = {scale.name: row for scale, row in zip(target.scales, values, strict=True)}
    variance = target.model.variance
    tau = x.get(
        "log_variance", np.full(q.shape[1], np.log(variance.value if isinstance(variance, FixedVariance) else 1.0))
    )
    alpha = np.exp(tau / 2)
    upsilon = x.get("log_disagreement", np.full(q.shape[1], at.log_disagreement))
    sigma = np.exp(upsilon / 2)

    fading = np.exp(-at.fade * (upsilon - at.log_disagreement))
    swollen = np.exp(at.swelling(values))
    map_effects = Effects(at.strengths.r * (fading * swollen), at.strengths.g * fading)
    placed = place(q[part["map"]], map_effects, alpha)
    return Common(x, alpha, sigma, map_effects, placed, at.V @ (alpha * placed.w))


def parameters(target: Target, q: FloatArray) -> Point:
    """Compute the parameters and the log-odds of every row from q."""
    layout, at, part = target.layout, target.coordinates, target.sections
    shared = common(target, q)
    x, sigma = shared.x, shared.sigma
    e = layout.differences(shared.strengths)

    views = Placed(*(np.empty((part["views"].stop - part["views"].start, q.shape[1])) for _ in range(3)))
    if target.model.parts.disagreement is not None:
        from judgemap.core.samplers.judges.views import see

        for block, factors in zip(layout.blocks, at.views, strict=True):
            own = Placed(*(each[block.views] for each in views))
            seen = (at.seen.r[block.views], at.seen.g[block.views])
            see(factors.B, at.weight[block.rows], seen, sigma, q[part["views"]][block.views], own, e[block.rows])

    eta, attention, side = e, None, None
    if target.model.parts.attention is not None:
        attention = place(q[part["attention"]], at.attention, np.exp(x["log_attention"] / 2))
        eta = layout.spread(1 + np.exp(x["log_attention"] / 2) * attention.w) * e
    if target.model.parts.side is not None:
        effects = Effects(at.side.r - at.side.g * x["lean"], at.side.g)
        side = place(q[part["side"]], effects, np.exp(x["log_side"] / 2))
        eta = eta + layout.x * layout.spread(x["lean"] + np.exp(x["log_side"] / 2) * side.w)
    lapse = at.lapse_mean + at.lapse_sd * q[part["lapses"]] if target.model.parts.lapses is not None else None
    return Point(*shared, views, e, side, attention, lapse, eta)


def lapse_rows(target: Target, point: Point) -> FloatArray:
    """Return ε of every row, or 0."""
    lapses = target.model.parts.lapses
    if point.lapse is None or lapses is None:
        return outcomes.NO_LAPSE
    return target.layout.spread(lapse_rate(lapses, point.lapse))


def lapse_rate(lapses: Lapses, z: FloatArray) -> FloatArray:
    """ε = 1 − Φ(−z)^{1/rest}, which is Beta(1, rest) if z ~ N(0, 1)."""
    rate: FloatArray = -np.expm1(log_ndtr(-z) / lapses.rest)
    return rate


def gradient(target: Target, q: FloatArray, point: Point) -> FloatArray:
    """∇ log p(q), one column per chain."""
    layout, at, part, parts = target.layout, target.coordinates, target.sections, target.model.parts
    x, slope = point.x, np.empty_like(q)
    to_scale = {scale.name: scale.slope(x[scale.name]) for scale in target.scales}
    lapse = lapse_rows(target, point)
    rows = outcomes.slopes(layout.answers, parts.ties, point.eta, tie_chance(x), lapse)
    if parts.ties is not None:
        p = tie_chance(x)
        to_scale["tie_chance"] += rows.tie_chance * p * (1 - p)
    if point.lapse is not None and parts.lapses is not None:
        z, rest = point.lapse, parts.lapses.rest
        speed = np.exp(-(z**2) / 2 + (1 / rest - 1) * log_ndtr(-z)) / (np.sqrt(2 * np.pi) * rest)
        slope[part["lapses"]] = at.lapse_sd * (layout.sum_by_judge(rows.lapse) * speed - z)
    to_e = rows.eta
    if point.side is not None:
        scale = np.exp(x["log_side"] / 2)
        to_side = layout.sum_by_judge(layout.x * rows.eta)
        effects = Effects(at.side.r - at.side.g * x["lean"], at.side.g)
        pulled = pull_back(scale * to_side - point.side.w, q[part["side"]], point.side, effects, scale)
        slope[part["side"]] = pulled.q
        to_scale["lean"] += add_up(to_side) - add_up(at.side.g * pulled.r)
        to_scale["log_side"] += pulled.log_scale2 + scale * add_up(to_side * point.side.w) / 2
    if point.attention is not None:
        scale = np.exp(x["log_attention"] / 2)
        to_attention = layout.sum_by_judge(point.e * rows.eta)
        pulled = pull_back(
            scale * to_attention - point.attention.w, q[part["attention"]], point.attention, at.attention, scale
        )
        slope[part["attention"]] = pulled.q
        to_scale["log_attention"] += pulled.log_scale2 + scale * add_up(to_attention * point.attention.w) / 2
        to_e = layout.spread(1 + scale * point.attention.w) * to_e
    if parts.disagreement is not None:
        to_e = _pull_views(target, q[part["views"]], point, to_e, slope[part["views"]], to_scale)
    _pull_map(target, q[part["map"]], point, target.scatter @ to_e, slope[part["map"]], to_scale)
    slope[part["scales"]] = at.scale_factor.T @ np.array([to_scale[each.name] for each in target.scales])
    return slope


def _pull_views(
    target: Target,
    q: FloatArray,
    point: Point,
    to_e: FloatArray,
    slope: FloatArray,
    to_scale: dict[str, FloatArray],
) -> FloatArray:
    """Write the slope in the views' coordinates; return the slope in Xλ."""
    from judgemap.core.samplers.judges.views import pull

    layout, at, back = target.layout, target.coordinates, to_e.copy()
    for block, factors in zip(layout.blocks, at.views, strict=True):
        own = Placed(*(each[block.views] for each in point.views))
        g, weight = at.seen.g[block.views], at.weight[block.rows]
        to_scale["log_disagreement"] += pull(
            factors.B, weight, g, point.sigma, q[block.views], own, back[block.rows], slope[block.views]
        )
    return back


def _pull_map(
    target: Target,
    q: FloatArray,
    point: Point,
    to_strengths: FloatArray,
    slope: FloatArray,
    to_scale: dict[str, FloatArray],
) -> None:
    """Write the slope in the map's coordinates."""
    at, w = target.coordinates, point.map.w
    to_w = point.alpha * (at.V.T @ to_strengths)
    direct = add_up(to_w * w) / 2
    to_w -= w if target.precision is None else at.V.T @ _bend(target.precision, at.V @ w)
    pulled = pull_back(to_w, q, point.map, point.map_effects, point.alpha)
    slope[...] = pulled.q
    x = np.array([point.x[scale.name] for scale in target.scales]).reshape(len(target.scales), -1)
    along = add_up(to_w * point.map.centre) * (1 - at.swelling(x) ** 2)
    for scale, swell in zip(target.scales, at.swell, strict=True):
        to_scale[scale.name] += swell * along
    if "log_variance" in to_scale:
        to_scale["log_variance"] += direct + pulled.log_scale2
    if "log_disagreement" in to_scale:
        faded = to_w * point.map.centre + point.alpha**2 * point.map_effects.g * pulled.base
        to_scale["log_disagreement"] -= add_up(at.fade * faded)


def _bend(precision: FloatArray, maps: FloatArray) -> FloatArray:
    """K⁻¹ of each chain times its map, (areas, chains)."""
    bent: FloatArray = np.matmul(precision, maps.T[:, :, None])[:, :, 0].T
    return bent


def log_density(target: Target, point: Point) -> FloatArray:
    """Return log p(q), up to a constant, for each chain."""
    parts, x = target.model.parts, point.x
    lapse = lapse_rows(target, point)
    rows = outcomes.log_likelihood(target.layout.answers, parts.ties, point.eta, tie_chance(x), lapse)
    value: FloatArray = add_up(rows)
    for scale in target.scales:
        value = value + scale.log_prior(x[scale.name])
    if target.precision is None:
        value -= add_up(point.map.w**2) / 2
    else:
        maps = target.coordinates.V @ point.map.w
        value -= add_up(maps * _bend(target.precision, maps)) / 2
    value += add_up(np.log(point.map.root))
    for placed in (point.views, point.side, point.attention):
        if placed is not None:
            value += add_up(np.log(placed.root) - placed.w**2 / 2)
    if point.lapse is not None:
        value -= add_up(point.lapse**2) / 2
    return value
