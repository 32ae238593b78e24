"""Simulated panels: judges drawn from the prior of the panel model, and their answers."""

from typing import NamedTuple

import numpy as np

from judgemap.core.model.counts import JudgedCounts, count_judged
from judgemap.core.model.judges import Parts
from judgemap.core.model.outcomes import TieRule, log_chances, odds
from judgemap.core.model.prior import Covariance, FixedVariance, VariancePrior
from judgemap.core.types import FloatArray, IntArray


class Panel(NamedTuple):
    """Everything that decides how a panel answers: one population, and one row per judge."""

    strengths: FloatArray
    """λ, (areas,)."""
    views: FloatArray
    """u_k, (judges, areas)."""
    side: FloatArray
    attention: FloatArray
    lapse: FloatArray
    scales: dict[str, float]
    """The scales of the parts that are on: log_variance, smoothness (ρ), log_disagreement, tie_chance (p), lean,
    log_side and log_attention."""
    local: FloatArray | None = None
    """ψ, (areas,), if the smoothness of the map is inferred."""

    @property
    def n_judges(self) -> int:
        """The number of judges."""
        return len(self.side)

    @property
    def map(self) -> FloatArray:
        """The panel's map, λ + mean u_k, with every judge counting equally."""
        mean: FloatArray = self.strengths + self.views.mean(axis=0)
        return mean


def draw_panel(
    rng: np.random.Generator, covariance: Covariance, variance: VariancePrior, parts: Parts, n_judges: int
) -> Panel:
    """Draw a panel from the prior.

    >>> from judgemap.core.model.prior import InverseGamma, independent
    >>> draw_panel(np.random.default_rng(1), independent(3), InverseGamma(3, 3), Parts(), n_judges=2).views.shape
    (2, 3)
    """
    scales: dict[str, float] = {}
    if isinstance(variance, FixedVariance):
        alpha2 = variance.value
    else:
        alpha2 = variance.scale / rng.standard_gamma(variance.shape)
    scales["log_variance"] = float(np.log(alpha2))
    strengths, local = covariance.draw(rng, 1)[0], None
    if parts.smoothness is not None:
        rho, local = float(rng.random()), parts.smoothness.draw_local(rng, len(strengths))
        scales["smoothness"] = rho
        strengths = np.sqrt(rho) * strengths + np.sqrt((1 - rho) * local) * rng.standard_normal(len(strengths))
    views, zeros = np.zeros((n_judges, covariance.n_areas)), np.zeros(n_judges)
    if parts.disagreement is not None:
        scales["log_disagreement"] = _log_half_cauchy(rng, parts.disagreement.scale)
        views = np.exp(scales["log_disagreement"] / 2) * parts.disagreement.covariance.draw(rng, n_judges)
    if parts.ties is not None:
        scales["tie_chance"] = float(rng.random())
    side, attention, lapse = zeros, np.ones(n_judges), zeros
    if parts.side is not None:
        scales["lean"] = float(rng.standard_normal())
        scales["log_side"] = _log_half_cauchy(rng, parts.side.scale)
        side = scales["lean"] + np.exp(scales["log_side"] / 2) * rng.standard_normal(n_judges)
    if parts.attention is not None:
        scales["log_attention"] = _log_half_cauchy(rng, parts.attention.scale)
        attention = 1 + np.exp(scales["log_attention"] / 2) * rng.standard_normal(n_judges)
    if parts.lapses is not None:
        lapse = rng.beta(1.0, parts.lapses.rest, n_judges)
    return Panel(np.sqrt(alpha2) * strengths, views, side, attention, lapse, scales, local)


def answer(
    rng: np.random.Generator, panel: Panel, rule: TieRule | None, judge: IntArray, left: IntArray, right: IntArray
) -> IntArray:
    """Answer each pair: 1 for the left area, −1 for the right, 0 for a tie."""
    maps = panel.strengths + panel.views
    eta = panel.attention[judge] * (maps[judge, left] - maps[judge, right]) + panel.side[judge]
    p = np.array(panel.scales.get("tie_chance", 0.0))
    first, _, tie = (np.exp(each) for each in log_chances(rule, eta, odds(eta), p))
    u = rng.random(len(eta))
    attentive = np.where(u < first, 1, np.where(u < first + tie, 0, -1))
    lapsed = rng.random(len(eta)) < panel.lapse[judge]
    choice: IntArray = np.where(lapsed, 2 * rng.integers(2, size=len(eta)) - 1, attentive)
    return choice


def simulate_panel(rng: np.random.Generator, panel: Panel, rule: TieRule | None, answers: IntArray) -> JudgedCounts:
    """Let each judge answer a number of uniformly drawn pairs, sides at random, and count the answers.

    >>> from judgemap.core.model.prior import InverseGamma, independent
    >>> rng = np.random.default_rng(1)
    >>> panel = draw_panel(rng, independent(3), InverseGamma(3, 3), Parts(), n_judges=2)
    >>> int(simulate_panel(rng, panel, None, np.array([4, 2])).n.sum())
    6
    """
    judge = np.repeat(np.arange(panel.n_judges), answers)
    n = len(panel.strengths)
    left = rng.integers(n, size=len(judge))
    right = (left + rng.integers(1, n, size=len(judge))) % n
    choice = answer(rng, panel, rule, judge, left, right)
    return count_judged(judge, left, right, choice, n_areas=n, n_judges=panel.n_judges)


def _log_half_cauchy(rng: np.random.Generator, scale: float) -> float:
    return float(2 * np.log(scale * np.abs(rng.standard_cauchy())))
