"""Collapsed Pólya-Gamma Gibbs for the panel model: the oracle that the default sampler of judges is tested against.

With answers (y₁, y₂, t) in each row, Rao and Kupper's θ = 2 artanh p, A = y₁ + t and B = y₂ + t:

    p | η                          by slice sampling, from the likelihood itself
    z₁ ~ PG(A, η − θ), z₂ ~ PG(B, η + θ);   z = z₁ + z₂,  κ = (A − B)/2 + θ(z₁ − z₂)

after which the likelihood of η is Gaussian, exp(κη − zη²/2). In e = X_k(λ + u_k) it has weights Z = a²z and linear term
κ_e = a(κ − z x b). Views are as in `judges.layout`, u_k entering as σ B_k w_k. The map is drawn with them integrated
out, and they are drawn given the map, P_k = I + σ²B_kᵀZB_k:

    λ ~ N(Q⁻¹h, Q⁻¹),  Q = C⁻¹/α² + Σ X_kᵀ[Z − σ²ZB_k P_k⁻¹ B_kᵀZ]X_k,   h = Σ X_kᵀ[κ_e − σ²ZB_k P_k⁻¹ B_kᵀκ_e]
    w_k ~ N(P_k⁻¹ σB_kᵀ(κ_e − ZX_kλ), P_k⁻¹)

Every scale s of effects sw is drawn twice (interweaving): given sw, then given w; with only one of the two it mixes
very slowly. Sides and attention are Gaussian given the rest. Lapses: the number of attentive answers is binomial, then
ε_k ~ Beta. Davidson's ties have no such weights.
Source: Polson, Scott and Windle (2013); Yu and Meng (2011) for interweaving. Not a test module itself.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from judgemap.core.model import outcomes
from judgemap.core.model.judges import Panel, PanelModel, draw_panel
from judgemap.core.model.outcomes import Answers, TieRule
from judgemap.core.model.prior import FixedVariance, InverseGamma
from judgemap.core.samplers.gibbs import draw_gaussian
from judgemap.core.samplers.judges.layout import Layout, Views, build_views, lay_out, onto_areas, summarise_views
from judgemap.core.samplers.judges.target import Roughness, Scale, redraw, roughness, scales
from judgemap.core.samplers.kernel import Arrays, Kernel, by_steps
from judgemap.core.samplers.polyagamma import draw_polyagamma
from judgemap.core.samplers.run import Draws, Plan, run
from judgemap.core.samplers.slices import slice_sample
from judgemap.core.threads import one_thread
from judgemap.core.types import FloatArray, IntArray


class State(NamedTuple):
    """One chain."""

    x: dict[str, float]
    """Scales on the whole real line, as in `panel_scales`."""
    strengths: FloatArray
    w: FloatArray
    """All views, (coordinates, 1)."""
    side: FloatArray
    attention: FloatArray
    lapse: FloatArray
    """These three are (judges, 1), in the layout's order."""
    roughness: Roughness | None
    """The roughness of this one chain, if the smoothness of the map is inferred."""
    seed: int


class Weights(NamedTuple):
    """The Gaussian likelihood exp(κη − zη²/2) of every row."""

    z: FloatArray
    kappa: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Setup:
    """What stays the same while a chain runs."""

    model: PanelModel
    layout: Layout
    views: list[Views]
    used: FloatArray
    """1 for coordinates of views that some row depends on, 0 for padding."""
    scales: dict[str, Scale]


def sample_by_gibbs(rng: np.random.Generator, model: PanelModel, plan: Plan, cores: int = 1) -> Draws:
    """Draw what `sample_panel` draws."""
    with one_thread():
        return run(rng, kernel(model, keep_views=True), (np.arange(plan.chains),), plan, cores)


def build_setup(model: PanelModel) -> Setup:
    """Lay out the data."""
    if model.parts.ties is TieRule.DAVIDSON:
        raise ValueError("there is no Gibbs sampler for Davidson's ties")
    layout, disagreement = lay_out(model), model.parts.disagreement
    views = build_views(layout, disagreement.covariance.factor) if disagreement is not None else []
    used = [np.any(B, axis=1).reshape(-1, 1) for B, _ in views]
    return Setup(
        model=model,
        layout=layout,
        views=views,
        used=np.concatenate([np.zeros((0, 1)), *used]),
        scales={scale.name: scale for scale in scales(model, 0.0)},
    )


