"""What a sampler is: how chains start and how they go on. `run` runs any of them.

A sampler is one file with a function ``kernel(model) -> Kernel``. It keeps its chains in named arrays of its own
choosing, so that a sampler with more parameters needs no change elsewhere. Some names mean the same everywhere:
``strengths`` are λ, not centred; ``acceptance`` is the probability of accepting the last proposal, 1 for a Gibbs step;
``divergences`` counts proposals that broke down.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgemap.core.types import BoolArray, FloatArray

Arrays = dict[str, NDArray[Any]]
"""Arrays by name: (chain, …) for one state, (chain, draw, …) for draws."""
HUGE = 1000.0
"""An energy error this large means that a trajectory broke down, not just lost accuracy: e^−1000 counts as 0."""


class Kernel(NamedTuple):
    """A Markov transition for a batch of chains that leaves the posterior of one model invariant.

    Callers must not change states. The generator comes from outside, so the same seed gives the same draws.
    """

    init: Callable[..., Any]
    """(rng, arrays with one row per chain saying where to start) → state."""
    advance: Callable[[np.random.Generator, Any, int, int], tuple[Any, Arrays]]
    """(rng, state, steps, thin) → (state, every ``thin``-th draw)."""
    width: int = 1
    """How many chains one batch should hold: enough to make a NumPy call on its arrays worthwhile."""
    block: int | None = None
    """How many draws to make between progress reports; by default a fortieth of them all, but at most 250."""


def by_steps(
    init: Callable[..., Any],
    step: Callable[[np.random.Generator, Any], Any],
    read: Callable[[Any], Arrays],
    width: int = 1,
) -> Kernel:
    """Build a kernel from one step, (rng, state) → state, and a function that reads what to keep from a state.

    If a state has ``divergences``, they count from its start; those of a draw count since the previous draw.

    >>> walk = by_steps(
    ...     init=lambda rng, start: start,
    ...     step=lambda rng, state: state + rng.standard_normal(len(state)),
    ...     read=lambda state: {"place": state},
    ... )
    >>> rng = np.random.default_rng(1)
    >>> state, draws = walk.advance(rng, walk.init(rng, np.zeros(2)), 6, 3)
    >>> draws["place"].shape, bool((draws["place"][:, -1] == state).all())
    ((2, 2), True)
    """

    def advance(rng: np.random.Generator, state: Any, steps: int, thin: int) -> tuple[Any, Arrays]:  # noqa: ANN401
        check_block(steps, thin)
        before, kept = read(state), []
        for number in range(1, steps + 1):
            state = step(rng, state)
            if number % thin == 0:
                kept.append(read(state))
        draws = {name: np.stack([each[name] for each in kept], axis=1) for name in before}
        if "divergences" in draws:
            draws["divergences"] = np.diff(draws["divergences"], axis=1, prepend=before["divergences"][:, None])
        return state, draws

    return Kernel(init, advance, width)


def check_block(steps: int, thin: int) -> None:
    """Raise unless every ``thin``-th step can be kept, including the last."""
    if steps < 1 or thin < 1 or steps % thin:
        raise ValueError(f"a block takes some whole multiple of thin steps, received {steps} steps and thin {thin}")


def broke_down(change: FloatArray) -> BoolArray:
    """Say which proposals broke down, from their log acceptance ratios: not a number, infinite, or hopeless.

    >>> broke_down(np.array([0.5, -30.0, -1e6, np.nan, np.inf]))
    array([False, False,  True,  True,  True])
    """
    return ~(np.isfinite(change) & (change > -HUGE))
