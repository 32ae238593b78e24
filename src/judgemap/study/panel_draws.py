"""A panel's draws as a fit keeps them: scalars under their usual names, values by judge, and some judges' maps."""

import numpy as np
import xarray as xr

from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, VariancePrior
from judgemap.core.samplers.run import Draws
from judgemap.core.types import FloatArray
from judgemap.geo.maps import Areas
from judgemap.study.result import evenly

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
    for name in ("distance", "side", "attention", "lapse"):
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
