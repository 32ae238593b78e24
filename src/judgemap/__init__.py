"""Comparative judgement on maps: from a boundary file and a table of answers to a risk map and how certain it is.

>>> import judgemap as jm
>>> areas, data = jm.example_study(seed=1)
>>> fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)
>>> fit.areas[["name", "risk_median", "risk_low", "risk_high"]].nlargest(3, "risk_median").shape
(3, 4)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from judgemap.display import draw_with

if TYPE_CHECKING:
    __version__: str
    from judgemap.core.design.schedule import ListOptions as ListOptions
    from judgemap.errors import StudyError as StudyError
    from judgemap.geo.figures import Figures as Figures
    from judgemap.geo.figures import read_figures as read_figures
    from judgemap.geo.maps import Areas as Areas
    from judgemap.geo.maps import read_areas as read_areas
    from judgemap.geo.maps import read_edges as read_edges
    from judgemap.study.assess.beside import follows as follows
    from judgemap.study.assess.beside import results_by as results_by
    from judgemap.study.assess.checks import PredictiveCheck as PredictiveCheck
    from judgemap.study.assess.checks import predictive_check as predictive_check
    from judgemap.study.assess.comparing import FitComparison as FitComparison
    from judgemap.study.assess.comparing import ModelComparison as ModelComparison
    from judgemap.study.assess.comparing import cluster_sensitivity as cluster_sensitivity
    from judgemap.study.assess.comparing import compare_fits as compare_fits
    from judgemap.study.assess.comparing import compare_many as compare_many
    from judgemap.study.assess.comparing import compare_models as compare_models
    from judgemap.study.assess.comparing import variance_sensitivity as variance_sensitivity
    from judgemap.study.assess.findings import Follows as Follows
    from judgemap.study.assess.findings import Rates as Rates
    from judgemap.study.assess.findings import Reliability as Reliability
    from judgemap.study.assess.judges import judge_table as judge_table
    from judgemap.study.assess.judges import surprising_answers as surprising_answers
    from judgemap.study.assess.judges import time_histogram as time_histogram
    from judgemap.study.assess.rates import rates as rates
    from judgemap.study.assess.reliability import reliability as reliability
    from judgemap.study.assess.reliability import reliability_over_time as reliability_over_time
    from judgemap.study.data.comparisons import Comparisons as Comparisons
    from judgemap.study.data.comparisons import read_comparisons as read_comparisons
    from judgemap.study.data.example import chicago as chicago
    from judgemap.study.data.example import example_study as example_study
    from judgemap.study.data.example import simulate_study as simulate_study
    from judgemap.study.fit.clusters import ClusterFit as ClusterFit
    from judgemap.study.fit.fitting import fit_clusters as fit_clusters
    from judgemap.study.fit.fitting import fit_spatial as fit_spatial
    from judgemap.study.fit.fitting import fit_standard as fit_standard
    from judgemap.study.fit.priors import prior_covariance as prior_covariance
    from judgemap.study.fit.result import Fit as Fit
    from judgemap.study.fit.result import load_fit as load_fit
    from judgemap.study.plan.planning import StudyPlan as StudyPlan
    from judgemap.study.plan.planning import plan as plan
    from judgemap.study.plan.schedules import Schedule as Schedule
    from judgemap.study.plan.schedules import schedule as schedule

_NAMES = {
    "core.design.schedule": ("ListOptions",),
    "errors": ("StudyError",),
    "geo.figures": ("Figures", "read_figures"),
    "geo.maps": ("Areas", "read_areas", "read_edges"),
    "study.assess.beside": ("follows", "results_by"),
    "study.assess.checks": ("PredictiveCheck", "predictive_check"),
    "study.assess.comparing": (
        "FitComparison",
        "ModelComparison",
        "cluster_sensitivity",
        "compare_fits",
        "compare_many",
        "compare_models",
        "variance_sensitivity",
    ),
    "study.assess.findings": ("Follows", "Rates", "Reliability"),
    "study.assess.judges": ("judge_table", "surprising_answers", "time_histogram"),
    "study.assess.rates": ("rates",),
    "study.assess.reliability": ("reliability", "reliability_over_time"),
    "study.data.comparisons": ("Comparisons", "read_comparisons"),
    "study.data.example": ("chicago", "example_study", "simulate_study"),
    "study.fit.clusters": ("ClusterFit",),
    "study.fit.fitting": ("fit_clusters", "fit_spatial", "fit_standard"),
    "study.fit.priors": ("prior_covariance",),
    "study.fit.result": ("Fit", "load_fit"),
    "study.plan.planning": ("StudyPlan", "plan"),
    "study.plan.schedules": ("Schedule", "schedule"),
}
"""What each module exports. Loaded when first used: imports for maps and pictures take seconds."""
_HOMES = {name: module for module, names in _NAMES.items() for name in names}

draw_with("judgemap.report.pages.notebook")

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the names are in _HOMES


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version

        return version("judgemap")
    if name not in _HOMES:
        raise AttributeError(f"judgemap has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(f"judgemap.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
