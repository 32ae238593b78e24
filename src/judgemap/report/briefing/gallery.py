"""Every figure of a fit by name, for the appendix of a briefing and as files for a journal."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from judgemap.errors import StudyError
from judgemap.report import checks, clusters, figures, maps, sensitivity
from judgemap.report.briefing.about import About
from judgemap.report.picture import COLUMN, Picture
from judgemap.study.clusters import ClusterFit
from judgemap.study.folder import new_folder
from judgemap.study.result import Fit

MARK = "captions.md"
"""The file that marks a folder as one of figures, so that no other folder is overwritten."""

THIS = "this fit"
"""What the fit is called next to others."""

HEADINGS = {
    "network": "The areas and their borders",
    "times": "How long a comparison took",
    "risk": "Risk, posterior median",
    "alpha": "Posterior of α",
    "variance": "Posterior variance of risk",
    "variance-against-median": "Posterior variance against posterior median",
    "uncertainty": "Posterior standard deviation of risk",
    "intervals": "Highest risks, with intervals",
    "top": "Probability of being among the highest",
    "sensitivity": "Estimates against those of other fits",
    "sensitivity-maps": "Maps of other fits",
    "clusters": "Clusters",
    "violins": "Risk in each cluster",
    "number-of-clusters": "Number of clusters",
    "together": "Probability of sharing a cluster",
    "models": "Comparing the two models",
    "win-rates": "Win rates, observed and by the model",
    "ranks": "Ranks of the chains' draws",
    "traces": "Traces",
    "cluster-traces": "Traces of the clustering model",
}
"""What each figure shows, in the order of the paper."""


def all_figures(fit: Fit, about: About | None = None, other: Fit | None = None) -> dict[str, Picture]:
    """Draw every figure that a fit, a second fit of the same areas and the comparisons allow, by name.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
    >>> list(all_figures(fit, About(data=data)))[:4]
    ['network', 'times', 'risk', 'alpha']
    """
    about = about or About()
    drawn = figures_of(fit, about, other)
    extra = {f"more-{place}": picture for place, (_, picture) in enumerate(about.pictures, start=1)}
    return {name: draw() for name, draw in drawn.items()} | extra


def figures_of(fit: Fit, about: About, other: Fit | None = None) -> dict[str, Callable[[], Picture]]:
    """Return a function to draw each figure that this fit allows, in the order of `HEADINGS`."""
    normal = next((each for each in (fit, other) if each is not None and "alpha2" in each.posterior), None)
    clustered = clusters_of(fit, other)
    possible: dict[str, Callable[[], Picture]] = {
        "network": lambda: maps.adjacency_map(fit.map),
        "risk": lambda: maps.risk_map(fit),
        "variance": lambda: maps.variance_map(fit),
        "variance-against-median": lambda: figures.variance_against_median(fit),
        "uncertainty": lambda: maps.uncertainty_map(fit),
        "intervals": lambda: figures.risk_intervals(fit),
        "top": lambda: maps.p_top_map(fit, k=max(1, min(10, len(fit.map) // 2))),
        "win-rates": lambda: checks.predictive_check(fit),
        "traces": lambda: figures.traces(fit),
    }
    if fit.posterior.sizes["chain"] > 1:
        possible["ranks"] = lambda: checks.rank_plot(fit)
    if about.others:
        possible["sensitivity"] = lambda: sensitivity.sensitivity_scatter(fit, about.others)
        possible["sensitivity-maps"] = lambda: sensitivity.sensitivity_maps({THIS: fit, **about.others})
    if about.data is not None and np.isfinite(about.data.seconds).any():
        data = about.data
        possible["times"] = lambda: figures.comparison_times(data)
    if normal is not None and np.ptp(normal.alpha) > 0:
        possible["alpha"] = lambda: figures.alpha_posterior(normal)
    if clustered is not None:
        possible |= {
            "clusters": lambda: clusters.cluster_map(clustered),
            "violins": lambda: clusters.cluster_violins(clustered),
            "number-of-clusters": lambda: clusters.cluster_number_bars(clustered),
            "together": lambda: clusters.co_clustering_matrix(clustered),
        }
    if other is not None:
        second = other
        possible["models"] = lambda: against(fit, second)
        possible["cluster-traces" if clustered is other else "traces-2"] = lambda: figures.traces(second)
    return {name: possible[name] for name in (*HEADINGS, "traces-2") if name in possible}


def clusters_of(fit: Fit, other: Fit | None) -> ClusterFit | None:
    """Return the first of two fits that has clusters, if either does."""
    return next((each for each in (fit, other) if isinstance(each, ClusterFit)), None)


def against(fit: Fit, other: Fit) -> Picture:
    """Draw one fit against the other, with clusters on the vertical axis."""
    return (
        clusters.against_spatial(other, fit) if isinstance(other, ClusterFit) else clusters.against_spatial(fit, other)
    )


def heading(name: str) -> str:
    """Return the heading of a figure by its name.

    >>> heading("alpha")
    'Posterior of α'
    """
    return HEADINGS.get(name, "Traces of the second model")


def write_figures(pictures: Mapping[str, Picture], folder: str | Path, millimetres: float = COLUMN) -> Path:
    """Write pictures into a new folder, each as SVG and as PDF as wide as a journal's column, and their captions.

    A folder of earlier figures is replaced; any other folder that is not empty is left alone.
    """
    if not pictures:
        raise StudyError("there are no figures to write")
    lines = ["# Figures", ""]
    with new_folder(Path(folder), MARK) as draft:
        for name, picture in pictures.items():
            for ending in ("svg", "pdf"):
                picture.save(draft / f"{name}.{ending}", millimetres)
            lines += [f"## {name}", "", picture.caption, "", f"In words: {picture.alt}", ""]
        (draft / MARK).write_text("\n".join(lines), encoding="utf-8")
    return Path(folder)
