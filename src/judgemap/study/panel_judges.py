"""What a fit says of each judge: how far from the population, how attentive, which side; and what that means.

Three things that look alike in a table of agreement are told apart by probabilities, as far as the model has the parts:

=================  =============================================================================================
little             answers tell little of any map: attention |a_k| < ¼, or more than half of them without looking
reversed           the question was taken the other way round: a_k < −¼
another view       u_k, centred, is larger than that of 19 in 20 judges of the same population
=================  =============================================================================================
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from judgemap.core.types import FloatArray

if TYPE_CHECKING:
    from judgemap.study.panel import PanelFit

NEAR_NOTHING = 0.25
"""Attention nearer to 0 than this tells little."""
MOSTLY = 0.5
USUAL = 0.95
"""Of judges of the population, this share have views nearer to it than `p_another_view` asks."""
PRIOR_DRAWS = 4_000
PARTS = ("distance", "attention", "side", "lapse")


def judge_columns(fit: "PanelFit", judges: Sequence[str]) -> dict[str, FloatArray]:
    """Return columns of `jm.judge_table` for these judges, those that the model has; nan for judges it does not know.

    ``distance`` is the root mean square of u_k over areas, in units of risk; it, ``attention``, ``side`` and ``lapse``
    are medians with 95 % intervals ``…_low``, ``…_high``. ``p_little``, ``p_reversed`` and ``p_another_view`` are
    probabilities; see the module's text.
    """
    place = {name: code for code, name in enumerate(fit.judges)}
    known = np.array([name in place for name in judges], dtype=np.bool_)
    codes = np.array([place.get(name, 0) for name in judges], dtype=np.int64)

    def spread(values: FloatArray) -> FloatArray:
        return np.where(known, values[codes], np.nan)

    columns: dict[str, FloatArray] = {}
    for part in PARTS:
        if part in fit.posterior:
            low, middle, high = np.quantile(_draws(fit, part), [0.025, 0.5, 0.975], axis=0)
            columns |= {part: spread(middle), f"{part}_low": spread(low), f"{part}_high": spread(high)}
    return columns | {name: spread(chance) for name, chance in _chances(fit).items()}


def _chances(fit: "PanelFit") -> dict[str, FloatArray]:
    chances: dict[str, FloatArray] = {}
    little = []
    if "attention" in fit.posterior:
        attention = _draws(fit, "attention")
        little.append(np.abs(attention) < NEAR_NOTHING)
        chances["p_reversed"] = (attention < -NEAR_NOTHING).mean(axis=0)
    if "lapse" in fit.posterior:
        little.append(_draws(fit, "lapse") > MOSTLY)
    if little:
        chances["p_little"] = np.any(little, axis=0).mean(axis=0)
    if "distance" in fit.posterior:
        views = fit.view_covariance.draw(np.random.default_rng(0), PRIOR_DRAWS)
        usual = np.quantile(views.std(axis=1), USUAL)
        chances["p_another_view"] = (_draws(fit, "distance") > usual * fit.sigma[:, None]).mean(axis=0)
    return chances


def _draws(fit: "PanelFit", name: str) -> FloatArray:
    values: FloatArray = fit.posterior[name].to_numpy()
    return values.reshape(-1, values.shape[2])
