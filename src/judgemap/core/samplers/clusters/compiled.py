"""Compiled moves on the links of the clustering model: a Gibbs sweep, and a move that carries strengths along.

Clusters are the connected components of the links. With the link of area i cut, i's component is exactly the tree of
areas whose links lead to i: every other member has one link, so n members have n − 1 links. A list of children per area
finds that tree in time proportional to its size, even if the links formed a cycle, which the cut then opens.

Areas and clusters are records in two arrays, because a compiled function that is passed many arrays spends its time
counting references. Import this module only where it is used: numba is slow to load.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from judgemap.core.samplers.compiled import compiled, exp_of_negative
from judgemap.core.samplers.kernel import HUGE
from judgemap.core.types import BoolArray, FloatArray, IntArray

Records = NDArray[np.void]
Hyper = tuple[float, float, float, float]
"""μ0, κ0, a0, b0."""
TINY = 1e-250
"""A sum of weights below this has lost its precision."""
FEW = 30.0
"""A factor is multiplied at most this many times; a pair with more answers gets its own logarithm."""
LARGE = 1e250
"""Factors between ½ and 2 are multiplied up to this; the next pair's cannot then take the product out of range."""

AREA = np.dtype(
    [(field, np.int64) for field in ("link", "child", "after", "before", "label", "below")] + [("x", np.float64)]
)
"""link: θ_i. child, after, before: first child and siblings in doubly linked lists that end with −1. label: the
cluster.
below: not about this area, but a list across all records, of the tree that was cut last. x: λ_i − μ0."""

CLUSTER = np.dtype(
    [(field, np.int64) for field in ("size", "slot", "place")]
    + [(field, np.float64) for field in ("total", "square", "log_f", "precision")]
)
"""size, total = Σx, square = Σx², log_f = log f(λ_k), precision = 1/σ_k² while strengths are updated. slot: a list
across all records, of clusters, the first n_clusters of them in use; place: where in that list this cluster is."""


class Tables(NamedTuple):
    """What the moves need from a `ClusterPrior`: h with β on its diagonal, `marginal_constants`, μ0, κ0, a0, b0."""

    weights: FloatArray
    constants: FloatArray
    hyper: Hyper


class Comparisons(NamedTuple):
    """The pair counts twice: by pair, and by area, with those of area i from ``start[i]`` to ``start[i + 1]``.

    The log-odds of a row are d − sθ. Without ties s = 0. With Rao and Kupper's ties a pair has two rows, one of y₁ + t
    wins with s = 1 and one of y₂ + t losses with s = −1.
    """

    first: IntArray
    second: IntArray
    n: FloatArray
    wins: FloatArray
    start: IntArray
    other: IntArray
    met: FloatArray
    won: FloatArray
    s: FloatArray
    s_by_area: FloatArray
    theta: float


@compiled
def log_f(n: int, total: float, square: float, constants: FloatArray, hyper: Hyper) -> float:
    """Compute log f(λ_k) from the size, Σx and Σx² of a cluster: see `judgemap.core.model.clusters.log_marginal`."""
    _, kappa0, a0, b0 = hyper
    rate = b0 + 0.5 * max(0.0, square - total * total / (kappa0 + n))
    return float(constants[n] - (a0 + 0.5 * n) * np.log(rate))


@compiled
def refresh(clusters: Records, k: int, constants: FloatArray, hyper: Hyper) -> None:
    """Recompute log f of cluster k from its sums."""
    clusters[k]["log_f"] = log_f(clusters[k]["size"], clusters[k]["total"], clusters[k]["square"], constants, hyper)


@compiled
def hang(areas: Records, i: int, j: int) -> None:
    """Set θ_i = j and make i the first child of j, unless i = j."""
    areas[i]["link"] = j
    if i != j:
        first = areas[j]["child"]
        areas[i]["before"] = -1
        areas[i]["after"] = first
        if first != -1:
            areas[first]["before"] = i
        areas[j]["child"] = i


