"""What is compiled ahead serves every fit."""

from typing import Any

import numpy as np

from judgemap.core.model.clusters import ClusterPrior
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.counts import count_judged, count_pairs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import PanelModel, Parts
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability
from judgemap.core.samplers import polyagamma
from judgemap.core.samplers.clusters import compiled as clusters
from judgemap.core.samplers.clusters.kernel import ClusterModel
from judgemap.core.samplers.compiled import compile_all
from judgemap.core.samplers.judges import compiled as judges
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import SAMPLERS, Plan, sample, sample_clusters
from judgemap.core.samplers.spatial import compiled as spatial


def test_what_is_compiled_serves_every_fit() -> None:
    """Other sizes, priors, ties and numbers of chains call the same machine code."""

    def known() -> list[set[object]]:
        functions: tuple[Any, ...] = (
            spatial.take,
            spatial.look,
            spatial.log_likelihood,
            spatial.add_to_triangle,
            polyagamma.draw_each,
            clusters.advance,
            judges.parameters,
            judges.common,
            judges.travel,
            judges.redraw,
        )
        return [set(each.signatures) for each in functions]

    compile_all()
    before = known()
    assert all(before)
    rng, plan = np.random.default_rng(2), Plan(chains=3, warmup=2, draws=4, thin=2)
    graph = AreaGraph(6, np.array([[i, i + 1] for i in range(5)]))
    first, second = rng.integers(3, size=40), rng.integers(3, 6, size=40)
    counts = count_pairs(first, second, 6, ties=[(0, 4)])
    for variance in (InverseGamma(), FixedVariance(2.0)):
        model = Model(counts.decided(), communicability(graph), variance)
        for sampler in SAMPLERS:
            sample(rng, model, sampler, plan)
    for ties in (None, TieRule.RAO_KUPPER):
        prior = ClusterPrior(communicability_matrix(graph))
        sample_clusters(rng, ClusterModel(counts if ties else counts.decided(), prior, ties), plan)
    who = rng.integers(4, size=40)
    judged = count_judged(who, left=first, right=second, choice=rng.integers(-1, 2, size=40), n_areas=6, n_judges=4)
    for smoothness in (None, True):
        parts = Parts(TieRule.RAO_KUPPER, smoothness, communicability(graph), True)
        sample_panel(rng, PanelModel(judged, communicability(graph), InverseGamma(), parts), plan=plan)
    assert known() == before
