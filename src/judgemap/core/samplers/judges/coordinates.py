"""Coordinates in which the posterior of the panel model is nearly standard normal.

Every block of effects (the map λ = αVw, the views σBw, the sides σ_b w and the attention σ_a w) has the prior
w ~ N(0, I) and, near the centre, a likelihood with linear term r and information diag(g) in its own coordinates. For
every scale s at once its posterior is then nearly N(s r/P, 1/P), P = 1 + s²g, and

    w = s r/P + q/√P,   log |dw/dq| = −½ Σ log P

makes q nearly N(0, I): at small s the prior dominates (non-centred), at large s the answers do (centred), coordinate by
coordinate. The r of a view depends on λ: r_k = B_kᵀ(κ − W X_k λ). The information about λ is then what is left once the
views are integrated out, S(σ) = Σ X_kᵀ[W − σ²W B_k P_k⁻¹ B_kᵀW]X_k; VᵀS(σ̂)V is diagonal at the typical σ̂, and around
it the diagonal shrinks as g (σ²/σ̂²)^−γ. If judges differ more, or tie more, the same answers imply areas further
apart: the centre of the map swells with the scales x, by the exponential of tanh δᵀ(x − m). With `Smoothness` each
chain has a different prior for the map (`panel_smoothness`), and w ~ N(0, I) holds for a typical one. The scales form
one vector, x = m + Lv. Exactness does not require any of this to be accurate.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import linalg

from judgemap.core.model.outcomes import add_up
from judgemap.core.samplers.judges.layout import Layout, Views, onto_areas
from judgemap.core.types import FloatArray


class Effects(NamedTuple):
    """What the answers say about one block of effects: linear term and information, shape (coordinates, 1)."""

    r: FloatArray
    g: FloatArray


class Placed(NamedTuple):
    """Effects in units of their scale, and what their derivatives need."""

    w: FloatArray
    root: FloatArray
    """1/√P."""
    centre: FloatArray
    """s r/P."""


def place(q: FloatArray, effects: Effects, scale: FloatArray) -> Placed:
    """Map coordinates q to w."""
    root = effects.g * scale**2
    root += 1.0
    np.sqrt(root, out=root)
    np.reciprocal(root, out=root)
    centre = root * root
    centre *= effects.r * scale
    w = q * root
    w += centre
    return Placed(w, root, centre)


class Pulled(NamedTuple):
    """Derivatives with respect to q, r, log s², and P."""

    q: FloatArray
    r: FloatArray
    log_scale2: FloatArray
    base: FloatArray


def pull_back(slope: FloatArray, q: FloatArray, at: Placed, effects: Effects, scale: FloatArray) -> Pulled:
    """Turn the slope in w into slopes in q, r, log s² and P, including the volume term −½ Σ log P."""
    rooted = slope * at.root
    base = q * at.root
    base /= -2
    base -= at.centre
    base *= rooted
    base -= 0.5 * at.root
    base *= at.root
    log_scale2 = add_up(slope * at.centre) / 2 + scale**2 * add_up(effects.g * base)
    return Pulled(rooted, rooted * at.root * scale, log_scale2, base)


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What is known of the posterior: means over draws, of rows (rows, 1), of judges (judges, 1), of scales.

    Weight and score are −∂²ℓ/∂e² and ∂ℓ/∂e in e = X_k μ_k; ``attention`` and ``side`` hold the same for a and b.
    """

    difference: FloatArray
    weight: FloatArray
    score: FloatArray
    side: Effects
    attention: Effects
    lapse_mean: FloatArray
    lapse_sd: FloatArray
    scale_mean: FloatArray
    scale_factor: FloatArray
    swell: FloatArray
    """How the size of the map varies with the scales, beyond what the linear terms say."""
    log_disagreement: float | None
    precision: FloatArray | None
    """K⁻¹ of a typical map, if its smoothness is inferred."""


