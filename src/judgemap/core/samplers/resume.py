"""Going on where a run was stopped, number for number: what it needs, as bytes of plain arrays and never of objects.

A `Keeper` decides where the bytes are and how often they are written. Draws are only ever added to; where the chains
are is replaced each time. The mass matrix and the number of kicks are not kept: data and fixed seeds give them again.
"""

import io
import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from judgemap.core.samplers.kernel import Arrays

if TYPE_CHECKING:
    from judgemap.core.samplers.run import Draws


class Keeper(ABC):
    """A watcher of a run that also keeps what the run needs to go on after its process has ended."""

    @abstractmethod
    def __call__(self, draws: "Draws", wanted: int) -> None:
        """See the draws so far, as any watcher does."""

    @abstractmethod
    def due(self) -> bool:
        """Say whether it is time to keep something; asked after every block."""

    @abstractmethod
    def keep(self, position: bytes, more: bytes) -> None:
        """Keep ``more`` draws, none if it is empty, after those kept before, and the ``position`` that follows them."""

    @abstractmethod
    def kept(self) -> tuple[bytes, Iterable[bytes]] | None:
        """Return the last position and all draws up to it, in the order in which they were kept; None if none is."""


class Position(NamedTuple):
    """Where a run is: the chains, their generators, and how much of the plan is behind them."""

    states: Sequence[Any]
    """One for each batch: arrays and numbers in tuples."""
    generators: Sequence[np.random.Generator]
    size: int
    """How many draws are asked for by now."""
    stretch: int
    """How many of them the blocks are cut from."""
    done: int
    """How many of these blocks are done."""
    seconds: float
    """How long earlier processes took for all this."""

    def pack(self) -> bytes:
        """Return it as bytes."""
        leaves = [each for state in self.states for each in _leaves(state)]
        plan = {"size": self.size, "stretch": self.stretch, "done": self.done, "seconds": self.seconds}
        kept = plan | {"generators": [each.bit_generator.state for each in self.generators]}
        return pack({"plan": np.frombuffer(json.dumps(kept).encode(), dtype=np.uint8)}, *leaves)

    def moved_to(self, packed: bytes) -> "Position | None":
        """Return the position kept in ``packed``, in the shape of this one; None if it is another model's."""
        arrays = unpack(packed)
        plan = json.loads(arrays.pop("plan").tobytes())
        leaves = list(arrays.values())
        here = [each for state in self.states for each in _leaves(state)]
        if [(each.shape, each.dtype) for each in here] != [(each.shape, each.dtype) for each in leaves]:
            return None
        for generator, state in zip(self.generators, plan.pop("generators"), strict=True):
            generator.bit_generator.state = state
        kept = iter(leaves)
        return Position([_filled(state, kept) for state in self.states], self.generators, **plan)


def pack(named: Arrays, *others: NDArray[Any]) -> bytes:
    """Write arrays as the bytes of an npz file."""
    file = io.BytesIO()
    np.savez(file, *others, **cast("dict[str, Any]", named))
    return file.getvalue()


def unpack(packed: bytes) -> Arrays:
    """Read arrays, by name and in the order in which they were written."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _leaves(state: Any) -> Iterator[NDArray[Any]]:  # noqa: ANN401 - a kernel's own state
    if isinstance(state, tuple):
        for each in state:
            yield from _leaves(each)
    elif state is not None:
        yield np.asarray(state)


def _filled(state: Any, leaves: Iterator[NDArray[Any]]) -> Any:  # noqa: ANN401 - a kernel's own state
    if isinstance(state, tuple):
        parts = [_filled(each, leaves) for each in state]
        return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
    if state is None:
        return None
    leaf = next(leaves)
    return leaf if isinstance(state, np.ndarray) else leaf.item()
