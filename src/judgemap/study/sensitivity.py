"""How the answer moves with what was assumed: the same fit under other hyperparameters, side by side."""

from collections.abc import Callable, Iterable
from dataclasses import asdict, fields

import numpy as np
import pandas as pd

from judgemap.core.clustering import adjusted_rand_index
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.study.clusters import ClusterFit, ClusterSettings

Refit = Callable[[ClusterSettings], ClusterFit]
NUMBERS = tuple(field.name for field in fields(ClusterSettings) if field.name != "affinity")


def read_variation(text: str) -> tuple[str, list[float]]:
    """Read ``beta=1e-10,1e-8`` as a hyperparameter and the values that it is to take.

    >>> read_variation("beta=1e-10,1e-8")
    ('beta', [1e-10, 1e-08])
    """
    name, _, values = text.partition("=")
    if name not in NUMBERS:
        raise StudyError(
            f"--sensitivity {text}: there is no hyperparameter {name!r}{did_you_mean(name, NUMBERS)}; "
            f"choose one of {quoted(NUMBERS)}"
        )
    try:
        return name, [float(value) for value in values.split(",")]
    except ValueError:
        raise StudyError(f"--sensitivity {text}: write numbers with commas between, as in {name}=0.5,1,2") from None


def cluster_sensitivity(base: ClusterFit, refit: Refit, variations: Iterable[tuple[str, list[float]]]) -> pd.DataFrame:
    """Refit under each value of each hyperparameter, and hold every fit against ``base``.

    Columns: the hyperparameter and its value; the most probable number of clusters, its probability and the mean; the
    clusters of the best partition and its adjusted Rand index against the base's; the correlation of posterior median
    risks and the largest difference of a co-clustering probability with the base; the worst R-hat.
    """
    settings = ClusterSettings(**base.info["hyperparameters"])
    rows = [{"parameter": "(as fitted)", "value": np.nan, **_compare(base, base)}]
    for name, values in variations:
        for value in values:
            other = ClusterSettings(**{**asdict(settings), name: value})
            fit = base if other == settings else refit(other)
            rows.append({"parameter": name, "value": value, **_compare(base, fit)})
    return pd.DataFrame(rows)


def _compare(base: ClusterFit, fit: ClusterFit) -> dict[str, float]:
    chances = fit.n_clusters
    medians = np.stack([np.median(each.risk, axis=0) for each in (base, fit)])
    return {
        "likeliest_n": int(chances.index.to_numpy()[chances.to_numpy().argmax()]),
        "p_likeliest_n": float(chances.max()),
        "mean_n": float((chances.index.to_numpy() * chances.to_numpy()).sum()),
        "partition_n": fit.best.n_clusters,
        "adjusted_rand": adjusted_rand_index(base.best.labels, fit.best.labels),
        "risk_correlation": float(np.corrcoef(medians[0], medians[1])[0, 1]),
        "co_clustering_gap": float(np.abs(base.co_clustering - fit.co_clustering).max()),
        "rhat_max": float(fit.info["diagnostics"]["rhat_max"]),
    }
