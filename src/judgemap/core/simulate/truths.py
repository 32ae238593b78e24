"""True maps that a fit may be up against, and panels of judges who see them.

A `Truth` draws the true strengths: from a prior, or in a shape that no prior has (plateaus, a slope, a skewed
covariate); `measured` makes one of values from a real map. All but draws from priors are scaled to a standard deviation
of α over the areas, so that they are equally hard to see. `judged` lets a panel answer: judges who are alike, who
differ, or who differ and give as unequal numbers of answers as in the paper.
"""

from collections.abc import Callable, Mapping
from functools import cached_property, partial

import numpy as np
from scipy import linalg

from judgemap.core.model.car import intrinsic_car
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.multiresolution import multiresolution
from judgemap.core.model.prior import (
    Covariance,
    communicability,
    exponential,
    graph_exponential,
    independent,
    matern32,
    squared_exponential,
)
from judgemap.core.simulate.misbehaviour import PanelAnswers, Setting, ask, attentive, heated, unequal_shares
from judgemap.core.types import FloatArray

Truth = Callable[[np.random.Generator, Setting], FloatArray]
"""(rng, setting) → true strengths."""
ON_BORDERS: Mapping[str, Callable[[AreaGraph], Covariance]] = {
    "communicability": communicability,
    "car": intrinsic_car,
    "independent": lambda graph: independent(graph.n_areas),
    "graph-exponential": lambda graph: graph_exponential(graph, 1.0),
}
"""Priors that need only the borders."""
ON_CENTROIDS: Mapping[str, Callable[[FloatArray, float], Covariance]] = {
    "exponential": exponential,
    "matern32": matern32,
    "squared-exponential": squared_exponential,
    "multi-resolution": multiresolution,
}
"""Priors that need centroids, with the typical distance between neighbours as their length."""
FRAGILE = ("graph-exponential", "squared-exponential")
"""Priors that do not exist on every map."""
JUDGES = ("alike", "differ", "unequal")
APART = 0.35
"""How much judges differ: the standard deviation of their own views, in α. (Dar es Salaam's 173 judges: 0.35.)"""
WITHIN = 0.1
"""The standard deviation within a plateau, in α; without it, ranks would mean nothing there."""


def plateaus(rng: np.random.Generator, setting: Setting) -> FloatArray:
    """Half of the map, in one piece, is high and the other half low, with a sharp border in between."""
    n = setting.graph.n_areas
    level = np.full(n, -1.0)
    level[setting.graph.around(int(rng.integers(n)), n // 2)] = 1.0
    return scaled(level + WITHIN * rng.standard_normal(n), setting.alpha)


def gradient(rng: np.random.Generator, setting: Setting) -> FloatArray:
    """Slope the whole map in a random direction: mix the two smoothest patterns on its borders."""
    borders = setting.graph.adjacency()
    _, patterns = linalg.eigh(np.diag(borders.sum(axis=0)) - borders)
    return scaled(patterns[:, 1:3] @ rng.standard_normal(2), setting.alpha)


def covariate(rng: np.random.Generator, setting: Setting) -> FloatArray:
    """Half of the variance follows a skewed property, such as density, that neighbours only partly share."""
    shared, rest = setting.covariance.draw(rng, 2)
    skewed = np.exp((shared + rng.standard_normal(setting.graph.n_areas)) / np.sqrt(2))
    return scaled(scaled(skewed, 1.0) + scaled(rest, 1.0), setting.alpha)


def hot_spots(rng: np.random.Generator, setting: Setting) -> FloatArray:
    """One area in ten stands far out from its neighbours, which differ little."""
    return scaled(heated(rng, setting, setting.alpha * setting.covariance.draw(rng, 1)[0]), setting.alpha)


SHAPES: Mapping[str, Truth] = {
    "hot-spots": hot_spots,
    "plateaus": plateaus,
    "gradient": gradient,
    "covariate": covariate,
}


def measured(values: FloatArray) -> Truth:
    """Take values measured on a real map as the truth."""
    return partial(_measured, values)


def truths(graph: AreaGraph, points: FloatArray | None) -> dict[str, Truth]:
    """Return every truth that a map allows, by name; priors on centroids need ``points``.

    A prior is built when it is first asked for; one that does not exist on this map raises a `ValueError`.

    >>> ring = AreaGraph(5, [[i, (i + 1) % 5] for i in range(5)])
    >>> list(truths(ring, None))
    ['communicability', 'car', 'independent', 'graph-exponential', 'hot-spots', 'plateaus', 'gradient', 'covariate']
    """
    names = [*ON_BORDERS, *(ON_CENTROIDS if points is not None else ())]
    return {name: _FromPrior(name, graph, points) for name in names} | dict(SHAPES)


def judged(rng: np.random.Generator, setting: Setting, strengths: FloatArray, judges: str) -> PanelAnswers:
    """Let one of `JUDGES` answer uniform pairs about these true strengths."""
    panel = attentive(setting, strengths)
    if judges != "alike":
        panel = panel._replace(views=APART * setting.alpha * setting.covariance.draw(rng, setting.judges))
    return ask(rng, setting, panel, shares=unequal_shares(setting) if judges == "unequal" else None)


def scaled(values: FloatArray, sd: float) -> FloatArray:
    """Centre values, and give them a standard deviation over the areas."""
    centred = values - values.mean()
    return sd * centred / centred.std()


def _measured(values: FloatArray, _rng: np.random.Generator, setting: Setting) -> FloatArray:
    return scaled(values, setting.alpha)


class _FromPrior:
    """A draw from a prior, which is built once."""

    def __init__(self, name: str, graph: AreaGraph, points: FloatArray | None) -> None:
        self.name, self.graph, self.points = name, graph, points

    def __call__(self, rng: np.random.Generator, setting: Setting) -> FloatArray:
        return setting.alpha * self._covariance.draw(rng, 1)[0]

    @cached_property
    def _covariance(self) -> Covariance:
        if self.name in ON_BORDERS or self.points is None:
            return ON_BORDERS[self.name](self.graph)
        i, j = self.graph.edges.T
        return ON_CENTROIDS[self.name](self.points, float(np.median(np.hypot(*(self.points[i] - self.points[j]).T))))
