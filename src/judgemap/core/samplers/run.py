"""Run a sampler in several chains, block by block: in threads, reporting progress, and keeping the draws on Ctrl-C.

If whoever watches is a `Keeper`, a run that was stopped goes on where it was.

Chains are grouped into batches by the kernel's width alone, each batch has its own generator, and BLAS runs on one
thread, so the same seed gives the same draws whatever the number of cores.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from judgemap.core.approximate import approximate
from judgemap.core.model.prior import Model
from judgemap.core.samplers import gibbs
from judgemap.core.samplers.clusters import kernel as clusters
from judgemap.core.samplers.clusters.kernel import ClusterModel, starting_partitions
from judgemap.core.samplers.diagnostics import AT_A_TIME, Sampling, assess_sampling
from judgemap.core.samplers.kernel import Arrays, Kernel
from judgemap.core.samplers.resume import Keeper, Position, pack, unpack
from judgemap.core.samplers.spatial import hmc
from judgemap.core.threads import one_thread
from judgemap.core.types import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from judgemap.core.samplers.sparse.model import SparseModel

SAMPLERS: dict[str, Callable[[Model], Kernel]] = {"hmc": hmc.kernel, "gibbs": gibbs.kernel}
"""The samplers of the standard and spatial models, by name."""
CLUSTER_SAMPLERS: dict[str, Callable[[ClusterModel], Kernel]] = {"hmc": clusters.kernel, "gibbs": clusters.gibbs_kernel}
"""How strengths are drawn given the clusters; both draw links in the same way."""

START_SPREAD = 1.5
"""How much wider than the Laplace approximation the chains start."""
BLOCKS = 40
"""How many blocks the draws are cut into: this sets how often progress is reported and how soon Ctrl-C takes effect."""
LONGEST_BLOCK = 250
"""The most draws in a block: a server being shut down gives a long fit seconds, not minutes, to stop between two."""
FEWEST = 4
"""The fewest draws per chain from which diagnostics can be computed; an interrupted run with fewer is discarded."""
WATCHED_AREAS = 20


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to draw per chain: ``warmup`` steps, which are discarded, then ``draws``, one every ``thin`` steps.

    If ``most`` exceeds ``draws``, chains that are not good enough yet go on, growing each time by the ``more``-fold of
    their length, up to ``most`` draws. A run that goes on makes the same draws, up to rounding, as one asked for that
    many from the start.
    """

    chains: int = 8
    warmup: int = 100
    draws: int = 1000
    thin: int = 1
    most: int = 0
    more: float = 1.0

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("warmup", 0), ("draws", FEWEST), ("thin", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, received {getattr(self, name)}")

    def numbers(self) -> dict[str, int]:
        """Return chains, warmup, draws and thin by name."""
        return {name: getattr(self, name) for name in ("chains", "warmup", "draws", "thin")}


@dataclass(frozen=True, eq=False)
class Draws:
    """What a run returns: arrays (chain, draw, …) by name, and how many draws were asked for in the end."""

    arrays: Mapping[str, NDArray[Any]]
    asked: int | None = None
    earlier: float = 0.0
    """How many seconds were spent on them before the run was stopped and went on."""

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return one array by name."""
        return self.arrays[name]

    @property
    def strengths(self) -> FloatArray:
        """λ, not centred, (chain, draw, area)."""
        return self.arrays["strengths"]

    @property
    def centred(self) -> FloatArray:
        """λ − mean(λ), the part of the strengths that comparisons say something about."""
        return self.strengths - self.strengths.mean(axis=2, keepdims=True)

    @cached_property
    def level(self) -> FloatArray:
        """The mean strength of each draw, (chain, draw)."""
        return self.strengths.mean(axis=2, dtype=np.float64)

    @property
    def divergences(self) -> NDArray[np.int64]:
        """How many proposals broke down since the previous draw, (chain, draw)."""
        return self.arrays.get("divergences", np.zeros(self.strengths.shape[:2], dtype=np.int64))

    @property
    def n_draws(self) -> int:
        """The number of draws per chain; 0 during warm-up."""
        return len(self.strengths[0])

    @property
    def complete(self) -> bool:
        """False if the run was interrupted."""
        return self.asked in (None, self.n_draws)

    def watched(self, areas: IntArray | None = None) -> FloatArray:
        """Select quantities that show how good the draws are, (chain, draw, quantity): some areas and every scalar."""
        if areas is None:
            areas = np.unique(np.linspace(0, self.strengths.shape[2] - 1, WATCHED_AREAS).astype(np.int64))
        chosen = self.strengths[:, :, areas] - self.level[:, :, None]
        statistics = ("acceptance", "divergences", "restarts")
        scalars = [a[:, :, None] for name, a in self.arrays.items() if a.ndim == 2 and name not in statistics]
        return np.concatenate([chosen, *scalars], axis=2)

    @cached_property
    def sampling(self) -> Sampling:
        """How well every area's centred strength was sampled; cached, because it takes a while."""
        assessed = [assess_sampling(part) for part in self._parts()]
        return Sampling(*(np.concatenate(each) for each in zip(*assessed, strict=True)))

    def good(self) -> bool:
        """Whether the chains agree and there are enough draws, for every area and every scalar that moves."""
        moved = np.concatenate([_moves(part) for part in self._parts()])
        scalars = self.watched(np.empty(0, dtype=np.int64))
        scalars = scalars[:, :, _moves(scalars)]
        areas = Sampling._make(each[moved] for each in self.sampling)
        return areas.good and (scalars.size == 0 or assess_sampling(scalars).good)

    def _parts(self) -> Iterator[FloatArray]:
        """Yield the centred strengths, some areas at a time, so that a national map's draws are never copied whole."""
        for part in np.array_split(np.arange(self.strengths.shape[2]), -(-self.strengths.size // AT_A_TIME)):
            yield self.strengths[:, :, part] - self.level[:, :, None]


def _moves(draws: FloatArray) -> BoolArray:
    return np.ptp(draws, axis=(0, 1)) > 0


Watcher = Callable[[Draws, int], None]
"""Called after every block with the draws so far and the number of draws asked for per chain; perhaps a `Keeper`."""


def sample(
    rng: np.random.Generator,
    model: Model,
    sampler: str = "hmc",
    plan: Plan | None = None,
    cores: int = 1,
    watch: Watcher | None = None,
) -> Draws:
    """Draw ``strengths`` and ``log_variance`` = log α² from the posterior of ``model`` with the named sampler."""
    if sampler not in SAMPLERS:
        raise ValueError(f"there is no sampler '{sampler}'; choose one of {', '.join(SAMPLERS)}")
    plan = plan or Plan()
    with one_thread():
        laplace = approximate(model)
        starts = laplace.draw(rng, plan.chains, START_SPREAD)
        kernel = hmc.kernel(model, laplace) if sampler == "hmc" else SAMPLERS[sampler](model)
        return run(rng, kernel, starts, plan, cores, watch)


def sample_sparse(
    rng: np.random.Generator, model: "SparseModel", plan: Plan, cores: int = 1, watch: Watcher | None = None
) -> Draws:
    """Draw ``strengths`` (single precision), ``log_variance`` and ``tie_chance`` from a large map's posterior."""
    from judgemap.core.samplers.sparse import hmc as sparse  # loads numba, which short fits do without

    with one_thread():
        target = sparse.build_target(model)
        return run(rng, sparse.kernel(target), sparse.draw_starts(rng, target, plan.chains), plan, cores, watch)


def sample_clusters(
    rng: np.random.Generator,
    model: ClusterModel,
    plan: Plan,
    build: Callable[[ClusterModel], Kernel] = clusters.kernel,
    cores: int = 1,
    watch: Watcher | None = None,
) -> Draws:
    """Draw from the posterior of ``model``; chains start from areas all together, all apart, and grouped by strength.

    Besides ``strengths`` there are ``labels``, the cluster of each area, numbered in every draw by the clusters' first
    areas (0 is area 0's); ``n_clusters``; and ``log_posterior``, log p(y, λ, θ) up to a constant, with m and σ²
    integrated out.
    """
    with one_thread():
        return run(rng, build(model), (starting_partitions(model, plan.chains),), plan, cores, watch)


def run(
    rng: np.random.Generator,
    kernel: Kernel,
    starts: tuple[NDArray[Any], ...],
    plan: Plan,
    cores: int = 1,
    watch: Watcher | None = None,
) -> Draws:
    """Run ``kernel`` according to ``plan`` from ``starts``, the arrays that its ``init`` takes, one row per chain."""
    groups = [slice(first, first + kernel.width) for first in range(0, plan.chains, kernel.width)]
    generators = rng.spawn(len(groups))
    keeper, store, began = watch if isinstance(watch, Keeper) else None, _Store(plan), time.perf_counter()
    with ThreadPoolExecutor(max_workers=max(1, min(cores, len(groups)))) as pool:
        split = ([each[group] for each in starts] for group in groups)
        first_states = pool.map(lambda generator, own: kernel.init(generator, *own), generators, split)
        at = Position(list(first_states), generators, plan.draws, plan.draws, 0, 0.0)
        if keeper is not None:
            at = store.restore(keeper, at)
        try:
            while True:
                first = at.size == plan.draws
                blocks = _blocks(plan if first else replace(plan, warmup=0, draws=at.stretch), kernel.block)
                for steps, thin, kept in blocks[at.done :]:
                    jobs = [
                        pool.submit(kernel.advance, generator, state, steps, thin)
                        for generator, state in zip(generators, at.states, strict=True)
                    ]
                    results = [job.result() for job in jobs]
                    at = at._replace(states=[state for state, _ in results], done=at.done + 1)
                    store.add([draws for _, draws in results], kept=kept)
                    if keeper is not None and keeper.due():
                        taken = at.seconds + time.perf_counter() - began
                        keeper.keep(at._replace(seconds=taken).pack(), store.since_saved())
                    if watch is not None:
                        watch(store.so_far(), store.size)
                more = min(int(plan.more * store.size), plan.most - store.size)
                made = replace(store.so_far(), earlier=at.seconds)  # what `good` finds out is remembered
                if more < FEWEST or made.good():
                    return made
                store.grow(more)
                at = at._replace(size=store.size, stretch=more, done=0)
        except KeyboardInterrupt:
            # Batches still running are waited for, and their block is dropped, so that all chains have equally many
            # draws.
            pool.shutdown(cancel_futures=True)
            if store.filled < FEWEST:
                raise
            if store.filled == store.size:  # stopped while it was decided whether to go on
                store.size = max(store.size, plan.most)
    return replace(store.so_far(), earlier=at.seconds)


def _blocks(plan: Plan, size: int | None) -> list[tuple[int, int, bool]]:
    """Cut the run into (steps, thin, whether to keep the draws); the warm-up comes first and makes one unkept draw."""
    size = size or min(-(-plan.draws // BLOCKS), LONGEST_BLOCK)
    full, rest = divmod(plan.draws, size)
    kept = [size] * full + [rest] * bool(rest)
    warmup = [(plan.warmup, plan.warmup, False)] * bool(plan.warmup)
    return warmup + [(draws * plan.thin, plan.thin, True) for draws in kept]


class _Store:
    """Arrays for the whole run, filled from the front, so that the cost per iteration does not grow."""

    def __init__(self, plan: Plan) -> None:
        self.chains, self.size = plan.chains, plan.draws
        self.filled = self.saved = 0
        self.arrays: Arrays = {}

    def add(self, batches: list[Arrays], *, kept: bool) -> None:
        """Append a block, one batch's chains after another; the first block determines which arrays there are."""
        block = {name: np.concatenate([batch[name] for batch in batches]) for name in batches[0]}
        if not self.arrays:
            size = (self.chains, self.size)
            self.arrays = {name: np.empty((*size, *array.shape[2:]), array.dtype) for name, array in block.items()}
        if kept:
            until = self.filled + block["strengths"].shape[1]
            for name, array in block.items():
                self.arrays[name][:, self.filled : until] = array
            self.filled = until

    def grow(self, more: int) -> None:
        """Make room for more draws."""
        self.size += more
        for name, array in self.arrays.items():
            self.arrays[name] = np.concatenate([array, np.empty_like(array[:, :more])], axis=1)

    def restore(self, keeper: Keeper, start: Position) -> Position:
        """Take back the draws that were kept, and return the position after them; ``start`` if there are none."""
        kept = keeper.kept()
        at = None if kept is None else start.moved_to(kept[0])
        if kept is None or at is None:
            return start
        self.size = at.size
        for draws in kept[1]:
            self.add([unpack(draws)], kept=True)
        self.saved = self.filled
        if self.filled:
            keeper(self.so_far(), self.size)
        return at

    def since_saved(self) -> bytes:
        """Return the draws that no keeper has yet."""
        new, self.saved = slice(self.saved, self.filled), self.filled
        return pack({name: array[:, new] for name, array in self.arrays.items()}) if new.start < new.stop else b""

    def so_far(self) -> Draws:
        arrays = {name: array[:, : self.filled] for name, array in self.arrays.items()}
        return Draws(arrays, self.size)