@compiled
def plant(areas: Records, clusters: Records, links: IntArray, strengths: FloatArray, tables: Tables) -> int:
    """Fill the records from links and strengths, afresh in every iteration so that rounding does not build up.

    Clusters are numbered by their first area. Return how many there are.
    """
    n_areas = len(links)
    for i in range(n_areas):
        areas[i]["child"] = -1
        areas[i]["label"] = -1
        areas[i]["x"] = strengths[i] - tables.hyper[0]
        clusters[i]["size"] = 0
        clusters[i]["total"] = 0.0
        clusters[i]["square"] = 0.0
        clusters[i]["slot"] = i
        clusters[i]["place"] = i
    for i in range(n_areas):
        hang(areas, i, links[i])
    n_clusters = 0
    for start in range(n_areas):
        area = start
        while areas[area]["label"] == -1:
            areas[area]["label"] = n_clusters
            area = links[area]
        reached = areas[area]["label"]
        if reached == n_clusters:
            n_clusters += 1
        else:
            area = start
            while areas[area]["label"] == n_clusters:
                areas[area]["label"] = reached
                area = links[area]
    for i in range(n_areas):
        k, x = areas[i]["label"], areas[i]["x"]
        clusters[k]["size"] += 1
        clusters[k]["total"] += x
        clusters[k]["square"] += x * x
    for k in range(n_clusters):
        refresh(clusters, k, tables.constants, tables.hyper)
    return n_clusters


@compiled
def cut(areas: Records, clusters: Records, n_clusters: int, i: int, constants: FloatArray, hyper: Hyper) -> int:
    """Remove i's link and put the tree that leads to i into the list ``below``; return the number of clusters.

    If the component splits, the tree becomes a cluster of its own; if it stays whole, nothing changes.
    """
    parent, before, after = areas[i]["link"], areas[i]["before"], areas[i]["after"]
    if parent != i:
        if before == -1:
            areas[parent]["child"] = after
        else:
            areas[before]["after"] = after
        if after != -1:
            areas[after]["before"] = before
    areas[0]["below"] = i
    n, at, total, square = 1, 0, 0.0, 0.0
    while at < n:
        area = areas[at]["below"]
        total += areas[area]["x"]
        square += areas[area]["x"] ** 2
        child = areas[area]["child"]
        while child != -1:
            areas[n]["below"] = child
            n += 1
            child = areas[child]["after"]
        at += 1
    k = areas[i]["label"]
    if n < clusters[k]["size"]:
        clusters[k]["size"] -= n
        clusters[k]["total"] -= total
        clusters[k]["square"] -= square
        refresh(clusters, k, constants, hyper)
        k = clusters[n_clusters]["slot"]
        n_clusters += 1
        for at in range(n):
            areas[areas[at]["below"]]["label"] = k
        clusters[k]["size"] = n
        clusters[k]["total"] = total
        clusters[k]["square"] = square
        refresh(clusters, k, constants, hyper)
    return n_clusters


@compiled
def tie(areas: Records, clusters: Records, n_clusters: int, i: int, j: int, constants: FloatArray, hyper: Hyper) -> int:
    """Link i, whose link was cut last, to j, merging their clusters if they differ; return the number of clusters."""
    k, other = areas[i]["label"], areas[j]["label"]
    hang(areas, i, j)
    if k == other:
        return n_clusters
    for at in range(clusters[k]["size"]):
        areas[areas[at]["below"]]["label"] = other
    clusters[other]["size"] += clusters[k]["size"]
    clusters[other]["total"] += clusters[k]["total"]
    clusters[other]["square"] += clusters[k]["square"]
    refresh(clusters, other, constants, hyper)
    n_clusters -= 1
    last, hole = clusters[n_clusters]["slot"], clusters[k]["place"]
    clusters[hole]["slot"] = last
    clusters[last]["place"] = hole
    clusters[n_clusters]["slot"] = k
    clusters[k]["place"] = n_clusters
    return n_clusters


