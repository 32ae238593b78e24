"""Which draws posterior.nc keeps: all of them for a usual study; for a large map only some, rounded and compressed."""

from typing import Any

import xarray as xr

MOST_VALUES = 100_000_000
"""Draws × areas that are kept: with a byte and a half each, 150 MB."""
LARGE_VALUES = 25_000_000
"""Draws × areas from which they are rounded and compressed."""
STEPS, NO_NUMBER = 2**15 - 2, -(2**15)
"""Steps from 0 to the farthest risk that is kept: its fifth figure. What stands for no number; there is none."""
COMPRESSED = {"zlib": True, "complevel": 2, "shuffle": True}


def thinned(samples: xr.Dataset) -> tuple[xr.Dataset, dict[str, Any]]:
    """Return the draws that are kept, and how they are written: see `describe`.

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
    """Say which draws are kept if there are so many values."""
    return -(-values // MOST_VALUES)


def compressed(dataset: xr.Dataset) -> dict[str, Any]:
    """Say how the other groups of a large fit are written."""
    return {
        str(name): COMPRESSED
        for name, values in dataset.data_vars.items()
        if values.size > LARGE_VALUES // 100 and values.dtype.kind in "iuf"
    }


def describe(values: int) -> str | None:
    """Say in a sentence what is kept of so many draws × areas; None where it is everything.

    >>> describe(1_000), describe(150_000_000)
    (None, 'posterior.nc keeps one draw in 2 of each chain, risks rounded to five figures; areas.csv uses all draws.')
    """
    if values <= LARGE_VALUES:
        return None
    every = keep_one_in(values)
    which = "every draw" if every == 1 else f"one draw in {every}"
    return f"posterior.nc keeps {which} of each chain, risks rounded to five figures; areas.csv uses all draws."
