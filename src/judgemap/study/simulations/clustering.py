"""The clustering study: how well known clusters and strengths are recovered.

Section 5.2 of the paper: clusters and strengths from the clustering prior with β = 1e-8 and h = e^A, and 2,000
comparisons; the clustering model is fitted, and one partition from its posterior is compared with the simulated one.
That partition minimises the expected variation of information; the one that minimises Binder's loss is measured too.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd

from judgemap.core.assess.partitions import adjusted_rand_index, convergence, minimise_binder, minimise_vi, rand_index
from judgemap.core.design.designs import PairDesign, principal_component
from judgemap.core.model.clusters import ClusterPrior, simulate_clusters
from judgemap.core.model.communicability import communicability_matrix
from judgemap.core.model.graph import AreaGraph
from judgemap.core.samplers.clusters.kernel import ClusterModel
from judgemap.core.samplers.run import sample_clusters
from judgemap.core.simulate.trials import simulate_counts
from judgemap.errors import StudyError
from judgemap.study.simulations.runner import Experiment, Row

MEASURES = (
    "rand",
    "adjusted_rand",
    "binder_rand",
    "binder_adjusted_rand",
    "absolute_error",
    "true_clusters",
    "found_clusters",
    "p_true_clusters",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Clustering(Experiment):
    """Settings of the clustering study, as in the paper where the paper states them.

    The paper does not state μ0, a0 and b0, nor the schedule of its comparisons; we use those of `ClusterPrior`, and the
    principal component schedule, which it uses elsewhere.
    """

    beta: float = 1e-8
    kappa0: float = 1.0
    a0: float = 1.0
    b0: float = 1.0
    warmup: int = 1000
    draws: int = 1000
    thin: int = 5

    name: ClassVar[str] = "clustering"
    paper_sets: ClassVar[int] = 50

    def __post_init__(self) -> None:
        Experiment.__post_init__(self)
        if self.chains < 2:
            raise StudyError("the clustering study needs at least two chains, to see whether they agree")

    def prepare(self, graph: AreaGraph) -> tuple[ClusterPrior, PairDesign]:
        """Build the prior and the principal component design."""
        affinity = communicability_matrix(graph)
        prior = ClusterPrior(affinity, beta=self.beta, kappa0=self.kappa0, a0=self.a0, b0=self.b0)
        return prior, principal_component(graph)

    def run(self, rng: np.random.Generator, prepared: tuple[ClusterPrior, PairDesign]) -> list[Row]:
        """Simulate clusters, strengths and comparisons; fit; compare."""
        (prior, design), (truth, fitting) = prepared, rng.spawn(2)
        simulated = simulate_clusters(truth, prior)
        counts = simulate_counts(truth, simulated.strengths, self.comparisons, design)
        draws = sample_clusters(fitting, ClusterModel(counts, prior), self.plan())
        if not draws.complete:
            raise KeyboardInterrupt
        n_areas = len(simulated.labels)
        labels = draws["labels"].reshape(-1, n_areas)
        partition, binder = minimise_vi(labels).partition, minimise_binder(labels).partition
        estimate = np.median(draws.centred.reshape(-1, n_areas), axis=0)
        error = np.abs(estimate - (simulated.strengths - simulated.strengths.mean()))
        true_clusters = int(simulated.labels.max()) + 1
        agreement = convergence(draws["labels"], draws["log_posterior"])
        return [
            {
                "rand": rand_index(simulated.labels, partition),
                "adjusted_rand": adjusted_rand_index(simulated.labels, partition),
                "binder_rand": rand_index(simulated.labels, binder),
                "binder_adjusted_rand": adjusted_rand_index(simulated.labels, binder),
                "absolute_error": float(np.median(error)),
                "true_clusters": true_clusters,
                "found_clusters": int(partition.max()) + 1,
                "p_true_clusters": float((draws["n_clusters"] == true_clusters).mean()),
                "chains_agree": agreement.agrees(),
            }
        ]

    def summarise(self, measured: pd.DataFrame) -> pd.DataFrame:
        """Summarise each measure over the sets."""
        table = measured[list(MEASURES)].agg(["median", "mean", "min", "max"]).T.rename_axis("measure").reset_index()
        table.insert(1, "sets", len(measured))
        return table.assign(sets_agreed=measured["chains_agree"].sum())
