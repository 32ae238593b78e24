"""Placing the coordinates of a panel by short pilot runs, each of which places those of the next.

The first round uses the pooled model without ties. Means over the second half of a round's draws, of weights −∂²ℓ/∂e²,
scores ∂ℓ/∂e and scales, place the next; the pilot's generator has a fixed seed, so nothing depends on that of the run.

With thousands of judges such rounds cost more than the run. Some of the judges then say where the scales are. Given
those, effects are placed without trajectories, by draws from the coordinates themselves (`refined`); one round of all
judges is left to place the scales precisely.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy import linalg, optimize
from scipy.special import expit, logit

from judgemap.core.approximate.laplace import approximate
from judgemap.core.model.judges import PanelModel
from judgemap.core.model.outcomes import (
    TieRule,
    add_up,
    curvature,
    log_likelihood,
    slopes,
)
from judgemap.core.model.prior import Covariance, Model
from judgemap.core.samplers.judges.coordinates import (
    Coordinates,
    Effects,
    Summary,
    coordinates,
)
from judgemap.core.samplers.judges.hmc import (
    GOOD_ACCEPTANCE,
    MOST_KICKS,
    batch_width,
    start,
    trajectory,
)
from judgemap.core.samplers.judges.layout import (
    Layout,
    Views,
    build_views,
    lay_out,
    one_sided,
)
from judgemap.core.samplers.judges.scales import Scale, scales
from judgemap.core.samplers.judges.smoothness import FIRST_LOGIT, roughness
from judgemap.core.samplers.judges.target import (
    Point,
    Target,
    build_scatter,
    lapse_rows,
    parameters,
    tie_chance,
)
from judgemap.core.types import FloatArray

ROUNDS, ROUNDS_ALIKE = (16, 16, 24), (10, 12)
"""Steps of each round; the second half counts. If judges do not differ, the first coordinates are good already."""
TURNS = (0.5, 1.2)
"""Shares of a quarter turn: varied lengths, so that a scale placed far too wide does not swing to and fro."""
MANY, SOME = 400, 200
"""With more judges than the first, a pilot of the second places the scales."""
REFINEMENTS = (4, 8), 24
"""How many times as many draws as chains place the effects: before the round of all judges, and after it."""
CHAINS = 16
FIRST_KICKS = 3
FIRST_SCALE_SD = 0.5
FIRST_TIE_LOGIT = -1.4


def build_target(model: PanelModel) -> tuple[Target, int]:
    """Lay out the data, place the coordinates, and choose the number of kicks."""
    rng = np.random.default_rng(0)
    target, views = first_coordinates(model)
    if model.parts.by_judge and model.n_judges > MANY:
        target, kicks = _place_many(rng, target, views)
        return target, choose_kicks(rng, target, kicks // 2)
    target, _ = _place_by_rounds(rng, target, views, ROUNDS if model.parts.by_judge else ROUNDS_ALIKE)
    return target, choose_kicks(rng, target)


def first_coordinates(model: PanelModel) -> tuple[Target, list[Views]]:
    """Lay out the data; return the first target, and the factors of the views."""
    layout = lay_out(model)
    if model.parts.ties is TieRule.RAO_KUPPER and model.parts.lapses is None:
        layout = one_sided(layout)
    disagreement = model.parts.disagreement
    views = build_views(layout, disagreement.covariance.factor) if disagreement is not None else []
    return first_target(model, layout, views), views


def _place_by_rounds(
    rng: np.random.Generator, target: Target, views: list[Views], rounds: tuple[int, ...]
) -> tuple[Target, int]:
    kicks = FIRST_KICKS
    for steps in rounds:
        # Better coordinates need fewer kicks: each round starts with half the number the last one ended with.
        summary, kicks = pilot(rng, target, steps, max(FIRST_KICKS, kicks // 2))
        target = placed(target, views, summary)
    return target, kicks


def _place_many(rng: np.random.Generator, target: Target, views: list[Views]) -> tuple[Target, int]:
    """Place the coordinates of many judges, beginning with the scales that some of them have."""
    some, _ = _place_by_rounds(rng, *first_coordinates(_some_judges(target.model)), ROUNDS)
    # A scale of judges' effects is known the better the more judges there are, α² only as well as there are areas.
    fewer = np.sqrt(some.layout.n_judges / target.layout.n_judges)
    narrower = np.array([1.0 if scale.name == "log_variance" else fewer for scale in target.scales])
    known = some.coordinates
    at = replace(
        target.coordinates,
        scale_mean=known.scale_mean,
        scale_factor=narrower[:, None] * known.scale_factor,
        swell=known.swell,
        log_disagreement=known.log_disagreement,
    )
    target = replace(target, coordinates=at)
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


def refined(rng: np.random.Generator, target: Target, views: list[Views], draws: int) -> Target:
    """Place the effects by draws from the coordinates, q ~ N(0, I), at the scales that are known.

    Where the means of weights and scores no longer change, N(0, I) in q is the normal distribution nearest to the
    posterior: a step is one of natural gradient, as in Khan and Rue (2023), JMLR 24, 281.
    """
    at, chains = target.coordinates, min(CHAINS, batch_width(target))
    seen = [_observed(target, parameters(target, target.noise(rng, chains))) for _ in range(draws)]
    names = ("scale_mean", "scale_factor", "swell", "log_disagreement", "lapse_mean", "lapse_sd")
    known = replace(_summary(target, seen, None), **{name: getattr(at, name) for name in names})
    return replace(target, coordinates=coordinates(target.layout, at.V @ at.Q.T, views, known))


def choose_kicks(rng: np.random.Generator, target: Target, fewest: int = 2) -> int:
    """Raise the number of kicks from the fewest until a few steps accept often enough."""
    kicks = max(2, fewest)
    while kicks < MOST_KICKS:
        state, seen = start(rng, target, target.noise(rng, min(CHAINS, batch_width(target)))), []
        for _ in range(8):
            state = trajectory(rng, target, state, kicks)
            seen.append(float(state.acceptance.mean()))
        if np.mean(seen[3:]) >= GOOD_ACCEPTANCE:
            break
        kicks += 1 + kicks // 4
    return kicks


def placed(target: Target, views: list[Views], known: Summary) -> Target:
    """Place the coordinates around what is known of the posterior."""
    return replace(target, coordinates=_place(target.model, target.layout, views, known))


def _place(model: PanelModel, layout: Layout, views: list[Views], known: Summary) -> Coordinates:
    if known.precision is None:
        return coordinates(layout, model.covariance.factor, views, known)
    # K⁻¹ = LLᵀ, and K = FFᵀ with F = L⁻ᵀ.
    lower = linalg.cholesky(known.precision, lower=True)
    return coordinates(layout, linalg.solve_triangular(lower, np.eye(len(lower)), lower=True).T, views, known)


def first_target(model: PanelModel, layout: Layout, views: list[Views]) -> Target:
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
    weight, score = curvature(layout.answers, parts.ties, e, p), slopes(layout.answers, parts.ties, e, p).eta
    judges = np.zeros((layout.n_judges, 1))
    known = Summary(
        difference=e,
        weight=weight,
        score=score,
        side=Effects(layout.sum_by_judge(layout.x * score), layout.sum_by_judge(layout.x**2 * weight)),
        attention=Effects(layout.sum_by_judge(e * score), layout.sum_by_judge(e**2 * weight)),
        lapse_mean=judges,
        lapse_sd=judges + 1.0,
        scale_mean=starts,
        scale_factor=np.diag([tie_sd if scale.name == "tie_chance" else FIRST_SCALE_SD for scale in chosen]),
        swell=np.zeros(len(chosen)),
        log_disagreement=_named(chosen, starts, "log_disagreement"),
        precision=None if parts.smoothness is None else _first_precision(model.covariance),
    )
    return Target(model, layout, chosen, build_scatter(layout), _place(model, layout, views, known))


def size_and_tie_chance(layout: Layout, rule: TieRule, e: FloatArray) -> tuple[float, FloatArray]:
    """Find by which factor to shrink the differences of a fit without ties, and p: both near the most likely.

    A fit of the decided answers alone overstates differences, the more so the more ties there are.
    """

    def depth(x: FloatArray) -> float:
        rows = log_likelihood(layout.answers, rule, np.exp(x[0]) * e, expit(x[1:]))
        # A weak pull keeps both finite if all answers are ties, or none.
        return float(x[0] ** 2 / 2 + (x[1] - FIRST_TIE_LOGIT) ** 2 / 8 - add_up(rows)[0])

    found = optimize.minimize(depth, [0.0, FIRST_TIE_LOGIT], method="Nelder-Mead", options={"xatol": 0.01})
    return float(np.exp(found.x[0])), expit(found.x[1:])


def _first_precision(C: Covariance) -> FloatArray:
    first: FloatArray = roughness(C, np.full(1, FIRST_LOGIT), np.ones((1, C.n_areas))).precision[0]
    return first


def pilot(rng: np.random.Generator, target: Target, steps: int, kicks: int) -> tuple[Summary, int]:
    """Run short chains, adding kicks while too few proposals are accepted, and summarise the second half."""
    state = start(rng, target, target.noise(rng, min(CHAINS, batch_width(target))))
    recent: list[float] = []
    draws: list[dict[str, FloatArray]] = []
    precisions: list[FloatArray] = []
    for step in range(steps):
        state = trajectory(rng, target, state, kicks, TURNS)
        recent.append(float(state.acceptance.mean()))
        if len(recent) >= 3 and np.mean(recent[-3:]) < GOOD_ACCEPTANCE - 0.15:
            kicks, recent = min(kicks + 1 + kicks // 3, MOST_KICKS), []
        if step >= steps // 2:
            draws.append(_observed(target, parameters(target, state.q)))
            if state.roughness is not None:
                precisions.append(state.roughness.precision.mean(axis=0))
    return _summary(target, draws, np.mean(precisions, axis=0) if precisions else None), kicks


def _observed(target: Target, point: Point) -> dict[str, FloatArray]:
    """Collect what the next coordinates need from some draws: means over chains, except for scales and lapses."""
    layout, parts = target.layout, target.model.parts
    lapse, p = lapse_rows(target, point), tie_chance(point.x)
    weight = curvature(layout.answers, parts.ties, point.eta, p) * (1 - lapse)
    score = slopes(layout.answers, parts.ties, point.eta, p, lapse).eta
    seen = {"scales": np.array([point.x[scale.name] for scale in target.scales]).reshape(len(target.scales), -1)}
    seen["size"] = _size(target, point)
    means: dict[str, FloatArray] = {}
    attention = np.ones((1, 1))
    if point.side is not None:
        means["side"] = point.x["lean"] + np.exp(point.x["log_side"] / 2) * point.side.w
        means["side g"] = layout.sum_by_judge(weight * layout.x**2)
        means["side score"] = layout.sum_by_judge(score * layout.x)
    if point.attention is not None:
        means["attention"] = np.exp(point.x["log_attention"] / 2) * point.attention.w
        means["attention g"] = layout.sum_by_judge(weight * point.e**2)
        means["attention score"] = layout.sum_by_judge(score * point.e)
        attention = layout.spread(1 + means["attention"])
    if point.lapse is not None:
        seen["lapse"] = point.lapse
    means |= {"difference": point.e, "weight": attention**2 * weight, "score": attention * score}
    return seen | {name: values.mean(axis=1, keepdims=True) for name, values in means.items()}


def _size(target: Target, point: Point) -> FloatArray:
    """Measure each chain's map relative to the unswollen centre of its coordinates: 1 where they agree."""
    at = target.coordinates
    x = np.array([point.x[scale.name] for scale in target.scales]).reshape(len(target.scales), -1)
    centre = point.map.centre / np.exp(at.swelling(x))
    weighted = centre / point.map.root**2
    size: FloatArray = add_up(weighted * point.map.w) / np.maximum(add_up(weighted * centre), 1e-12)
    return size[None]


