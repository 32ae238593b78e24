"""Exact answers for the clustering model at a handful of areas, and a way to plant bugs in compiled code.

Not a test module itself: pytest puts this folder on the path because it has no ``__init__.py``.
"""

import inspect
import itertools
from collections.abc import Callable
from types import ModuleType

import numpy as np
from scipy.special import gammaln, ndtri, stdtr

from judgemap.core.model.clusters import ClusterPrior, marginal_constants
from judgemap.core.samplers.clusters.compiled import Tables

Partition = tuple[int, ...]
Sweep = Callable[..., np.ndarray]


def tables(prior: ClusterPrior) -> Tables:
    hyper = (float(prior.mu0), float(prior.kappa0), float(prior.a0), float(prior.b0))
    return Tables(prior.link_weights(), marginal_constants(prior), hyper)


def partition_of(links) -> Partition:
    """Join i and θ_i for every i, one after the other; number the clusters by their first area."""
    label = list(range(len(links)))
    for i, j in enumerate(links):
        old, new = label[i], label[j]
        label = [new if k == old else k for k in label]
    seen: dict[int, int] = {}
    return tuple(seen.setdefault(k, len(seen)) for k in label)


def density(prior: ClusterPrior, strengths: np.ndarray) -> float:
    """log f(λ_k) as written in model text, with λ̄ and κ0, not as the sampler computes it."""
    n, mean = len(strengths), strengths.mean()
    rate = prior.b0 + np.sum((strengths - mean) ** 2) / 2
    rate += prior.kappa0 * n * (mean - prior.mu0) ** 2 / (2 * (prior.kappa0 + n))
    return float(
        gammaln(prior.a0 + n / 2)
        - gammaln(prior.a0)
        + prior.a0 * np.log(prior.b0)
        - (prior.a0 + n / 2) * np.log(rate)
        + np.log(prior.kappa0 / (prior.kappa0 + n)) / 2
        - n / 2 * np.log(2 * np.pi)
    )


def enumerate_links(prior: ClusterPrior, strengths: np.ndarray) -> tuple[dict[Partition, float], np.ndarray]:
    """P(partition | λ) and P(θ_i = j | λ), by adding up all N^N sets of links."""
    n = prior.n_areas
    partitions: dict[Partition, float] = {}
    links_total = np.zeros((n, n))
    fit: dict[Partition, float] = {}
    for links in itertools.product(range(n), repeat=n):
        weight = float(np.prod([prior.beta if i == j else prior.affinity[i, j] for i, j in enumerate(links)]))
        if weight > 0:
            partition = partition_of(links)
            if partition not in fit:
                labels = np.array(partition)
                fit[partition] = np.exp(sum(density(prior, strengths[labels == k]) for k in set(partition)))
            weight *= fit[partition]
            partitions[partition] = partitions.get(partition, 0.0) + weight
            links_total[range(n), links] += weight
    mass = sum(partitions.values())
    return {partition: value / mass for partition, value in partitions.items()}, links_total / mass


def sweep_scores(
    rng: np.random.Generator, sweep: Sweep, prior: ClusterPrior, strengths: np.ndarray, batches: int, length: int
) -> list[float]:
    """Z-scores of the frequency of every partition and every link in a run of sweeps against its exact probability.

    Standard errors are from the means of ``batches`` batches; t scores are given as normal scores.
    """
    n, table = prior.n_areas, tables(prior)
    partitions, link_chance = enumerate_links(prior, strengths)
    place = {partition: at for at, partition in enumerate(partitions)}
    probability = np.concatenate([list(partitions.values()), link_chance.ravel()])
    counts = np.zeros((batches, len(probability)))
    links = np.arange(n)
    at_links = len(partitions) + n * np.arange(n)
    for batch in range(batches):
        for _ in range(length):
            links = sweep(rng, links, strengths, table)
            counts[batch, place[partition_of(links.tolist())]] += 1
            counts[batch, at_links + links] += 1
    frequency = counts / length
    # What is too rare to have a normal mean is left out; nothing is judged by less than its binomial spread.
    common = np.minimum(probability, 1 - probability) * batches * length > 30
    least = np.sqrt(probability * (1 - probability) / (batches * length))
    error = np.maximum(frequency.std(axis=0, ddof=1) / np.sqrt(batches), least)[common]
    t = (frequency.mean(axis=0) - probability)[common] / error
    z = np.sign(t) * -ndtri(np.maximum(stdtr(batches - 1, -np.abs(t)), 1e-300))
    return z.tolist()


def plain(module: ModuleType, changes: dict[str, str]) -> ModuleType:
    """Return a copy of a compiled module that runs as plain Python, with parts of its text replaced."""
    source = inspect.getsource(module)
    for old, new in changes.items():
        assert source.count(old) == 1, f"{old!r} is in {module.__name__} {source.count(old)} times"
        source = source.replace(old, new)
    copy = ModuleType(f"{module.__name__}_plain")
    exec(source.replace("@compiled\n", "").replace("@within\n", ""), vars(copy))  # noqa: S102
    return copy