def kernel(model: PanelModel, *, keep_views: bool = False) -> Kernel:
    """Build the Gibbs sampler of ``model``; a batch is one chain, started from the prior at moderate scales."""
    setup = build_setup(model)

    def init(rng: np.random.Generator, _chains: IntArray) -> State:
        panel = draw_panel(rng, model.covariance, FixedVariance(1.0), model.parts, model.n_judges)
        moderate = {scale.name: scale.start for scale in setup.scales.values()}
        if "tie_chance" in moderate:
            moderate["tie_chance"] = float(expit(moderate["tie_chance"]))
        if "smoothness" in panel.scales:
            moderate["smoothness"] = panel.scales["smoothness"]
        views = np.zeros_like(panel.views)
        calm = panel._replace(views=views, side=0 * panel.side, attention=0 * panel.side + 1, scales=moderate)
        return state_of(rng, setup, calm)

    return by_steps(
        init, lambda rng, state: step(rng, setup, state), lambda state: read(setup, state, keep_views=keep_views)
    )


def state_of(rng: np.random.Generator, setup: Setup, panel: Panel) -> State:
    """Start a chain at the parameters of one panel."""
    layout, values = setup.layout, dict(panel.scales)
    if "tie_chance" in values:
        values["tie_chance"] = float(logit(values["tie_chance"]))
    rough = None
    if panel.local is not None:
        logit_rho = np.array([logit(values.pop("smoothness"))])
        rough = roughness(setup.model.covariance, logit_rho, panel.local[None])
    w = np.zeros((0, 1))
    if setup.model.parts.disagreement is not None:
        factor = setup.model.parts.disagreement.covariance.factor
        v = np.linalg.solve(factor, panel.views[layout.order].T).T / np.exp(values["log_disagreement"] / 2)
        blocks = zip(layout.blocks, setup.views, strict=True)
        w = np.concatenate([(np.swapaxes(V, 1, 2) @ v[b.judges, :, None]).reshape(-1, 1) for b, (_, V) in blocks])
    chosen = layout.order if setup.model.parts.by_judge else np.zeros(1, dtype=np.int64)
    side, attention, lapse = (each[chosen, None] for each in (panel.side, panel.attention, panel.lapse))
    return State(values, panel.strengths, w, side, attention, lapse, rough, int(rng.integers(2**62)))


def step(rng: np.random.Generator, setup: Setup, state: State) -> State:
    """Draw everything once, each given the rest."""
    parts = setup.model.parts
    log_odds = eta(setup, state)
    answers, state = attentive_answers(rng, setup, state, log_odds)
    if parts.ties is not None:
        state = draw_tie_chance(rng, setup, state, answers, log_odds)
    weights = draw_weights(rng, state, answers, log_odds)
    state = draw_maps(rng, setup, state, weights)
    state = draw_variances(rng, setup, state, weights)
    if parts.side is not None:
        state = draw_side(rng, setup, state, weights)
    if parts.attention is not None:
        state = draw_attention(rng, setup, state, weights)
    if state.roughness is not None:
        state = draw_roughness(rng, setup, state, state.roughness)
    return state._replace(seed=int(rng.integers(2**62)))


def differences(setup: Setup, state: State) -> tuple[FloatArray, FloatArray]:
    """Return X_kλ and B_k w_k for every row."""
    layout = setup.layout
    common = layout.differences(state.strengths)[:, None]
    own = np.zeros_like(common)
    for block, (B, _) in zip(layout.blocks, setup.views, strict=False):
        block.by_judge(own)[...] = B @ block.coordinates(state.w)
    return common, own


def eta(setup: Setup, state: State) -> FloatArray:
    """Return the log-odds of every row."""
    common, own = differences(setup, state)
    e = common + np.exp(state.x.get("log_disagreement", 0.0) / 2) * own
    layout = setup.layout
    log_odds: FloatArray = layout.spread(state.attention) * e + layout.x * layout.spread(state.side)
    return log_odds


