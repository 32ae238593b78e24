"""Split Hamiltonian Monte Carlo for the panel model, many chains at a time, in the coordinates of `judges.target`.

The coordinates are placed by short pilot runs, each of which places those of the next. The first round uses the pooled
model without ties. Means over the second half of a round's draws, of weights −∂²ℓ/∂e², scores ∂ℓ/∂e and scales, place
the next; the pilot's generator has a fixed seed, so nothing depends on that of the run.

With thousands of judges such rounds cost more than the run. Some of the judges then say where the scales are. Given
those, effects are placed without trajectories, by draws from the coordinates themselves (`refined`); one round of all
judges is left to place the scales precisely.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit, logit

from judgemap.core.approximate import approximate
from judgemap.core.model.judges import PanelModel
from judgemap.core.model.outcomes import TieRule, add_up, curvature, log_likelihood, slopes
from judgemap.core.model.prior import Model
from judgemap.core.samplers import split_hmc
from judgemap.core.samplers.judges.layout import Layout, Views, build_views, lay_out, one_sided, summarise_views
from judgemap.core.samplers.judges.target import (
    AT_ONCE,
    FIRST_LOGIT,
    Common,
    Coordinates,
    Effects,
    JudgesTarget,
    Point,
    Roughness,
    Scale,
    ScalesKnown,
    Summary,
    begin,
    coordinates,
    draw_reach,
    known_answers,
    lapse_rate,
    map_square,
    parameters,
    redraw,
    roughness,
    scales,
    tell,
)
from judgemap.core.samplers.kernel import Arrays, Kernel, check_block
from judgemap.core.samplers.run import Draws, Plan, Watcher, run
from judgemap.core.samplers.slices import slice_line
from judgemap.core.samplers.split_hmc import HMCState, Split
from judgemap.core.threads import one_thread, pieces
from judgemap.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from judgemap.core.samplers.judges.compiled import Posterior

TURNS = (1.0, 1.3)
"""The range of a trajectory's length, as shares of a quarter turn: a little beyond it, which helps the scales most."""
GOOD_ACCEPTANCE, LOWEST_ACCEPTANCE = 0.8, 0.3
"""The mean of all proposals, and of the tenth that are least likely to be accepted."""
MOST_KICKS = 64
START_SPREAD = 1.5
"""How much wider than the posterior the map and the scales start. Judges' effects start only as wide as they are:
there can be so many of them that no trajectory would lead back."""
FINER, FIRST_STEPS = 4, 6
"""The first steps of a chain make this many times as many kicks. Where judges are alike, log σ² has a long tail to the
left and a wall to the right: a chain that starts on the wall comes down by fine steps only."""
MOST_RESTARTS = 5
WIDE, WIDE_VIEWS, WIDE_STEP, BEFORE_WIDE = 0.6, 1.0, 1.5, 5
"""With few answers, log α² has a standard deviation above the first, or log σ² one above the second: `move_widely` then
follows every five trajectories, which cost about as much, with slices that begin as wide as the third."""
MAY_VANISH, NOW_AND_THEN = 0.45, 0.25
"""If the standard deviation of log σ² lies between the first and `WIDE_VIEWS`, σ² is known, but may be nearly nothing:
a chain that gets there stays for long, so `move_widely` follows a trajectory with the second probability."""
BEFORE_TRADE, TRADE_STEP = 2, 0.5
"""If judges differ in attention it follows every two; and how wide the slice of log c is at first."""
ROUNDS, ROUNDS_ALIKE = (16, 16, 24), (10, 12)
"""Steps of each round; the second half counts. If judges do not differ, the first coordinates are good already."""
PILOT_TURNS = (0.5, 1.2)
"""Shares of a quarter turn: varied lengths, so that a scale placed far too wide does not swing to and fro."""
PILOT_WIDE = 2
"""After how many trajectories of a pilot `move_widely` follows, if judges differ in attention: α², σ² and σ_a² can then
stand in for each other, and trajectories in first coordinates are flung to where one of them is nothing."""
MOST_HEED = 10.0
"""A pilot's chain may be flung to where attention is without bounds; it must not place everybody's coordinates."""
MANY, SOME = 400, 200
"""With more judges than the first, a pilot of the second places the scales."""
REFINEMENTS = (4, 8), 24
"""How many times as many draws as chains place the effects: before the round of all judges, and after it."""
DIMMER = 1.5
"""Weights of the rows that say most about the views change this much faster with the scales than all weights do."""
SHEARS, SHEAR_STEP = 6, 0.5
"""How many batches of draws say how coordinates move with the scales, and over which distance."""
CHAINS, BATCH, IN_CACHE, FEW_ROWS = 16, 4, 2_000_000, 1000
"""The most chains of a pilot, and those of a batch: a core's share. A batch has as many as a pilot if there are more
entries of all M_k than the third number, which no longer fit into the processor's caches and are read once for a whole
batch; or if there are fewer rows than the fourth, when a step spends its time in Python, on one core at a time."""
FIRST_KICKS = 3
FIRST_SCALE_SD = 0.5
FIRST_TIE_LOGIT = -1.4
MOST_VIEWS = 200_000_000
"""Judges' views are kept if all their draws together are at most this many numbers, 800 MB."""


