"""The scalability study: effective draws per second of the paper's sampler, its rivals and ours.

Section 5.1 of the paper: strengths from the spatial prior, 2,000 comparisons from the principal component schedule, and
5,000 draws with each sampler. Times are in CPU seconds, so other work on the machine matters little.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from judgemap.core.approximate import approximate
from judgemap.core.design.designs import PairDesign, principal_component
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import Covariance, InverseGamma, Model, communicability
from judgemap.core.samplers import gibbs
from judgemap.core.samplers.diagnostics import ess_bulk, rhat
from judgemap.core.samplers.kernel import Kernel
from judgemap.core.samplers.run import START_SPREAD, run
from judgemap.core.samplers.spatial import hmc, rivals
from judgemap.core.simulate.trials import simulate_counts
from judgemap.core.types import FloatArray
from judgemap.study.simulations.runner import Experiment, Row

CONVERGED = 1.01
"""The largest R-hat at which chains count as agreeing (Vehtari et al., 2021)."""

Starts = tuple[FloatArray, FloatArray]


def _tuned_walk(rng: np.random.Generator, model: Model, starts: Starts) -> Kernel:
    return rivals.block_walk_kernel(model, rivals.tune_delta(rng, model, starts))


BUILDERS: dict[str, Callable[[np.random.Generator, Model, Starts], Kernel]] = {
    "gibbs": lambda _rng, model, _starts: gibbs.kernel(model),
    "single-site": lambda _rng, model, _starts: rivals.single_site_kernel(model),
    "block-walk": _tuned_walk,
    "hmc": lambda _rng, model, _starts: hmc.kernel(model),
    "caron-doucet": lambda _rng, model, _starts: rivals.caron_doucet_kernel(model.counts),
}
"""How to build each sampler: Pólya-Gamma Gibbs, the paper's two rivals, our default, and Caron and Doucet's for another
prior. Add new ones at the end, because the position here is part of a simulation's seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scalability(Experiment):
    """Settings of the scalability study, as in the paper where the paper states them.

    The paper draws strengths from the prior without stating α; it uses 3 elsewhere. Its chains have 5,000 iterations;
    here these are 4 chains of 1,250 from different starting points, so that R-hat can tell whether they agree.
    """

    alpha: float = 3.0

    name: ClassVar[str] = "scalability"
    paper_sets: ClassVar[int] = 100
    timed: ClassVar[bool] = True

    def prepare(self, graph: AreaGraph) -> tuple[Covariance, PairDesign]:
        """Build the prior and the principal component design."""
        return communicability(graph), principal_component(graph)

    def run(self, rng: np.random.Generator, prepared: tuple[Covariance, PairDesign]) -> list[Row]:
        """Simulate comparisons, and draw from their posterior with each sampler."""
        (covariance, design), (truth, *others) = prepared, rng.spawn(1 + len(BUILDERS))
        strengths = self.alpha * covariance.draw(truth, 1)[0]
        counts = simulate_counts(truth, strengths, self.comparisons, design)
        model = Model(counts, covariance, InverseGamma())
        return [
            {"sampler": name, **self._measure(generator, model, name)}
            for generator, name in zip(others, BUILDERS, strict=True)
        ]

    def _measure(self, rng: np.random.Generator, model: Model, name: str) -> Row:
        plan = self.plan()
        began = time.process_time()
        starts = approximate(model).draw(rng, plan.chains, START_SPREAD)
        kernel = BUILDERS[name](rng, model, starts)
        ready = time.process_time()
        draws = run(rng, kernel, starts, plan)
        ended = time.process_time()
        if not draws.complete:
            raise KeyboardInterrupt
        ess, log_variance = ess_bulk(draws.centred), draws["log_variance"]
        return {
            "ess_min": float(ess.min()),
            "ess_median": float(np.median(ess)),
            "ess_max": float(ess.max()),
            "ess_log_variance": float(ess_bulk(log_variance)) if np.ptp(log_variance) > 0 else 0.0,
            "rhat_max": float(rhat(draws.centred).max()),
            "acceptance": float(draws["acceptance"].mean()),
            "setup_seconds": ready - began,
            "seconds": ended - ready,
        }

    def summarise(self, measured: pd.DataFrame) -> pd.DataFrame:
        """Summarise each sampler: ESS per second (of sampling with warm-up, and including set-up), and agreement."""
        return pd.DataFrame([_summary(name, measured[measured["sampler"] == name]) for name in BUILDERS])


def _summary(name: str, own: pd.DataFrame) -> Row:
    seconds, rhats = own["seconds"], own["rhat_max"]
    return {
        "sampler": name,
        "sets": len(own),
        "ess_per_second": (own["ess_median"] / seconds).median(),
        "ess_per_second_min": (own["ess_min"] / seconds).min(),
        "ess_per_second_max": (own["ess_max"] / seconds).max(),
        "ess_per_second_worst_area": (own["ess_min"] / seconds).median(),
        "ess_per_second_log_variance": (own["ess_log_variance"] / seconds).median(),
        "ess_per_second_with_setup": (own["ess_median"] / (seconds + own["setup_seconds"])).median(),
        "seconds": seconds.median(),
        "rhat_median": rhats.median(),
        "rhat_max": rhats.max(),
        "sets_converged": (rhats <= CONVERGED).sum(),
    }