@compiled
def draw_link(
    rng: np.random.Generator,
    areas: Records,
    clusters: Records,
    n_clusters: int,
    weights: FloatArray,
    log_ratio: FloatArray,
    ratio: FloatArray,
    cumulative: FloatArray,
) -> int:
    """Draw j with probability ∝ weights[j] · exp(log_ratio[label of j])."""
    top = -np.inf
    for at in range(n_clusters):
        top = max(top, log_ratio[clusters[at]["slot"]])
    half, left, right = len(areas) // 2, 0.0, 0.0
    for _ in range(2):
        for at in range(n_clusters):
            k = clusters[at]["slot"]
            ratio[k] = np.exp(min(0.0, log_ratio[k] - top))
        # Two halves are summed side by side, because each addition has to wait for the previous one.
        left, right = 0.0, 0.0
        for j in range(half):
            left += weights[j] * ratio[areas[j]["label"]]
            cumulative[j] = left
            right += weights[half + j] * ratio[areas[half + j]["label"]]
            cumulative[half + j] = right
        if len(areas) > 2 * half:
            right += weights[-1] * ratio[areas[-1]["label"]]
            cumulative[-1] = right
        if left + right > TINY:
            break
        # The best cluster is out of reach and dwarfs the others: rescale them by the best one within reach.
        top = -np.inf
        for j in range(len(areas)):
            if weights[j] > 0.0:
                top = max(top, log_ratio[areas[j]["label"]])
    threshold = rng.random() * (left + right)
    if threshold < left:
        return first_above(cumulative, threshold, 0, half - 1)
    return first_above(cumulative, threshold - left, half, len(areas) - 1)


@compiled
def first_above(cumulative: FloatArray, threshold: float, low: int, high: int) -> int:
    """Return the first index in ``low`` … ``high`` where rising sums exceed ``threshold``; ``high`` if none does."""
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > threshold:
            high = middle
        else:
            low = middle + 1
    return low


@compiled
def sweep(rng: np.random.Generator, areas: Records, clusters: Records, n_clusters: int, tables: Tables) -> int:
    """Draw every θ_i in turn from its full conditional, m and σ² integrated out; return the number of clusters.

    With i's link cut and its tree in cluster k: weight β for itself, h(i, j) for j in k, and
    h(i, j) f(k ∪ l)/(f(k) f(l)) for j in another cluster l.
    """
    weights, constants, hyper = tables.weights, tables.constants, tables.hyper
    log_ratio = np.zeros(len(areas))
    ratio, cumulative = np.empty(len(areas)), np.empty(len(areas))
    for i in range(len(areas)):
        n_clusters = cut(areas, clusters, n_clusters, i, constants, hyper)
        k = areas[i]["label"]
        tree = clusters[k]
        for at in range(n_clusters):
            other = clusters[clusters[at]["slot"]]
            n = tree["size"] + other["size"]
            joined = log_f(
                min(n, len(areas)), tree["total"] + other["total"], tree["square"] + other["square"], constants, hyper
            )
            log_ratio[clusters[at]["slot"]] = joined - tree["log_f"] - other["log_f"]
        log_ratio[k] = 0.0
        j = draw_link(rng, areas, clusters, n_clusters, weights[i], log_ratio, ratio, cumulative)
        n_clusters = tie(areas, clusters, n_clusters, i, j, constants, hyper)
    return n_clusters