def attentive_answers(
    rng: np.random.Generator, setup: Setup, state: State, log_odds: FloatArray
) -> tuple[Answers, State]:
    """Draw how many answers in each row were attentive, then the lapse rates."""
    layout, parts, answers = setup.layout, setup.model.parts, setup.layout.counted
    if parts.lapses is None:
        return answers, state
    p = expit(np.array([state.x.get("tie_chance", -np.inf)]))
    epsilon = layout.spread(state.lapse)
    chances = outcomes.log_chances(parts.ties, log_odds, outcomes.odds(log_odds), p)[:2]
    looked = [(1 - epsilon) * np.exp(each) for each in chances]
    first, second = (
        rng.binomial(y.astype(np.int64), each / (each + epsilon / 2)).astype(np.float64)
        for y, each in zip(answers[:2], looked, strict=True)
    )
    attentive = layout.sum_by_judge(first + second + answers.ties)
    lapsed = layout.sum_by_judge(answers.first + answers.second - first - second)
    rates = rng.beta(1 + lapsed, parts.lapses.rest + attentive)
    return Answers(first, second, answers.ties), state._replace(lapse=rates)


def draw_tie_chance(
    rng: np.random.Generator, setup: Setup, state: State, answers: Answers, log_odds: FloatArray
) -> State:
    """Draw p given the log-odds, before the Pólya-Gamma weights are drawn."""
    prior = setup.scales["tie_chance"].log_prior

    def log_density(x: float) -> float:
        p = np.array([expit(x)])
        rows = outcomes.log_likelihood(answers, setup.model.parts.ties, log_odds, p)
        return float(rows.sum() + prior(np.array(x)))

    return _with(state, "tie_chance", slice_sample(rng, state.x["tie_chance"], log_density))


def draw_weights(rng: np.random.Generator, state: State, answers: Answers, log_odds: FloatArray) -> Weights:
    """Draw z₁ and z₂ of every row."""
    theta = 2 * np.arctanh(expit(state.x.get("tie_chance", -np.inf)))
    first, second = answers.first + answers.ties, answers.second + answers.ties
    up, down = draw_polyagamma(rng, first, log_odds - theta), draw_polyagamma(rng, second, log_odds + theta)
    return Weights(up + down, (first - second) / 2 + theta * (up - down))


def draw_maps(rng: np.random.Generator, setup: Setup, state: State, weights: Weights) -> State:
    """Draw λ with the views integrated out, then every judge's view given λ."""
    layout = setup.layout
    Z, kappa = in_differences(setup, state, weights)
    sigma = np.exp(state.x.get("log_disagreement", 0.0) / 2)
    precision = prior_precision(setup, state)
    z, rest = Z[:, 0], kappa[:, 0].copy()
    np.add.at(precision, (layout.first, layout.first), z)
    np.add.at(precision, (layout.second, layout.second), z)
    np.add.at(precision, (layout.first, layout.second), -z)
    np.add.at(precision, (layout.second, layout.first), -z)
    roots = []
    for block, (B, _) in zip(layout.blocks, setup.views, strict=False):
        ZB = block.by_judge(Z) * B
        identity = np.eye(block.n_views)
        root = np.linalg.inv(np.linalg.cholesky(identity + sigma**2 * np.swapaxes(B, 1, 2) @ ZB))
        Y = root @ np.swapaxes(sigma * ZB, 1, 2)
        pulled = root @ (sigma * np.swapaxes(B, 1, 2) @ block.by_judge(kappa))
        precision -= lost_information(Y @ layout.dense(block))
        rest[block.rows] -= (np.swapaxes(Y, 1, 2) @ pulled).ravel()
        roots.append(root)
    strengths = draw_gaussian(rng, precision, onto_areas(layout, rest))
    w, left = np.empty_like(state.w), kappa - Z * layout.differences(strengths)[:, None]
    for block, (B, _), root in zip(layout.blocks, setup.views, roots, strict=False):
        pulled = root @ (sigma * np.swapaxes(B, 1, 2) @ block.by_judge(left))
        block.coordinates(w)[...] = np.swapaxes(root, 1, 2) @ (pulled + rng.standard_normal(pulled.shape))
    return state._replace(strengths=strengths, w=w)


