"""Run the clustering sampler in several chains from different partitions, as `run` runs the others.

One generator and one thread a chain, so the same seed gives the same draws on any number of cores; the compiled code
holds no lock.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from judgemap.core.samplers.clusters import (
    ClusterDraws,
    ClusterKernel,
    ClusterModel,
    gibbs_kernel,
    kernel,
    starting_partitions,
)
from judgemap.core.samplers.run import Plan, Watcher, spread_out
from judgemap.core.types import FloatArray, IntArray

BLOCKS = 40
Build = Callable[[ClusterModel], ClusterKernel]
CLUSTER_SAMPLERS: dict[str, Build] = {"hmc": kernel, "gibbs": gibbs_kernel}
"""How strengths are drawn given the clusters; links are drawn alike by both."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterRun:
    """Draws of several chains: strengths and labels (chain, draw, area), the others (chain, draw)."""

    strengths: FloatArray
    labels: IntArray
    n_clusters: IntArray
    log_posterior: FloatArray
    acceptance: FloatArray
    complete: bool = True

    @property
    def n_draws(self) -> int:
        """The number of draws of each chain."""
        return len(self.strengths[0])

    @property
    def centred(self) -> FloatArray:
        """λ − mean(λ), the part of the strengths that comparisons can tell."""
        centred: FloatArray = self.strengths - self.strengths.mean(axis=2, keepdims=True)
        return centred

    def watched(self) -> FloatArray:
        """Judge the draws by what needs no labels: twenty areas, the number of clusters, the log posterior."""
        scalars = np.stack([self.n_clusters.astype(np.float64), self.log_posterior], axis=2)
        return np.concatenate([spread_out(self.strengths), scalars], axis=2)


def sample_clusters(
    rng: np.random.Generator,
    model: ClusterModel,
    plan: Plan,
    build: Build = kernel,
    cores: int = 1,
    watch: Watcher | None = None,
) -> ClusterRun:
    """Draw from the posterior of ``model``: all together, all apart and by strength are where chains start.

    >>> from judgemap.core.cluster_prior import ClusterPrior
    >>> from judgemap.core.comparisons import count_pairs
    >>> model = ClusterModel(count_pairs([0, 1], [2, 2], n_areas=3), ClusterPrior(np.ones((3, 3))))
    >>> sample_clusters(np.random.default_rng(1), model, Plan(chains=2, draws=50, thin=2)).labels.shape
    (2, 50, 3)
    """
    with threadpool_limits(limits=1):
        chain = build(model)
        generators = rng.spawn(plan.chains)
        partitions = starting_partitions(model, plan.chains)
        states = [chain.init(each, labels) for each, labels in zip(generators, partitions, strict=True)]
        blocks: list[list[ClusterDraws]] = []
        wanted = _blocks(plan)
        with ThreadPoolExecutor(max_workers=max(1, min(cores, plan.chains))) as pool:
            try:
                for number, (iterations, thin) in enumerate(wanted):
                    jobs = [
                        pool.submit(chain.advance, generator, state, iterations, thin)
                        for generator, state in zip(generators, states, strict=True)
                    ]
                    results = [job.result() for job in jobs]
                    states = [state for state, _ in results]
                    if number or not plan.warmup:
                        blocks.append([draws for _, draws in results])
                    if watch is not None and blocks:
                        watch(_Growing(blocks), plan.draws)
            except KeyboardInterrupt:
                pool.shutdown(cancel_futures=True)
                if sum(len(block[0].n_clusters) for block in blocks) < 4:
                    raise
        return _joined(blocks, complete=sum(len(block[0].n_clusters) for block in blocks) == plan.draws)


def _blocks(plan: Plan) -> list[tuple[int, int]]:
    """Cut the run into (iterations, thin): the warm-up, of which one draw is made and not kept, then the draws."""
    size = -(-plan.draws // BLOCKS)
    full, rest = divmod(plan.draws, size)
    kept = [size] * full + ([rest] if rest else [])
    return [(plan.warmup, plan.warmup)] * bool(plan.warmup) + [(draws * plan.thin, plan.thin) for draws in kept]


class _Growing:
    """The draws so far, joined only when somebody looks."""

    def __init__(self, blocks: list[list[ClusterDraws]]) -> None:
        self.blocks = blocks

    @property
    def n_draws(self) -> int:
        return sum(len(block[0].n_clusters) for block in self.blocks)

    def watched(self) -> FloatArray:
        return _joined(self.blocks, complete=False).watched()


def _joined(blocks: list[list[ClusterDraws]], *, complete: bool) -> ClusterRun:
    """Put blocks behind each other and chains side by side."""
    strengths, labels, n_clusters, log_posterior, acceptance = (
        np.stack([np.concatenate([block[chain][field] for block in blocks]) for chain in range(len(blocks[0]))])
        for field in range(len(ClusterDraws._fields))
    )
    return ClusterRun(strengths, labels, n_clusters, log_posterior, acceptance, complete)
