"""What holds of every sampler: cores change nothing, and a run that is stopped goes on number for number."""

from dataclasses import replace

import numpy as np
import pytest
from synthetic import delaunay_map

from judgemap.core.model.car import IntrinsicCar, intrinsic_car
from judgemap.core.model.clusters import ClusterPrior
from judgemap.core.model.counts import count_judged
from judgemap.core.model.judges import PanelModel, Parts
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import InverseGamma, Model
from judgemap.core.samplers.clusters.kernel import ClusterModel
from judgemap.core.samplers.judges import hmc as judges
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.resume import Keeper
from judgemap.core.samplers.run import Plan, sample, sample_clusters, sample_sparse
from judgemap.core.samplers.sparse import hmc as sparse
from judgemap.core.samplers.sparse.model import SparseModel
from judgemap.core.samplers.spatial import hmc as spatial
from judgemap.core.simulate.trials import simulate_counts

GRAPH = delaunay_map(40)
COVARIANCE = intrinsic_car(GRAPH)
TRUTH = 2 * COVARIANCE.draw(np.random.default_rng(1), 1)[0]
COUNTS = simulate_counts(np.random.default_rng(2), TRUTH, 400)
PLAN = Plan(chains=10, warmup=12, draws=40, most=160)


def panel() -> PanelModel:
    rng = np.random.default_rng(3)
    left, right, judge = rng.integers(8, size=100), rng.integers(7, size=100), rng.integers(3, size=100)
    right += right >= left
    choice = rng.integers(-1, 2, size=100)
    counts = count_judged(judge, left, right, choice, n_areas=8, n_judges=3)
    covariance = intrinsic_car(delaunay_map(8))
    parts = Parts(TieRule.RAO_KUPPER, True, covariance)
    return PanelModel(counts, covariance, InverseGamma(), parts)


def clusters() -> ClusterModel:
    return ClusterModel(COUNTS, ClusterPrior(COVARIANCE.matrix - COVARIANCE.matrix.min() + 0.1))


RUNS = {
    "dense": lambda **how: sample(rng(), Model(COUNTS, COVARIANCE, InverseGamma()), plan=PLAN, **how),
    "gibbs": lambda **how: sample(rng(), Model(COUNTS, COVARIANCE, InverseGamma()), "gibbs", PLAN, **how),
    "sparse": lambda **how: sample_sparse(
        rng(), SparseModel.of_map(COUNTS, IntrinsicCar(GRAPH), InverseGamma(), ties=False), PLAN, **how
    ),
    "judges": lambda **how: sample_panel(rng(), panel(), replace(PLAN, chains=2, draws=20, most=80), **how),
    "clusters": lambda **how: sample_clusters(rng(), clusters(), PLAN, **how),
}


def rng() -> np.random.Generator:
    return np.random.default_rng(11)


@pytest.mark.parametrize("sampler", RUNS)
def test_the_number_of_cores_does_not_matter(sampler, monkeypatch):
    """Batches are narrow here, so that each run has several."""
    monkeypatch.setattr(spatial, "batch_width", lambda _model: 4)
    monkeypatch.setattr(sparse, "WIDTH", 4)
    monkeypatch.setattr(judges, "BATCH", 1)
    one, two = (RUNS[sampler](cores=cores) for cores in (1, 3))
    for name, array in one.arrays.items():
        np.testing.assert_array_equal(two[name], array, err_msg=name)
    assert len(np.unique(one.strengths[:, 0, 0])) == len(one.strengths), "chains differ"


class KilledError(Exception):
    """The process is gone."""


class Memory(Keeper):
    """Keeps in a list every few blocks; kills the run after some of them."""

    def __init__(self) -> None:
        self.position, self.draws, self.seen, self.killed_at = b"", [], 0, -1
        self.lengths = []

    def __call__(self, draws, _wanted):
        self.seen += 1
        self.lengths.append(draws.n_draws)
        if self.seen == self.killed_at:
            raise KilledError

    def due(self):
        return self.seen % 3 == 0

    def keep(self, position, more):
        self.position = position
        self.draws += [more] if more else []

    def kept(self):
        return (self.position, self.draws) if self.position else None


@pytest.mark.parametrize("sampler", RUNS)
def test_a_run_that_is_stopped_goes_on_number_for_number(sampler):
    whole = RUNS[sampler]()
    memory = Memory()
    for blocks in (1, 6, 19, 33, 7):  # in the warm-up, in the first draws and, for chains that go on, after them
        memory.seen, memory.killed_at, before = 0, blocks, len(memory.lengths)
        try:
            drawn = RUNS[sampler](watch=memory)
            break
        except KilledError:
            assert len(memory.lengths) > before
    else:
        memory.killed_at = -1
        drawn = RUNS[sampler](watch=memory)
    assert any(b < a for a, b in zip(memory.lengths, memory.lengths[1:], strict=False)), "it was stopped"
    assert drawn.n_draws == whole.n_draws
    assert drawn.earlier > 0
    assert set(drawn.arrays) == set(whole.arrays)
    for name, array in whole.arrays.items():
        np.testing.assert_array_equal(drawn[name], array, err_msg=name)


def test_chains_that_went_on_after_a_first_stretch_go_on_from_there():
    plan = Plan(chains=4, warmup=10, draws=8, most=256)
    target = Model(COUNTS, COVARIANCE, InverseGamma())
    whole = sample(rng(), target, plan=plan)
    assert whole.n_draws > 8, "too short at first"
    memory = Memory()
    memory.killed_at = 17  # 1 block of warm-up, 8 of one draw each, and 8 of the second stretch
    with pytest.raises(KilledError):
        sample(rng(), target, plan=plan, watch=memory)
    memory.killed_at = -1
    again = sample(rng(), target, plan=plan, watch=memory)
    assert memory.lengths[17] > 8, "it did not start again"
    np.testing.assert_array_equal(again.strengths, whole.strengths)


def test_what_another_model_kept_is_not_used():
    memory = Memory()
    RUNS["dense"](watch=memory)
    other = simulate_counts(rng(), TRUTH[:39], 400)
    small = Model(other, intrinsic_car(delaunay_map(39)), InverseGamma())
    drawn = sample(rng(), small, plan=Plan(chains=10, draws=40), watch=memory)
    assert drawn.earlier == 0
    np.testing.assert_array_equal(drawn.strengths, sample(rng(), small, plan=Plan(chains=10, draws=40)).strengths)
