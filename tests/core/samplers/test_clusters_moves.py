"""What the moves of the clustering sampler must keep, to the last digit, and the planted bugs that break it.

Stationarity tests (`test_clusters_calibration`) need thousands of draws to see these two bugs; a look inside does not.
"""

import numpy as np
import pytest
from cluster_exactness import density, plain, tables

from judgemap.core.model.clusters import ClusterPrior, simulate_clusters
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.counts import count_pairs, log_likelihood, score
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.clusters import compiled
from judgemap.core.samplers.clusters import kernel as clusters
from judgemap.core.simulate.trials import simulate_counts

PATH = communicability_matrix(AreaGraph(6, [[i, i + 1] for i in range(5)]))
TIGHT = ClusterPrior(PATH, beta=0.4, mu0=-0.3, kappa0=0.05, a0=6.0, b0=0.5)

STALE = {
    "none": {},
    "not renewed when accepted": {"score[i] = new_score[i]": "pass"},
    "renewed when refused": {
        "    if rng.random() < acceptance:\n": "    score[:] = new_score\n    if rng.random() < acceptance:\n"
    },
    "not renewed after carrying": {
        "            score_likelihood(comparisons, strengths, score)\n            height": "            height"
    },
}


@pytest.mark.parametrize("bug", STALE)
def test_trajectories_start_with_the_gradient_at_their_start(bug):
    """At every entry to `leap`, score and height are ∇ℓ and ℓ of the strengths there: after moves kept and refused."""
    rng = np.random.default_rng(71)
    truth = simulate_clusters(rng, TIGHT)
    counts = simulate_counts(rng, truth.strengths, 40)
    code = plain(compiled, {"LEAPS = 5": "LEAPS = 1"} | STALE[bug])
    leap, errors, accepted = code.leap, [], []

    def watched(rng, areas, records, comparisons, kappa0, information, slope, height):
        errors.append(
            np.abs(slope - score(counts, areas["x"])).max() + abs(height - log_likelihood(counts, areas["x"]))
        )
        before = areas["x"].copy()
        result = leap(rng, areas, records, comparisons, kappa0, information, slope, height)
        accepted.append(not np.array_equal(before, areas["x"]))
        return result

    code.leap = watched
    links, strengths = truth.links.copy(), truth.strengths.copy()
    information = np.full(6, 2.0)
    code.advance(rng, links, strengths, clusters._comparisons(counts), tables(TIGHT), information, (60, 60, 1))
    assert 5 < sum(accepted) < 55, "both kept and refused"
    assert (max(errors) > 1e-6) == (bug != "none")


CENTRES = 'shift = new["total"] / (kappa0 + new["size"]) - rest["total"] / (kappa0 + rest["size"])'
IRREVERSIBLE = {
    "none": {},
    "onto the new centre": {CENTRES: 'shift = new["total"] / (kappa0 + new["size"]) - tree["total"] / tree["size"]'},
    "the tree counted in its old cluster": {
        CENTRES: 'shift = new["total"] / (kappa0 + new["size"]) '
        '- (rest["total"] + tree["total"]) / (kappa0 + rest["size"] + tree["size"])'
    },
}


@pytest.mark.parametrize("bug", IRREVERSIBLE)
def test_carrying_back_undoes_carrying(bug):
    """Area 2 can be with area 0 or area 1, which stay where they are: to each belongs one strength, however often."""
    prior = ClusterPrior([[0, 0, 0], [0, 0, 0], [1, 1, 0]], mu0=0.2, kappa0=0.3)
    code, table = plain(compiled, IRREVERSIBLE[bug]), tables(prior)
    comparisons = clusters._comparisons(simulate_counts(np.random.default_rng(1), np.zeros(3), 4))
    areas, records, score = np.zeros(3, code.AREA), np.zeros(3, code.CLUSTER), np.empty(3)
    n_clusters = code.plant(areas, records, np.array([0, 1, 0]), np.array([0.5, -0.4, 0.9]), table)
    rng, seen, carried = np.random.default_rng(72), {0: set(), 1: set()}, 0
    for _ in range(60):
        compiled.score_likelihood(comparisons, areas["x"].copy(), score)
        carried += code.carry(rng, areas, records, n_clusters, comparisons, table, score)
        if areas["link"][2] != 2:
            seen[int(areas["link"][2])].add(round(float(areas["x"][2]), 9))
    assert carried > 10
    assert (len(seen[0]) == len(seen[1]) == 1) == (bug == "none")


SUMS = {
    "none": {},
    "a square moved once for all areas": {"+ n * shift * shift": "+ shift * shift"},
    "a total moved once for all areas": {'total = tree["total"] + n * shift': 'total = tree["total"] + shift'},
}


