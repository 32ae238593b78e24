"""The scales of the panel model: single numbers on the whole real line, each with its prior.

log_variance       τ = log α²,            α² ~ InvGamma(χ, ω): −χτ − ωe^{−τ}
log_disagreement   log σ²: half-Cauchy(s) on σ: ½x − log(1 + e^x/s²); likewise log_side, log σ_b², and log_attention,
                   log σ_a²
tie_chance         logit p,               p ~ U(0, 1):         log p(1 − p)
lean               b ~ N(0, 1)
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import expit

from judgemap.core.model.judges import PanelModel
from judgemap.core.model.prior import InverseGamma
from judgemap.core.types import FloatArray


class Scale(NamedTuple):
    """A number on the whole real line: the log density of its prior, the slope of that, and a starting value."""

    name: str
    log_prior: Callable[[FloatArray], FloatArray]
    slope: Callable[[FloatArray], FloatArray]
    start: float


def scales(model: PanelModel, log_variance: float) -> tuple[Scale, ...]:
    """List the scales of the parts that are on; ``log_variance`` is a first guess at log α²."""
    parts, chosen = model.parts, []
    if isinstance(model.variance, InverseGamma):
        chosen.append(_inverse_gamma(model.variance, log_variance))
    if parts.disagreement is not None:
        chosen.append(_half_cauchy("log_disagreement", parts.disagreement.scale, log_variance - 1.0))
    if parts.ties is not None:
        chosen.append(_uniform("tie_chance", -1.0))
    if parts.side is not None:
        chosen.append(Scale("lean", lambda x: -x * x / 2, lambda x: -x, 0.0))
        chosen.append(_half_cauchy("log_side", parts.side.scale, -1.0))
    if parts.attention is not None:
        chosen.append(_half_cauchy("log_attention", parts.attention.scale, -2.0))
    return tuple(chosen)


def _inverse_gamma(prior: InverseGamma, start: float) -> Scale:
    return Scale(
        "log_variance",
        lambda x: -prior.shape * x - prior.scale * np.exp(-x),
        lambda x: -prior.shape + prior.scale * np.exp(-x),
        start,
    )


def _half_cauchy(name: str, scale: float, start: float) -> Scale:
    offset = 2 * np.log(scale)
    return Scale(name, lambda x: x / 2 - np.logaddexp(0.0, x - offset), lambda x: 0.5 - expit(x - offset), start)


def _uniform(name: str, start: float) -> Scale:
    return Scale(name, lambda x: -np.logaddexp(0, x) - np.logaddexp(0, -x), lambda x: 1 - 2 * expit(x), start)
