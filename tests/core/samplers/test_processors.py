"""The same seed gives the same draws, to rounding, whatever kernels the processor's linear algebra chooses.

`other_processors` holds the environments in which each library computes as it would on another processor. There
eigenvectors come out with other signs, and with another basis where eigenvalues repeat, as they do on the map here: a
symmetric ring on which half of the areas were never compared.
"""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from other_processors import PROCESSORS, environment
from scipy.stats import special_ortho_group

from judgemap.core.approximate import Laplace, approximate
from judgemap.core.model.clusters import ClusterPrior
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.counts import count_pairs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import InverseGamma, Model, communicability, independent
from judgemap.core.samplers.clusters.kernel import ClusterModel
from judgemap.core.samplers.run import CLUSTER_SAMPLERS, Plan, sample, sample_clusters
from judgemap.core.samplers.spatial import hmc

RING = AreaGraph(24, [[i, (i + 1) % 24] for i in range(24)])
PLAN = Plan(chains=3, warmup=20, draws=40)
FITS = ("hmc", "hmc standard", "gibbs", "clusters hmc", "clusters gibbs")
QUICK = ("Nehalem, 2 threads",)
"""Of `make test`: other kernels, no fused multiply-add, and threads. `make test-processors` takes all."""


def counts():
    """Areas 0 … 11 compared all round, the others never."""
    rng = np.random.default_rng(3)
    winner = rng.integers(0, 12, 150)
    return count_pairs(winner, (winner + rng.integers(1, 12, 150)) % 12, n_areas=24)


def draw(name):
    rng = np.random.default_rng(1)
    if name.startswith("clusters"):
        model = ClusterModel(counts(), ClusterPrior(communicability_matrix(RING)))
        return sample_clusters(rng, model, PLAN, CLUSTER_SAMPLERS[name.split()[1]]).strengths
    covariance = independent(24) if "standard" in name else communicability(RING)
    return sample(rng, Model(counts(), covariance, InverseGamma()), name.split()[0], PLAN).strengths


@pytest.fixture(scope="module")
def here():
    return {name: draw(name) for name in FITS}


@pytest.mark.parametrize(
    "processor", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.slow) for name in PROCESSORS]
)
def test_draws_agree_on_every_processor(processor, here, tmp_path):
    path = tmp_path / "draws.npz"
    subprocess.run([sys.executable, __file__, str(path)], env=environment(processor), check=True)
    there = np.load(path)
    for name, draws in here.items():
        np.testing.assert_allclose(there[name], draws, atol=1e-9, rtol=0, err_msg=f"{name} on {processor}")


def other_eigenvectors(placed: Laplace) -> Laplace:
    """Choose otherwise all that is free: every sign, and the basis of every eigenvalue that repeats."""
    rng, Q = np.random.default_rng(7), placed.Q * np.resize([1, -1, -1], len(placed.g))
    group = np.searchsorted(np.flatnonzero(np.diff(placed.g) > 1e-8 * placed.g.max()), np.arange(len(Q)))
    for number in np.unique(group):
        columns = np.flatnonzero(group == number)
        if len(columns) > 1:
            Q[:, columns] = Q[:, columns] @ special_ortho_group.rvs(len(columns), random_state=rng)
    V = placed.V @ placed.Q.T @ Q
    return replace(placed, V=V, Q=Q, r=(V.T @ np.linalg.inv(placed.V).T) @ placed.r)


@pytest.mark.parametrize("name", ["hmc", "hmc standard", "gibbs"])
def test_draws_do_not_depend_on_the_choice_of_eigenvectors(name, here, monkeypatch):
    original = approximate
    for module in (hmc, sys.modules[sample.__module__]):
        monkeypatch.setattr(module, "approximate", lambda model: other_eigenvectors(original(model)))
    np.testing.assert_allclose(draw(name), here[name], atol=1e-9, rtol=0)


if __name__ == "__main__":
    np.savez(sys.argv[1], **{name: draw(name) for name in FITS})
