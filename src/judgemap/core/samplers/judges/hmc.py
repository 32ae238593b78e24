"""Split Hamiltonian Monte Carlo for the panel model, many chains at a time: the default for every panel.

Works like `hmc`, in the coordinates of `panel_coordinates`: a trajectory rotates exactly under the N(0, I) part of the
posterior and is kicked by the rest of the gradient; a Metropolis step makes it exact.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from judgemap.core.model.judges import PanelModel
from judgemap.core.model.outcomes import add_up
from judgemap.core.samplers.judges import smoothness as panel_smoothness
from judgemap.core.samplers.judges.layout import summarise_views
from judgemap.core.samplers.judges.smoothness import Roughness
from judgemap.core.samplers.judges.target import (
    Point,
    Target,
    common,
    gradient,
    lapse_rate,
    log_density,
    parameters,
)
from judgemap.core.samplers.kernel import Arrays, Kernel, broke_down, by_steps
from judgemap.core.types import FloatArray, IntArray

QUARTER_TURN = np.pi / 2
TURNS = (0.9, 1.1)
"""The range of a trajectory's length, as shares of a quarter turn."""
GOOD_ACCEPTANCE = 0.8
MOST_KICKS = 64
START_SPREAD = 1.5
"""How much wider than the posterior the map and the scales start. Judges' effects start only as wide as they are:
there can be so many of them that no trajectory would lead back."""


class State(NamedTuple):
    """Where the chains are, one column each."""

    q: FloatArray
    residual: FloatArray
    """∇log p(q) + q: what the rotation leaves to the kicks."""
    log_density: FloatArray
    acceptance: FloatArray
    divergences: IntArray
    seed: IntArray
    """The seed for drawing the part of the views that the answers do not depend on: one number, for all chains."""
    roughness: Roughness | None = None
    """Set if the smoothness of the map is inferred."""


def kernel(model: PanelModel, *, keep_views: bool = False) -> Kernel:
    """Build the sampler of ``model``; a short pilot with a fixed seed finds the coordinates and the number of kicks.

    ``keep_views`` keeps every judge's view in every draw, which takes judges × areas numbers per draw.
    """
    from judgemap.core.samplers.judges.pilot import build_target

    target, kicks = build_target(model)
    return transition(target, kicks, keep_views=keep_views)


def transition(target: Target, kicks: int, *, keep_views: bool = True) -> Kernel:
    """Return the kernel with a given number of kicks per trajectory; exact for any number, efficient with enough."""

    def init(rng: np.random.Generator, chains: IntArray) -> State:
        q, part = target.noise(rng, len(chains)), target.sections
        for name in ("map", "scales"):
            q[part[name]] *= START_SPREAD
        return start(rng, target, q)

    def step(rng: np.random.Generator, state: State) -> State:
        return trajectory(rng, target, state, kicks)

    return by_steps(init, step, lambda state: read(target, state, keep_views=keep_views), batch_width(target))


