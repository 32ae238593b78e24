"""Slice draws of single numbers."""

from collections.abc import Callable

import numpy as np

SLICE_WIDTH = 1.0
MOST_STEPS = 200
"""The most steps out, and the most shrinks; a slice that needs more is given up."""


@np.errstate(over="ignore", invalid="ignore", divide="ignore")
def slice_sample(rng: np.random.Generator, x: float, log_density: Callable[[float], float]) -> float:
    """Draw from a density on the line by slice sampling, stepping out and shrinking (Neal, 2003).

    >>> rng = np.random.default_rng(1)
    >>> draws = [0.0]
    >>> for _ in range(2000):
    ...     draws.append(slice_sample(rng, draws[-1], lambda x: -(x**2) / 2))
    >>> bool(abs(np.var(draws) - 1) < 0.2)
    True
    """
    height = log_density(x) + np.log(rng.random())
    low = x - SLICE_WIDTH * rng.random()
    high = low + SLICE_WIDTH
    for _ in range(MOST_STEPS):
        if not log_density(low) > height:
            break
        low -= SLICE_WIDTH
    for _ in range(MOST_STEPS):
        if not log_density(high) > height:
            break
        high += SLICE_WIDTH
    for _ in range(MOST_STEPS):
        trial = float(rng.uniform(low, high))
        if log_density(trial) > height:
            return trial
        low, high = (trial, high) if trial < x else (low, trial)
    return x
