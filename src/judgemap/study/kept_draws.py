"""Which draws posterior.nc keeps: all of them for an ordinary study; for a large map only some, rounded and packed."""

from typing import Any

import xarray as xr

MOST_VALUES = 100_000_000
"""The most draws × areas that are kept: 150 MB, at a byte and a half each."""
LARGE_VALUES = 25_000_000
"""With more draws × areas than this, they are rounded and compressed."""
STEPS, NO_NUMBER = 2**15 - 2, -(2**15)
"""Steps from 0 to the most extreme risk, which keeps five digits; and the value for a missing number, never used."""
COMPRESSED = {"zlib": True, "complevel": 2, "shuffle": True}


def thinned(samples: xr.Dataset) -> tuple[xr.Dataset, dict[str, Any]]:
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


def compressed(dataset: xr.Dataset) -> dict[str, Any]:
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
