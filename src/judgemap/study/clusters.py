"""Clusters of areas, by place and risk together: the fit, its partition, and what a council can use of it."""

import time
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Unpack

import numpy as np
import pandas as pd

from judgemap.core import clustering
from judgemap.core.cluster_prior import ClusterPrior, communicability_affinity, decay, window
from judgemap.core.clustering import Between, order_by_risk
from judgemap.core.comparisons import PairCounts
from judgemap.core.partition_search import minimise_binder, minimise_vi
from judgemap.core.samplers.clusters import ClusterModel
from judgemap.core.samplers.run import CLUSTER_SAMPLERS, Draws, sample_clusters
from judgemap.core.types import FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.maps import Areas
from judgemap.study.fit import RunOptions, checked_counts, settle
from judgemap.study.provenance import record
from judgemap.study.records import Comparisons
from judgemap.study.result import GOOD_RHAT, Fit, assess, named_draws, named_pairs, named_statistics
from judgemap.study.settings import AFFINITIES
from judgemap.study.settings import CLUSTER_PLAN as USUAL

GOOD_GAP = 0.1
"""The largest difference between chains in a co-clustering probability that needs no warning."""
Loss = Literal["vi", "binder"]


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """What is assumed of clusters; see `judgemap.core.cluster_prior` for the meaning of each.

    ``affinity`` is how near areas draw each other into a cluster: ``communicability`` (the paper's), ``window`` (1 up
    to ``length`` borders away) or ``decay`` (exponential in borders crossed, over ``length``).

    >>> ClusterSettings(affinity="decay", length=2.0).beta
    1e-08
    """

    affinity: str = "communicability"
    length: float = 1.0
    beta: float = 1e-8
    mu0: float = 0.0
    kappa0: float = 1.0
    a0: float = 1.0
    b0: float = 1.0

    def prior(self, areas: Areas) -> ClusterPrior:
        """Build the prior on these areas, or say what is wrong with it."""
        try:
            if self.affinity == "communicability":
                affinity = communicability_affinity(areas.graph)
            elif self.affinity == "window":
                affinity = window(areas.graph, int(self.length))
            elif self.affinity == "decay":
                affinity = decay(areas.graph, self.length)
            else:
                hint = did_you_mean(self.affinity, AFFINITIES)
                raise StudyError(f"there is no affinity {self.affinity!r}{hint}; choose one of {quoted(AFFINITIES)}")
            alone = np.flatnonzero((affinity - np.diag(np.diag(affinity))).sum(axis=1) == 0)
            if len(alone):
                raise StudyError(
                    f"{areas.names[alone[0]]!r} has no neighbour to share a cluster with; "
                    "join it to an area with an extra edge, or choose a wider affinity"
                )
            return ClusterPrior(affinity, self.beta, self.mu0, self.kappa0, self.a0, self.b0)
        except StudyError:
            raise
        except ValueError as error:
            raise StudyError(f"the prior of the clusters cannot be built: {error}") from None


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """One partition of the areas: clusters are numbered from 1, the highest risk."""

    labels: IntArray
    """The cluster of each area."""
    belongs: FloatArray
    """P(area belongs to cluster), (areas, clusters)."""
    between: tuple[Between, ...]
    """Areas that sit between two clusters, the most doubtful first."""
    expected_loss: float

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(self.belongs[0])

    @property
    def probability(self) -> FloatArray:
        """P(each area belongs to the cluster it is put in)."""
        return self.belongs[np.arange(len(self.labels)), self.labels - 1]


