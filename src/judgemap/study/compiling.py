"""Compile the samplers before anyone needs them.

Compiling takes many seconds and its result is kept on disk, so only the first long fit and the first clusters wait for
it. To compile right after installing, as `make` does:

    python -m judgemap.study.compiling
"""

import numpy as np


def compile_all() -> None:
    """Draw a few times by every compiled sampler of the models that are fitted most; the draws are thrown away."""
    from judgemap.core.approximate.laplace import approximate
    from judgemap.core.model.clusters import ClusterPrior
    from judgemap.core.model.counts import count_judged, count_pairs
    from judgemap.core.model.judges import Disagreement, PanelModel, Parts
    from judgemap.core.model.prior import InverseGamma, Model, independent
    from judgemap.core.samplers.clusters.kernel import ClusterModel
    from judgemap.core.samplers.judges.hmc import sample_panel
    from judgemap.core.samplers.run import Plan, run, sample, sample_clusters
    from judgemap.core.samplers.spatial import hmc

    rng, plan = np.random.default_rng(1), Plan(chains=1, warmup=0, draws=4)
    counts = count_pairs([0, 1, 2], [1, 2, 0], n_areas=3)
    model = Model(counts, independent(3), InverseGamma())
    run(rng, hmc.kernel(model), approximate(model).draw(rng, plan.chains, 1.0), plan)
    sample(rng, model, "gibbs", plan)
    sample_clusters(rng, ClusterModel(counts, ClusterPrior(np.ones((3, 3)))), plan)
    judged = count_judged([0, 0, 1], left=[0, 1, 0], right=[1, 2, 2], choice=[1, -1, 1], n_areas=3, n_judges=2)
    parts = Parts(disagreement=Disagreement(independent(3)))
    sample_panel(rng, PanelModel(judged, independent(3), InverseGamma(), parts), plan=plan)


if __name__ == "__main__":
    compile_all()
