"""The scheduling study: how much each design tells us, for the same number of comparisons.

Section 5.3 of the paper: strengths from the spatial prior with α = 3, and 500 comparisons from each design; the model
is fitted with α² inferred, and the utilities of the posterior are measured.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from judgemap.core.design.designs import PairDesign, naive_spatial, principal_component, uniform
from judgemap.core.design.optimal import optimal
from judgemap.core.design.utility import pair_precision, trace_precision
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import Covariance, InverseGamma, Model, communicability
from judgemap.core.samplers.diagnostics import ess_bulk, rhat
from judgemap.core.samplers.run import SAMPLERS, sample
from judgemap.core.simulate.trials import simulate_counts
from judgemap.core.types import FloatArray
from judgemap.geo.csvfiles import check_known
from judgemap.study.simulations.runner import Experiment, Row

DESIGNS = ("uniform", "naive", "principal", "optimal")
MEASURES = ("u1", "u2", "u2_robust")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scheduling(Experiment):
    """Settings of the scheduling study, as in the paper where the paper states them.

    The paper runs 500 iterations of Pólya-Gamma Gibbs and discards the first 50: ``sampler="gibbs", chains=1,
    warmup=50, draws=450``. The default's draws are worth several times as many.
    """

    alpha: float = 3.0
    comparisons: int = 500
    sampler: str = "hmc"
    chains: int = 8
    draws: int = 250

    name: ClassVar[str] = "scheduling"
    paper_sets: ClassVar[int] = 1000

    def __post_init__(self) -> None:
        Experiment.__post_init__(self)
        check_known("sampler", self.sampler, SAMPLERS)

    def prepare(self, graph: AreaGraph) -> tuple[Covariance, dict[str, PairDesign]]:
        """Build the prior and the four designs."""
        covariance = communicability(graph)
        designs = (
            uniform(graph.n_areas),
            naive_spatial(graph),
            principal_component(graph),
            optimal(covariance, self.alpha, self.comparisons),
        )
        return covariance, dict(zip(DESIGNS, designs, strict=True))

    def run(self, rng: np.random.Generator, prepared: tuple[Covariance, dict[str, PairDesign]]) -> list[Row]:
        """Draw strengths, and estimate them with each design."""
        (covariance, designs), (truth, *others) = prepared, rng.spawn(1 + len(DESIGNS))
        strengths = self.alpha * covariance.draw(truth, 1)[0]
        return [
            {"design": name, **self._utilities(generator, strengths, design, covariance)}
            for generator, (name, design) in zip(others, designs.items(), strict=True)
        ]

    def _utilities(
        self, rng: np.random.Generator, strengths: FloatArray, design: PairDesign, covariance: Covariance
    ) -> Row:
        counts = simulate_counts(rng, strengths, self.comparisons, design)
        draws = sample(rng, Model(counts, covariance, InverseGamma()), self.sampler, self.plan())
        if not draws.complete:
            raise KeyboardInterrupt
        flat = draws.centred.reshape(-1, len(strengths))
        precision = pair_precision(flat)
        uncentred = draws.strengths.reshape(-1, len(strengths)).var(axis=0, ddof=1).sum()
        return {
            "u1": trace_precision(flat),
            "u2": precision.mean,
            "u2_robust": precision.robust,
            "u1_uncentred": float(1 / uncentred),
            "ess_min": float(ess_bulk(draws.centred).min()),
            "rhat_max": float(rhat(draws.centred).max()),
        }

    def summarise(self, measured: pd.DataFrame) -> pd.DataFrame:
        """Summarise each design: mean, min, max and median, and its ratio to the uniform design set by set."""
        designs = {name: measured[measured["design"] == name] for name in DESIGNS}
        return pd.DataFrame([{"design": name, **_summary(own, designs["uniform"])} for name, own in designs.items()])


def _summary(own: pd.DataFrame, base: pd.DataFrame) -> Row:
    summary: Row = {"sets": len(own)}
    for name in MEASURES:
        summary |= {f"{name}_{what}": own[name].agg(what) for what in ("mean", "min", "max", "median")}
        ratios = ratio_interval(own[name].to_numpy(), base[name].to_numpy())
        summary |= dict(zip((f"{name}_ratio", f"{name}_ratio_low", f"{name}_ratio_high"), ratios, strict=True))
    return {**summary, "u1_uncentred_mean": own["u1_uncentred"].mean()}


def ratio_interval(values: FloatArray, base: FloatArray) -> tuple[float, float, float]:
    """Geometric mean of values/base, set by set, with a 95 % interval from the normal approximation."""
    logs = np.log(values / base)
    error = logs.std(ddof=1) / np.sqrt(len(logs)) if len(logs) > 1 else np.nan
    middle = logs.mean()
    return float(np.exp(middle)), float(np.exp(middle - 1.96 * error)), float(np.exp(middle + 1.96 * error))