class ClusterFit(Fit):
    """A fit of the clustering model. Beside what every `Fit` has, it can be asked about clusters.

    ``posterior`` has ``cluster`` (chain, draw, area), whose labels mean something within a draw only, ``n_clusters``
    and ``log_posterior`` in place of ``alpha2``.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_clusters(data, areas, seed=1, chains=2, warmup=50, draws=50, thin=1)
    >>> list(fit.clusters.columns), fit.co_clustering.shape
    (['id', 'name', 'cluster', 'probability'], (77, 77))
    >>> round(float(fit.n_clusters.sum()), 6)
    1.0
    """

    @classmethod
    def from_run(cls, areas: Areas, counts: PairCounts, run: Draws, info: dict[str, Any]) -> "ClusterFit":
        """Name the draws, turn strength into risk, judge convergence on what needs no labels."""
        samples = named_draws(areas, run.centred, run.strengths, info["winner_is"])
        labels, n_clusters, log_posterior = run["labels"], run["n_clusters"], run["log_posterior"]
        samples["cluster"] = (("chain", "draw", "area"), labels.astype(np.int32))
        samples["n_clusters"] = (("chain", "draw"), n_clusters)
        samples["log_posterior"] = (("chain", "draw"), log_posterior)
        scalars = {"the number of clusters": n_clusters.astype(np.float64), "the log posterior": log_posterior}
        moving = {name: draws for name, draws in scalars.items() if np.ptp(draws) > 0}
        judged = asdict(clustering.convergence(labels, log_posterior))
        chances = clustering.cluster_counts(labels.reshape(-1, len(areas)))
        found = {
            "diagnostics": {**assess(samples, moving, info["seconds"]), "clusters": judged},
            "partition": {"n_clusters": None, "loss": "vi"},
            "n_clusters": {str(k): round(float(chance), 6) for k, chance in enumerate(chances) if chance > 0},
        }
        return cls(areas, samples, named_statistics(run), named_pairs(areas, counts), {**info, **found})

    @property
    def labels(self) -> IntArray:
        """Draws of partitions, (draws, areas), the chains one after another."""
        values: IntArray = self.posterior["cluster"].to_numpy().astype(np.int64)
        return values.reshape(-1, values.shape[2])

    @property
    def n_clusters(self) -> pd.Series:
        """P(k clusters), by k."""
        chances = {int(k): chance for k, chance in self.info["n_clusters"].items()}
        return pd.Series(chances, name="probability").rename_axis("n_clusters")

    @cached_property
    def co_clustering(self) -> FloatArray:
        """P(i and j share a cluster), (areas, areas)."""
        return clustering.co_clustering(self.labels)

    def partition(self, n_clusters: int | None = None, loss: Loss = "vi") -> Partition:
        """Find the partition of least expected loss: variation of information ('vi') or Binder's ('binder').

        ``n_clusters`` asks for the best one with so many clusters.
        """
        if n_clusters is not None and not 1 <= n_clusters <= len(self.map):
            raise StudyError(f"{len(self.map)} areas cannot make {n_clusters} clusters; ask for 1 to {len(self.map)}")
        if loss not in ("vi", "binder"):
            raise StudyError(f"there is no loss {loss!r}; choose 'vi' or 'binder'")
        search = minimise_vi if loss == "vi" else minimise_binder
        found = search(self.labels, n_clusters)
        labels = order_by_risk(found.partition, np.median(self.risk, axis=0))
        belongs = clustering.membership(labels, self.labels)
        return Partition(labels, belongs, tuple(clustering.between(labels, belongs)), found.loss)

    def with_partition(self, n_clusters: int | None, loss: Loss) -> "ClusterFit":
        """Return the same fit with another choice of partition, which `best`, `clusters` and its folder then show."""
        chosen = {"n_clusters": n_clusters, "loss": loss}
        return replace(self, info={**self.info, "partition": chosen})

    @cached_property
    def best(self) -> Partition:
        """The partition to show: of least expected variation of information, unless another was chosen."""
        return self.partition(**self.info["partition"])

    def clusters_of(self, partition: Partition) -> pd.DataFrame:
        """One row an area: id, name, cluster (1 = highest risk), probability of belonging to it."""
        return pd.DataFrame(
            {
                "id": self.map.ids,
                "name": self.map.names,
                "cluster": partition.labels,
                "probability": partition.probability,
            }
        )

    @property
    def clusters(self) -> pd.DataFrame:
        """The table of clusters.csv, for the best partition."""
        return self.clusters_of(self.best)

    def cluster_risk(self, partition: Partition) -> FloatArray:
        """Draws of the mean risk of each cluster's areas, (draws, clusters), cluster 1 first."""
        return clustering.risk_of_clusters(partition.labels, self.risk)

    @property
    def warnings(self) -> list[str]:
        """What is not right about the sampling; judged on quantities that do not depend on labels."""
        found = super().warnings
        judged = self.info["diagnostics"]["clusters"]
        if judged["together_gap"] > GOOD_GAP or judged["rhat_together"] > 1 + 5 * (GOOD_RHAT - 1):
            found.append(
                "Chains that started from different partitions still differ: the probability that two areas share a "
                f"cluster differs by up to {judged['together_gap']:.2f} between them; run twice the draws."
            )
        return found

    def _write(self, folder: Path) -> None:
        super()._write(folder)
        self.clusters.to_csv(folder / "clusters.csv", index=False)


def fit_clusters(
    data: Comparisons,
    areas: Areas,
    *,
    seed: int,
    settings: ClusterSettings | None = None,
    **options: Unpack[RunOptions],
) -> ClusterFit:
    """Fit the spatial clustering Bradley-Terry model; chains start from different partitions.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_clusters(data, areas, seed=1, chains=2, warmup=100, draws=100, thin=2)
    >>> list(fit.clusters.columns)
    ['id', 'name', 'cluster', 'probability']
    """
    settings = settings or ClusterSettings()
    plan, sampler, cores, watch = settle(options, USUAL)
    counts = checked_counts(data, areas)
    prior = settings.prior(areas)
    began = time.perf_counter()
    model, build = ClusterModel(counts, prior), CLUSTER_SAMPLERS[sampler]
    try:
        run = sample_clusters(np.random.default_rng(seed), model, plan, build, cores, watch)
    except FloatingPointError as error:
        raise StudyError(f"the fit broke down ({error}); try the other sampler, or check the map's edges") from None
    facts = {
        "model": "clusters",
        "prior": f"distance dependent Chinese restaurant process, affinity {settings.affinity}",
        "hyperparameters": asdict(settings),
        "sampler": sampler,
        "seed": seed,
        "plan": asdict(plan),
        "complete": run.complete,
        "seconds": round(time.perf_counter() - began, 3),
    }
    info = record(facts, data, counts, areas)
    n_parts = int(prior.parts().max()) + 1
    if n_parts > 1:
        info["notes"].append(f"The map is in {n_parts} parts: no cluster spans two of them.")
    return ClusterFit.from_run(areas, counts, run, info)
