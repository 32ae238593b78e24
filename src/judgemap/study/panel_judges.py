"""What a fit says of each judge: how far from the population, how attentive, which side; and what that means.

Three things that look alike in a table of agreement are told apart by their probabilities, as `core.judge_kinds` weighs
them against a judge like the others:

=================  =============================================================================================
little             answers tell little of any map: attention |a_k| < ¼, or more than half of them without looking;
                   where the model has neither, answers by chance
reversed           the question was taken the other way round: a_k < −¼; without attention, a_k = −1
another view       answers follow a map, but one that has nothing to do with the population's
=================  =============================================================================================
"""

from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from judgemap.core.judge_kinds import Kinds, kind_chances
from judgemap.core.types import BoolArray, FloatArray
from judgemap.study.comparisons import Comparisons
from judgemap.study.panel_settings import with_answers
from judgemap.study.result import evenly

if TYPE_CHECKING:
    from judgemap.study.panel import PanelFit

NEAR_NOTHING = 0.25
"""Attention nearer to 0 than this tells little."""
MOSTLY = 0.5
DRAWS = 40
"""Of the fit, evenly spaced, to weigh kinds of judges by."""
PARTS = ("distance", "attention", "side", "lapse")


def judge_columns(fit: "PanelFit", data: Comparisons) -> dict[str, FloatArray]:
    """Return columns of `jm.judge_table`, those that the model has; nan for judges whom it does not know.

    ``distance`` is the root mean square of u_k over areas, in units of risk; it, ``attention``, ``side`` and ``lapse``
    are medians with 95 % intervals ``…_low``, ``…_high``. ``p_little``, ``p_reversed`` and ``p_another_view`` are
    probabilities; see the module's text.
    """
    place = {name: code for code, name in enumerate(fit.judges)}
    if not place:
        return {}
    known = np.array([name in place for name in data.judges], dtype=np.bool_)
    codes = np.array([place.get(name, 0) for name in data.judges], dtype=np.int64)

    def spread(values: FloatArray) -> FloatArray:
        return np.where(known, values[codes], np.nan)

    columns: dict[str, FloatArray] = {}
    for part in PARTS:
        if part in fit.posterior:
            low, middle, high = np.quantile(_draws(fit, part), [0.025, 0.5, 0.975], axis=0)
            columns |= {part: spread(middle), f"{part}_low": spread(low), f"{part}_high": spread(high)}
    return columns | {name: spread(chance) for name, chance in _chances(fit, data).items()}


def _chances(fit: "PanelFit", data: Comparisons) -> dict[str, FloatArray]:
    """Weigh the kinds; what the model says of attention and lapses holds as far as a judge is as modelled."""
    kinds = Kinds(*np.array(_kinds(fit, data)).T)
    little: list[BoolArray] = []
    turned = np.zeros(len(fit.judges))
    if "attention" in fit.posterior:
        attention = _draws(fit, "attention")
        little.append(np.abs(attention) < NEAR_NOTHING)
        turned = (attention < -NEAR_NOTHING).mean(axis=0)
    if "lapse" in fit.posterior:
        little.append(_draws(fit, "lapse") > MOSTLY)
    idle = np.any(little, axis=0).mean(axis=0) if little else np.zeros(len(fit.judges))
    return {
        "p_reversed": kinds.reversed + kinds.modelled * turned,
        "p_little": kinds.little + kinds.modelled * idle,
        "p_another_view": np.asarray(kinds.another_view),
    }


def _kinds(fit: "PanelFit", data: Comparisons) -> list[Kinds]:
    """One entry a judge of the fit; nan for those without an answer here."""
    used, _ = with_answers(data)
    place = {name: code for code, name in enumerate(used.judges)}
    counts, parts = used.by_judge(), fit.settings.parts(data, fit.covariance)
    shared, own = fit.shared(evenly(len(fit.risk), DRAWS)), fit.judge_covariance
    with threadpool_limits(limits=1):
        return [
            kind_chances(np.random.default_rng(code), counts, place[name], parts, shared, own)
            if name in place
            else Kinds(*[np.nan] * len(Kinds._fields))
            for code, name in enumerate(fit.judges)
        ]


def _draws(fit: "PanelFit", name: str) -> FloatArray:
    values: FloatArray = fit.posterior[name].to_numpy()
    return values.reshape(-1, values.shape[2])
