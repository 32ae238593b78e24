"""A sampler's draws with names (areas, chains and pairs instead of positions), and how well they were sampled."""

from collections.abc import Mapping, Sequence

import numpy as np

from judgemap.core.assess.posterior import risk_sign
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, VariancePrior
from judgemap.core.samplers.diagnostics import Sampling, assess_sampling
from judgemap.core.samplers.run import Draws
from judgemap.core.types import FloatArray, IntArray
from judgemap.geo.maps import Areas
from judgemap.study.fit.named import Axed, Named, by_draw, label
from judgemap.study.fit.record import Diagnostics


def named_draws(areas: Areas, centred: FloatArray, strengths: FloatArray, winner_is: str) -> Named:
    """Label the draws, and turn strength into risk."""
    return label_draws(areas, risk_sign(winner_is) * centred, strengths.mean(axis=2))


def label_draws(areas: Areas, risk: FloatArray, level: FloatArray) -> Named:
    """Label draws of risk, and of the mean strength."""
    return Named(
        {"risk": by_draw(risk, "area"), "level": by_draw(level)},
        {**_counted(*level.shape), "area": label("area", areas.ids), "name": label("area", areas.names)},
    )


def _counted(chains: int, draws: int) -> dict[str, Axed]:
    return {"chain": Axed(("chain",), np.arange(chains)), "draw": Axed(("draw",), np.arange(draws))}


def named_statistics(draws: Draws) -> Named:
    """Label the sampler's statistics."""
    statistics = {"acceptance_rate": draws["acceptance"], "divergences": draws.divergences}
    if "restarts" in draws.arrays:
        statistics["restarts"] = draws["restarts"]
    return Named({name: by_draw(each) for name, each in statistics.items()}, _counted(*draws.divergences.shape))


def named_pairs(areas: Areas, counts: PairCounts) -> Named:
    """Label the data: how often each pair was compared, and how often its first area won."""
    ids = np.array(areas.ids)
    columns = {"n": counts.n, "wins": counts.wins} | ({"ties": counts.ties} if counts.ties.any() else {})
    ends = {"first": ids[counts.first], "second": ids[counts.second]}
    return Named(*({name: Axed(("pair",), each) for name, each in group.items()} for group in (columns, ends)))


def diagnose(names: Sequence[str], areas: Sampling, others: Mapping[str, FloatArray], seconds: float) -> Diagnostics:
    """Summarise how well the areas, by name, and ``others`` (chain, draw) were sampled."""
    rest = {name: assess_sampling(draws[..., None]) for name, draws in others.items()}
    worst, bulk, tail = (np.concatenate(columns) for columns in zip(areas, *rest.values(), strict=True))
    middle = float(np.median(areas.ess_bulk))
    return Diagnostics(
        rhat_max=float(worst.max()),
        ess_bulk_min=float(bulk.min()),
        ess_bulk_min_of=str([*names, *rest][int(bulk.argmin())]),
        ess_bulk_median=middle,
        ess_bulk_of={name: float(each.ess_bulk[0]) for name, each in rest.items()},
        ess_tail_min=float(tail.min()),
        ess_per_second=middle / max(seconds, 1e-9),
    )


KEPT = 2_000_000
"""How many numbers of the judges' own maps to keep in all, within `FEWEST_KEPT` and `MOST_KEPT` draws."""
FEWEST_KEPT, MOST_KEPT = 100, 1000
VARIANCES = {
    "log_variance": ("alpha2", "α²"),
    "log_disagreement": ("sigma2", "σ²"),
    "log_side": ("side_sigma2", "σ_b²"),
    "log_attention": ("attention_sigma2", "σ_a²"),
}
"""By the sampler's names: their names in the posterior, and their symbols."""
Scalars = dict[str, FloatArray]


def name_scalars(samples: Named, draws: Draws, rule: TieRule | None, variance: VariancePrior) -> tuple[Named, Scalars]:
    """Add the scalars to the draws; return also those whose convergence should be assessed, by symbol."""
    arrays = dict(draws.arrays)
    named: Scalars = {}
    judged: Scalars = {}
    for source, (name, symbol) in VARIANCES.items():
        if source in arrays:
            named[name] = np.exp(arrays[source])
            judged[symbol] = arrays[source]
    if isinstance(variance, FixedVariance):
        named["alpha2"] = np.full(draws.strengths.shape[:2], variance.value)
        judged.pop("α²", None)
    plain = {"rho": ("ρ", arrays.get("smoothness")), "lean": ("b", arrays.get("lean"))}
    if rule is not None:
        p = arrays["tie_chance"]
        plain |= {"theta": ("θ", 2 * np.arctanh(p))} if rule is TieRule.RAO_KUPPER else {"nu": ("ν", 2 * p / (1 - p))}
    for name, (symbol, values) in plain.items():
        if values is not None:
            named[name] = judged[symbol] = values
    return samples.assign(**{name: by_draw(each) for name, each in named.items()}), judged


def name_judges(samples: Named, draws: Draws, judges: tuple[str, ...], sign: float) -> Named:
    """Add the values by judge to the draws, and the panel's map."""
    for name in ("distance", "side", "attention", "lapse", "centre", "reach"):
        if name in draws.arrays:
            samples = samples.assign(**{name: by_draw(draws[name], "judge")})
    if "panel_strengths" in draws.arrays:
        panel = draws["panel_strengths"]
        samples = samples.assign(panel_risk=by_draw(sign * (panel - panel.mean(axis=2, keepdims=True)), "area"))
    return samples.label(judge=judges) if "judge" in samples.sizes else samples


def name_views(areas: Areas, draws: Draws, judges: tuple[str, ...], sign: float) -> Named:
    """Keep some evenly spaced draws of each judge's own map, centred, and signed so that high is bad.

    ``sample`` gives their positions among all draws, one chain after another.
    """
    views = draws["views"]
    total, shape = views.shape[0] * views.shape[1], views.shape[2:]
    count = int(np.clip(KEPT // (shape[0] * shape[1]), FEWEST_KEPT, MOST_KEPT))
    rows = evenly(total, count)
    maps = draws.strengths.reshape(total, 1, -1)[rows] + views.reshape(total, *shape)[rows]
    risk = sign * (maps - maps.mean(axis=2, keepdims=True))
    return Named(
        {"judge_risk": Axed(("sample", "judge", "area"), risk.astype(np.float32))},
        {"sample": Axed(("sample",), rows), "judge": label("judge", judges), "area": label("area", areas.ids)},
    )


def evenly(total: int, count: int) -> IntArray:
    """Choose ``count`` of ``total`` draws, evenly spaced, or all of them if there are fewer.

    >>> evenly(5, 3), evenly(3, 10**15)
    (array([0, 2, 4]), array([0, 1, 2]))
    """
    return np.linspace(0, total - 1, min(count, total)).astype(np.int64)
