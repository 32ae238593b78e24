"""Run a kernel in several chains, block by block: in threads, with news on the way, and with what is there on Ctrl-C.

Chains are grouped into batches by the kernel's width alone, each batch has a generator of its own, and BLAS runs on one
thread: the same seed gives the same draws whatever the number of cores.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from judgemap.core.laplace import approximate
from judgemap.core.model import Model
from judgemap.core.samplers import gibbs, hmc
from judgemap.core.samplers.kernel import Kernel, Sample
from judgemap.core.types import FloatArray

SAMPLERS: dict[str, Callable[[Model], Kernel]] = {"hmc": hmc.kernel, "gibbs": gibbs.kernel}
"""The samplers of the standard and the spatial model, by name."""

START_SPREAD = 1.5
"""How much wider than the Laplace approximation the chains start."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much to draw: per chain, ``warmup`` steps thrown away, then ``draws`` kept, one in ``thin`` steps."""

    chains: int = 8
    warmup: int = 100
    draws: int = 1000
    thin: int = 1

    def __post_init__(self) -> None:
        for name, least in (("chains", 1), ("warmup", 0), ("draws", 4), ("thin", 1)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, received {getattr(self, name)}")


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """What a run returns: arrays (chain, draw, …). ``complete`` is false when it was interrupted."""

    strengths: FloatArray
    log_variance: FloatArray
    acceptance: FloatArray
    complete: bool = True

    @property
    def centred(self) -> FloatArray:
        """λ − mean(λ), the part of the strengths that comparisons can tell."""
        centred: FloatArray = self.strengths - self.strengths.mean(axis=2, keepdims=True)
        return centred

    @property
    def n_draws(self) -> int:
        """The number of draws of each chain."""
        return len(self.strengths[0])

    def watched(self) -> FloatArray:
        """Pick what tells soonest how good the draws are, (chain, draw, quantity): twenty areas and log α²."""
        return np.concatenate([spread_out(self.strengths), self.log_variance[:, :, None]], axis=2)


class SoFar(Protocol):
    """Draws while they come."""

    @property
    def n_draws(self) -> int:
        """The number of draws of each chain; 0 while warming up."""

    def watched(self) -> FloatArray:
        """Quantities to judge them by, (chain, draw, quantity)."""


Watcher = Callable[[SoFar, int], None]
"""Called after every block with the draws so far and the number asked for per chain."""


def spread_out(strengths: FloatArray, count: int = 20) -> FloatArray:
    """Centre the strengths, (chain, draw, area), and keep up to ``count`` areas spread over the list."""
    shown = np.unique(np.linspace(0, strengths.shape[2] - 1, count).astype(int))
    chosen: FloatArray = strengths[:, :, shown] - strengths.mean(axis=2, keepdims=True)
    return chosen


def sample(
    rng: np.random.Generator,
    model: Model,
    sampler: str = "hmc",
    plan: Plan | None = None,
    cores: int = 1,
    watch: Watcher | None = None,
) -> Draws:
    """Draw from the posterior of ``model`` by the sampler of that name.

    >>> from judgemap.core.comparisons import count_pairs
    >>> from judgemap.core.prior import InverseGamma, independent
    >>> model = Model(count_pairs([0, 0, 1], [1, 2, 2], n_areas=3), independent(3), InverseGamma(3, 3))
    >>> sample(np.random.default_rng(1), model, plan=Plan(chains=2, draws=50)).strengths.shape
    (2, 50, 3)
    """
    if sampler not in SAMPLERS:
        raise ValueError(f"there is no sampler '{sampler}'; choose one of {', '.join(SAMPLERS)}")
    plan = plan or Plan()
    with threadpool_limits(limits=1):
        starts = approximate(model).draw(rng, plan.chains, START_SPREAD)
        return run(rng, SAMPLERS[sampler](model), starts, plan, cores, watch)


def run(
    rng: np.random.Generator,
    kernel: Kernel,
    starts: tuple[FloatArray, FloatArray],
    plan: Plan,
    cores: int = 1,
    watch: Watcher | None = None,
) -> Draws:
    """Run ``kernel`` from ``starts`` = (strengths (chains, areas), log α² (chains,)) as ``plan`` says."""
    strengths, log_variance = starts
    groups = [slice(first, first + kernel.width) for first in range(0, plan.chains, kernel.width)]
    batches = [
        _Batch(generator, kernel.init(strengths[group], log_variance[group]))
        for generator, group in zip(rng.spawn(len(groups)), groups, strict=True)
    ]
    store = _Store(plan, strengths.shape[1])
    with ThreadPoolExecutor(max_workers=max(1, min(cores, len(batches)))) as pool:
        try:
            for steps, keep in _blocks(plan):
                jobs = [pool.submit(_advance, kernel, batch, steps, plan.thin if keep else 0) for batch in batches]
                results = [job.result() for job in jobs]
                batches = [batch for batch, _ in results]
                if keep:
                    store.add([samples for _, samples in results])
                if watch is not None:
                    watch(store.so_far(), plan.draws)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            if store.filled < 4:
                raise
            return store.so_far()
    return store.so_far()


class _Batch(NamedTuple):
    rng: np.random.Generator
    state: Any


def _blocks(plan: Plan) -> list[tuple[int, bool]]:
    """Cut the run into blocks of (steps, whether they are kept), 40 or more, so that Ctrl-C is answered soon."""
    blocks = [(plan.warmup, False)] if plan.warmup else []
    size = min(-(-plan.draws // 40), 250)
    full, rest = divmod(plan.draws, size)
    blocks += [(size * plan.thin, True)] * full
    return blocks + ([(rest * plan.thin, True)] if rest else [])


def _advance(kernel: Kernel, batch: _Batch, steps: int, thin: int) -> tuple[_Batch, list[Sample]]:
    """Take ``steps`` steps and read every ``thin``-th state, none if ``thin`` is 0."""
    state, samples = batch.state, []
    for step in range(1, steps + 1):
        state = kernel.step(batch.rng, state)
        if thin and step % thin == 0:
            samples.append(kernel.read(state))
    return _Batch(batch.rng, state), samples


class _Store:
    """Arrays for the whole run, filled from the front: cost per iteration does not grow."""

    def __init__(self, plan: Plan, n_areas: int) -> None:
        self.plan = plan
        self.filled = 0
        self.strengths = np.empty((plan.chains, plan.draws, n_areas))
        self.log_variance = np.empty((plan.chains, plan.draws))
        self.acceptance = np.empty((plan.chains, plan.draws))

    def add(self, samples: Sequence[Sequence[Sample]]) -> None:
        """Append a block: for each batch, its samples in order."""
        until = self.filled + len(samples[0])
        block = slice(self.filled, until)
        chain = 0
        for batch in samples:
            chains = slice(chain, chain + len(batch[0].log_variance))
            self.strengths[chains, block] = np.stack([s.strengths for s in batch], axis=1)
            self.log_variance[chains, block] = np.stack([s.log_variance for s in batch], axis=1)
            self.acceptance[chains, block] = np.stack([s.acceptance for s in batch], axis=1)
            chain = chains.stop
        self.filled = until

    def so_far(self) -> Draws:
        until = self.filled
        return Draws(
            self.strengths[:, :until],
            self.log_variance[:, :until],
            self.acceptance[:, :until],
            complete=until == self.plan.draws,
        )
