"""The clustering sampler: links by Gibbs, strengths by Hamiltonian Monte Carlo or Pólya-Gamma.

An iteration draws every link θ_i given the strengths, with the clusters' means and variances integrated out, then the
strengths given the clusters. `kernel` is the compiled default; `gibbs_kernel` follows the paper, drawing m_k, σ_k² and
Pólya-Gamma weights one after the other, and serves to check the first:

    1/σ_k² ~ Gamma(a0 + n/2, rate b̄),  m_k ~ N((κ0 μ0 + Σλ)/(κ0 + n), σ_k²/(κ0 + n))
    z_ij ~ PG(n_ij, λ_i − λ_j),  λ ~ N(B(κ + m_c/σ_c²), B),  B = (XᵀZX + diag(1/σ_c²))⁻¹,  κ = Xᵀ(y − n/2)

A batch is one chain, because the links of different chains have nothing to share. The compiled code releases the GIL,
so that chains run in parallel threads.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import expit

from judgemap.core.approximate import find_mode
from judgemap.core.model import outcomes
from judgemap.core.model.clusters import ClusterPrior, labels_of_links, log_marginal, marginal_constants
from judgemap.core.model.counts import PairCounts, information, laplacian, log_likelihood
from judgemap.core.model.outcomes import Answers, TieRule
from judgemap.core.model.prior import FixedVariance, Model, independent
from judgemap.core.samplers.gibbs import draw_gaussian
from judgemap.core.samplers.kernel import Arrays, Kernel, by_steps, check_block
from judgemap.core.samplers.slices import slice_line
from judgemap.core.types import FloatArray, IntArray

if TYPE_CHECKING:
    from judgemap.core.samplers.clusters.compiled import Comparisons, Tables

CARRY_EVERY = 4
"""Iterations between attempts to carry trees of areas, together with their strengths, from cluster to cluster."""
GOLDEN = 0.6180339887498949
"""The fractional parts of its multiples are evenly spread, and successive ones lie far apart."""
START_VARIANCE = 4.0
"""Variance of the independent prior under which chains find their starting strengths."""
FIRST_TIE = -1.5
"""The logit p at which chains with ties start."""
TIE_EVERY = 10
"""Iterations between draws of p."""
START_SPREAD = 1.5
"""How much wider than that approximation the chains start."""


@dataclass(frozen=True, slots=True, eq=False)
class ClusterModel:
    """logit P(i beats j) = λ_i − λ_j, strengths and clusters as in `ClusterPrior`, with Rao and Kupper's ties or none.

    Ties are those of `judgemap.core.model.outcomes`: p ~ U(0, 1) is the chance that equal areas tie, θ = 2 artanh p.
    """

    counts: PairCounts
    prior: ClusterPrior
    ties: TieRule | None = None

    def __post_init__(self) -> None:
        if self.ties is TieRule.DAVIDSON:
            raise ValueError("the cluster model supports Rao and Kupper's ties, not Davidson's")
        if self.counts.n_areas != self.prior.n_areas:
            raise ValueError(f"the comparisons cover {self.counts.n_areas:,} areas, the prior {self.prior.n_areas:,}")


class ClusterState(NamedTuple):
    """Where a chain is; a batch is one chain."""

    links: IntArray
    strengths: FloatArray
    tie: float = FIRST_TIE
    """logit p, unused in a model without ties."""


def kernel(model: ClusterModel, carry_every: int = CARRY_EVERY) -> Kernel:
    """Build the compiled sampler. Without ties, a ``carry_every`` longer than the run turns carrying off."""
    from judgemap.core.samplers.clusters import compiled as clusters_strengths

    comparisons, tables = _comparisons(model.counts, ties=model.ties is not None), _tables(model.prior)
    start = _Start(model)

    def move(rng: np.random.Generator, state: ClusterState, schedule: tuple[int, int, int]) -> tuple[Any, Arrays]:
        links, strengths = state.links.copy(), state.strengths.copy()
        theta = _theta(state.tie) if model.ties is not None else 0.0
        trace = clusters_strengths.advance(
            rng, links, strengths, comparisons._replace(theta=theta), tables, start.information, schedule
        )
        arrays: Arrays = {name: array[None] for name, array in trace._asdict().items()}
        return ClusterState(links, strengths, state.tie), arrays

    def advance(rng: np.random.Generator, state: ClusterState, steps: int, thin: int) -> tuple[ClusterState, Arrays]:
        check_block(steps, thin)
        if model.ties is None:
            return move(rng, state, (steps, thin, carry_every))
        blocks = []
        for _ in range(steps // thin):
            for first in range(0, thin, TIE_EVERY):
                size = min(TIE_EVERY, thin - first)
                state = draw_tie(rng, model, state)
                state, arrays = move(rng, state, (size, size, min(carry_every, size)))
            arrays["log_posterior"] = np.array([[log_posterior(model, state)]])
            blocks.append(arrays | {"tie_chance": np.array([[expit(state.tie)]])})
        return state, {name: np.concatenate([block[name] for block in blocks], axis=1) for name in blocks[0]}

    return Kernel(start.draw, advance)


def draw_tie(rng: np.random.Generator, model: ClusterModel, state: ClusterState) -> ClusterState:
    """Draw p given the strengths."""

    def log_density(x: FloatArray) -> FloatArray:
        prior = -np.logaddexp(0.0, x) - np.logaddexp(0.0, -x)
        return prior + _log_likelihood(model, state._replace(tie=float(x[0])))

    return state._replace(tie=float(slice_line(rng, np.array([state.tie]), log_density, 1.0)[0]))


def gibbs_kernel(model: ClusterModel) -> Kernel:
    """Build the paper's sampler: the same sweep over links, then m, σ², Pólya-Gamma weights and strengths in turn."""
    from judgemap.core.samplers.clusters import compiled as clusters_strengths

    tables = _tables(model.prior)
    counts = model.counts if model.ties is not None else model.counts.decided()

    def step(rng: np.random.Generator, state: ClusterState) -> ClusterState:
        links = clusters_strengths.sweep_links(rng, state.links, state.strengths, tables)
        labels = labels_of_links(links)
        mean, variance = draw_clusters(rng, model.prior, labels, state.strengths)
        theta = None
        if model.ties is not None:
            state = draw_tie(rng, model, state)
            theta = _theta(state.tie)
        strengths = draw_strengths(rng, counts, state.strengths, (mean[labels], variance[labels]), theta)
        return ClusterState(links, strengths, state.tie)

    def read(state: ClusterState) -> Arrays:
        labels = labels_of_links(state.links)
        arrays: Arrays = {
            "strengths": state.strengths[None],
            "labels": labels[None],
            "n_clusters": np.array([labels.max() + 1]),
            "log_posterior": np.array([log_posterior(model, state)]),
            "acceptance": np.ones(1),
        }
        return arrays | ({"tie_chance": np.array([expit(state.tie)])} if model.ties is not None else {})

    return by_steps(_Start(model).draw, step, read)