def lost_information(seen: FloatArray) -> FloatArray:
    """Sum YᵀY over judges, Y = σL⁻¹B_kᵀZX_k with P_k = LLᵀ: the information lost because the views are unknown."""
    lost: FloatArray = np.tensordot(seen, seen, axes=([0, 1], [0, 1]))
    return lost


def in_differences(setup: Setup, state: State, weights: Weights) -> tuple[FloatArray, FloatArray]:
    """Return the weights and the linear term of the likelihood in e = X_k μ_k."""
    layout = setup.layout
    a, b = layout.spread(state.attention), layout.spread(state.side)
    return a**2 * weights.z, a * (weights.kappa - weights.z * layout.x * b)


def prior_precision(setup: Setup, state: State) -> FloatArray:
    """C⁻¹/α², or K⁻¹/α²."""
    rough = state.roughness
    inverse = setup.model.covariance.inverse if rough is None else rough.precision[0]
    scaled: FloatArray = inverse * np.exp(-log_variance(setup, state))
    return scaled


def log_variance(setup: Setup, state: State) -> float:
    """Return log α², inferred or fixed."""
    variance = setup.model.variance
    return float(np.log(variance.value)) if isinstance(variance, FixedVariance) else state.x["log_variance"]


def interweave(
    rng: np.random.Generator,
    log_prior: Callable[[FloatArray], FloatArray],
    old: float,
    effects: tuple[float, float],
    along: Callable[[float], tuple[float, float]],
) -> tuple[float, float]:
    """Draw x = log s² given effects E = sw (their number and Σ E²), then given w; return both draws.

    With w = E e^{−x/2} at the first draw, ``along`` returns A and B of the likelihood exp(Bs − As²/2) of the second.
    """
    count, size = effects
    kept = slice_sample(rng, old, lambda x: float(log_prior(np.array(x)) - count * x / 2 - size * np.exp(-x) / 2))
    square, linear = along(kept)
    moved = slice_sample(
        rng,
        kept,
        lambda x: float(log_prior(np.array(x)) + linear * np.exp(x / 2) - square * np.exp(x) / 2),
    )
    return kept, moved


def draw_variances(rng: np.random.Generator, setup: Setup, state: State, weights: Weights) -> State:
    """Draw α² and σ², each first given its effects and then given the effects in units of it."""
    Z, kappa = in_differences(setup, state, weights)
    if isinstance(setup.model.variance, InverseGamma):
        old = state.x["log_variance"]
        size = float(state.strengths @ prior_precision(setup, state) @ state.strengths) * np.exp(old)
        _, own = differences(setup, state)
        left = kappa - Z * np.exp(state.x.get("log_disagreement", 0.0) / 2) * own

        def along(shape: float) -> tuple[float, float]:
            f = setup.layout.differences(state.strengths)[:, None] * np.exp(-shape / 2)
            return float((Z * f * f).sum()), float((left * f).sum())

        kept, moved = interweave(rng, setup.scales["log_variance"].log_prior, old, (setup.model.n_areas, size), along)
        state = _with(state, "log_variance", moved)._replace(strengths=state.strengths * np.exp((moved - kept) / 2))
    if "log_disagreement" in setup.scales:
        old = state.x["log_disagreement"]
        common, own = differences(setup, state)
        used, left = float(setup.used.sum()), kappa - Z * common
        size = float((setup.used * state.w**2).sum()) * np.exp(old)

        def along_views(shape: float) -> tuple[float, float]:
            f = own * np.exp((old - shape) / 2)
            return float((Z * f * f).sum()), float((left * f).sum())

        kept, moved = interweave(rng, setup.scales["log_disagreement"].log_prior, old, (used, size), along_views)
        state = _with(state, "log_disagreement", moved)._replace(
            w=state.w * np.where(setup.used > 0, np.exp((old - kept) / 2), 1.0)
        )
    return state


