"""Which areas are believed alike before anybody is asked: the prior's correlation, by name."""

from collections.abc import Callable

import numpy as np

from judgemap.core import prior
from judgemap.core.prior import Covariance
from judgemap.errors import StudyError
from judgemap.geo.csvfiles import did_you_mean, quoted
from judgemap.geo.maps import Areas

ON_CENTROIDS: dict[str, Callable[..., Covariance]] = {
    "exponential": prior.exponential,
    "matern32": prior.matern32,
    "squared-exponential": prior.squared_exponential,
}
PRIORS = ("communicability", *ON_CENTROIDS, "graph-exponential")


def prior_covariance(areas: Areas, kind: str = "communicability", length: float | None = None) -> Covariance:
    """Build the prior's correlation between areas.

    ``communicability`` (the paper's) and ``graph-exponential`` need the borders alone; the kernels on centroids need a
    map. ``length`` is in kilometres for the kernels on centroids and in borders crossed for ``graph-exponential``; left
    out, it is the typical distance between neighbours.

    >>> import judgemap as jm
    >>> areas = jm.chicago()
    >>> C = prior_covariance(areas, "exponential", length=5.0).matrix
    >>> C.shape
    (77, 77)
    """
    try:
        if kind == "communicability":
            return prior.communicability(areas.graph)
        if kind == "graph-exponential":
            return prior.graph_exponential(areas.graph, 1.0 if length is None else length)
        if kind in ON_CENTROIDS:
            points = areas.centroids() / 1000
            return ON_CENTROIDS[kind](points, neighbour_distance(areas) if length is None else length)
    except StudyError:
        raise
    except ValueError as error:
        raise StudyError(f"the prior {kind!r} cannot be built: {error}") from None
    raise StudyError(f"there is no prior {kind!r}{did_you_mean(kind, PRIORS)}; the priors are {quoted(PRIORS)}")


def neighbour_distance(areas: Areas) -> float:
    """Return the median distance between the centroids of neighbours, in kilometres."""
    points = areas.centroids() / 1000
    i, j = areas.graph.edges.T
    return float(np.median(np.hypot(*(points[i] - points[j]).T)))
