"""The pictures of a fit that its pages show, drawn once by the worker."""

from collections.abc import Callable

from judgemap.errors import StudyError
from judgemap.report import checks, clusters, figures
from judgemap.report.picture import Picture
from judgemap.study.checks import PredictiveCheck
from judgemap.study.clusters import ClusterFit
from judgemap.study.result import Fit


def draw(fit: Fit, check: PredictiveCheck) -> dict[str, Picture]:
    """Draw a fit's pictures by name. What a fit has not, such as a posterior of a fixed α, is left out."""
    wanted: dict[str, Callable[[], Picture]] = {
        "traces": lambda: figures.traces(fit),
        "ranks": lambda: checks.rank_plot(fit),
        "predictive": lambda: checks.predictive_check(fit, check),
        "variance": lambda: figures.variance_against_median(fit),
    }
    if isinstance(fit, ClusterFit):
        wanted |= {
            "cluster-number": lambda: clusters.cluster_number_bars(fit),
            "cluster-violins": lambda: clusters.cluster_violins(fit),
            "co-clustering": lambda: clusters.co_clustering_matrix(fit),
        }
    else:
        wanted["alpha"] = lambda: figures.alpha_posterior(fit)
    drawn = {}
    for name, make in wanted.items():
        try:
            drawn[name] = make()
        except StudyError:
            continue
    return drawn