class JudgesState(NamedTuple):
    """Where the chains are, one column each, and what belongs to them but is not moved by trajectories."""

    chains: HMCState
    seed: IntArray
    """The seed for drawing the part of the views that the answers do not depend on: one number, for all chains."""
    roughness: Roughness | None = None
    """Set if the smoothness of the map is inferred."""
    restarts: IntArray | None = None
    """How many times each chain was started again, because it accepted none of its first steps."""

    @property
    def q(self) -> FloatArray:
        """The coordinates."""
        return self.chains.q

    @property
    def acceptance(self) -> FloatArray:
        """How likely the last proposals were to be accepted."""
        return self.chains.acceptance


def kernel(model: PanelModel, *, keep_views: bool = False) -> Kernel:
    """Build the sampler of ``model``; a short pilot with a fixed seed finds the coordinates and the number of kicks.

    ``keep_views`` keeps every judge's view in every draw, which takes judges × areas numbers per draw.
    """
    target, kicks = build_target(model)
    return transition(target, kicks, keep_views=keep_views, widely=is_wide(target), at_times=may_vanish(target))


def transition(
    target: JudgesTarget, kicks: int, *, keep_views: bool = True, widely: bool = False, at_times: bool = False
) -> Kernel:
    """Return the kernel with a given number of kicks per trajectory; exact for any number, efficient with enough.

    ``widely`` adds the moves of `move_widely`, ``at_times`` adds them now and then.
    """

    def init(rng: np.random.Generator, chains: IntArray) -> JudgesState:
        q, part = target.noise(rng, len(chains)), target.sections
        for name in ("map", "scales"):
            q[part[name]] *= START_SPREAD
        return settled(rng, target, start(rng, target, q), FINER * kicks)

    before = 1 if not widely else BEFORE_WIDE if not target.model.parts.attention else BEFORE_TRADE

    def step(rng: np.random.Generator, state: JudgesState) -> JudgesState:
        for _ in range(before):
            state = trajectory(rng, target, state, kicks)
        return move_widely(rng, target, state) if widely or (at_times and rng.random() < NOW_AND_THEN) else state

    shared = len(target.coordinates.M) < IN_CACHE and len(target.layout.first) >= FEW_ROWS
    width = BATCH if shared else CHAINS

    def advance(rng: np.random.Generator, state: JudgesState, steps: int, thin: int) -> tuple[JudgesState, Arrays]:
        check_block(steps, thin)
        before, kept = state.chains.divergences, []
        for number in range(1, steps + 1):
            state = step(rng, state)
            if number % thin == 0:
                kept.append(state)
        draws = read(target, kept, keep_views=keep_views)
        draws["divergences"] = np.diff(draws["divergences"], axis=1, prepend=before[:, None])
        return state, draws

    return Kernel(init, advance, width)


