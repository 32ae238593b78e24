"""What a sampler is: three functions on a state that holds a batch of chains."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from judgemap.core.types import FloatArray


class Sample(NamedTuple):
    """What is kept of a state: one row a chain of the batch."""

    strengths: FloatArray
    """λ, shape (chains, areas), not centred."""
    log_variance: FloatArray
    """log α², shape (chains,)."""
    acceptance: FloatArray
    """Probability with which the last proposal was accepted, shape (chains,); 1 for a Gibbs step."""


class Kernel(NamedTuple):
    """A Markov transition that leaves the posterior of one `Model` unchanged.

    A sampler's module has a function ``kernel(model) -> Kernel``. States are immutable to the caller: ``step`` returns
    a new one. The generator comes from outside, so the same seed gives the same draws.
    """

    init: Callable[[FloatArray, FloatArray], Any]
    """(strengths (chains, areas), log α² (chains,)) → state."""
    step: Callable[[np.random.Generator, Any], Any]
    """(rng, state) → state."""
    read: Callable[[Any], Sample]
    """state → what is kept of it."""
    width: int
    """How many chains one batch should hold: as many as make the arrays worth a NumPy call."""
