"""What the studies share: comparisons simulated from a design, a plan of the draws, and checks of the settings."""

import numpy as np

from judgemap.core.design.designs import PairDesign
from judgemap.core.model.counts import PairCounts, count_pairs
from judgemap.core.samplers.run import Plan
from judgemap.core.simulate.trials import answer
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError


def scheduled_counts(rng: np.random.Generator, strengths: FloatArray, design: PairDesign, size: int) -> PairCounts:
    """Draw ``size`` independent pairs from a design, and answer them from the strengths.

    >>> from judgemap.core.design.designs import uniform
    >>> scheduled_counts(np.random.default_rng(1), np.zeros(4), uniform(4), size=30).total
    30
    """
    pairs = design.draw(rng, size)
    won = answer(rng, pairs, strengths)
    winners, losers = np.where(won, pairs[:, 0], pairs[:, 1]), np.where(won, pairs[:, 1], pairs[:, 0])
    return count_pairs(winners, losers, len(strengths))


def plan_of(chains: int, warmup: int, draws: int, thin: int = 1) -> Plan:
    """Return the plan of draws; raise a `StudyError` if it is impossible."""
    try:
        return Plan(chains, warmup, draws, thin)
    except ValueError as error:
        raise StudyError(str(error)) from None


def check_positive(name: str, value: float) -> None:
    """Raise a `StudyError` unless a setting is a positive number."""
    if not (np.isfinite(value) and value > 0):
        raise StudyError(f"{name} must be a positive number, received {value}")


def check_whole(name: str, value: int) -> None:
    """Raise a `StudyError` unless a setting is a whole number of at least 1."""
    if value < 1:
        raise StudyError(f"{name} must be at least 1, received {value}")
