"""The whole clustering model: Geweke's joint test and simulation-based calibration, and the bugs that they catch.

Both simulate from the prior: links, clusters, strengths, comparisons. Test functions look at strengths, clusters,
links and comparisons together. False alarms: every test compares its worst statistic with a bound passed with
probability 1e-3 by an exact sampler.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest
from calibration import FALSE_ALARM, joint_ranks, joint_scores, normal_scores, smallest_p, worst
from cluster_exactness import plain

from judgemap.core.model.clusters import Clustered, ClusterPrior, labels_of_links, simulate_clusters
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.counts import log_likelihood
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.clusters import compiled
from judgemap.core.samplers.clusters import kernel as clusters
from judgemap.core.samplers.clusters.kernel import ClusterModel, ClusterState
from judgemap.core.simulate.trials import simulate_counts

pytestmark = pytest.mark.statistical

COMPARISONS = 12
PATH = communicability_matrix(AreaGraph(4, [[0, 1], [1, 2], [2, 3]]))
PRIOR = ClusterPrior(PATH, beta=0.4, mu0=0.5, kappa0=0.3, a0=6.0, b0=4.0)
TIGHT = ClusterPrior(PATH, beta=0.4, mu0=-0.3, kappa0=0.05, a0=6.0, b0=0.5)
LOOSE = ClusterPrior(PATH, beta=0.4, mu0=0.5, kappa0=0.05, a0=6.0, b0=4.0)
KERNELS = {"hmc": partial(clusters.kernel, carry_every=1), "gibbs": clusters.gibbs_kernel}


@dataclass(frozen=True)
class Study:
    """The joint distribution of links, clusters, strengths and comparisons."""

    on: ClusterPrior

    def prior(self, rng):
        return simulate_clusters(rng, self.on)

    def data(self, rng, truth):
        return simulate_counts(rng, truth.strengths, COMPARISONS)

    def evaluate(self, counts, at):
        """λ_i, λ_i², number of clusters, links to oneself, who is with whom, log-likelihood."""
        links, labels, strengths = at
        with_whom = [labels[0] == labels[1], labels[0] == labels[3], labels[1] == labels[2]]
        numbers = [labels.max() + 1, np.sum(links == np.arange(len(links))), *with_whom]
        return np.array([*strengths, *strengths**2, *numbers, log_likelihood(counts, strengths)])


def clustered(state):
    return Clustered(state.links, labels_of_links(state.links), state.strengths)


def geweke(rng, build, prior, chains, length=20, reference=4000):
    """Largest |z| over the test functions, divided by its limit."""

    def step(rng, counts, truth):
        state = ClusterState(truth.links, truth.strengths)
        return clustered(build(ClusterModel(counts, prior)).advance(rng, state, 1, 1)[0])

    return worst(joint_scores(rng, Study(prior), step, chains, length, reference))


def calibration(rng, build, prior, replicates, draws=31, thin=15):
    """Smallest p-value of the ranks' uniformity, multiplied by the number of test functions.

    One chain a replicate, from the sampler's own start, thinned until its draws are nearly independent.
    """

    def posterior(rng, counts, _truth):
        kernel, found = build(ClusterModel(counts, prior)), []
        state, _ = kernel.advance(rng, kernel.init(rng, rng.integers(4, size=(1, 4))), 2 * thin, 2 * thin)
        for _ in range(draws):
            state, _ = kernel.advance(rng, state, thin, thin)
            found.append(clustered(state))
        return found

    return smallest_p(joint_ranks(rng, Study(prior), posterior, replicates), draws)


def test_geweke():
    assert geweke(np.random.default_rng(31), KERNELS["hmc"], PRIOR, chains=30, length=15, reference=2000) < 1


@pytest.mark.slow  # hundreds of fits
@pytest.mark.parametrize("sampler", KERNELS)
def test_calibrated(sampler):
    assert calibration(np.random.default_rng(33), KERNELS[sampler], PRIOR, replicates=48, thin=8) > FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("prior", [PRIOR, TIGHT], ids=["wide", "tight"])
@pytest.mark.parametrize("sampler", KERNELS)
def test_geweke_long(sampler, prior):
    assert geweke(np.random.default_rng(34), KERNELS[sampler], prior, chains=1000, reference=20_000) < 1


@pytest.mark.slow
@pytest.mark.parametrize("prior", [PRIOR, TIGHT], ids=["wide", "tight"])
def test_calibrated_long(prior):
    assert calibration(np.random.default_rng(35), KERNELS["hmc"], prior, replicates=800) > FALSE_ALARM


# Does one move leave the posterior as it is? Start it from exact draws of links, strengths and comparisons together,
# and ask whether any test function has changed on average. Differences within a replicate vary little: a sharp test.


def stationarity(rng, move, prior, replicates):
    """Largest |z| of the mean change of a test function, divided by its limit."""
    changes, study = [], Study(prior)
    for _ in range(replicates):
        truth = study.prior(rng)
        counts = study.data(rng, truth)
        state = move(rng, ClusterModel(counts, prior), ClusterState(truth.links, truth.strengths))
        changes.append(study.evaluate(counts, clustered(state)) - study.evaluate(counts, truth))
    changes = np.array(changes)
    changes = changes[:, changes.std(axis=0) > 0]
    return worst(normal_scores(changes, np.zeros((2, changes.shape[1]))))


def only_carry(code):
    """Only the move that carries trees between clusters, five times over."""

    def move(rng, model, state):
        n, table = len(state.links), clusters._tables(model.prior)
        areas, records = np.zeros(n, code.AREA), np.zeros(n, code.CLUSTER)
        n_clusters = code.plant(areas, records, state.links, state.strengths, table)
        comparisons, score = clusters._comparisons(model.counts), np.empty(n)
        for _ in range(5):
            compiled.score_likelihood(comparisons, areas["x"].copy(), score)
            code.carry(rng, areas, records, n_clusters, comparisons, table, score)
        return ClusterState(areas["link"].copy(), areas["x"] + model.prior.mu0)

    return move


def whole_iterations(code):
    def move(rng, model, state):
        links, strengths = state.links.copy(), state.strengths.copy()
        comparisons, table = clusters._comparisons(model.counts), clusters._tables(model.prior)
        code.advance(rng, links, strengths, comparisons, table, np.full(len(links), 1.0), (2, 2, 1))
        return ClusterState(links, strengths)

    return move


def test_carry_leaves_the_posterior_as_it_is():
    assert stationarity(np.random.default_rng(36), only_carry(compiled), TIGHT, replicates=1000) < 1


@pytest.mark.parametrize("prior", [PRIOR, TIGHT], ids=["wide", "tight"])
def test_iterations_leave_the_posterior_as_it_is(prior):
    assert stationarity(np.random.default_rng(37), whole_iterations(compiled), prior, replicates=1000) < 1


# Planted bugs. Compiled code is run as plain Python with a part of its text replaced; without any change it passes.

CARRY_BUGS = {
    "none": {},
    "the data not asked": {"if needed < most": "if needed < 0.0"},
    "the bound taken for the likelihood": {"carried > 0 or needed < most": "False"},
    "the old cluster forgotten": {'gain += rest["log_f"] - new["log_f"]': 'gain += -new["log_f"]'},
    "strengths left behind": {'areas[areas[at]["below"]]["x"] += shift': "pass"},
}
COARSE = {"LEAPS = 5": "LEAPS = 1"}
"""One long step a trajectory is accepted half of the time: its correction has much to do."""
ITERATION_BUGS = {
    "none": {},
    "κ0 forgotten in f": {"square - total * total / (kappa0 + n))": "square - total * total / (1 + n))"},
    "κ0 forgotten in the shift": {'* kappa0 / (kappa0 + cluster["size"])': '* 1 / (1 + cluster["size"])'},
    "momentum not corrected for": {"after += new_height - kinetic(momentum, metric)": "after += new_height"},
}


def quick_and_slow(bugs, *quick):
    """All the bugs; those that are not named are left to the slow tests, because each takes seconds in plain Python."""
    return [pytest.param(bug, marks=[] if bug in quick else pytest.mark.slow) for bug in bugs]


@pytest.mark.parametrize("bug", quick_and_slow(CARRY_BUGS, "the data not asked"))
def test_stationarity_catches_bugs_in_carry(bug):
    move = only_carry(plain(compiled, CARRY_BUGS[bug]))
    caught = stationarity(np.random.default_rng(36), move, TIGHT, replicates=1000) > 1
    assert caught == (bug != "none")


@pytest.mark.parametrize("bug", quick_and_slow(ITERATION_BUGS, "κ0 forgotten in f"))
def test_stationarity_catches_bugs_in_iterations(bug):
    code = plain(compiled, COARSE | ITERATION_BUGS[bug])
    caught = stationarity(np.random.default_rng(37), whole_iterations(code), LOOSE, replicates=1500) > 1
    assert caught == (bug != "none")


@pytest.mark.slow  # hundreds of fits
def test_calibration_catches_a_bug(monkeypatch):
    true = clusters.draw_strengths

    def sixth_of_the_variance(rng, counts, strengths, prior, theta):
        return true(rng, counts, strengths, (prior[0], prior[1] / 6), theta)

    monkeypatch.setattr(clusters, "draw_strengths", sixth_of_the_variance)
    assert calibration(np.random.default_rng(33), clusters.gibbs_kernel, PRIOR, replicates=48, thin=8) < FALSE_ALARM
