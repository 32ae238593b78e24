"""Compiled update of the strengths given the clusters, and the loop that alternates it with the moves on links.

Given the clusters and their variances σ_k², drawn from InvGamma(a0 + n/2, b̄), and with the means m_k integrated out,
the strengths have the Gaussian prior N(μ0 1, Q⁻¹), Q = ⊕_k (I − 11ᵀ/(κ0 + n_k))/σ_k². They are updated twice: first by
a common shift c ~ N(−1ᵀQ(λ − μ0)/1ᵀQ1, 1/1ᵀQ1), its exact conditional, since comparisons do not depend on it; then by
Hamiltonian Monte Carlo with the diagonal metric diag(XᵀWX) + 1/σ². The metric follows the variances, so that one step
size serves all studies, and no matrix is formed.

Import this module only where it is used: numba is slow to load.
"""

from typing import NamedTuple

import numpy as np

from judgemap.core.samplers.clusters.links import (
    AREA,
    CLUSTER,
    Comparisons,
    Hyper,
    Records,
    Tables,
    carry,
    plant,
    sum_logs,
    sweep,
)
from judgemap.core.samplers.compiled import compiled, exp_of_negative
from judgemap.core.samplers.kernel import HUGE
from judgemap.core.types import FloatArray, IntArray

LEAPS = 5
PATH = 1.7
"""Length of a trajectory in standard deviations, jittered by a fifth. π/2 turns a Gaussian by a right angle; much
more gives draws that alternate about the mean, which is good for means and bad for everything else."""


class Trace(NamedTuple):
    """What is kept: one row per draw."""

    strengths: FloatArray
    labels: IntArray
    n_clusters: IntArray
    log_posterior: FloatArray
    acceptance: FloatArray
    divergences: IntArray


@compiled
def differences(comparisons: Comparisons, x: FloatArray, d: FloatArray) -> None:
    """Write d − sθ for every row."""
    first, second, s, theta = comparisons.first, comparisons.second, comparisons.s, comparisons.theta
    for r in range(len(d)):
        d[r] = x[first[r]] - x[second[r]] - s[r] * theta


@compiled
def score_likelihood(comparisons: Comparisons, x: FloatArray, score: FloatArray) -> None:
    """Write ∇ℓ = Xᵀ(y − n p) into ``score``; the middle loop becomes vector instructions."""
    first, second, n, wins = comparisons.first, comparisons.second, comparisons.n, comparisons.wins
    pull = np.empty(len(n))
    differences(comparisons, x, pull)
    for r in range(len(n)):
        e = exp_of_negative(-abs(pull[r]))
        pull[r] = wins[r] - n[r] * (1.0 if pull[r] >= 0.0 else e) / (1.0 + e)
    score[:] = 0.0
    for r in range(len(n)):
        score[first[r]] += pull[r]
        score[second[r]] -= pull[r]


@compiled
def log_likelihood(comparisons: Comparisons, x: FloatArray) -> float:
    """ℓ = Σ y d − n log(1 + e^d), with a single logarithm for many factors 1 + e^{−|d|} ≤ 2."""
    n, wins = comparisons.n, comparisons.wins
    d, factor = np.empty(len(n)), np.empty(len(n))
    differences(comparisons, x, d)
    for r in range(len(n)):
        factor[r] = 1.0 + exp_of_negative(-abs(d[r]))
        d[r] = wins[r] * d[r] - n[r] * max(d[r], 0.0)
    value = 0.0
    for r in range(len(n)):
        value += d[r]
    return value - sum_logs(factor, n, len(n))


@compiled
def draw_precisions(rng: np.random.Generator, clusters: Records, n_clusters: int, hyper: Hyper) -> None:
    """Draw 1/σ_k² ~ Gamma(a0 + n/2, rate b̄) for the clusters in use."""
    _, kappa0, a0, b0 = hyper
    for at in range(n_clusters):
        cluster = clusters[clusters[at]["slot"]]
        n = cluster["size"]
        rate = b0 + 0.5 * max(0.0, cluster["square"] - cluster["total"] ** 2 / (kappa0 + n))
        cluster["precision"] = rng.standard_gamma(a0 + 0.5 * n) / rate


@compiled
def draw_shift(rng: np.random.Generator, clusters: Records, n_clusters: int, kappa0: float) -> float:
    """Draw the common shift of all strengths from its conditional; 1ᵀQ1 = Σ_k n κ0/((κ0 + n) σ_k²)."""
    information, pull = 0.0, 0.0
    for at in range(n_clusters):
        cluster = clusters[clusters[at]["slot"]]
        weight = cluster["precision"] * kappa0 / (kappa0 + cluster["size"])
        information += weight * cluster["size"]
        pull -= weight * cluster["total"]
    return float(pull / information + rng.standard_normal() / np.sqrt(information))


@compiled
def prior_slope(x: FloatArray, areas: Records, clusters: Records, kappa0: float, slope: FloatArray) -> float:
    """Write −Qx, x = λ − μ0, into ``slope``; return −½xᵀQx."""
    centre = np.zeros(len(x))
    for i in range(len(x)):
        k = areas[i]["label"]
        centre[k] += x[i] / (kappa0 + clusters[k]["size"])
    value = 0.0
    for i in range(len(x)):
        k = areas[i]["label"]
        slope[i] = -clusters[k]["precision"] * (x[i] - centre[k])
        value += 0.5 * x[i] * slope[i]
    return value


@compiled
def kinetic(momentum: FloatArray, metric: FloatArray) -> float:
    """½ Σ momentum²/metric."""
    energy = 0.0
    for i in range(len(momentum)):
        energy += 0.5 * momentum[i] ** 2 / metric[i]
    return energy