@pytest.mark.parametrize("bug", SUMS)
def test_sums_of_clusters_follow_the_trees_that_are_carried(bug):
    """Trees of several areas move at a time."""
    code, table, rng = plain(compiled, SUMS[bug]), tables(TIGHT), np.random.default_rng(74)
    comparisons = clusters._comparisons(simulate_counts(rng, np.zeros(6), 4))
    areas, records, score = np.zeros(6, code.AREA), np.zeros(6, code.CLUSTER), np.empty(6)
    n_clusters = code.plant(areas, records, np.array([0, 0, 1, 3, 3, 4]), rng.standard_normal(6), table)
    for _ in range(60):
        compiled.score_likelihood(comparisons, areas["x"].copy(), score)
        code.carry(rng, areas, records, n_clusters, comparisons, table, score)
        n_clusters = len(set(areas["label"]))
    x, label = areas["x"], areas["label"]
    kept = [[records["total"][k], records["square"][k]] for k in label]
    right = np.allclose(kept, [[x[label == k].sum(), (x[label == k] ** 2).sum()] for k in label])
    assert right == (bug == "none")


FORGETFUL = {
    "none": {},
    "f of the cluster that it leaves": {'gain += rest["log_f"] - new["log_f"]': 'gain -= new["log_f"]'},
    "f of the cluster that it joins": {'gain += rest["log_f"] - new["log_f"]': 'gain += rest["log_f"]'},
}


@pytest.mark.parametrize("bug", FORGETFUL)
def test_an_area_is_carried_as_often_as_its_two_places_say(bug):
    """Area 2 is with area 0 or, moved by the centres' difference, with area 1: how often is known. 5 errors."""
    prior = ClusterPrior([[0, 0, 0], [0, 0, 0], [1, 1, 0]], mu0=0.2, kappa0=0.3)
    code, table = plain(compiled, FORGETFUL[bug]), tables(prior)
    counts, x = count_pairs([2, 2, 0], [0, 1, 2], n_areas=3), np.array([0.5, -1.4, 0.9])
    centres = (prior.kappa0 * prior.mu0 + x[:2]) / (prior.kappa0 + 1)
    moved = x + np.array([0, 0, centres[1] - centres[0]])
    places = [
        density(prior, at[[2, other]]) + density(prior, at[[1 - other]]) + log_likelihood(counts, at)
        for other, at in enumerate((x, moved))
    ]
    exact = 1 / (1 + np.exp(places[0] - places[1]))
    comparisons, score, rng = clusters._comparisons(counts), np.empty(3), np.random.default_rng(76)
    areas, records = np.zeros(3, code.AREA), np.zeros(3, code.CLUSTER)
    n_clusters = code.plant(areas, records, np.array([0, 1, 0]), x, table)
    there = []
    for _ in range(3000):
        compiled.score_likelihood(comparisons, areas["x"] + prior.mu0, score)
        code.carry(rng, areas, records, n_clusters, comparisons, table, score)
        there.append(areas["link"][2] == 1)
    batches = np.mean(np.reshape(there, (60, 50)), axis=1)
    off = abs(batches.mean() - exact) / (batches.std(ddof=1) / np.sqrt(60))
    assert (off < 5) == (bug == "none")


DIFFERENT = {
    "none": {},
    "a gradient that is off by a hair": {"pull[r] = wins[r] - n[r] *": "pull[r] = wins[r] * (1 + 1e-8) - n[r] *"},
}


@pytest.mark.parametrize("bug", DIFFERENT)
def test_compiled_draws_are_those_of_plain_python(bug):
    """All compiled parts together, from links to trajectories, beside the same text run by Python and NumPy."""
    truth = simulate_clusters(np.random.default_rng(73), TIGHT)
    counts = simulate_counts(np.random.default_rng(74), truth.strengths, 40)
    slowly = plain(compiled, DIFFERENT[bug])
    traces = []
    for code in (compiled, slowly):
        rng, comparisons = np.random.default_rng(75), clusters._comparisons(counts)
        start = truth.links.copy(), truth.strengths.copy()
        traces.append(code.advance(rng, *start, comparisons, tables(TIGHT), np.full(6, 2.0), (80, 2, 3)))
    quick, slow = traces
    np.testing.assert_array_equal(quick.labels, slow.labels)
    assert len(np.unique(quick.n_clusters)) > 1
    off = max(np.abs(one - other).max() for one, other in zip(quick, slow, strict=True))
    assert (off < 1e-10) == (bug == "none")
