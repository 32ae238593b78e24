"""What a worker saves of a fit's explanation, in `FitRun.findings`, and in which order its answers were given."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from judgemap.web.judge.models import Answer, Pair
from judgemap.web.results.models import FitRun
from judgemap.web.studies.display import UNITS

if TYPE_CHECKING:
    from judgemap.core.types import IntArray
    from judgemap.study.comparisons import Comparisons
    from judgemap.study.explain import Explanation
    from judgemap.study.result import Fit

EDGE = 50
"""What is left free around a network's drawing, in units of the map."""


def findings_of(fit: "Fit", explanation: "Explanation") -> dict[str, Any]:
    """Return what is saved: the explanation, and where there is no map, ``layout``, [x, y] of each area."""
    return explanation.to_dict() | ({"layout": _layout(fit)} if fit.map.geometry is None else {})


def answer_order(run: FitRun, data: "Comparisons") -> "IntArray":
    """List the comparisons of a fit in the order in which they were answered, those never answered last.

    Answers that came in after the fit had read them are not looked at: pairs of a judge are only ever added.
    """
    names = set(data.judges)
    shown = Pair.objects.filter(judge__study=run.study, practice=False, judge__in=names)
    first = Answer.objects.filter(pair__in=shown, revision=1).values_list("pair_id", "answered_at")
    answered = {pair: moment.timestamp() for pair, moment in first}
    moments: dict[str, list[float]] = {}
    for pair, judge in shown.order_by("judge_id", "position").values_list("pk", "judge_id"):
        moments.setdefault(judge, []).append(answered.get(pair, math.inf))
    queues = {judge: iter(times) for judge, times in moments.items()}
    when = [next(queues[judge], math.inf) if judge in queues else math.inf for judge in data.judge_names]
    return np.argsort(np.array(when), kind="stable").astype(np.int64)


def _layout(fit: "Fit") -> list[list[float]]:
    from judgemap.report.network import layout

    points = layout(fit.map.graph) * [1, -1]
    points -= (points.min(axis=0) + points.max(axis=0)) / 2
    widest = max(float(np.ptp(points, axis=0).max()), 1e-9)
    placed: list[list[float]] = np.round(points * (UNITS - 2 * EDGE) / widest + UNITS / 2, 1).tolist()
    return placed
