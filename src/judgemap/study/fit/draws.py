"""A sampler's draws with names (areas, chains and pairs instead of positions), and how well they were sampled."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from judgemap.core.assess.posterior import risk_sign
from judgemap.core.model.counts import PairCounts
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, VariancePrior
from judgemap.core.samplers.diagnostics import Sampling, assess_sampling
from judgemap.core.samplers.run import Draws
from judgemap.core.types import FloatArray, IntArray
from judgemap.geo.maps import Areas
from judgemap.study.fit.record import Diagnostics


def named_draws(areas: Areas, centred: FloatArray, strengths: FloatArray, winner_is: str) -> xr.Dataset:
    """Label the draws, and turn strength into risk."""
    return xr.Dataset(
        {
            "risk": (("chain", "draw", "area"), risk_sign(winner_is) * centred),
            "level": (("chain", "draw"), strengths.mean(axis=2)),
        },
        coords=area_coordinates(areas, *strengths.shape[:2]),
    )


def area_coordinates(areas: Areas, chains: int, draws: int) -> dict[str, object]:
    """Return labels for the axes of draws."""
    return {
        "chain": np.arange(chains),
        "draw": np.arange(draws),
        "area": list(areas.ids),
        "name": ("area", list(areas.names)),
    }


def named_statistics(draws: Draws) -> xr.Dataset:
    """Label the sampler's statistics."""
    chains, kept = draws.divergences.shape
    statistics = {"acceptance_rate": draws["acceptance"], "divergences": draws.divergences}
    if "restarts" in draws.arrays:
        statistics["restarts"] = draws["restarts"]
    return xr.Dataset(
        {name: (("chain", "draw"), values) for name, values in statistics.items()},
        coords={"chain": np.arange(chains), "draw": np.arange(kept)},
    )


def named_pairs(areas: Areas, counts: PairCounts) -> xr.Dataset:
    """Label the data: how often each pair was compared, and how often its first area won."""
    ids = np.array(areas.ids)
    return xr.Dataset(
        {"n": ("pair", counts.n), "wins": ("pair", counts.wins)}
        | ({"ties": ("pair", counts.ties)} if counts.ties.any() else {}),
        coords={"first": ("pair", ids[counts.first]), "second": ("pair", ids[counts.second])},
    )


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


MOST_VALUES = 100_000_000
"""The most draws × areas that are kept: 150 MB, at a byte and a half each."""
LARGE_VALUES = 25_000_000
"""With more draws × areas than this, they are rounded and compressed."""
STEPS, NO_NUMBER = 2**15 - 2, -(2**15)
"""Steps from 0 to the most extreme risk, which keeps five digits; and the value for a missing number, never used."""
COMPRESSED: dict[str, object] = {"zlib": True, "complevel": 2, "shuffle": True}


def thinned(samples: xr.Dataset) -> tuple[xr.Dataset, dict[str, dict[str, object]]]:
    """Return the draws that are kept, and how they are encoded: see `describe`.

    >>> import numpy as np
    >>> samples = xr.Dataset({"risk": (("chain", "draw", "area"), np.zeros((2, 10, 3)))})
    >>> thinned(samples)[0].sizes["draw"], thinned(samples)[1]
    (10, {})
    """
    values = samples["risk"].size if "risk" in samples else 0
    if values <= LARGE_VALUES:
        return samples, {}
    kept = samples.isel(draw=slice(None, None, keep_one_in(values)))
    risk = kept["risk"].to_numpy()
    step = float(max(abs(risk.min()), abs(risk.max()))) / STEPS or 1.0
    return kept, {"risk": {"dtype": "int16", "scale_factor": step, "_FillValue": NO_NUMBER, **COMPRESSED}}