@compiled
def leap(
    rng: np.random.Generator,
    areas: Records,
    clusters: Records,
    comparisons: Comparisons,
    kappa0: float,
    information: FloatArray,
    score: FloatArray,
    height: float,
) -> tuple[float, float, bool]:
    """Move x = λ − μ0 of all areas along one Hamiltonian trajectory, if it is accepted.

    ``score`` and ``height`` are ∇ℓ and ℓ at the areas' x; ``score`` is kept up to date. Return the probability of
    acceptance, the new ℓ, and whether the trajectory broke down.
    """
    n_areas = len(areas)
    x, metric, momentum, slope = np.empty(n_areas), np.empty(n_areas), np.empty(n_areas), np.empty(n_areas)
    new_score = score.copy()
    for i in range(n_areas):
        x[i] = areas[i]["x"]
        metric[i] = information[i] + clusters[areas[i]["label"]]["precision"]
        momentum[i] = rng.standard_normal() * np.sqrt(metric[i])
    step = PATH / LEAPS * (0.8 + 0.4 * rng.random())
    before = height + prior_slope(x, areas, clusters, kappa0, slope) - kinetic(momentum, metric)
    after = 0.0
    for _ in range(LEAPS):
        for i in range(n_areas):
            momentum[i] += 0.5 * step * (new_score[i] + slope[i])
            x[i] += step * momentum[i] / metric[i]
        score_likelihood(comparisons, x, new_score)
        after = prior_slope(x, areas, clusters, kappa0, slope)
        for i in range(n_areas):
            momentum[i] += 0.5 * step * (new_score[i] + slope[i])
    new_height = log_likelihood(comparisons, x)
    after += new_height - kinetic(momentum, metric)
    change = after - before
    acceptance = float(np.exp(min(0.0, change))) if np.isfinite(change) else 0.0
    if rng.random() < acceptance:
        height = new_height
        for i in range(n_areas):
            score[i] = new_score[i]
            areas[i]["x"] = x[i]
    return acceptance, height, not (np.isfinite(change) and change > -HUGE)


@compiled
def log_prior(areas: Records, clusters: Records, n_clusters: int, weights: FloatArray) -> float:
    """Σ_k log f(λ_k) + Σ_i log w(i, θ_i), with w = h or β, for freshly planted records."""
    value = 0.0
    for i in range(len(areas)):
        value += np.log(weights[i, areas[i]["link"]])
    for k in range(n_clusters):
        value += clusters[k]["log_f"]
    return value


@compiled
def unpack(areas: Records, mu0: float, links: IntArray, strengths: FloatArray) -> None:
    """Write θ and λ from the records back into plain arrays."""
    for i in range(len(areas)):
        links[i] = areas[i]["link"]
        strengths[i] = areas[i]["x"] + mu0


@compiled
def sweep_links(rng: np.random.Generator, links: IntArray, strengths: FloatArray, tables: Tables) -> IntArray:
    """Return the links after one sweep with the strengths fixed."""
    areas, clusters = np.zeros(len(links), AREA), np.zeros(len(links), CLUSTER)
    sweep(rng, areas, clusters, plant(areas, clusters, links, strengths, tables), tables)
    return areas["link"].copy()


@compiled
def advance(
    rng: np.random.Generator,
    links: IntArray,
    strengths: FloatArray,
    comparisons: Comparisons,
    tables: Tables,
    information: FloatArray,
    schedule: tuple[int, int, int],
) -> Trace:
    """Run iterations, changing ``links`` and ``strengths`` in place.

    ``schedule`` is the number of iterations, the interval between those to keep, and the interval between carries.
    """
    iterations, thin, carry_every = schedule
    n_areas, n_draws = len(links), iterations // thin
    mu0, kappa0, _, _ = tables.hyper
    areas, clusters, score = np.zeros(n_areas, AREA), np.zeros(n_areas, CLUSTER), np.empty(n_areas)
    trace = Trace(
        np.empty((n_draws, n_areas)),
        np.empty((n_draws, n_areas), np.int64),
        np.empty(n_draws, np.int64),
        np.empty(n_draws),
        np.empty(n_draws),
        np.zeros(n_draws, np.int64),
    )
    n_clusters = plant(areas, clusters, links, strengths, tables)
    score_likelihood(comparisons, strengths, score)
    height = log_likelihood(comparisons, strengths)
    for iteration in range(iterations):
        n_clusters = sweep(rng, areas, clusters, n_clusters, tables)
        carrying = (iteration + 1) % carry_every == 0
        if carrying and carry(rng, areas, clusters, n_clusters, comparisons, tables, score) > 0:
            unpack(areas, mu0, links, strengths)
            score_likelihood(comparisons, strengths, score)
            height = log_likelihood(comparisons, strengths)
        draw_precisions(rng, clusters, n_clusters, tables.hyper)
        shift = draw_shift(rng, clusters, n_clusters, kappa0)
        for i in range(n_areas):
            areas[i]["x"] += shift
        acceptance, height, broke = leap(rng, areas, clusters, comparisons, kappa0, information, score, height)
        trace.divergences[iteration // thin] += broke
        unpack(areas, mu0, links, strengths)
        n_clusters = plant(areas, clusters, links, strengths, tables)
        if (iteration + 1) % thin == 0:
            draw = iteration // thin
            for i in range(n_areas):
                trace.strengths[draw, i] = strengths[i]
                trace.labels[draw, i] = areas[i]["label"]
            trace.n_clusters[draw] = n_clusters
            trace.log_posterior[draw] = height + log_prior(areas, clusters, n_clusters, tables.weights)
            trace.acceptance[draw] = acceptance
    return trace