def draw_side(rng: np.random.Generator, setup: Setup, state: State, weights: Weights) -> State:
    """Draw b_k, then b, then σ_b²."""
    layout = setup.layout
    common, own = differences(setup, state)
    e = common + np.exp(state.x.get("log_disagreement", 0.0) / 2) * own
    g = layout.sum_by_judge(weights.z * layout.x**2)
    r = layout.sum_by_judge(layout.x * (weights.kappa - weights.z * layout.spread(state.attention) * e))
    lean, old = state.x["lean"], state.x["log_side"]
    side = _draw_effects(rng, g, r, lean, np.exp(-old))
    pull = np.exp(-old)
    lean = float((pull * side.sum() + rng.standard_normal() * np.sqrt(1 + pull * len(side))) / (1 + pull * len(side)))
    state = _with(state, "lean", lean)
    shift = side - lean

    def along(shape: float) -> tuple[float, float]:
        f = shift * np.exp(-shape / 2)
        return float((g * f * f).sum()), float(((r - g * lean) * f).sum())

    kept, moved = interweave(rng, setup.scales["log_side"].log_prior, old, (len(side), float((shift**2).sum())), along)
    return _with(state, "log_side", moved)._replace(side=lean + shift * np.exp((moved - kept) / 2))


def draw_attention(rng: np.random.Generator, setup: Setup, state: State, weights: Weights) -> State:
    """Draw a_k, then σ_a²."""
    layout = setup.layout
    common, own = differences(setup, state)
    e = common + np.exp(state.x.get("log_disagreement", 0.0) / 2) * own
    g = layout.sum_by_judge(weights.z * e**2)
    r = layout.sum_by_judge(e * (weights.kappa - weights.z * layout.x * layout.spread(state.side)))
    old = state.x["log_attention"]
    shift = _draw_effects(rng, g, r, 1.0, np.exp(-old)) - 1

    def along(shape: float) -> tuple[float, float]:
        f = shift * np.exp(-shape / 2)
        return float((g * f * f).sum()), float(((r - g) * f).sum())

    kept, moved = interweave(
        rng, setup.scales["log_attention"].log_prior, old, (len(shift), float((shift**2).sum())), along
    )
    return _with(state, "log_attention", moved)._replace(attention=1 + shift * np.exp((moved - kept) / 2))


def draw_roughness(rng: np.random.Generator, setup: Setup, state: State, now: Roughness) -> State:
    """Draw ρ and ψ given λ and α²."""
    maps = state.strengths[None] * np.exp(-log_variance(setup, state) / 2)
    return state._replace(roughness=redraw(rng, setup.model.covariance, maps, now))


def read(setup: Setup, state: State, *, keep_views: bool) -> Arrays:
    """Return the parameters as one row; `sample_panel` lists their names."""
    layout, parts = setup.layout, setup.model.parts
    order = np.argsort(layout.order)
    arrays: Arrays = {"strengths": state.strengths[None]}
    for name in setup.scales:
        value = state.x[name]
        arrays[name] = np.array([expit(value) if name == "tie_chance" else value])
    if state.roughness is not None:
        arrays |= {"smoothness": state.roughness.rho, "local_variance": state.roughness.local}
    if parts.disagreement is not None:
        noise = np.random.default_rng(state.seed).standard_normal((layout.n_judges, layout.n_areas, 1))
        for block, (_, V) in zip(layout.blocks, setup.views, strict=True):
            missing = block.coordinates(state.w) - np.swapaxes(V, 1, 2) @ noise[block.judges]
            noise[block.judges] += V @ missing
        sigma = np.exp(state.x["log_disagreement"] / 2)
        views = sigma * (noise[:, :, 0] @ parts.disagreement.covariance.factor.T)[order]
        arrays |= summarise_views(arrays["strengths"], views[None], keep_views=keep_views)
    for name, part, values in (
        ("side", parts.side, state.side),
        ("attention", parts.attention, state.attention),
        ("lapse", parts.lapses, state.lapse),
    ):
        if part is not None:
            arrays[name] = values[order].T
    return arrays | {"acceptance": np.ones(1)}


def _draw_effects(rng: np.random.Generator, g: FloatArray, r: FloatArray, mean: float, pull: float) -> FloatArray:
    """Draw effects with prior N(mean, 1/pull) and likelihood exp(rx − gx²/2)."""
    precision = g + pull
    drawn: FloatArray = (r + pull * mean) / precision + rng.standard_normal(g.shape) / np.sqrt(precision)
    return drawn


def _with(state: State, name: str, value: float) -> State:
    return state._replace(x={**state.x, name: value})