def draw_clusters(
    rng: np.random.Generator, prior: ClusterPrior, labels: IntArray, strengths: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Draw m_k and σ_k² of every cluster 0 … K−1 given its strengths."""
    x = strengths - prior.mu0
    n, total, square = np.bincount(labels), np.bincount(labels, x), np.bincount(labels, x**2)
    rate = prior.b0 + (square - total**2 / (prior.kappa0 + n)) / 2
    variance = rate / rng.standard_gamma(prior.a0 + n / 2)
    spread = np.sqrt(variance / (prior.kappa0 + n))
    mean = prior.mu0 + total / (prior.kappa0 + n) + spread * rng.standard_normal(len(n))
    return mean, variance


def draw_strengths(
    rng: np.random.Generator,
    counts: PairCounts,
    strengths: FloatArray,
    prior: tuple[FloatArray, FloatArray],
    theta: float | None = None,
) -> FloatArray:
    """Draw z given λ, then λ given z, with the prior λ_i ~ N(mean_i, variance_i).

    With ties z = z₁ + z₂, z₁ ~ PG(y₁ + t, d − θ), z₂ ~ PG(y₂ + t, d + θ), and κ contains (y₁ − y₂)/2 + θ(z₁ − z₂).
    """
    from judgemap.core.samplers.polyagamma import draw_polyagamma

    mean, variance = prior
    d = strengths[counts.first] - strengths[counts.second]
    if theta is not None:
        wins, losses = counts.wins + counts.ties, counts.n - counts.wins + counts.ties
        up, down = draw_polyagamma(rng, wins, d - theta), draw_polyagamma(rng, losses, d + theta)
        z, linear = up + down, counts.onto_areas(counts.wins - counts.n / 2 + theta * (up - down))
    else:
        z, linear = draw_polyagamma(rng, counts.n, d), counts.excess()
    return draw_gaussian(rng, laplacian(counts, z) + np.diag(1 / variance), linear + mean / variance)


def log_posterior(model: ClusterModel, state: ClusterState) -> float:
    """Return log p(y | λ) + Σ_k log f(λ_k) + Σ_i log w(i, θ_i), where w is h, or β for a link to itself."""
    labels = labels_of_links(state.links)
    weights = model.prior.link_weights()[np.arange(len(labels)), state.links]
    clusters = sum(log_marginal(model.prior, state.strengths[labels == k]) for k in range(labels.max() + 1))
    return float(_log_likelihood(model, state) + clusters + np.log(weights).sum())


def _log_likelihood(model: ClusterModel, state: ClusterState) -> float:
    counts = model.counts
    if model.ties is None:
        return float(log_likelihood(counts.decided(), state.strengths))
    wins, losses, ties = (each[:, None].astype(float) for each in (counts.wins, counts.n - counts.wins, counts.ties))
    d = (state.strengths[counts.first] - state.strengths[counts.second])[:, None]
    p = np.array([expit(state.tie)])
    return float(outcomes.log_likelihood(Answers(wins, losses, ties), model.ties, d, p).sum())


def _theta(tie: float) -> float:
    """θ = 2 artanh p from logit p."""
    return float(2 * np.arctanh(expit(tie)))


def links_of_labels(prior: ClusterPrior, labels: IntArray) -> IntArray:
    """Find links whose components are the given clusters: in each, a tree of the largest affinities.

    Members that no positive affinity joins, such as those in different parts of the map, start in separate clusters.
    """
    labels = np.asarray(labels)
    if labels.shape != (prior.n_areas,):
        raise ValueError(f"a starting partition needs one label per area, received shape {labels.shape}")
    links = np.arange(prior.n_areas)
    for label in np.unique(labels):
        outside = np.flatnonzero(labels == label)
        best, nearest = np.zeros(len(outside)), outside.copy()
        while len(outside):
            chosen = int(np.argmax(best))
            area = outside[chosen]
            links[area] = nearest[chosen]
            left = np.arange(len(outside)) != chosen
            outside, best, nearest = outside[left], best[left], nearest[left]
            affinity = prior.affinity[outside, area]
            nearest = np.where(affinity > best, area, nearest)
            best = np.maximum(affinity, best)
    return links


def starting_partitions(model: ClusterModel, chains: int) -> IntArray:
    """Choose varied starting partitions, so that a stuck chain shows: all together, all apart, then by strength.

    From the third chain on, areas are cut into 2, 3, 4, … groups of equal size by their approximate strengths.
    """
    n = model.prior.n_areas
    # Equal areas differ only in the last digits, which depend on the processor; rounding keeps them in map order.
    order = np.argsort(np.argsort(_Start(model).mode.round(9), kind="stable"), kind="stable")
    by_strength = [order * groups // n for groups in range(2, chains)]
    return np.array([np.zeros(n, dtype=np.int64), np.arange(n), *by_strength][:chains])


class _Start:
    """The mode of λ under an independent prior, and diag(XᵀWX) there."""

    def __init__(self, model: ClusterModel) -> None:
        self.prior = model.prior
        n = model.counts.n_areas
        decided = model.counts.decided()
        plain = Model(decided, independent(n), FixedVariance(START_VARIANCE))
        self.mode = model.prior.mu0 + find_mode(plain, float(np.log(START_VARIANCE)), np.zeros(n))
        self.information = np.ascontiguousarray(np.diagonal(information(decided, self.mode)))

    def draw(self, rng: np.random.Generator, partitions: IntArray) -> ClusterState:
        """Start a chain at a partition, given as the only row."""
        noise = rng.standard_normal(len(self.mode)) / np.sqrt(self.information + 1 / START_VARIANCE)
        return ClusterState(links_of_labels(self.prior, partitions[0]), self.mode + START_SPREAD * noise)


def _tables(prior: ClusterPrior) -> "Tables":
    from judgemap.core.samplers.clusters import compiled as clusters_links

    hyper = (float(prior.mu0), float(prior.kappa0), float(prior.a0), float(prior.b0))
    return clusters_links.Tables(prior.link_weights(), marginal_constants(prior), hyper)


def _comparisons(counts: PairCounts, *, ties: bool = False) -> "Comparisons":
    from judgemap.core.samplers.clusters import compiled as clusters_links

    first, second, n, wins, s = _rows(counts, ties=ties)
    # In this order neighbouring rows share no area, so adding up scores need not wait for the previous row.
    mixed = np.argsort(np.arange(len(first)) * GOLDEN % 1.0)
    first, second, n, wins, s = first[mixed], second[mixed], n[mixed], wins[mixed], s[mixed]
    area = np.concatenate([first, second])
    order = np.argsort(area, kind="stable")
    return clusters_links.Comparisons(
        first=first.astype(np.uint32),
        second=second.astype(np.uint32),
        n=n.astype(np.float64),
        wins=wins.astype(np.float64),
        start=np.searchsorted(area[order], np.arange(counts.n_areas + 1)),
        other=np.concatenate([second, first])[order].astype(np.uint32),
        met=np.concatenate([n, n])[order].astype(np.float64),
        won=np.concatenate([wins, n - wins])[order].astype(np.float64),
        s=s,
        s_by_area=np.concatenate([s, -s])[order],
        theta=0.0,
    )


def _rows(counts: PairCounts, *, ties: bool) -> tuple[IntArray, IntArray, IntArray, IntArray, FloatArray]:
    """List first, second, n, wins and s of every row: one per pair, or with ties one each for wins and losses."""
    if not ties:
        decided = counts.decided()
        copies = (decided.first.copy(), decided.second.copy(), decided.n, decided.wins)
        return *copies, np.zeros(len(decided.n))
    wins, losses = counts.wins + counts.ties, counts.n - counts.wins + counts.ties
    won, lost = wins > 0, losses > 0
    return (
        np.concatenate([counts.first[won], counts.first[lost]]),
        np.concatenate([counts.second[won], counts.second[lost]]),
        np.concatenate([wins[won], losses[lost]]),
        np.concatenate([wins[won], np.zeros(lost.sum(), dtype=np.int64)]),
        np.concatenate([np.ones(won.sum()), -np.ones(lost.sum())]),
    )
