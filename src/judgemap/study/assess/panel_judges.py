"""What a fit says about each judge: distance from the population, attention, side, and what that means.

Three kinds that look the same in a table of agreement are distinguished by their probabilities, which
`core.judge_kinds` weighs against a judge like the others:

=================  =============================================================================================
little             answers say little about any map: attention |a_k| < ¼, or more than half of them without looking;
                   if the model has neither, answers by chance
reversed           the judge took the question the other way round: a_k < −¼; without attention, a_k = −1
another view       answers follow a map, but one that has nothing to do with the population's
=================  =============================================================================================

They depend on what a fit without the judge would say, which is estimated from this fit's draws. If the chains have not
settled, that is impossible. If the fit depends so much on the judge's own answers that a few draws would have to stand
for all (k̂ > 0.7), the judge looks too much like the others, because the draws that would say otherwise are missing. So
in that case only what is nearly certain is reported. If there are no probabilities, ``kind_note`` says why and what to
do.
"""

from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from judgemap.core.assess.held_out import GOOD_K, Kinds, kind_chances
from judgemap.core.types import BoolArray, FloatArray
from judgemap.study.assess.judges import SURE
from judgemap.study.assess.verdict import Grade, judge_convergence
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.fit.draws import evenly
from judgemap.study.fit.settings import with_answers

if TYPE_CHECKING:
    from judgemap.study.fit.judges import PanelFit

NEAR_NOTHING = 0.25
"""Attention closer to 0 than this says little."""
MOSTLY = 0.5
DRAWS = (100, 400)
"""Draws of the fit, evenly spaced, for weighing kinds of judges; the second number is used where the first leaves
doubt."""
HOPELESS_K = 1.2
"""If the first draws give a Pareto k above this, more would not help, and judges with many answers take longest."""
UNSETTLED = "Not enough draws to tell: the chains have not settled. Fit again with more draws."
ENTANGLED = (
    "Not enough draws to tell: the fit depends too much on this judge's own answers. Fit again without this judge, and "
    "compare the two maps."
)
CHANCES = ("p_reversed", "p_little", "p_another_view")
PARTS = ("distance", "attention", "side", "lapse")


def judge_columns(fit: "PanelFit", data: Comparisons) -> dict[str, FloatArray | list[str]]:
    """Return those columns of `jm.judge_table` that the model has; nan for judges it does not know.

    ``distance`` is the root mean square of u_k over areas, in units of risk; it, ``attention``, ``side`` and ``lapse``
    are medians with 95 % intervals ``…_low``, ``…_high``. ``p_little``, ``p_reversed`` and ``p_another_view`` are
    probabilities, nan if they cannot be determined, for the reason in ``kind_note``; ``k_hat`` is the Pareto k of the
    judge's importance weights. See the module docstring.
    """
    place = {name: code for code, name in enumerate(fit.judges)}
    if not place:
        return {}
    known = np.array([name in place for name in data.judges], dtype=np.bool_)
    codes = np.array([place.get(name, 0) for name in data.judges], dtype=np.int64)

    def spread(values: FloatArray) -> FloatArray:
        return np.where(known, values[codes], np.nan)

    columns: dict[str, FloatArray | list[str]] = {}
    for part in PARTS:
        if part in fit.posterior:
            low, middle, high = np.quantile(_draws(fit, part), [0.025, 0.5, 0.975], axis=0)
            columns |= {part: spread(middle), f"{part}_low": spread(low), f"{part}_high": spread(high)}
    if judge_convergence(fit.warnings, stopped=not fit.record.complete).grade is Grade.NO:
        nothing = np.full(len(data.judges), np.nan)
        columns |= dict.fromkeys((*CHANCES, "k_hat"), nothing)
        return columns | {"kind_note": np.where(known, UNSETTLED, "").tolist()}
    kinds, k = _weighed(fit, data)
    chances = _chances(fit, kinds)
    unclear = (k > GOOD_K) & (chances.max(axis=0) <= SURE)
    columns |= {name: spread(np.where(unclear, np.nan, each)) for name, each in zip(CHANCES, chances, strict=True)}
    return columns | {"k_hat": spread(k), "kind_note": np.where(known & unclear[codes], ENTANGLED, "").tolist()}


def _chances(fit: "PanelFit", kinds: FloatArray) -> FloatArray:
    """Return `CHANCES` by judge; what the model says about attention and lapses applies to a judge as modelled."""
    modelled, guessing, upside_down, another_view = kinds.T
    little: list[BoolArray] = []
    turned = np.zeros(len(fit.judges))
    if "attention" in fit.posterior:
        attention = _draws(fit, "attention")
        little.append(np.abs(attention) < NEAR_NOTHING)
        turned = (attention < -NEAR_NOTHING).mean(axis=0)
    if "lapse" in fit.posterior:
        little.append(_draws(fit, "lapse") > MOSTLY)
    idle = np.any(little, axis=0).mean(axis=0) if little else np.zeros(len(fit.judges))
    return np.array([upside_down + modelled * turned, guessing + modelled * idle, another_view])


def _weighed(fit: "PanelFit", data: Comparisons) -> tuple[FloatArray, FloatArray]:
    """Weigh the `Kinds`, one row per judge of the fit, and return each k̂; nan for judges without an answer here."""
    used, _ = with_answers(data)
    place = {name: code for code, name in enumerate(used.judges)}
    counts, parts = used.by_judge(), fit.settings.parts(data, fit.covariance)
    some, own = [fit.shared(evenly(len(fit.risk), draws)) for draws in DRAWS], fit.judge_covariance
    kinds, k = np.full((len(fit.judges), len(Kinds._fields)), np.nan), np.full(len(fit.judges), np.nan)
    with threadpool_limits(limits=1):
        for code, name in enumerate(fit.judges):
            for shared in some if name in place else ():
                rng = np.random.default_rng(code)
                kinds[code], k[code] = kind_chances(rng, counts, place[name], parts, shared, own)
                if k[code] <= GOOD_K or k[code] > HOPELESS_K:
                    break
    return kinds, k


def _draws(fit: "PanelFit", name: str) -> FloatArray:
    values: FloatArray = fit.posterior[name].to_numpy()
    return values.reshape(-1, values.shape[2])
