"""The posterior of the panel model and its gradient, in coordinates q in which it is nearly standard normal.

Every block of effects (the map λ = αVw, the views σBw, the sides σ_b w and the attention σ_a w) has the prior
w ~ N(0, I) and, near the centre, a likelihood with linear term r and information diag(g) in its own coordinates. For
every scale s at once its posterior is then nearly N(s r/P, 1/P), P = 1 + s²g, and

    w = s r/P + q/√P,   log |dw/dq| = −½ Σ log P

makes q nearly N(0, I): at small s the prior dominates (non-centred), at large s the answers do (centred), coordinate by
coordinate. The r of a view depends on λ: r_k = G_kᵀX_kᵀκ − d M_k λ with M_k = G_kᵀX_kᵀW X_k, and P = 1 + s²dg. The
information about λ is then what is left once the views are integrated out, S(σ) = Σ X_kᵀW X_k − σ²M_kᵀP_k⁻¹M_k;
VᵀS(σ̂)V is diagonal at the typical σ̂, and around it the diagonal shrinks as g (σ²/σ̂²)^−γ. If judges differ more, or
tie more, the same answers imply areas further apart: the centre of the map swells with the scales x, by the exponential
of tanh δᵀ(x − m). Answers about areas further apart weigh less: d dims the W of the views with x in the same way. What
is left of the dependence is linear in q, and a shear of the map and the views along the scales takes it away. With
`smoothness` each chain has a different prior for the map (`Roughness`), and w ~ N(0, I) holds for a typical one.
Exactness does not require any of this to be accurate.

q stacks the coordinates of the map, the views, the sides, the attention, the lapses (z_k = m_k + s_k q, where
1 − ε_k = Φ(−z_k)^{1/rest}, so that z_k ~ N(0, 1) in the prior), and the scales (x = m + Lv). The log density, up to a
constant, is

    ℓ(η) + Σ log prior of the scales − ½ Σ w² − ½ Σ log P − ½ Σ z²

with −½(Vw)ᵀK⁻¹Vw for the map if its smoothness is inferred. `judges.compiled` computes it, and its gradient by going
backwards through the same steps. The scales, single numbers on the whole real line, and the logarithms of their priors
are

    log_variance       τ = log α²: see `prior.Terms`
    log_disagreement   log σ²: likewise
    log_side           log σ_b²: half-Cauchy(s) on σ_b: ½x − log(1 + e^x/s²); likewise log_attention, log σ_a²
    tie_chance         logit p,               p ~ U(0, 1):         log p(1 − p)
    lean               b ~ N(0, 1)

Maps need not be smooth. How smooth a map is, and which areas stand out, is drawn between trajectories:

    λ = α(s + t),   s ~ N(0, ρC),   t_i ~ N(0, (1 − ρ)ψ_i),   ψ_i ~ InvGamma(2, 1),   ρ ~ U(0, 1)

ψ_i has mean 1, so λ has covariance α²(ρC + (1 − ρ)I), and t_i has a Student t distribution with 4 degrees of freedom. A
hot spot has its own large ψ_i and does not make the whole map rough, as it would if all areas shared one variance.
Given ρ and ψ the map is Gaussian again, λ ~ N(0, α²K) with K = ρC + (1 − ρ)Ψ. Given the map in units of α,

    ρ      by slice, s and t integrated out
    t      exactly: t = t* + (1 − ρ)ΨK⁻¹(λ/α − s* − t*), with s* and t* from their priors
    ψ_i    ~ InvGamma(2 + ½, 1 + t_i²/(2(1 − ρ)))

Which areas a judge knows (`reach`) is summed over. With gain_r = log P(answers of row r | η) − log P(… | η without
the map), and the further of r's two areas f_r(c) steps from c, the answers of judge k have the probability

    Σ_{c,s} P(c_k = c, r_k = s) exp Σ_{f_r(c) ≤ s} gain_r

beyond that of knowing nothing, and a row's slope in the map counts as far as the judge is likely to know its areas.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import expit, log_ndtr

from judgemap.core.model import outcomes
from judgemap.core.model.judges import ATTENTION_SCALE, DISAGREEMENT_SCALE, LAPSE_REST, SIDE_SCALE, PanelModel
from judgemap.core.model.outcomes import Answers, Wins, add_up
from judgemap.core.model.prior import Covariance, FixedVariance, HalfNormal
from judgemap.core.samplers.judges.layout import Layout, Views, onto_areas
from judgemap.core.threads import pieces
from judgemap.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from judgemap.core.samplers.judges.compiled import Posterior

AT_ONCE = 4_000_000
"""How many numbers of noise are drawn at a time."""


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


class ScalesKnown(NamedTuple):
    """What is known of the scales, x = mean + factor · q, and how the map varies with them."""

    names: tuple[str, ...]
    mean: FloatArray
    factor: FloatArray
    swell: FloatArray
    """δ: how the size of the map varies, beyond what the linear terms say."""
    dim: FloatArray
    """How the logarithm of the weights varies."""

    def means(self) -> dict[str, float]:
        """Return the means by name."""
        return dict(zip(self.names, self.mean.tolist(), strict=True))

    def sds(self) -> dict[str, float]:
        """Return the standard deviations by name."""
        return dict(zip(self.names, np.linalg.norm(self.factor, axis=1).tolist(), strict=True))


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
    scales: ScalesKnown
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
    views: Views
    M: FloatArray
    """How the views follow the map, (coordinate, area met), one judge's after another."""
    seen: Effects
    """r at λ = 0, and g, for all views."""
    known: Summary
    shear: FloatArray
    """How the centres of all other coordinates move with those of the scales."""

    def noise(self, rng: np.random.Generator, layout: Layout, size: int, chains: int) -> FloatArray:
        """Draw q ~ N(0, I), ``size`` coordinates for each chain.

        Noise for the map and the views is drawn by area and then turned into coordinates, so that draws do not depend
        on which eigenvectors a processor happens to find: signs are free, and so is the basis of a repeated eigenvalue.
        """
        from judgemap.core.samplers.judges.compiled import turn

        n, seen = layout.n_areas, self.views.size
        q = np.empty((size, chains))
        q[:n] = self.Q.T @ rng.standard_normal((n, chains))
        if seen:
            for part in pieces(layout.n_judges, AT_ONCE // (n * chains)):
                v = rng.standard_normal((part.stop - part.start, n, chains)).astype(self.views.V.dtype, copy=False)
                turn(self.views, n, v, part.start, q[n : n + seen])
        q[n + seen :] = rng.standard_normal((size - n - seen, chains))
        return q


def coordinates(layout: Layout, factor: FloatArray, views: Views, known: Summary) -> Coordinates:
    """Place the coordinates around what is known of the posterior; the prior covariance is FFᵀ with F = ``factor``."""
    weight = known.weight
    linear = weight * known.difference + known.score
    turned, M, seen = _diagonal_views(layout, views, weight[:, 0], linear[:, 0])
    upsilon = known.scales.means().get("log_disagreement", 0.0)
    S, faded, pull = _information(layout, turned, M, weight[:, 0], linear[:, 0], seen, upsilon)
    g, Q = linalg.eigh(factor.T @ S @ factor)
    V, g = factor @ Q, np.maximum(g, 0.0)
    # γ is minus the slope of the log information in log σ².
    fade = np.clip(((V.T @ faded) * V.T).sum(axis=1) / np.maximum(g, 1e-12), 0.0, 1.0)
    return Coordinates(
        V=V,
        Q=Q,
        strengths=Effects((V.T @ pull)[:, None], g[:, None]),
        fade=fade[:, None],
        views=turned,
        M=M,
        seen=seen,
        known=known,
        shear=np.zeros((layout.n_areas + turned.size, len(known.scales.mean))),
    )


def _diagonal_views(
    layout: Layout, views: Views, weight: FloatArray, linear: FloatArray
) -> tuple[Views, FloatArray, Effects]:
    """Rotate every judge's coordinates so that M_kG_k is diagonal."""
    met, n = layout.met, layout.n_areas
    turned = views._replace(G=np.empty_like(views.G), V=np.empty_like(views.V))
    M, r, g = np.empty_like(views.G), np.empty((views.size, 1)), np.empty((views.size, 1))
    for k, ((G, V), (new_G, new_V)) in enumerate(zip(views.each(n), turned.each(n), strict=True)):
        if not V.shape[1]:
            continue
        rows, own = met.rows(k), views.coordinates(k)
        L = met.laplacian(k, weight[rows]).astype(G.dtype, copy=False)
        values, Q = np.linalg.eigh((G.T @ L @ G).astype(np.float64, copy=False))
        np.matmul(G, Q.astype(G.dtype, copy=False), out=new_G)
        np.matmul(V, Q.astype(G.dtype, copy=False), out=new_V)
        np.matmul(new_G.T, L, out=M[views.cells[k] : views.cells[k + 1]].reshape(V.shape[1], -1))
        r[own, 0] = new_G.T @ met.scatter(k, linear[rows])
        g[own, 0] = np.maximum(values, 0.0)
    return turned, M, Effects(r, g)


def _information(
    layout: Layout,
    views: Views,
    M: FloatArray,
    weight: FloatArray,
    linear: FloatArray,
    seen: Effects,
    log_disagreement: float,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """S(σ), −dS/d log σ², and the linear term of λ, with the views integrated out."""
    n, met = layout.n_areas, layout.met
    between = np.bincount(layout.first * n + layout.second, weight, n * n).astype(np.float64).reshape(n, n)
    between += between.T
    S, faded = np.diag(between.sum(axis=1)) - between, np.zeros((n, n))
    pull, variance = onto_areas(layout, linear), np.exp(log_disagreement)
    for k in range(layout.n_judges):
        own, areas = views.coordinates(k), met.of(k)
        if own.start == own.stop:
            continue
        share = 1 / (1 + variance * seen.g[own])
        half = np.sqrt(variance * share) * M[views.cells[k] : views.cells[k + 1]].reshape(-1, len(areas))
        here = np.ix_(areas, areas)
        S[here] -= half.T @ half
        pull[areas] -= half.T @ (np.sqrt(variance * share) * seen.r[own])[:, 0]
        half *= np.sqrt(share)
        faded[here] += half.T @ half
    return S, faded, pull


class Scale(NamedTuple):
    """A number on the whole real line: the log density of its prior, and a starting value."""

    name: str
    log_prior: Callable[[FloatArray], FloatArray]
    start: float
    numbers: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """The numbers behind the prior: those of `Terms`; or 2 log s of a half-Cauchy prior; or none."""


def scales(model: PanelModel, log_variance: float) -> tuple[Scale, ...]:
    """List the scales of the parts that are on; ``log_variance`` is a first guess at log α²."""
    parts, chosen = model.parts, []
    if not isinstance(model.variance, FixedVariance):
        prior = model.variance.terms
        chosen.append(Scale("log_variance", prior.log_density, log_variance, prior))
    if parts.disagreement is not None:
        between = HalfNormal(DISAGREEMENT_SCALE).terms
        chosen.append(Scale("log_disagreement", between.log_density, log_variance - 1.0, between))
    if parts.ties is not None:
        chosen.append(Scale("tie_chance", lambda x: -np.logaddexp(0, x) - np.logaddexp(0, -x), -1.0))
    if parts.side:
        chosen.append(Scale("lean", lambda x: -x * x / 2, 0.0))
        chosen.append(_half_cauchy("log_side", SIDE_SCALE, -1.0))
    if parts.attention:
        chosen.append(_half_cauchy("log_attention", ATTENTION_SCALE, -2.0))
    return tuple(chosen)


def _half_cauchy(name: str, scale: float, start: float) -> Scale:
    offset = float(2 * np.log(scale))
    return Scale(name, lambda x: x / 2 - np.logaddexp(0.0, x - offset), start, (offset, 0.0, 0.0))


FIRST_LOGIT, FIRST_SPREAD = 1.0, 1.0
"""Where chains start: the mean of logit ρ, and its standard deviation."""


class Roughness(NamedTuple):
    """ρ and ψ of some chains, and the resulting covariance of the map."""

    logit: FloatArray
    """logit ρ, (chains,)."""
    local: FloatArray
    """ψ, (chains, areas)."""
    factor: FloatArray
    """L with K = LLᵀ, (chains, areas, areas)."""

    @property
    def rho(self) -> FloatArray:
        """ρ of each chain."""
        rho: FloatArray = expit(self.logit)
        return rho

    @property
    def precision(self) -> FloatArray:
        """The mean of K⁻¹ over the chains."""
        identity = np.eye(self.local.shape[1])
        mean: FloatArray = np.mean([linalg.cho_solve((L, True), identity) for L in self.factor], axis=0)
        return mean


def roughness(C: Covariance, logit: FloatArray, local: FloatArray) -> Roughness:
    """Factor K for these ρ and ψ.

    >>> from judgemap.core.model.prior import independent
    >>> roughness(independent(1), np.zeros(1), np.array([[3.0]])).precision
    array([[0.5]])
    """
    rho, own = expit(logit)[:, None, None], (expit(-logit)[:, None] * local)[:, :, None]
    factor: FloatArray = np.linalg.cholesky(rho * C.matrix + own * np.eye(C.n_areas)).astype(np.float64, copy=False)
    return Roughness(logit, local, factor)


def begin(rng: np.random.Generator, C: Covariance, chains: int) -> Roughness:
    """Start with maps of varying smoothness on which no area stands out."""
    logit = FIRST_LOGIT + FIRST_SPREAD * rng.standard_normal(chains)
    return roughness(C, logit, np.ones((chains, C.n_areas)))


def redraw(rng: np.random.Generator, C: Covariance, maps: FloatArray, now: Roughness) -> Roughness:
    """Draw ρ and then ψ given λ/α, with one row of ``maps`` per chain."""
    from judgemap.core.samplers.judges import compiled

    drawn = Roughness(*(each.copy() for each in now))
    compiled.redraw(rng, C.matrix, C.factor, np.ascontiguousarray(maps), *drawn)
    return drawn


@dataclass(frozen=True, eq=False)
class JudgesTarget:
    """The posterior in the coordinates q."""

    model: PanelModel
    layout: Layout
    scales: tuple[Scale, ...]
    coordinates: Coordinates
    factor: FloatArray | None = None
    """L of each chain, K = LLᵀ, if the smoothness of the map is inferred."""

    @cached_property
    def sections(self) -> dict[str, slice]:
        """Where in q to find each block of coordinates."""
        parts, judges = self.model.parts, self.layout.n_judges
        sizes = {
            "map": self.layout.n_areas,
            "views": self.coordinates.views.size,
            "side": judges if parts.side else 0,
            "attention": judges if parts.attention else 0,
            "lapses": judges if parts.lapses else 0,
            "scales": len(self.scales),
        }
        ends = np.cumsum(list(sizes.values()))
        return {name: slice(int(end) - size, int(end)) for (name, size), end in zip(sizes.items(), ends, strict=True)}

    @cached_property
    def posterior(self) -> "Posterior":
        """All of this, laid out for compiled code."""
        from judgemap.core.samplers.judges.compiled import build_posterior

        return build_posterior(self)

    @property
    def size(self) -> int:
        """The number of coordinates."""
        return int(self.sections["scales"].stop)

    def noise(self, rng: np.random.Generator, chains: int) -> FloatArray:
        """Draw q ~ N(0, I)."""
        return self.coordinates.noise(rng, self.layout, self.size, chains)

    def named(self, x: FloatArray) -> dict[str, FloatArray]:
        """Return the scales by name, from the rows of an array."""
        return {scale.name: row for scale, row in zip(self.scales, x, strict=False)}

    def tie_chance(self, x: FloatArray) -> FloatArray:
        """Return p of each chain, or 0 if there are no ties."""
        chance: FloatArray = expit(self.named(x).get("tie_chance", np.full(x.shape[1], -np.inf)))
        return chance

    def lapse(self, z: FloatArray) -> FloatArray:
        """Return ε of every judge, (judges, chains), or 0 if judges do not lapse."""
        return lapse_rate(z) if len(z) else np.zeros((self.layout.n_judges, z.shape[1]))


class Common(NamedTuple):
    """What all judges share at q, one column per chain."""

    q: FloatArray
    """The coordinates, with the map and the views moved along the scales."""
    x: FloatArray
    """The scales, and below them a row of zeros: that of parts that are off."""
    alpha: FloatArray
    sigma: FloatArray
    faded: FloatArray
    """log σ² − log σ̂²."""
    dimmed: FloatArray
    """d."""
    swelling: FloatArray
    """The logarithm of how much the centre of the map swells, between −1 and 1."""
    map: Placed
    strengths: FloatArray


class Point(NamedTuple):
    """All parameters at q, one column per chain."""

    shared: Common
    views: Placed
    e: FloatArray
    """X_k μ_k."""
    side: Placed
    attention: Placed
    lapse: FloatArray
    """z_k, (judges, chains), if judges may lapse."""
    eta: FloatArray
    """The log-odds of every row."""
    unseen: FloatArray
    """Those of rows whose areas the judge does not know, if judges may know only a part of the map."""


class Told(NamedTuple):
    """What judges who may know only a part of the map tell."""

    gain: FloatArray
    known: FloatArray
    """How likely the judge is to know a row's areas, (rows, chains)."""
    value: FloatArray
    """The log-likelihood of each chain."""


def parameters(target: JudgesTarget, q: FloatArray) -> Point:
    """Compute the parameters and the log-odds of every row from q."""
    from judgemap.core.samplers.judges import compiled

    return compiled.parameters(target.posterior, q)


def tell(target: JudgesTarget, point: Point) -> Told:
    """Sum over what each judge may know."""
    from judgemap.core.samplers.judges import compiled

    p, lapse = target.tie_chance(point.shared.x), target.lapse(point.lapse)
    return compiled.tell(target.posterior, point.eta, point.unseen, p, lapse)


def draw_reach(rng: np.random.Generator, target: JudgesTarget, told: Told) -> tuple[IntArray, IntArray]:
    """Draw every judge's centre and reach, each (chains, judges), given everything else."""
    from judgemap.core.samplers.judges.compiled import weigh_reach

    layout, reach = target.layout, target.model.parts.reach
    if reach is None:
        raise ValueError("these judges know the whole map")
    log_prior, drawn = reach.log_prior, []
    for gain in told.gain.T:
        for judge in range(layout.n_judges):
            rows = layout.met.rows(judge)
            chance = weigh_reach(layout.first[rows], layout.second[rows], reach.steps, log_prior, gain[rows].copy())
            drawn.append(int((chance + rng.gumbel(size=chance.shape)).argmax()))
    centre, steps = np.unravel_index(np.reshape(drawn, (-1, layout.n_judges)), log_prior.shape)
    return centre, steps


def lapse_rate(z: FloatArray) -> FloatArray:
    """ε = 1 − Φ(−z)^{1/rest}, which is Beta(1, rest) if z ~ N(0, 1)."""
    rate: FloatArray = -np.expm1(log_ndtr(-z) / LAPSE_REST)
    return rate


def known_answers(target: JudgesTarget, point: Point) -> Answers | Wins:
    """Count each answer as far as the judge is likely to know its areas."""
    layout = target.layout
    if target.model.parts.reach is None:
        return layout.answers
    return outcomes.weighted(layout.counted, tell(target, point).known)


def map_square(target: JudgesTarget, w: FloatArray) -> FloatArray:
    """λᵀK⁻¹λ/α² of each chain, with λ = αVw."""
    from judgemap.core.samplers.judges.compiled import bend

    if target.factor is None:
        return add_up(w**2)
    maps = target.coordinates.V @ w
    bent = maps.copy()
    bend(target.factor, bent)
    return add_up(maps * bent)
