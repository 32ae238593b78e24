"""Comparative judgement on maps: from a boundary file and a table of answers to a risk map with honest uncertainty.

>>> import judgemap as jm
>>> areas, data = jm.example_study(seed=1)
>>> fit = jm.fit_spatial(data, areas, seed=1, chains=4, draws=500)
>>> fit.areas[["name", "risk_median", "risk_low", "risk_high"]].nlargest(3, "risk_median").shape
(3, 4)
"""

from importlib import import_module
from typing import TYPE_CHECKING

from judgemap.display import draw_with

if TYPE_CHECKING:
    from judgemap.core.design.schedule import ListOptions as ListOptions
    from judgemap.core.model.prior import FixedVariance as FixedVariance
    from judgemap.core.model.prior import InverseGamma as InverseGamma
    from judgemap.errors import StudyError as StudyError
    from judgemap.geo.maps import Areas as Areas
    from judgemap.geo.maps import read_areas as read_areas
    from judgemap.geo.maps import read_edges as read_edges
    from judgemap.study.checks import PredictiveCheck as PredictiveCheck
    from judgemap.study.checks import predictive_check as predictive_check
    from judgemap.study.clusters import ClusterFit as ClusterFit
    from judgemap.study.clusters import fit_clusters as fit_clusters
    from judgemap.study.comparing import FitComparison as FitComparison
    from judgemap.study.comparing import compare_fits as compare_fits
    from judgemap.study.comparing import compare_many as compare_many
    from judgemap.study.comparison_files import read_comparisons as read_comparisons
    from judgemap.study.comparisons import Comparisons as Comparisons
    from judgemap.study.example import chicago as chicago
    from judgemap.study.example import example_study as example_study
    from judgemap.study.example import simulate_study as simulate_study
    from judgemap.study.fit import fit_spatial as fit_spatial
    from judgemap.study.fit import fit_standard as fit_standard
    from judgemap.study.judge_planning import JudgePlan as JudgePlan
    from judgemap.study.judge_planning import plan_judges as plan_judges
    from judgemap.study.judges import judge_table as judge_table
    from judgemap.study.judges import surprising_answers as surprising_answers
    from judgemap.study.judges import time_histogram as time_histogram
    from judgemap.study.model_choice import ModelComparison as ModelComparison
    from judgemap.study.model_choice import compare_models as compare_models
    from judgemap.study.panel import PanelFit as PanelFit
    from judgemap.study.planning import StudyPlan as StudyPlan
    from judgemap.study.planning import plan as plan
    from judgemap.study.priors import prior_covariance as prior_covariance
    from judgemap.study.reliability import Reliability as Reliability
    from judgemap.study.reliability import reliability as reliability
    from judgemap.study.reliability import reliability_over_time as reliability_over_time
    from judgemap.study.result import Fit as Fit
    from judgemap.study.result import load_fit as load_fit
    from judgemap.study.schedules import Schedule as Schedule
    from judgemap.study.schedules import schedule as schedule
    from judgemap.study.sensitivity import cluster_sensitivity as cluster_sensitivity
    from judgemap.study.sensitivity import variance_sensitivity as variance_sensitivity
    from judgemap.study.settings import ClusterSettings as ClusterSettings

_HOMES = {
    "Areas": "geo.maps",
    "ClusterFit": "study.clusters",
    "ClusterSettings": "study.settings",
    "Comparisons": "study.comparisons",
    "Fit": "study.result",
    "FitComparison": "study.comparing",
    "FixedVariance": "core.model.prior",
    "InverseGamma": "core.model.prior",
    "JudgePlan": "study.judge_planning",
    "ListOptions": "core.design.schedule",
    "ModelComparison": "study.model_choice",
    "PanelFit": "study.panel",
    "PredictiveCheck": "study.checks",
    "Reliability": "study.reliability",
    "Schedule": "study.schedules",
    "StudyError": "errors",
    "StudyPlan": "study.planning",
    "chicago": "study.example",
    "cluster_sensitivity": "study.sensitivity",
    "compare_fits": "study.comparing",
    "compare_many": "study.comparing",
    "compare_models": "study.model_choice",
    "example_study": "study.example",
    "fit_clusters": "study.clusters",
    "fit_spatial": "study.fit",
    "fit_standard": "study.fit",
    "judge_table": "study.judges",
    "load_fit": "study.result",
    "plan": "study.planning",
    "plan_judges": "study.judge_planning",
    "predictive_check": "study.checks",
    "prior_covariance": "study.priors",
    "read_areas": "geo.maps",
    "read_comparisons": "study.comparison_files",
    "read_edges": "geo.maps",
    "reliability": "study.reliability",
    "reliability_over_time": "study.reliability",
    "schedule": "study.schedules",
    "simulate_study": "study.example",
    "surprising_answers": "study.judges",
    "time_histogram": "study.judges",
    "variance_sensitivity": "study.sensitivity",
}
"""Where each exported name lives. Loaded when first used: imports for maps and pictures take seconds."""

draw_with("judgemap.report.pages.notebook")

__all__ = sorted(_HOMES)  # noqa: PLE0605 - the names are in _HOMES


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"judgemap has no {name!r}; it has {', '.join(__all__)}")
    value = getattr(import_module(f"judgemap.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