def pilot_width(target: JudgesTarget) -> int:
    """How many chains a pilot has: few where a step is dear, because its chains serve for means alone."""
    return int(np.clip(60_000 // max(len(target.layout.first), target.size), 4, CHAINS))


def start(rng: np.random.Generator, target: JudgesTarget, q: FloatArray, rough: Roughness | None = None) -> JudgesState:
    """Start chains at q, with the given roughness or, if that is to be inferred, with that of `begin`."""
    model = target.model
    if rough is None and model.parts.smoothness:
        rough = begin(rng, model.covariance, q.shape[1])
    seed = _seed(rng)
    return JudgesState(look(target if rough is None else replace(target, factor=rough.factor), q), seed, rough)


def settled(rng: np.random.Generator, target: JudgesTarget, state: JudgesState, kicks: int) -> JudgesState:
    """Make the first steps; chains that accept none of them start again, no wider than the posterior, and are counted.

    Where a chain starts does not change what it converges to, so restarting leaves the sampler exact.
    """
    chains = state.q.shape[1]
    restarts = np.zeros(chains, np.int64)
    for _ in range(MOST_RESTARTS):
        before = state.q
        for _ in range(FIRST_STEPS):
            state = trajectory(rng, target, state, kicks)
        stuck = (state.q == before).all(axis=0)
        if not stuck.any():
            break
        restarts += stuck
        state = start(rng, target, np.where(stuck, target.noise(rng, chains), state.q), state.roughness)
    clean = state.chains._replace(divergences=np.zeros(chains, np.int64))
    return state._replace(chains=clean, restarts=restarts)


def look(target: JudgesTarget, q: FloatArray) -> HMCState:
    """Evaluate the slope and the density at q."""
    from judgemap.core.samplers.judges import compiled

    # A trajectory that leads nowhere, because every function that Python calls takes a moment to load.
    _, residual, density = compiled.travel(target.posterior, q, np.zeros_like(q), np.zeros_like(q), 0.0, 1)
    return HMCState(q, residual, density, np.ones(q.shape[1]), np.zeros(q.shape[1], np.int64))


def trajectory(
    rng: np.random.Generator, target: JudgesTarget, state: JudgesState, kicks: int, turns: tuple[float, float] = TURNS
) -> JudgesState:
    """Draw how smooth each chain's map is, if that is inferred, then make one trajectory.

    All chains turn equally far, so that the angle multiplies whole arrays.
    """
    chains, rough = state.chains, state.roughness
    if rough is not None:
        from judgemap.core.samplers.judges.compiled import common

        shared = common(target.posterior, chains.q)
        rough = redraw(rng, target.model.covariance, (shared.strengths / shared.alpha).T, rough)
        target = replace(target, factor=rough.factor)
        chains = look(target, chains.q)._replace(acceptance=chains.acceptance, divergences=chains.divergences)

    def log_joint(state: HMCState, momentum: FloatArray) -> FloatArray:
        joint: FloatArray = state.log_density - add_up(momentum**2) / 2
        return joint

    split = Split(
        target.noise,
        log_joint,
        partial(_travel, target.posterior),
        lambda rng, _chains: float(rng.uniform(*turns)),
    )
    return JudgesState(split_hmc.step(rng, split, chains, kicks), _seed(rng), rough, state.restarts)


def _travel(posterior: "Posterior", state: HMCState, momentum: FloatArray, turn: float, kicks: int) -> HMCState:
    from judgemap.core.samplers.judges import compiled

    moved = compiled.travel(posterior, state.q, state.residual, momentum, turn / kicks, kicks)
    return HMCState(*moved, state.acceptance, state.divergences)


def is_wide(target: JudgesTarget) -> bool:
    """Whether the answers say so little about α² or σ² that coordinates made for one value do not suit another.

    σ² may be nearly nothing, where the views do not matter; it is its other end that matters, if that is near α². With
    `reach` every look costs so much that slices would take minutes. With `attention` judges may have to turn round.
    """
    if target.model.parts.reach is not None:
        return False
    if target.model.parts.attention:
        return True
    mean, sd = target.coordinates.known.scales.means(), target.coordinates.known.scales.sds()
    if sd.get("log_variance", 0.0) > WIDE:
        return True
    if sd.get("log_disagreement", 0.0) <= WIDE_VIEWS:
        return False
    return mean["log_disagreement"] + 2 * sd["log_disagreement"] > mean.get("log_variance", np.inf) - 1


def may_vanish(target: JudgesTarget) -> bool:
    """Whether σ² is known, but not so well that it cannot be nearly nothing."""
    sd = target.coordinates.known.scales.sds().get("log_disagreement", 0.0)
    return target.model.parts.reach is None and MAY_VANISH < sd <= WIDE_VIEWS


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def move_widely(
    rng: np.random.Generator, target: JudgesTarget, state: JudgesState, *, trading: bool = True
) -> JudgesState:
    """Draw the scales of all effects by slices, which reach where trajectories break down; `trade` and `turn_round`."""
    rough, layout, parts = state.roughness, target.layout, target.model.parts
    target = target if rough is None else replace(target, factor=rough.factor)
    # 1. The effects in units of their scales, and what they are in each row: η = (1 + attention)(map + view) + side.
    point = parameters(target, state.q)
    shared = point.shared
    p, lapse, x = target.tie_chance(shared.x), layout.spread(target.lapse(point.lapse)), target.named(shared.x)
    by_map = layout.differences(shared.strengths)
    w = {"log_variance": shared.map.w, "log_disagreement": point.views.w}
    rows = {"log_variance": by_map, "log_disagreement": point.e - by_map}
    lean = layout.x * x["lean"] if parts.side else np.zeros((1, 1))
    if parts.side:
        w["log_side"] = point.side.w
        rows["log_side"] = layout.x * layout.spread(np.exp(x["log_side"] / 2) * point.side.w)
    if parts.attention:
        w["log_attention"] = point.attention.w
        rows["log_attention"] = layout.spread(np.exp(x["log_attention"] / 2) * point.attention.w)

    def likelihood(name: str, size: FloatArray) -> FloatArray:
        at = rows | {name: rows[name] * size}
        unseen = at.get("log_side", 0.0) + lean
        eta = (1 + at.get("log_attention", 0.0)) * (at["log_variance"] + at["log_disagreement"]) + unseen
        if parts.reach is not None:
            return tell(target, point._replace(eta=eta, unseen=np.broadcast_to(unseen, eta.shape).copy())).value
        return add_up(log_likelihood(layout.answers, parts.ties, eta, p, lapse))

    # 2. Each scale; the effects keep their size at first, and grow with it then.
    squares = {name: add_up(each**2) for name, each in w.items()} | {"log_variance": map_square(target, shared.map.w)}
    for scale in (scale for scale in target.scales if scale.name in w):
        name, old = scale.name, x[scale.name]
        effects = len(w[name]), squares[name] * np.exp(old)
        now, x[name] = interweave(rng, scale, old, effects, partial(likelihood, name))
        rows[name] = rows[name] * np.exp((x[name] - now) / 2)
        w[name] = w[name] * np.exp((old - now) / 2)
    if trading and parts.attention and "log_variance" in x:
        trade(rng, target, x, w)
    if parts.disagreement is not None and parts.attention:
        alpha = np.exp(x["log_variance"] / 2) if "log_variance" in x else shared.alpha
        turn_round(rng, target, target.coordinates.V @ (alpha * w["log_variance"]), x, w)
    # Trajectories that break down where scales are extreme do not discredit the draws: these moves go on there.
    return state._replace(chains=look(target, _back(target, state.q, x, w))._replace(acceptance=state.acceptance))


def trade(rng: np.random.Generator, target: JudgesTarget, x: Arrays, w: dict[str, FloatArray]) -> None:
    """Let all judges be c times as attentive to a map and views 1/c times as large, by a slice of log c, in place.

    All answer as they did, so the prior alone counts, and the volume c^judges. Trajectories are slow along this line.
    Source: Liu and Sabatti (2000), Generalised Gibbs sampler, Biometrika 87, 353-369.
    """
    spread, sizes = np.exp(x["log_attention"] / 2), ("log_variance", "log_disagreement")
    attention = 1 + spread * w["log_attention"]

    def height(t: FloatArray) -> FloatArray:
        value = len(attention) * t - add_up(((np.exp(t) * attention - 1) / spread) ** 2) / 2
        for scale in (scale for scale in target.scales if scale.name in sizes):
            value = value + scale.log_prior(x[scale.name] - 2 * t)
        return value

    t = slice_line(rng, np.zeros(attention.shape[1]), height, TRADE_STEP)
    w["log_attention"] = (np.exp(t) * attention - 1) / spread
    for name in sizes:
        if name in x:
            x[name] = x[name] - 2 * t


def turn_round(
    rng: np.random.Generator, target: JudgesTarget, strengths: FloatArray, x: Arrays, w: dict[str, FloatArray]
) -> None:
    """Turn judges round, in ``w``: with −a_k and −μ_k = −λ − u_k for a_k and μ_k they answer as they did.

    One who answers the wrong way round follows the map backwards, or sees it upside down. No trajectory leads from one
    to the other. Whole numbers of turns change no volume, so each judge accepts by the prior alone.
    """
    from judgemap.core.samplers.judges.compiled import turn

    disagreement, views, layout = target.model.parts.disagreement, target.coordinates.views, target.layout
    if disagreement is None:
        raise ValueError("these judges have no views")
    C, sigma, spread = disagreement, np.exp(x["log_disagreement"] / 2), np.exp(x["log_attention"] / 2)
    # λ as a view of its own, in the coordinates of each judge: X_kλ = σX_kG_kw.
    white = (C.factor.T @ (C.inverse @ strengths) / sigma).astype(views.V.dtype, copy=False)
    seen = np.empty_like(w["log_disagreement"])
    turn(views, layout.n_areas, np.repeat(white[None], layout.n_judges, axis=0), 0, seen)
    mirrored = -w["log_disagreement"] - 2 * seen
    backwards = -w["log_attention"] - 2 / spread
    judge = np.repeat(np.arange(layout.n_judges), np.diff(views.starts))
    gain = (w["log_attention"] ** 2 - backwards**2) / 2
    np.add.at(gain, judge, (w["log_disagreement"] ** 2 - mirrored**2) / 2)
    turned = np.log(rng.random(gain.shape)) < gain
    w["log_attention"] = np.where(turned, backwards, w["log_attention"])
    w["log_disagreement"] = np.where(turned[judge], mirrored, w["log_disagreement"])


def _back(target: JudgesTarget, q: FloatArray, x: Arrays, w: dict[str, FloatArray]) -> FloatArray:
    """Return the coordinates of these scales and effects; the others are those of q."""
    at, known, part, q = target.coordinates, target.coordinates.known.scales, target.sections, q.copy()
    values = np.array([x[scale.name] for scale in target.scales])
    q[part["scales"]] = linalg.solve_triangular(known.factor, values - known.mean[:, None], lower=True)
    # The centre of the map depends on the scales, and that of the views on the map.
    upright = replace(target, coordinates=replace(at, shear=np.zeros_like(at.shear)))
    placed = parameters(upright, q).shared.map
    q[part["map"]] = (w["log_variance"] - placed.centre) / placed.root
    point = parameters(upright, q)
    effects = ("views", "log_disagreement", point.views), ("side", "log_side", point.side)
    for section, name, own in (*effects, ("attention", "log_attention", point.attention)):
        if name in w and q[part[section]].size:
            q[part[section]] = (w[name] - own.centre) / own.root
    q[: len(at.shear)] -= at.shear @ q[part["scales"]]
    return q


def interweave(
    rng: np.random.Generator,
    scale: Scale,
    x: FloatArray,
    effects: tuple[int, FloatArray],
    likelihood: Callable[[FloatArray], FloatArray],
) -> tuple[FloatArray, FloatArray]:
    """Draw x = log s² given n effects and their squared size, then given the effects in units of s.

    ``likelihood`` takes the factor by which the effects grow in the second draw. Returns x after each.
    Source: Yu and Meng (2011), To center or not to center, JCGS 20, 531-570.
    """
    n, size = effects
    now = slice_line(rng, x, lambda at: scale.log_prior(at) - n * at / 2 - size * np.exp(-at) / 2, WIDE_STEP)
    return now, slice_line(rng, now, lambda at: scale.log_prior(at) + likelihood(np.exp((at - now) / 2)), WIDE_STEP)


def read(target: JudgesTarget, states: list[JudgesState], *, keep_views: bool) -> Arrays:
    """Turn q back into the parameters, (chain, draw, …), as many draws at a time as are not too large together.

    `sample_panel` lists their names.
    """
    layout, chains = target.layout, states[0].q.shape[1]
    numbers = chains * max(target.size, layout.n_judges * layout.n_areas)
    most = AT_ONCE // numbers if target.model.parts.reach is None else 1
    blocks = [_read(target, states[part], keep_views=keep_views) for part in pieces(len(states), most)]
    arrays = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    return {name: each.reshape(-1, chains, *each.shape[1:]).swapaxes(0, 1) for name, each in arrays.items()}


def _read(target: JudgesTarget, states: list[JudgesState], *, keep_views: bool) -> Arrays:
    """Read all chains of some states, one state's after another."""
    parts = target.model.parts
    point = parameters(target, np.concatenate([state.q for state in states], axis=1))
    x = target.named(point.shared.x)
    arrays: Arrays = {"strengths": point.shared.strengths.T}
    arrays |= {name: expit(values) if name == "tie_chance" else values for name, values in x.items()}
    rough = [state.roughness for state in states if state.roughness is not None]
    beside: dict[str, Sequence[NDArray[Any]]] = {
        "smoothness": [each.rho for each in rough],
        "local_variance": [each.local for each in rough],
        "acceptance": [state.acceptance for state in states],
        "divergences": [state.chains.divergences for state in states],
        "restarts": [state.restarts for state in states if state.restarts is not None],
    }
    arrays |= {name: np.concatenate(each) for name, each in beside.items() if each}
    if parts.disagreement is not None:
        views = _views(target, [state.seed for state in states], point)
        arrays |= summarise_views(arrays["strengths"], views, keep_views=keep_views)
    if parts.side:
        arrays["side"] = (x["lean"] + np.exp(x["log_side"] / 2) * point.side.w).T
    if parts.attention:
        arrays["attention"] = (1 + np.exp(x["log_attention"] / 2) * point.attention.w).T
    if parts.lapses:
        arrays["lapse"] = lapse_rate(point.lapse).T
    if parts.reach is not None:
        seeded = np.random.default_rng([1, *states[0].seed])
        arrays["centre"], arrays["reach"] = draw_reach(seeded, target, tell(target, point))
    return arrays


def _seed(rng: np.random.Generator) -> IntArray:
    seed: IntArray = rng.integers(2**62, size=1)
    return seed


def _views(target: JudgesTarget, seeds: list[IntArray], point: Point) -> FloatArray:
    """Complete the views, (chain, judge, area): u = σF(V(w − Vᵀε) + ε), with ε ~ N(0, I) for what no answer sees.

    Each seed serves as many chains.
    """
    from judgemap.core.samplers.judges.compiled import complete

    layout, disagreement, factors = target.layout, target.model.parts.disagreement, target.coordinates.views
    if disagreement is None:
        raise ValueError("this model has no views")
    areas, chains = layout.n_areas, len(point.shared.sigma)
    rngs = [np.random.default_rng(seed) for seed in seeds]
    views = np.empty((chains, layout.n_judges, areas))
    for part in pieces(layout.n_judges, AT_ONCE // (areas * chains)):
        size = part.stop - part.start, areas, chains // len(rngs)
        v = np.concatenate([rng.standard_normal(size) for rng in rngs], axis=2, dtype=factors.V.dtype)
        complete(factors, areas, point.views.w, v, part.start)
        views[:, part] = np.moveaxis(disagreement.factor @ v * point.shared.sigma, 2, 0)
    return views


def build_target(model: PanelModel) -> tuple[JudgesTarget, int]:
    """Lay out the data, place the coordinates, and choose the number of kicks."""
    rng = np.random.default_rng(0)
    target, views = first_coordinates(model)
    if model.parts.by_judge and model.n_judges > MANY:
        target, kicks = _place_many(rng, target, views)
        return target, choose_kicks(rng, target, kicks // 2)
    target, _ = _place_by_rounds(rng, target, views, ROUNDS if model.parts.by_judge else ROUNDS_ALIKE)
    return target, choose_kicks(rng, target)


def first_coordinates(model: PanelModel) -> tuple[JudgesTarget, Views]:
    """Lay out the data; return the first target, and the factors of the views."""
    layout = lay_out(model)
    if model.parts.ties is TieRule.RAO_KUPPER and not model.parts.lapses and model.parts.reach is None:
        layout = one_sided(layout)
    disagreement = model.parts.disagreement
    views = build_views(layout, None if disagreement is None else disagreement.factor)
    return first_target(model, layout, views), views


def _place_by_rounds(
    rng: np.random.Generator, target: JudgesTarget, views: Views, rounds: tuple[int, ...]
) -> tuple[JudgesTarget, int]:
    kicks = FIRST_KICKS
    for steps in rounds:
        # Better coordinates need fewer kicks: each round starts with half the number the last one ended with.
        summary, kicks = pilot(rng, target, steps, max(FIRST_KICKS, kicks // 2))
        at = _place(target.model, target.layout, views, summary)
        target = sheared(rng, replace(target, coordinates=at))
    return target, kicks


def _place_many(rng: np.random.Generator, target: JudgesTarget, views: Views) -> tuple[JudgesTarget, int]:
    """Place the coordinates of many judges, beginning with the scales that some of them have."""
    some, _ = _place_by_rounds(rng, *first_coordinates(_some_judges(target.model)), ROUNDS)
    # A scale of judges' effects is known the better the more judges there are, α² only as well as there are areas.
    fewer = np.sqrt(some.layout.n_judges / target.layout.n_judges)
    narrower = np.array([1.0 if scale.name == "log_variance" else fewer for scale in target.scales])
    scales = some.coordinates.known.scales
    scales = scales._replace(factor=narrower[:, None] * scales.factor)
    at = target.coordinates
    target = replace(target, coordinates=replace(at, known=replace(at.known, scales=scales)))
    before, after = REFINEMENTS
    for draws in before:
        target = refined(rng, target, views, draws)
    target, kicks = _place_by_rounds(rng, target, views, ROUNDS[:1])
    return refined(rng, target, views, after), kicks


def _some_judges(model: PanelModel) -> PanelModel:
    """Keep some of the judges, as different in their numbers of answers as all of them."""
    counts = model.counts
    answers = np.bincount(counts.judge, counts.n + counts.ties, counts.n_judges)
    chosen = np.argsort(answers, kind="stable")[np.linspace(0, counts.n_judges - 1, SOME).astype(np.int64)]
    place = np.full(counts.n_judges, -1)
    place[chosen] = np.arange(SOME)
    kept = place[counts.judge] >= 0
    rows = {name: getattr(counts, name)[kept] for name in ("first", "second", "first_left", "n", "wins", "ties")}
    return replace(model, counts=replace(counts, n_judges=SOME, judge=place[counts.judge][kept], **rows))


def refined(rng: np.random.Generator, target: JudgesTarget, views: Views, draws: int) -> JudgesTarget:
    """Place the effects by draws from the coordinates, q ~ N(0, I), at the scales that are known.

    Where the means of weights and scores no longer change, N(0, I) in q is the normal distribution nearest to the
    posterior: a step is one of natural gradient, as in Khan and Rue (2023), JMLR 24, 281.
    """
    at, chains = target.coordinates, pilot_width(target)
    seen = [_observed(target, parameters(target, target.noise(rng, chains))) for _ in range(draws)]
    kept = {name: getattr(at.known, name) for name in ("scales", "lapse_mean", "lapse_sd")}
    known = replace(_summary(target, seen, None), **kept)
    return replace(target, coordinates=coordinates(target.layout, at.V @ at.Q.T, views, known))


def sheared(rng: np.random.Generator, target: JudgesTarget) -> JudgesTarget:
    """Let the map and the views move with the scales, as far as the slopes there do on average.

    Where q is nearly N(0, I), the mean of a coordinate given another is minus their mean second derivative of log p;
    and differences of slopes are far less noisy than draws.
    """
    at, part, chains = target.coordinates, target.sections["scales"], pilot_width(target)
    if not len(at.shear):
        return target
    leans = []
    for _ in range(SHEARS):
        q = target.noise(rng, chains)
        for scale in range(part.start, part.stop):
            step = np.zeros((len(q), 1))
            step[scale] = SHEAR_STEP
            up, down = (look(target, q + side * step).residual for side in (1, -1))
            leans.append(np.median(np.nan_to_num(up - down)[: len(at.shear)], axis=1) / (2 * SHEAR_STEP))
    shear = np.mean(np.reshape(leans, (SHEARS, -1, len(at.shear))), axis=0).T
    return replace(target, coordinates=replace(at, shear=np.ascontiguousarray(shear)))


def choose_kicks(rng: np.random.Generator, target: JudgesTarget, fewest: int = 2) -> int:
    """Raise the number of kicks from the fewest until a few steps accept often enough."""
    tries = [max(2, fewest)]
    while tries[-1] < MOST_KICKS:
        tries.append(tries[-1] + 1 + tries[-1] // 4)
    return split_hmc.choose_kicks(
        tries,
        lambda: start(rng, target, target.noise(rng, pilot_width(target))),
        lambda state, kicks: trajectory(rng, target, state, kicks),
        (3, 8),
        GOOD_ACCEPTANCE,
        LOWEST_ACCEPTANCE,
    )


def _place(model: PanelModel, layout: Layout, views: Views, known: Summary) -> Coordinates:
    """Place the coordinates around what is known of the posterior."""
    if known.precision is None:
        return coordinates(layout, model.covariance.factor, views, known)
    # K⁻¹ = LLᵀ, and K = FFᵀ with F = L⁻ᵀ.
    lower = linalg.cholesky(known.precision, lower=True)
    return coordinates(layout, linalg.solve_triangular(lower, np.eye(len(lower)), lower=True).T, views, known)


def first_target(model: PanelModel, layout: Layout, views: Views) -> JudgesTarget:
    """Start from the pooled model without ties, with all judges alike."""
    laplace = approximate(Model(model.counts.pairs().decided(), model.covariance, model.variance))
    tau = laplace.log_variance_mean
    e = layout.differences(laplace.V @ (laplace.r / (laplace.g + np.exp(-tau))))[:, None]
    parts, size, p = model.parts, 1.0, np.zeros(1)
    if parts.ties is not None:
        size, p = size_and_tie_chance(layout, parts.ties, e)
    e = size * e
    chosen = scales(model, tau + 2 * np.log(size))
    starts = np.array([float(logit(p[0])) if scale.name == "tie_chance" else scale.start for scale in chosen])
    # Chains that start many times too far apart are flung out of reach: with many ties, p is known well.
    tie_sd = 1 / np.sqrt(FIRST_SCALE_SD**-2 + model.counts.ties.sum())
    precision = None
    if parts.smoothness:
        precision = roughness(model.covariance, np.full(1, FIRST_LOGIT), np.ones((1, layout.n_areas))).precision
    weight, score = curvature(layout.answers, parts.ties, e, p), slopes(layout.answers, parts.ties, e, p)
    judges = np.zeros((layout.n_judges, 1))
    known = Summary(
        difference=e,
        weight=weight,
        score=score,
        side=Effects(layout.sum_by_judge(layout.x * score), layout.sum_by_judge(layout.x**2 * weight)),
        attention=Effects(layout.sum_by_judge(e * score), layout.sum_by_judge(e**2 * weight)),
        lapse_mean=judges,
        lapse_sd=judges + 1.0,
        scales=ScalesKnown(
            names=tuple(scale.name for scale in chosen),
            mean=starts,
            factor=np.diag([tie_sd if scale.name == "tie_chance" else FIRST_SCALE_SD for scale in chosen]),
            swell=np.zeros(len(chosen)),
            dim=np.zeros(len(chosen)),
        ),
        precision=precision,
    )
    return JudgesTarget(model, layout, chosen, _place(model, layout, views, known))


def size_and_tie_chance(layout: Layout, rule: TieRule, e: FloatArray) -> tuple[float, FloatArray]:
    """Find by which factor to shrink the differences of a fit without ties, and p: both near the most likely.

    A fit of the decided answers alone overstates differences, the more so the more ties there are.
    """
    from scipy import optimize  # slow to load

    def depth(x: FloatArray) -> float:
        rows = log_likelihood(layout.answers, rule, np.exp(x[0]) * e, expit(x[1:]))
        # A weak pull keeps both finite if all answers are ties, or none.
        return float(x[0] ** 2 / 2 + (x[1] - FIRST_TIE_LOGIT) ** 2 / 8 - add_up(rows)[0])

    found = optimize.minimize(depth, [0.0, FIRST_TIE_LOGIT], method="Nelder-Mead", options={"xatol": 0.01})
    return float(np.exp(found.x[0])), expit(found.x[1:])


def pilot(rng: np.random.Generator, target: JudgesTarget, steps: int, kicks: int) -> tuple[Summary, int]:
    """Run short chains, adding kicks while too few proposals are accepted, and summarise the second half."""
    state = start(rng, target, target.noise(rng, pilot_width(target)))
    recent: list[float] = []
    draws: list[dict[str, FloatArray]] = []
    precisions: list[FloatArray] = []
    for step in range(steps):
        state = trajectory(rng, target, state, kicks, PILOT_TURNS)
        recent.append(float(state.acceptance.mean()))
        if step % PILOT_WIDE == 0 and target.model.parts.attention and target.model.parts.reach is None:
            state = move_widely(rng, target, state, trading=False)  # a chain that was flung far would trade all away
        if len(recent) >= 3 and np.mean(recent[-3:]) < GOOD_ACCEPTANCE - 0.15:
            kicks, recent = min(kicks + 1 + kicks // 3, MOST_KICKS), []
        if step >= steps // 2:
            draws.append(_observed(target, parameters(target, state.q)))
            if state.roughness is not None:
                precisions.append(state.roughness.precision)
    return _summary(target, draws, np.mean(precisions, axis=0) if precisions else None), kicks


def _observed(target: JudgesTarget, point: Point) -> dict[str, FloatArray]:
    """Collect what the next coordinates need from some draws: means over chains, except for scales and lapses."""
    layout, parts = target.layout, target.model.parts
    x, p, lapse = point.shared.x, target.tie_chance(point.shared.x), layout.spread(target.lapse(point.lapse))
    answers, named = known_answers(target, point), target.named(x)
    weight = curvature(answers, parts.ties, point.eta, p) * (1 - lapse)
    score = slopes(answers, parts.ties, point.eta, p, lapse)
    seen = {"scales": x[:-1], "size": _size(point.shared)}
    means: dict[str, FloatArray] = {}
    attention = np.ones((1, 1))
    if parts.side:
        means["side"] = named["lean"] + np.exp(named["log_side"] / 2) * point.side.w
        means["side g"] = layout.sum_by_judge(weight * layout.x**2)
        means["side score"] = layout.sum_by_judge(score * layout.x)
    if parts.attention:
        means["attention"] = np.clip(np.exp(named["log_attention"] / 2) * point.attention.w, -MOST_HEED, MOST_HEED)
        means["attention g"] = layout.sum_by_judge(weight * point.e**2)
        means["attention score"] = layout.sum_by_judge(score * point.e)
        attention = layout.spread(1 + means["attention"])
    if parts.lapses:
        seen["lapse"] = point.lapse
    means |= {"difference": point.e, "weight": attention**2 * weight, "score": attention * score}
    seen["dim"] = np.log(np.maximum(add_up(means["weight"]), 1e-12))[None]
    return seen | {name: values.mean(axis=1, keepdims=True) for name, values in means.items()}


def _size(at: Common) -> FloatArray:
    """Measure each chain's map relative to the unswollen centre of its coordinates: 1 where they agree."""
    centre = at.map.centre / np.exp(at.swelling)
    weighted = centre / at.map.root**2
    size: FloatArray = add_up(weighted * at.map.w) / np.maximum(add_up(weighted * centre), 1e-12)
    return size[None]


def _summary(target: JudgesTarget, draws: list[dict[str, FloatArray]], precision: FloatArray | None) -> Summary:
    mean = {name: np.mean([draw[name].mean(axis=1, keepdims=True) for draw in draws], axis=0) for name in draws[0]}
    at, x = target.coordinates.known, np.concatenate([draw["scales"] for draw in draws], axis=1)
    covariance = np.atleast_2d(np.cov(x)).astype(np.float64) if len(x) else np.zeros((0, 0))
    side, attention, lapse_sd = at.side, at.attention, at.lapse_sd
    if "side" in mean:
        side = Effects(mean["side g"] * mean["side"] + mean["side score"], mean["side g"])
    if "attention" in mean:
        g = np.maximum(mean["attention g"], 0.0)
        attention = Effects(g * mean["attention"] + mean["attention score"], g)
    if "lapse" in mean:
        lapse_sd = np.concatenate([draw["lapse"] for draw in draws], axis=1).std(axis=1, keepdims=True) + 0.05
    centres = mean["scales"][:, 0]
    # Shrunk a little towards its diagonal, because it rests on few draws.
    factor: FloatArray = linalg.cholesky(0.9 * covariance + np.diag(0.1 * np.diagonal(covariance) + 1e-4), lower=True)
    # Swelling and dimming by least squares, shrunk a little towards none.
    apart = x - centres[:, None]
    size, dim = (np.concatenate([draw[name][0] for draw in draws]) for name in ("size", "dim"))
    both = np.stack([size - size.mean(), dim - dim.mean()], axis=1)
    steep = linalg.solve(apart @ apart.T + np.diag(0.1 * (apart**2).sum(axis=1) + 1e-9), apart @ both)
    return Summary(
        difference=mean["difference"],
        weight=np.maximum(mean["weight"], 0.0),
        score=mean["score"],
        side=side,
        attention=attention,
        lapse_mean=mean.get("lapse", at.lapse_mean),
        lapse_sd=lapse_sd,
        scales=ScalesKnown(
            at.scales.names,
            mean=centres,
            factor=factor,
            swell=np.clip(steep[:, 0] / max(size.mean(), 0.1), -1.0, 1.0),
            dim=np.clip(DIMMER * steep[:, 1], -1.0, 1.0),
        ),
        precision=precision,
    )


def sample_panel(
    rng: np.random.Generator,
    model: PanelModel,
    plan: Plan | None = None,
    cores: int = 1,
    watch: Watcher | None = None,
) -> Draws:
    """Draw from the posterior of ``model``.

    Returns those of these arrays, (chain, draw, …), that the model's parts call for:

    =================  ==========================================================================================
    strengths          λ by area: the population's map
    log_variance       log α², if it is inferred
    smoothness         ρ
    local_variance     ψ by area: large where an area stands out from a smooth map
    tie_chance         p, the chance that two equal areas tie
    log_disagreement   log σ²
    panel_strengths    λ + mean u_k by area: the map of these judges, each counting equally
    distance           by judge, the root mean square over areas of u_k, centred
    views              u_k by judge and area, if there are not too many to keep; judge k's map is λ + u_k
    lean, log_side     b, log σ_b²
    side               b_k by judge
    log_attention      log σ_a²
    attention          a_k by judge
    lapse              ε_k by judge
    centre, reach      c_k and r_k by judge
    =================  ==========================================================================================

    >>> from judgemap.core.model.counts import count_judged
    >>> from judgemap.core.model.outcomes import TieRule
    >>> from judgemap.core.model.judges import Parts
    >>> from judgemap.core.model.prior import InverseGamma, independent
    >>> counts = count_judged([0, 0, 1], left=[0, 1, 0], right=[1, 2, 2], choice=[1, 0, -1], n_areas=3, n_judges=2)
    >>> parts = Parts(ties=TieRule.RAO_KUPPER, disagreement=independent(3))
    >>> model = PanelModel(counts, independent(3), InverseGamma(3, 3), parts)
    >>> draws = sample_panel(np.random.default_rng(1), model, plan=Plan(chains=2, warmup=10, draws=20))
    >>> draws["views"].shape
    (2, 20, 2, 3)
    """
    plan = plan or Plan()
    keep = plan.chains * max(plan.draws, plan.most) * model.n_judges * model.n_areas <= MOST_VIEWS
    with one_thread():
        return run(rng, kernel(model, keep_views=keep), (np.arange(plan.chains),), plan, cores, watch)
