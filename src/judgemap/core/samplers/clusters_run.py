"""Run the clustering sampler in several chains from different starting partitions: in threads, with news on the way."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from judgemap.core.samplers.clusters import (
    ClusterDraws,
    ClusterKernel,
    ClusterModel,
    ClusterState,
    kernel,
    starting_partitions,
)
from judgemap.core.samplers.run import Plan

DEFAULT_PLAN = Plan(chains=4, warmup=500, draws=1000, thin=5)
BLOCKS = 40
"""A run is cut into about so many blocks, so that Ctrl-C is answered soon."""

Watcher = Callable[[ClusterDraws, int], None]
"""Called after every block with the draws so far, arrays (chain, draw, …), and the number asked for per chain."""


def sample_clusters(
    rng: np.random.Generator,
    model: ClusterModel,
    plan: Plan = DEFAULT_PLAN,
    build: Callable[[ClusterModel], ClusterKernel] = kernel,
    cores: int = 1,
    watch: Watcher | None = None,
) -> ClusterDraws:
    """Draw from the posterior of ``model``: arrays (chain, draw, …).

    The first chain starts from one cluster, the second from all areas apart, the others from groups by strength. Every
    chain has a generator of its own, so that the same seed gives the same draws whatever the number of cores. Stopped
    by Ctrl-C, it returns what there is, if that is four draws a chain or more.

    >>> from judgemap.core.cluster_prior import ClusterPrior
    >>> from judgemap.core.comparisons import count_pairs
    >>> model = ClusterModel(count_pairs([0, 1], [2, 2], n_areas=3), ClusterPrior(np.ones((3, 3))))
    >>> sample_clusters(np.random.default_rng(1), model, Plan(chains=2, draws=50)).labels.shape
    (2, 50, 3)
    """
    sampler = build(model)
    generators = rng.spawn(plan.chains)
    partitions = starting_partitions(model, plan.chains)
    states = [sampler.init(own, labels) for own, labels in zip(generators, partitions, strict=True)]
    kept: list[ClusterDraws] = []
    with ThreadPoolExecutor(max_workers=max(1, min(cores, plan.chains))) as pool:

        def advance(iterations: int, thin: int) -> ClusterDraws:
            def one(chain: int) -> tuple[ClusterState, ClusterDraws]:
                return sampler.advance(generators[chain], states[chain], iterations, thin)

            results = list(pool.map(one, range(plan.chains)))
            states[:] = [state for state, _ in results]
            return ClusterDraws(*(np.stack(arrays) for arrays in zip(*(draws for _, draws in results), strict=True)))

        try:
            if plan.warmup:
                advance(plan.warmup, plan.warmup)
            for draws in _blocks(plan.draws):
                kept.append(advance(draws * plan.thin, plan.thin))
                if watch is not None:
                    watch(_joined(kept), plan.draws)
        except KeyboardInterrupt:
            pool.shutdown(cancel_futures=True)
            if sum(block.n_clusters.shape[1] for block in kept) < 4:
                raise
    return _joined(kept)


def _blocks(draws: int) -> list[int]:
    size = max(1, -(-draws // BLOCKS))
    full, rest = divmod(draws, size)
    return [size] * full + ([rest] if rest else [])


def _joined(blocks: list[ClusterDraws]) -> ClusterDraws:
    return ClusterDraws(*(np.concatenate(arrays, axis=1) for arrays in zip(*blocks, strict=True)))
