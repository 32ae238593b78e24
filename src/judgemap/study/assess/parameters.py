"""The model's global parameters, which belong to no area or judge, each with its interval and meaning."""

from collections.abc import Iterator

import numpy as np

from judgemap.core.types import FloatArray
from judgemap.study.assess.findings import Parameter
from judgemap.study.fit.judges import PanelFit
from judgemap.study.fit.result import Fit

NAMES = {
    "alpha2": ("α", "How far areas differ: the prior standard deviation of an area's strength."),
    "sigma2": ("σ", "How far judges differ: the standard deviation of a judge's view around the population's."),
    "theta": ("θ", "Ties (Rao and Kupper): how close two areas must be to be called alike, in log-odds."),
    "nu": ("ν", "Ties (Davidson): how readily two areas are called alike."),
    "rho": ("ρ", "How smooth the map is: the share of its variance that follows the neighbours."),
    "lean": ("b", "The judges' mean lean to the left area, in log-odds; 0 is none."),
    "side_sigma2": ("σ_b", "How far judges differ in that lean."),
    "attention_sigma2": ("σ_a", "How far judges differ in attention, which is 1 on average."),
}
"""Keyed by their names in the posterior; where a name ends in 2, the posterior holds the square of what is shown."""


def parameters(fit: Fit) -> list[Parameter]:
    """List the parameters that the model has: α unless there are clusters; σ, θ or ν, ρ, and those of its other parts.

    >>> import judgemap as jm
    >>> areas, data = jm.example_study(seed=1)
    >>> fit = jm.fit_spatial(data, areas, seed=1, judges="differ", chains=4, draws=100)
    >>> [each.symbol for each in parameters(fit)]
    ['α', 'σ', 'σ/α']
    """
    return [
        Parameter(symbol=symbol, words=words, median=middle, low=low, high=high)
        for symbol, words, draws in _draws(fit)
        for low, middle, high in [np.quantile(draws, [0.025, 0.5, 0.975]).tolist()]
    ]


def _draws(fit: Fit) -> Iterator[tuple[str, str, FloatArray]]:
    """Yield each parameter's symbol, words and draws."""
    for name, (symbol, words) in NAMES.items():
        if name in fit.posterior:
            draws: FloatArray = fit.posterior[name].to_numpy().ravel()
            yield symbol, words, np.sqrt(draws) if name.endswith("2") else draws
    if isinstance(fit, PanelFit):
        if fit.settings.differ:
            yield "σ/α", "How far judges differ, relative to areas.", fit.sigma / fit.alpha
        if "theta" in fit.posterior or "nu" in fit.posterior:
            yield "P(tie)", "The probability that two areas of equal risk are called alike.", fit.tie_chance