def keep_one_in(values: int) -> int:
    """Return n, if one draw in n is kept of this many values."""
    return -(-values // MOST_VALUES)


def compressed(dataset: xr.Dataset) -> dict[str, dict[str, object]]:
    """Return how the other groups of a large fit are encoded."""
    return {
        str(name): COMPRESSED
        for name, values in dataset.data_vars.items()
        if values.size > LARGE_VALUES // 100 and values.dtype.kind in "iuf"
    }


def describe(values: int) -> str | None:
    """Say in a sentence what is kept of this many draws × areas; None if everything is.

    >>> describe(1_000), describe(150_000_000)
    (None, 'posterior.nc keeps one draw in 2 of each chain, risks rounded to five figures; areas.csv uses all draws.')
    """
    if values <= LARGE_VALUES:
        return None
    every = keep_one_in(values)
    which = "every draw" if every == 1 else f"one draw in {every}"
    return f"posterior.nc keeps {which} of each chain, risks rounded to five figures; areas.csv uses all draws."


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


def name_scalars(samples: xr.Dataset, draws: Draws, rule: TieRule | None, variance: VariancePrior) -> Scalars:
    """Add the scalars to the draws; return those whose convergence should be assessed, by symbol."""
    arrays = dict(draws.arrays)
    judged: Scalars = {}
    for source, (name, symbol) in VARIANCES.items():
        if source in arrays:
            samples[name] = (("chain", "draw"), np.exp(arrays[source]))
            judged[symbol] = arrays[source]
    if isinstance(variance, FixedVariance):
        samples["alpha2"] = (("chain", "draw"), np.full(draws.strengths.shape[:2], variance.value))
        judged.pop("α²", None)
    plain = {"rho": ("ρ", arrays.get("smoothness")), "lean": ("b", arrays.get("lean"))}
    if rule is not None:
        p = arrays["tie_chance"]
        plain |= {"theta": ("θ", 2 * np.arctanh(p))} if rule is TieRule.RAO_KUPPER else {"nu": ("ν", 2 * p / (1 - p))}
    for name, (symbol, values) in plain.items():
        if values is not None:
            samples[name] = (("chain", "draw"), values)
            judged[symbol] = values
    return judged


def name_judges(samples: xr.Dataset, draws: Draws, judges: tuple[str, ...], sign: float) -> None:
    """Add the values by judge to the draws, and the panel's map."""
    for name in ("distance", "side", "attention", "lapse", "centre", "reach"):
        if name in draws.arrays:
            samples[name] = (("chain", "draw", "judge"), draws[name])
    if "panel_strengths" in draws.arrays:
        panel = draws["panel_strengths"]
        samples["panel_risk"] = (("chain", "draw", "area"), sign * (panel - panel.mean(axis=2, keepdims=True)))
    if "judge" in samples.sizes:
        samples.coords["judge"] = list(judges)


def name_views(areas: Areas, draws: Draws, judges: tuple[str, ...], sign: float) -> xr.Dataset:
    """Keep some evenly spaced draws of each judge's own map, centred, and signed so that high is bad.

    ``sample`` gives their positions among all draws, one chain after another.
    """
    views = draws["views"]
    total, shape = views.shape[0] * views.shape[1], views.shape[2:]
    count = int(np.clip(KEPT // (shape[0] * shape[1]), FEWEST_KEPT, MOST_KEPT))
    rows = evenly(total, count)
    maps = draws.strengths.reshape(total, 1, -1)[rows] + views.reshape(total, *shape)[rows]
    risk = sign * (maps - maps.mean(axis=2, keepdims=True))
    return xr.Dataset(
        {"judge_risk": (("sample", "judge", "area"), risk.astype(np.float32))},
        coords={"sample": rows, "judge": list(judges), "area": list(areas.ids)},
    )


def evenly(total: int, count: int) -> IntArray:
    """Choose ``count`` of ``total`` draws, evenly spaced, or all of them if there are fewer.

    >>> evenly(5, 3), evenly(3, 10**15)
    (array([0, 2, 4]), array([0, 1, 2]))
    """
    return np.linspace(0, total - 1, min(count, total)).astype(np.int64)
