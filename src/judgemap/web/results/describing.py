"""What the map's page says of a fit beside its table of areas, worked out once by the worker, as plain JSON.

`describe(fit)` has the keys

``top``       {k: P(among the k of highest risk), an entry an area}, for the k of `TOPS` that are fewer than the areas
``met``       an entry an area: [[position of another area, won, lost], …], the most often met first
``sampling``  {rhat, ess_bulk, ess_tail}: a number an area
``layout``    where there is no map, [x, y] of each area in a drawing of the network, in units of the map
``between``   of a fit with clusters, an entry an area: [the other cluster, its probability] for areas that sit between
              two clusters, None for the rest
"""

from typing import Any

import numpy as np

from judgemap.core.posterior import in_top, ranks
from judgemap.core.types import FloatArray
from judgemap.report.network import layout
from judgemap.study.clusters import ClusterFit
from judgemap.study.result import Fit
from judgemap.web.studies.display import UNITS

TOPS = (1, 3, 5, 10, 20, 50)
EDGE = 50
"""What is left free around a network's drawing, in units."""


def describe(fit: Fit) -> dict[str, Any]:
    """Work out what the map's page shows of a fit.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> sorted(describe(jm.fit_spatial(data, areas, seed=1, chains=2, draws=100)))
    ['met', 'sampling', 'top']
    """
    found: dict[str, Any] = {"top": _tops(fit), "met": _met(fit), "sampling": _sampling(fit)}
    if fit.map.geometry is None:
        found["layout"] = _layout(fit)
    if isinstance(fit, ClusterFit):
        between = {each.area: [int(each.other), float(each.other_probability)] for each in fit.best.between}
        found["between"] = [between.get(area) for area in range(len(fit.map))]
    return found


def _tops(fit: Fit) -> dict[str, list[float]]:
    rank = ranks(fit.risk)
    return {str(k): in_top(rank, k).tolist() for k in TOPS if k < len(fit.map)}


def _met(fit: Fit) -> list[list[list[int]]]:
    place = {code: position for position, code in enumerate(fit.map.ids)}
    pairs = fit.observed_data
    met: list[list[list[int]]] = [[] for _ in fit.map.ids]
    columns = (pairs[name].to_numpy().tolist() for name in ("first", "second", "n", "wins"))
    for first, second, count, wins in zip(*columns, strict=True):
        a, b, won = place[str(first)], place[str(second)], int(wins)
        met[a].append([b, won, int(count) - won])
        met[b].append([a, int(count) - won, won])
    return [sorted(each, key=lambda other: (-other[1] - other[2], other[0])) for each in met]


def _sampling(fit: Fit) -> dict[str, list[float | None]]:
    return {name: _finite(values) for name, values in fit.sampling._asdict().items()}


def _layout(fit: Fit) -> list[list[float]]:
    points = layout(fit.map.graph) * [1, -1]
    points -= (points.min(axis=0) + points.max(axis=0)) / 2
    widest = max(float(np.ptp(points, axis=0).max()), 1e-9)
    placed: list[list[float]] = np.round(points * (UNITS - 2 * EDGE) / widest + UNITS / 2, 1).tolist()
    return placed


def _finite(values: FloatArray) -> list[float | None]:
    return [value if np.isfinite(value) else None for value in values.tolist()]