def batch_width(target: Target) -> int:
    """How many chains share a NumPy call: many while arrays fit in cache, but at least four per reading of each B_k."""
    return int(np.clip(60_000 // max(len(target.layout.first), target.size), 4, 32))


def start(rng: np.random.Generator, target: Target, q: FloatArray, rough: Roughness | None = None) -> State:
    """Start chains at q, with the given roughness or, if that is to be inferred, with that of `begin`."""
    model, chains = target.model, q.shape[1]
    if rough is None and model.parts.smoothness is not None:
        rough = panel_smoothness.begin(rng, model.covariance, chains)
    state = State(q, q, np.zeros(chains), np.ones(chains), np.zeros(chains, np.int64), _seed(rng), rough)
    return _evaluated(target, state)


def _evaluated(target: Target, state: State) -> State:
    """Fill in the density at q and its gradient."""
    if state.roughness is not None:
        target = replace(target, precision=state.roughness.precision)
    point = parameters(target, state.q)
    residual = gradient(target, state.q, point) + state.q
    return state._replace(residual=residual, log_density=log_density(target, point))


def _with_roughness(rng: np.random.Generator, target: Target, state: State) -> tuple[Target, State]:
    """Draw how smooth each chain's map is, given the map; return the target with that smoothness."""
    if state.roughness is None:
        return target, state
    shared, C = common(target, state.q), target.model.covariance
    rough = panel_smoothness.redraw(rng, C, (shared.strengths / shared.alpha).T, state.roughness)
    return replace(target, precision=rough.precision), _evaluated(target, state._replace(roughness=rough))


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def trajectory(
    rng: np.random.Generator, target: Target, state: State, kicks: int, turns: tuple[float, float] = TURNS
) -> State:
    """Propose by one trajectory of ``kicks`` rotations between half kicks; each chain accepts or stays."""
    target, state = _with_roughness(rng, target, state)
    chains = state.q.shape[1]
    momentum = target.noise(rng, chains)
    energy = state.log_density - add_up(momentum**2) / 2
    angle = QUARTER_TURN / kicks * rng.uniform(*turns)  # the same for all chains, so that it multiplies whole arrays
    cos, sin = np.cos(angle), np.sin(angle)
    q, residual = state.q, state.residual
    for _ in range(kicks):
        momentum += angle / 2 * residual
        q = _turn(q, momentum, float(cos), float(sin))
        point = parameters(target, q)
        residual = gradient(target, q, point)
        residual += q
        momentum += angle / 2 * residual
    density = log_density(target, point)
    change = density - add_up(momentum**2) / 2 - energy
    broken = broke_down(change)
    change = np.where(broken, -np.inf, np.minimum(change, 0.0))
    accepted = np.log(rng.random(chains)) < change

    def reached(new: FloatArray, old: FloatArray) -> FloatArray:
        return np.where(accepted, new, old)

    return State(
        reached(q, state.q),
        reached(residual, state.residual),
        reached(density, state.log_density),
        np.exp(change),
        state.divergences + broken,
        _seed(rng),
        state.roughness,
    )


def _turn(q: FloatArray, momentum: FloatArray, cos: float, sin: float) -> FloatArray:
    """Rotate: return the new q, and change the momentum in place. Arrays can be large, so few are made."""
    turned, other = cos * q, sin * momentum
    turned += other
    np.multiply(q, sin, out=other)
    momentum *= cos
    momentum -= other
    return turned


def read(target: Target, state: State, *, keep_views: bool) -> Arrays:
    """Turn q back into the parameters; `sample_panel` lists their names."""
    parts, shared = target.model.parts, common(target, state.q)
    arrays: Arrays = {"strengths": shared.strengths.T}
    arrays |= {name: expit(values) if name == "tie_chance" else values for name, values in shared.x.items()}
    if state.roughness is not None:
        arrays |= {"smoothness": state.roughness.rho, "local_variance": state.roughness.local}
    arrays |= {"acceptance": state.acceptance, "divergences": state.divergences}
    if not parts.by_judge:
        return arrays
    point, order = parameters(target, state.q), np.argsort(target.layout.order)
    if parts.disagreement is not None:
        views = _views(target, state, point)[:, order]
        arrays |= summarise_views(arrays["strengths"], views, keep_views=keep_views)
    if point.side is not None:
        arrays["side"] = (point.x["lean"] + np.exp(point.x["log_side"] / 2) * point.side.w)[order].T
    if point.attention is not None:
        arrays["attention"] = (1 + np.exp(point.x["log_attention"] / 2) * point.attention.w)[order].T
    if point.lapse is not None and parts.lapses is not None:
        arrays["lapse"] = lapse_rate(parts.lapses, point.lapse)[order].T
    return arrays


def _seed(rng: np.random.Generator) -> IntArray:
    seed: IntArray = rng.integers(2**62, size=1)
    return seed


def _views(target: Target, state: State, point: Point) -> FloatArray:
    """Complete the views, (chain, judge, area): u = σF(V(w − Vᵀε) + ε), with ε ~ N(0, I) for what no answer sees."""
    layout, disagreement = target.layout, target.model.parts.disagreement
    if disagreement is None:
        raise ValueError("this model has no views")
    areas, chains = layout.n_areas, state.q.shape[1]
    rng, seen = np.random.default_rng(state.seed), []
    for block, (_, V) in zip(layout.blocks, target.coordinates.views, strict=True):
        w = block.coordinates(point.views.w)
        if block.n_views < areas:
            noise = rng.standard_normal((block.n_judges, areas, chains))
            v = noise + V @ (w - np.swapaxes(V, 1, 2) @ noise)
        else:
            v = V @ w
        seen.append(np.swapaxes(v, 0, 1).reshape(areas, -1))
    views = (disagreement.covariance.factor @ np.concatenate(seen, axis=1)).reshape(areas, -1, chains) * point.sigma
    return np.ascontiguousarray(views.T)
