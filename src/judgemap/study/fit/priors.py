"""Priors by name, as chosen with `--prior`: as a matrix for most maps, and without one for large maps."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from judgemap.core.model import prior
from judgemap.core.model.covariates import standardised
from judgemap.core.model.prior import Covariance
from judgemap.core.types import FloatArray
from judgemap.errors import StudyError, told_as_study_error
from judgemap.geo.csvfiles import check_known, quoted
from judgemap.geo.maps import Areas

if TYPE_CHECKING:
    from judgemap.core.samplers.sparse.model import Smoother

KERNELS: dict[str, Callable[..., Covariance]] = {
    "exponential": prior.exponential,
    "matern32": prior.matern32,
    "squared-exponential": prior.squared_exponential,
}
ON_CENTROIDS = (*KERNELS, "multi-resolution")
PRIORS = {
    "car": "CAR: an area is like the mean of its neighbours",
    "communicability": "Communicability: areas joined by many short paths are alike, as in the paper",
    "exponential": "Exponential in the distance between centroids",
    "matern32": "Matérn 3/2 in the distance between centroids",
    "squared-exponential": "Squared exponential in the distance between centroids",
    "multi-resolution": "Multi-resolution: differences at every scale, by the distance between centroids",
    "graph-exponential": "Exponential in the number of borders crossed",
}
"""Every prior, with its description."""
PLAIN = "car"
"""The prior of the plain fit: on real maps its intervals cover what they claim to, where the paper's are too short."""
FOR_LARGE_MAPS = ("car", "multi-resolution")
"""Priors whose inverse is sparse, so that a map of any size can have them."""


def smoother_of(areas: Areas, kind: str, length: float | None = None) -> "Smoother":
    """Build one of `FOR_LARGE_MAPS` without a matrix, or say which prior to choose."""
    from judgemap.core.model.car import IntrinsicCar
    from judgemap.core.model.multiresolution import MultiResolution

    if kind not in FOR_LARGE_MAPS:
        raise StudyError(
            f"the prior {kind!r} is for maps of up to {prior.DENSE_LIMIT:,} areas, and this one has {len(areas):,}; "
            "choose 'car'",
            field="prior",
        )
    with told_as_study_error(f"the prior {kind!r} cannot be built: "):
        if kind == "multi-resolution":
            return MultiResolution(areas.centroids() / 1000, usual_length(areas, kind) if length is None else length)
        return IntrinsicCar(areas.graph)


def prior_covariance(areas: Areas, kind: str = PLAIN, length: float | None = None) -> Covariance:
    """Build the prior's correlation between areas.

    ``car`` (the default), ``communicability`` (the paper's) and ``graph-exponential`` need only the borders; the others
    use centroids and need a map. ``length`` is in kilometres for those and in borders crossed for
    ``graph-exponential``; by default it is the typical distance between neighbours.

    Parameters
    ----------
    areas
        The areas of the study.
    kind
        The name of the correlation, as above, or ``exponential``, ``matern32``, ``squared-exponential``,
        ``multi-resolution``.
    length
        The length scale, if the correlation has one.

    Returns
    -------
    Covariance
        For ``jm.fit_spatial(…, covariance=…)``; ``.matrix`` is the array.

    Examples
    --------
    >>> areas = jm.chicago()
    >>> C = prior_covariance(areas, "exponential", length=5.0).matrix
    >>> C.shape
    (77, 77)
    """
    check_known("prior", kind, PRIORS, field="prior")
    with told_as_study_error(f"the prior {kind!r} cannot be built: "):
        return _build(areas, kind, length)


def _build(areas: Areas, kind: str, length: float | None) -> Covariance:
    if kind == "communicability":
        return prior.communicability(areas.graph)
    if kind == "car":
        from judgemap.core.model.car import intrinsic_car

        return intrinsic_car(areas.graph)
    length = usual_length(areas, kind) if length is None else length
    if kind == "graph-exponential":
        return prior.graph_exponential(areas.graph, length)
    points = areas.centroids() / 1000
    if kind == "multi-resolution":
        from judgemap.core.model.multiresolution import multiresolution

        return multiresolution(points, length)
    return KERNELS[kind](points, length)


def covariate_matrix(areas: Areas, names: Sequence[str]) -> FloatArray:
    """Return the covariates of the model, standardised, a column each; raise a `StudyError` if one is incomplete."""
    if areas.figures is None:
        text = "covariates: these areas have no figures; add them with --figures, or areas.with_figures"
        raise StudyError(text, "covariates")
    columns = []
    for name in names:
        values = areas.figures.numbers(name)
        if missing := [areas.names[place] for place in np.flatnonzero(~np.isfinite(values))]:
            raise StudyError(
                f"covariates: {name!r} is missing for {len(missing):,} of {len(areas):,} areas "
                f"({quoted(missing, most=5)}); fill it in, or leave it out",
                field="covariates",
            )
        if np.ptp(values) == 0:
            raise StudyError(f"covariates: {name!r} is the same for all areas; leave it out", field="covariates")
        columns.append(values)
    return standardised(np.column_stack(columns))


def usual_length(areas: Areas, kind: str) -> float:
    """Return a prior's default length: one border, or the median distance in km between neighbours' centroids."""
    if kind not in ON_CENTROIDS:
        return 1.0
    points = areas.centroids() / 1000
    i, j = areas.graph.edges.T
    return float(np.median(np.hypot(*(points[i] - points[j]).T)))
