"""What a worker saves in `FitRun.findings`: a fit's explanation, and a drawing's layout where there is no map."""

from typing import TYPE_CHECKING, Any

import numpy as np

from judgemap.web.studies.display import UNITS

if TYPE_CHECKING:
    from judgemap.study.explain import Explanation
    from judgemap.study.result import Fit

EDGE = 50
"""What is left free around a network's drawing, in units of the map."""


def findings_of(fit: "Fit", explanation: "Explanation") -> dict[str, Any]:
    """Return what is saved: the explanation, and where there is no map, ``layout``, [x, y] of each area."""
    return explanation.to_dict() | ({"layout": _layout(fit)} if fit.map.geometry is None else {})


def _layout(fit: "Fit") -> list[list[float]]:
    from judgemap.report.network import layout

    points = layout(fit.map.graph) * [1, -1]
    points -= (points.min(axis=0) + points.max(axis=0)) / 2
    widest = max(float(np.ptp(points, axis=0).max()), 1e-9)
    placed: list[list[float]] = np.round(points * (UNITS - 2 * EDGE) / widest + UNITS / 2, 1).tolist()
    return placed
