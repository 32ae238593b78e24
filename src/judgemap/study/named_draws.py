"""A sampler's draws with names (areas, chains and pairs instead of positions), and how well they were sampled."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from judgemap.core.model.counts import PairCounts
from judgemap.core.samplers.diagnostics import Sampling, judge_sampling
from judgemap.core.samplers.run import Draws
from judgemap.core.types import FloatArray
from judgemap.geo.maps import Areas
from judgemap.study.record import Diagnostics


def named_draws(areas: Areas, centred: FloatArray, strengths: FloatArray, winner_is: str) -> xr.Dataset:
    """Label the draws, and turn strength into risk."""
    sign = -1.0 if winner_is == "lower" else 1.0
    return xr.Dataset(
        {
            "risk": (("chain", "draw", "area"), sign * centred),
            "level": (("chain", "draw"), strengths.mean(axis=2)),
        },
        coords=area_coordinates(areas, *strengths.shape[:2]),
    )


def area_coordinates(areas: Areas, chains: int, draws: int) -> dict[str, Any]:
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
    rest = {name: judge_sampling(draws[..., None]) for name, draws in others.items()}
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