def _summary(target: Target, draws: list[dict[str, FloatArray]], precision: FloatArray | None) -> Summary:
    mean = {name: np.mean([draw[name].mean(axis=1, keepdims=True) for draw in draws], axis=0) for name in draws[0]}
    at, x = target.coordinates, np.concatenate([draw["scales"] for draw in draws], axis=1)
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
    # The swelling by least squares, shrunk a little towards none.
    apart = x - centres[:, None]
    size = np.concatenate([draw["size"][0] for draw in draws])
    steep = linalg.solve(apart @ apart.T + np.diag(0.1 * (apart**2).sum(axis=1) + 1e-9), apart @ (size - size.mean()))
    return Summary(
        difference=mean["difference"],
        weight=np.maximum(mean["weight"], 0.0),
        score=mean["score"],
        side=side,
        attention=attention,
        lapse_mean=mean.get("lapse", at.lapse_mean),
        lapse_sd=lapse_sd,
        scale_mean=centres,
        scale_factor=factor,
        swell=np.clip(steep / max(size.mean(), 0.1), -1.0, 1.0),
        log_disagreement=_named(target.scales, centres, "log_disagreement"),
        precision=precision,
    )


def _named(chosen: tuple[Scale, ...], values: Iterable[float], name: str) -> float | None:
    return next((float(value) for scale, value in zip(chosen, values, strict=True) if scale.name == name), None)
