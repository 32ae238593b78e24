"""Draw from the posterior of the panel model."""

import numpy as np

from judgemap.core.model.judges import PanelModel
from judgemap.core.samplers.judges import hmc as panel_hmc
from judgemap.core.samplers.run import Draws, Plan, Watcher, run
from judgemap.core.threads import one_thread

MOST_VIEWS = 200_000_000
"""Judges' views are kept if all their draws together are at most this many numbers, 800 MB."""


def sample_panel(
    rng: np.random.Generator,
    model: PanelModel,
    plan: Plan | None = None,
    cores: int = 1,
    watch: Watcher | None = None,
) -> Draws:
    """Draw from the posterior of ``model``.

    Returns those of these arrays, (chain, draw, …), that the model's parts call for:

    =================  ==========================================================================================
    strengths          λ by area: the population's map
    log_variance       log α², if it is inferred
    smoothness         ρ
    local_variance     ψ by area: large where an area stands out from a smooth map
    tie_chance         p, the chance that two equal areas tie
    log_disagreement   log σ²
    panel_strengths    λ + mean u_k by area: the map of these judges, each counting equally
    distance           by judge, the root mean square over areas of u_k, centred
    views              u_k by judge and area, if there are not too many to keep; judge k's map is λ + u_k
    lean, log_side     b, log σ_b²
    side               b_k by judge
    log_attention      log σ_a²
    attention          a_k by judge
    lapse              ε_k by judge
    =================  ==========================================================================================

    >>> from judgemap.core.model.counts import count_judged
    >>> from judgemap.core.model.outcomes import TieRule
    >>> from judgemap.core.model.judges import Disagreement, Parts
    >>> from judgemap.core.model.prior import InverseGamma, independent
    >>> counts = count_judged([0, 0, 1], left=[0, 1, 0], right=[1, 2, 2], choice=[1, 0, -1], n_areas=3, n_judges=2)
    >>> parts = Parts(ties=TieRule.RAO_KUPPER, disagreement=Disagreement(independent(3)))
    >>> model = PanelModel(counts, independent(3), InverseGamma(3, 3), parts)
    >>> draws = sample_panel(np.random.default_rng(1), model, plan=Plan(chains=2, warmup=10, draws=20))
    >>> draws["views"].shape
    (2, 20, 2, 3)
    """
    plan = plan or Plan()
    keep = plan.chains * max(plan.draws, plan.most) * model.n_judges * model.n_areas <= MOST_VIEWS
    with one_thread():
        kernel = panel_hmc.kernel(model, keep_views=keep)
        return run(rng, kernel, (np.arange(plan.chains),), plan, cores, watch)