@compiled
def carry(
    rng: np.random.Generator,
    areas: Records,
    clusters: Records,
    n_clusters: int,
    comparisons: Comparisons,
    tables: Tables,
    score: FloatArray,
) -> int:
    """Propose, once per area, to carry a tree with its strengths from one cluster to another; return how many moved.

    A sweep keeps the strengths fixed. If clusters are tight compared with what comparisons say about one area, no area
    can then change cluster, because its strength has settled in the one it is in. Here an area i is drawn, and a link
    θ_i = j from its prior. If this takes i's tree T from the rest A of its cluster to another cluster B, the strengths
    of T all move by δ, the difference between the centres of B and A, each (κ0 μ0 + Σλ)/(κ0 + n). A and B stay as they
    are, so the reverse move is the same move with −δ, and the Metropolis ratio is f(λ_T + δ, λ_B) f(λ_A) / (f(λ_T, λ_A)
    f(λ_B)) times that of the likelihoods; the prior of the links cancels.

    ``score`` is ∇ℓ at the incoming strengths. ℓ is concave, so it cannot grow by more than δ times the score of T:
    until a tree is carried, proposals that would need more are rejected without looking at the comparisons.
    """
    weights, constants, hyper = tables.weights, tables.constants, tables.hyper
    n_areas, kappa0 = len(areas), hyper[1]
    even = np.zeros(n_areas)
    ratio, cumulative = np.empty(n_areas), np.empty(n_areas)
    inside = np.zeros(n_areas, np.bool_)
    moved, met = np.empty(len(comparisons.other)), np.empty(len(comparisons.other))
    carried = 0
    for _ in range(n_areas):
        # 1. Cut the link of an area, and propose another.
        i = min(int(rng.random() * n_areas), n_areas - 1)
        link, a = areas[i]["link"], areas[i]["label"]
        n_clusters = cut(areas, clusters, n_clusters, i, constants, hyper)
        k = areas[i]["label"]
        j = draw_link(rng, areas, clusters, n_clusters, weights[i], even, ratio, cumulative)
        b = areas[j]["label"]
        if k not in (a, b) and a != b:
            # 2. What the clusters gain if the tree and its strengths go from A to B.
            tree, rest, new = clusters[k], clusters[a], clusters[b]
            n = tree["size"]
            shift = new["total"] / (kappa0 + new["size"]) - rest["total"] / (kappa0 + rest["size"])
            total = tree["total"] + n * shift
            square = tree["square"] + 2 * shift * tree["total"] + n * shift * shift
            gain = log_f(n + new["size"], total + new["total"], square + new["square"], constants, hyper)
            gain -= log_f(
                n + rest["size"], tree["total"] + rest["total"], tree["square"] + rest["square"], constants, hyper
            )
            gain += rest["log_f"] - new["log_f"]
            # 3. Whether the answers agree: first by the bound, then by the likelihood.
            needed, most = np.log(rng.random()) - gain, 0.0
            for at in range(n):
                most += shift * score[areas[at]["below"]]
            if carried > 0 or needed < most:
                most = shifted_likelihood(areas, n, inside, shift, comparisons, moved, met)
            if needed < most:
                for at in range(n):
                    areas[areas[at]["below"]]["x"] += shift
                tree["total"] = total
                tree["square"] = square
                link = j
                carried += 1
        # 4. Link the tree again, to where it was or to B.
        n_clusters = tie(areas, clusters, n_clusters, i, link, constants, hyper)
    return carried


@compiled
def shifted_likelihood(
    areas: Records,
    n: int,
    inside: BoolArray,
    shift: float,
    comparisons: Comparisons,
    ratio: FloatArray,
    met: FloatArray,
) -> float:
    """Return how much the log-likelihood grows if the strengths of the ``n`` areas in ``below`` grow by ``shift``.

    A row contributes y·shift − n log((1 + e^{d + shift})/(1 + e^d)), unless both of its areas move. ``ratio`` and
    ``met`` are working space for as many rows as there are by area.
    """
    start, other = comparisons.start, comparisons.other
    for at in range(n):
        inside[areas[at]["below"]] = True
    changed, gain = 0, 0.0
    for at in range(n):
        area = areas[at]["below"]
        for r in range(start[area], start[area + 1]):
            # Rows that do not change are written and then overwritten, which is cheaper than branching.
            outside = 1 - int(inside[other[r]])
            d = areas[area]["x"] - areas[other[r]]["x"] - comparisons.s_by_area[r] * comparisons.theta
            ratio[changed], met[changed] = d, comparisons.met[r]
            gain += outside * (comparisons.won[r] * shift - met[changed] * (max(d + shift, 0.0) - max(d, 0.0)))
            changed += outside
    for at in range(n):
        inside[areas[at]["below"]] = False
    for at in range(changed):
        d = ratio[at]
        ratio[at] = (1.0 + exp_of_negative(-abs(d))) / (1.0 + exp_of_negative(-abs(d + shift)))
    return gain + sum_logs(ratio, met, changed)


@compiled
def sum_logs(factor: FloatArray, times: FloatArray, n: int) -> float:
    """Σ times · log(factor) over the first ``n``, with a single logarithm for many factors between ½ and 2."""
    value, product = 0.0, 1.0
    for r in range(n):
        if times[r] > FEW:
            value += times[r] * np.log(factor[r])
        else:
            for _ in range(int(times[r])):
                product *= factor[r]
        if not 1.0 / LARGE < product < LARGE:
            value += np.log(product)
            product = 1.0
    return float(value + np.log(product))


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
