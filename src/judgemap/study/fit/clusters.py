"""Clusters of areas, by location and risk together: the fit, its partition, and what a council can use."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from judgemap.core.assess import partitions as clustering
from judgemap.core.assess.partitions import Between, minimise_binder, minimise_vi, order_by_risk
from judgemap.core.model.counts import PairCounts
from judgemap.core.samplers.clusters.kernel import ClusterModel
from judgemap.core.samplers.diagnostics import GOOD_RHAT
from judgemap.core.samplers.run import CLUSTER_SAMPLERS, sample_clusters
from judgemap.core.types import BoolArray, FloatArray, IntArray
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import check_known
from judgemap.geo.maps import Areas
from judgemap.study.assess.findings import Group, Grouping, is_placed
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.draws import by_draw, diagnose, named_draws, named_pairs, named_statistics
from judgemap.study.fit.record import GOOD_GAP, Note, NoteKind, begin_record, data_notes
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import LOSSES, Run


@dataclass(frozen=True, slots=True, eq=False)
class Partition:
    """One partition of the areas, with clusters numbered from 1, the highest risk."""

    labels: IntArray
    """The cluster of each area."""
    belongs: FloatArray
    """P(area belongs to cluster), (areas, clusters)."""
    between: tuple[Between, ...]
    """Areas that lie between two clusters, the most uncertain first."""
    grouping: Grouping
    """How credible it is: its probability, and the level of each cluster."""
    placed: BoolArray
    """Whether each area can be shown as part of its cluster; see `grouping.is_placed`."""

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(self.belongs[0])

    @property
    def probability(self) -> FloatArray:
        """The probability that each area belongs to its cluster."""
        return self.belongs[np.arange(len(self.labels)), self.labels - 1]


class ClusterFit(Fit):
    """A fit of the clustering model: a `Fit` that also knows about clusters.

    ``posterior`` has ``cluster`` (chain, draw, area), whose labels have meaning only within a draw, ``n_clusters`` and
    ``log_posterior`` instead of ``alpha2``, and ``theta`` (Rao and Kupper's θ) if there are ties.

    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_clusters(data, areas, seed=1, chains=2, warmup=50, draws=50, thin=1)
    >>> list(fit.clusters.columns), fit.co_clustering.shape
    (['id', 'name', 'cluster', 'probability'], (77, 77))
    >>> round(float(fit.n_clusters.sum()), 6)
    1.0
    """

    @property
    def labels(self) -> IntArray:
        """Draws of partitions, (draws, areas), one chain after another."""
        values: IntArray = self.posterior["cluster"].astype(np.int64)
        return values.reshape(-1, values.shape[2])

    @property
    def n_clusters(self) -> pd.Series:
        """P(k clusters), by k."""
        chances = dict(self.record.n_clusters or {})
        return pd.Series(chances, name="probability").rename_axis("n_clusters")

    @cached_property
    def co_clustering(self) -> FloatArray:
        """P(i and j share a cluster), (areas, areas)."""
        return clustering.co_clustering(self.labels)

    def partition(self, n_clusters: int | None = None, loss: str = "vi") -> Partition:
        """Find the partition with the least expected loss: variation of information ('vi') or Binder's ('binder').

        ``n_clusters`` asks for the best one with that many clusters.

        Parameters
        ----------
        n_clusters
            How many clusters; by default the number that is best.
        loss
            "vi" or "binder".
        """
        if n_clusters is not None and not 1 <= n_clusters <= len(self.map):
            raise StudyError(
                f"{len(self.map):,} areas cannot make {n_clusters:,} clusters; ask for 1 to {len(self.map):,}"
            )
        check_known("loss", loss, LOSSES)
        search = minimise_vi if loss == "vi" else minimise_binder
        best = search(self.labels, n_clusters)
        risk = np.median(self.risk, axis=0)
        labels = order_by_risk(best.partition, risk)
        belongs = clustering.membership(labels, self.labels)
        grouping = self._grouping(labels)
        levels = [grouping.groups[label - 1].level for label in labels]
        own = belongs[np.arange(len(labels)), labels - 1]
        placed = np.array([is_placed(*each) for each in zip(levels, risk, own, strict=True)])
        between = tuple(clustering.between(labels, belongs))
        return Partition(labels, belongs, between, grouping, placed)

    def _grouping(self, labels: IntArray) -> Grouping:
        """Say how probable a partition is, and where its clusters lie."""
        ends = np.quantile(clustering.risk_of_clusters(labels, self.risk), [0.5, 0.025, 0.975], axis=0).T
        sizes = np.bincount(labels)[1:].tolist()
        same = (clustering.canonical_draws(self.labels) == clustering.canonical(labels)).all(axis=1)
        return Grouping(
            groups=tuple(Group(size, *map(float, each)) for size, each in zip(sizes, ends, strict=True)),
            chance=float(same.mean()),
            agreement=1 - clustering.expected_binder(labels, self.co_clustering) if len(labels) > 1 else 1.0,
            numbers=tuple(sorted((self.record.n_clusters or {}).items())),
        )

    @cached_property
    def best(self) -> Partition:
        """The partition to show: that of least expected variation of information, unless another was chosen."""
        return self.partition(self.settings.clusters, self.settings.loss)

    def clusters_of(self, partition: Partition) -> pd.DataFrame:
        """One row per area: id, name, cluster (1 = highest risk), probability of belonging to it.

        Parameters
        ----------
        partition
            A partition of the areas, such as `best`.
        """
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

    @property
    def warnings(self) -> list[str]:
        """Problems with the sampling, including those of quantities that do not depend on labels."""
        texts, judged = super().warnings, self.record.diagnostics.clusters
        if judged and (judged.together_gap > GOOD_GAP or judged.rhat_together > 1 + 5 * (GOOD_RHAT - 1)):
            texts.append(
                "Chains that started from different partitions still differ: the probability that two areas share a "
                f"cluster differs by up to {judged.together_gap:.2f} between them; run twice as many draws."
            )
        return texts

    def _write(self, folder: Path) -> None:
        super()._write(folder)
        self.clusters.to_csv(folder / "clusters.csv", index=False)


def run_clusters(data: Comparisons, decided: PairCounts, areas: Areas, run: Run) -> ClusterFit:
    """Count, build the model, sample, assess, record; convergence is judged by what does not depend on labels."""
    settings = run.settings
    rule, prior = settings.rule(data), settings.cluster_prior(areas)
    counts = decided if rule is None else data.counts()
    model, build = ClusterModel(counts, prior, rule), CLUSTER_SAMPLERS[settings.sampler]
    draws, seconds = run.timed(lambda rng: sample_clusters(rng, model, run.plan, build, run.cores, run.watch))
    sampling = draws.sampling  # computed before the draws of strengths become draws of risk in place
    samples = named_draws(areas, draws, data.winner_is)
    labels, n_clusters, log_posterior = draws["labels"], draws["n_clusters"], draws["log_posterior"]
    samples = samples.assign(
        cluster=by_draw(labels.astype(np.int32), "area"),
        n_clusters=by_draw(n_clusters),
        log_posterior=by_draw(log_posterior),
    )
    scalars = {"the number of clusters": n_clusters.astype(np.float64), "the log posterior": log_posterior}
    if rule is not None:
        scalars["θ"] = 2 * np.arctanh(draws["tie_chance"])
        samples = samples.assign(theta=by_draw(scalars["θ"]))
    moving = {name: each for name, each in scalars.items() if np.ptp(each) > 0}
    diagnostics = diagnose(areas.names, sampling, moving, seconds)
    chances = clustering.cluster_counts(labels.reshape(-1, len(areas)))
    notes, parts = data_notes(data, counts, areas, "clusters"), int(prior.parts().max()) + 1
    if parts > 1:
        notes += (Note(NoteKind.PARTS, f"The map is in {parts:,} parts: no cluster spans two of them."),)
    record = begin_record(data, counts, areas, run, (draws, seconds))(
        notes=notes,
        diagnostics=replace(diagnostics, clusters=clustering.convergence(labels, log_posterior)),
        n_clusters={k: round(float(chance), 6) for k, chance in enumerate(chances) if chance > 0},
    )
    made = ClusterFit(areas, samples, named_statistics(draws), named_pairs(areas, counts), record)
    return made.remembering(sampling=sampling)
