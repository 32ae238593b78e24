"""How the result depends on the assumptions: the same fit with other hyperparameters, side by side."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pandas as pd

from judgemap.core.assess.partitions import adjusted_rand_index
from judgemap.core.model.prior import InverseGamma
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.study.assess.comparing import compare_fits
from judgemap.study.fit.clusters import ClusterFit
from judgemap.study.fit.result import Fit
from judgemap.study.fit.settings import ClusterSettings

Refit = Callable[[ClusterSettings], ClusterFit]
VarianceRefit = Callable[[InverseGamma], Fit]
Variation = tuple[str, list[float]]
NUMBERS = tuple(field.name for field in fields(ClusterSettings) if field.name != "affinity")
VARIANCE_NUMBERS = ("chi", "omega", "both")
"""What can be varied in the prior α² ~ InvGamma(χ, ω): either by itself, or both set to the same value."""
USUAL_VARIATIONS: tuple[Variation, ...] = (
    ("both", [0.01, 0.1, 1.0]),
    ("chi", [0.01, 1.0, 3.0]),
    ("omega", [0.01, 1.0, 10.0]),
)


def read_variation(text: str, names: Sequence[str] = NUMBERS) -> Variation:
    """Read ``beta=1e-10,1e-8`` as a hyperparameter and the values to try.

    >>> read_variation("beta=1e-10,1e-8")
    ('beta', [1e-10, 1e-08])
    >>> read_variation("chi=0.1,1", VARIANCE_NUMBERS)
    ('chi', [0.1, 1.0])
    """
    name, _, values = text.partition("=")
    if name not in names:
        raise StudyError(
            f"--sensitivity {text}: there is no hyperparameter {name!r}{did_you_mean(name, names)}; "
            f"choose one of {quoted(names)}"
        )
    try:
        return name, [float(value) for value in values.split(",")]
    except ValueError:
        raise StudyError(f"--sensitivity {text}: write numbers separated by commas, as in {name}=0.5,1,2") from None


def variance_sensitivity(
    base: Fit, refit: VarianceRefit, variations: Iterable[Variation] = USUAL_VARIATIONS
) -> pd.DataFrame:
    """Refit the standard or spatial model under other priors α² ~ InvGamma(χ, ω), and compare every fit with ``base``.

    Columns: ``parameter`` ('chi', 'omega', or 'both' set to the same) and ``value``; the prior's ``chi`` and ``omega``;
    ``alpha2`` (posterior median) with its 95 % interval; for median risks, ``pearson`` and ``spearman`` with the base,
    the largest ``change`` and the largest ``rank_change``; how many of the ten highest are the same (``same_top``);
    ``sd_ratio``, the mean posterior sd relative to the base's; the worst R-hat.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = lambda prior: jm.fit_spatial(data, areas, seed=1, variance=prior, chains=2, draws=100)
    >>> table = variance_sensitivity(fit(jm.InverseGamma()), fit, [("both", [1.0])])
    >>> table["parameter"].tolist(), bool(table["pearson"].min() > 0.99)
    (['(as fitted)', 'both'], True)
    """
    prior = base.record.hyperparameters
    if not isinstance(prior, InverseGamma):
        raise StudyError(
            "this fit has no prior of α² to vary (α² was fixed, or it is a cluster fit); fit the standard or the "
            "spatial model with χ and ω"
        )
    rows = [{"parameter": "(as fitted)", "value": np.nan, **_against(base, base)}]
    for name, values in variations:
        for value in values:
            other = _varied(prior, name, value)
            fit = base if other == prior else refit(other).whole()
            rows.append({"parameter": name, "value": value, **_against(base, fit)})
    return pd.DataFrame(rows)


def cluster_sensitivity(base: ClusterFit, refit: Refit, variations: Iterable[Variation]) -> pd.DataFrame:
    """Refit under each value of each hyperparameter, and compare every fit with ``base``.

    Columns: the hyperparameter and its value; the most probable number of clusters, its probability, and the mean
    number; the number of clusters in the best partition and its adjusted Rand index with the base's; the correlation of
    posterior median risks with the base and the largest difference in a co-clustering probability; the worst R-hat.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> quick = {"seed": 1, "chains": 2, "warmup": 50, "draws": 50, "thin": 1}
    >>> base = jm.fit_clusters(data, areas, **quick)
    >>> table = cluster_sensitivity(
    ...     base, lambda settings: jm.fit_clusters(data, areas, settings=settings, **quick), [("beta", [1e-6])]
    ... )
    >>> table["parameter"].tolist()
    ['(as fitted)', 'beta']
    """
    settings = base.settings
    rows = [{"parameter": "(as fitted)", "value": np.nan, **_compare(base, base)}]
    for name, values in variations:
        for value in values:
            changed: dict[str, Any] = {name: value}
            other = replace(settings, **changed)
            fit = base if other == settings else refit(other).whole()
            rows.append({"parameter": name, "value": value, **_compare(base, fit)})
    return pd.DataFrame(rows)


def _varied(prior: InverseGamma, name: str, value: float) -> InverseGamma:
    if name not in VARIANCE_NUMBERS:
        hint = did_you_mean(name, VARIANCE_NUMBERS)
        raise StudyError(f"the prior of α² has no {name!r}{hint}; choose one of {quoted(VARIANCE_NUMBERS)}")
    try:
        return InverseGamma(
            shape=prior.shape if name == "omega" else value, scale=prior.scale if name == "chi" else value
        )
    except ValueError as error:
        raise StudyError(str(error)) from None


def _against(base: Fit, fit: Fit) -> dict[str, float]:
    compared = compare_fits(base, fit)
    low, middle, high = np.quantile(fit.alpha**2, [0.025, 0.5, 0.975])
    return {
        "chi": float(fit.record.assumed["chi"]),
        "omega": float(fit.record.assumed["omega"]),
        "alpha2": float(middle),
        "alpha2_low": float(low),
        "alpha2_high": float(high),
        "pearson": compared.pearson,
        "spearman": compared.spearman,
        "change": float(compared.areas["change"].abs().max()),
        "rank_change": int(compared.areas["rank_change"].abs().max()),
        "same_top": compared.same_top,
        "sd_ratio": float(fit.areas["risk_sd"].mean() / base.areas["risk_sd"].mean()),
        "rhat_max": fit.record.diagnostics.rhat_max,
    }


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
        "rhat_max": fit.record.diagnostics.rhat_max,
    }
