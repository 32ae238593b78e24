"""Slice draws of single numbers, and interwoven draws of the scale of many effects."""

from collections.abc import Callable

import numpy as np

from judgemap.core.types import FloatArray

SLICE_WIDTH = 1.0
MOST_STEPS = 200
"""The most steps out, and the most shrinks; a slice that needs more is given up."""


def interweave(
    rng: np.random.Generator,
    log_prior: Callable[[FloatArray], FloatArray],
    old: float,
    effects: tuple[float, float],
    along: Callable[[float], tuple[float, float]],
) -> tuple[float, float]:
    """Draw x = log s² given effects E = sw (their number and Σ E²), then given w; return both draws.

    With w = E e^{−x/2} at the first draw, ``along`` returns A and B of the likelihood exp(Bs − As²/2) of the second.
    """
    count, size = effects
    kept = slice_sample(rng, old, lambda x: float(log_prior(np.array(x)) - count * x / 2 - size * np.exp(-x) / 2))
    square, linear = along(kept)
    moved = slice_sample(
        rng,
        kept,
        lambda x: float(log_prior(np.array(x)) + linear * np.exp(x / 2) - square * np.exp(x) / 2),
    )
    return kept, moved


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