@dataclass(frozen=True, slots=True, eq=False)
class Coordinates:
    """The map from q to the parameters; see the module docstring."""

    V: FloatArray
    Q: FloatArray
    """V = FQ, with F the factor of the prior."""
    strengths: Effects
    fade: FloatArray
    """γ: how fast the information about the map fades as σ² grows."""
    swell: FloatArray
    """δ, one entry per scale."""
    log_disagreement: float
    """log σ̂²."""
    views: list[Views]
    weight: FloatArray
    """W of every row."""
    seen: Effects
    """r at λ = 0, and g, for all views."""
    side: Effects
    attention: Effects
    lapse_mean: FloatArray
    lapse_sd: FloatArray
    scale_mean: FloatArray
    scale_factor: FloatArray

    def swelling(self, x: FloatArray) -> FloatArray:
        """Return the logarithm of how much the centre of the map swells at scales x, between −1 and 1."""
        size: FloatArray = np.tanh(self.swell @ (x - self.scale_mean[:, None]))
        return size

    def noise(self, rng: np.random.Generator, layout: Layout, size: int, chains: int) -> FloatArray:
        """Draw q ~ N(0, I), ``size`` coordinates for each chain.

        Noise for the map and the views is drawn by area and then turned into coordinates, so that draws do not depend
        on which eigenvectors a processor happens to find: signs are free, and so is the basis of a repeated eigenvalue.
        """
        n = layout.n_areas
        q = [self.Q.T @ rng.standard_normal((n, chains))]
        for block, (_, V) in zip(layout.blocks, self.views, strict=False):
            v = rng.standard_normal((block.n_judges, n, chains)).astype(V.dtype, copy=False)
            q.append((np.swapaxes(V, 1, 2) @ v).reshape(-1, chains).astype(np.float64, copy=False))
        q.append(rng.standard_normal((size - sum(map(len, q)), chains)))
        return np.concatenate(q)


def coordinates(layout: Layout, factor: FloatArray, views: list[Views], known: Summary) -> Coordinates:
    """Place the coordinates around what is known of the posterior; the prior covariance is FFᵀ with F = ``factor``."""
    weight = known.weight
    linear = weight * known.difference + known.score
    turned, seen = _diagonal_views(layout, views, weight, linear)
    upsilon = 0.0 if known.log_disagreement is None else known.log_disagreement
    S, pull = _information(layout, turned, weight, linear, seen, upsilon)
    g, Q = linalg.eigh(factor.T @ S @ factor)
    V, g = factor @ Q, np.maximum(g, 0.0)
    fade = np.zeros_like(g)
    if turned:
        # γ is minus the slope of the log information in log σ², by differences.
        more = [_information(layout, turned, weight, linear, seen, upsilon + step)[0] for step in (-0.5, 0.5)]
        low, high = (np.maximum(np.einsum("ji,jk,ki->i", V, each, V), 1e-12) for each in more)
        fade = np.clip(np.log(low / high), 0.0, 1.0)
    return Coordinates(
        V=V,
        Q=Q,
        strengths=Effects((V.T @ pull)[:, None], g[:, None]),
        fade=fade[:, None],
        swell=known.swell,
        log_disagreement=upsilon,
        views=turned,
        weight=weight,
        seen=seen,
        side=known.side,
        attention=known.attention,
        lapse_mean=known.lapse_mean,
        lapse_sd=known.lapse_sd,
        scale_mean=known.scale_mean,
        scale_factor=known.scale_factor,
    )


def _diagonal_views(
    layout: Layout, views: list[Views], weight: FloatArray, linear: FloatArray
) -> tuple[list[Views], Effects]:
    """Rotate every judge's coordinates so that BᵀWB is diagonal."""
    turned, r, g = [], [np.zeros((0, 1))], [np.zeros((0, 1))]
    for block, (B, V) in zip(layout.blocks, views, strict=False):
        W = block.by_judge(weight)
        information = np.swapaxes(B, 1, 2) @ (W.astype(B.dtype) * B)
        values, Q = np.linalg.eigh(information.astype(np.float64))
        Q = Q.astype(B.dtype)
        B_turned = B @ Q
        turned.append(Views(B_turned, V @ Q))
        r.append((np.swapaxes(B_turned, 1, 2) @ block.by_judge(linear)).reshape(-1, 1))
        g.append(np.maximum(values, 0.0).reshape(-1, 1))
    return turned, Effects(np.concatenate(r), np.concatenate(g))


def _information(
    layout: Layout, views: list[Views], weight: FloatArray, linear: FloatArray, seen: Effects, log_disagreement: float
) -> tuple[FloatArray, FloatArray]:
    """S(σ) and the linear term of λ, with the views integrated out."""
    n, first, second = layout.n_areas, layout.first, layout.second
    S = np.zeros((n, n))
    w = weight[:, 0]
    np.add.at(S, (first, first), w)
    np.add.at(S, (second, second), w)
    np.add.at(S, (first, second), -w)
    np.add.at(S, (second, first), -w)
    rest = linear[:, 0].copy()
    variance = np.exp(log_disagreement)
    for block, (B, _) in zip(layout.blocks, views, strict=False):
        shrink = variance / (1 + variance * block.coordinates(seen.g))
        W = block.by_judge(weight)
        Y = np.swapaxes(W * B, 1, 2) @ layout.dense(block)
        S -= np.tensordot(shrink * Y, Y, axes=([0, 1], [0, 1]))
        rest[block.rows] -= (W * (B @ (shrink * block.coordinates(seen.r)))).ravel()
    return S, onto_areas(layout, rest)
