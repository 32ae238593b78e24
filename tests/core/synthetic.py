"""Synthetic maps, panels drawn from the prior, and the goodness of fit of drawn pairs."""

import numpy as np
from scipy.spatial import Delaunay
from scipy.special import chdtrc

from judgemap.core.design.designs import weighted
from judgemap.core.model.counts import count_judged
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import (
    ATTENTION_SCALE,
    DISAGREEMENT_SCALE,
    LAPSE_REST,
    LOCAL_SHAPE,
    SIDE_SCALE,
    Panel,
    PanelModel,
    Parts,
    answer,
)
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, HalfNormal, InverseGamma
from judgemap.core.simulate.trials import draw_pairs


def delaunay_map(n_areas, seed=1):
    """A map of areas around random points: neighbours as in a Delaunay triangulation."""
    corners = Delaunay(np.random.default_rng(seed).random((n_areas, 2))).simplices
    return AreaGraph(n_areas, np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [0, 2]]]))


def ring(n_areas):
    """Areas in a circle, each between two others."""
    return AreaGraph(n_areas, [[i, (i + 1) % n_areas] for i in range(n_areas)])


def all_pairs(n_areas):
    """Every pair i < j, one a row."""
    return np.stack(np.triu_indices(n_areas, 1), axis=1)


def fit_of_draws(pairs, probabilities):
    """p-value of Pearson's χ² of drawn pairs against a matrix of probabilities; 0 if an impossible pair came."""
    n_areas = len(probabilities)
    i, j = all_pairs(n_areas).T
    drawn = np.bincount(pairs.min(axis=1) * n_areas + pairs.max(axis=1), minlength=n_areas**2)[i * n_areas + j]
    expected = len(pairs) * probabilities[i, j]
    if np.any(drawn[expected == 0]):
        return 0.0
    drawn, expected = drawn[expected > 0], expected[expected > 0]
    assert expected.min() >= 5, "too few draws for a χ² test"
    return float(chdtrc(len(drawn) - 1, ((drawn - expected) ** 2 / expected).sum()))


def only(n_areas, *pairs):
    """A design that gives these pairs equal weight, and all others none."""
    weights = np.zeros((n_areas, n_areas))
    for i, j in pairs:
        weights[i, j] = weights[j, i] = 1.0
    return weighted(weights)


def matrix_of(design):
    """All probabilities of a design as a symmetric matrix."""
    i, j = all_pairs(design.n_areas).T
    q = np.zeros((design.n_areas, design.n_areas))
    q[i, j] = q[j, i] = design.probability(i, j)
    return q


def draw_local(rng, size):
    """Draw ψ from its prior."""
    return (LOCAL_SHAPE - 1) / rng.standard_gamma(LOCAL_SHAPE, size)


def draw_panel(rng, covariance, variance, parts, n_judges):
    """Draw a panel from the prior."""
    scales = {}
    tau = float(np.log(variance.value)) if isinstance(variance, FixedVariance) else variance.terms.draw(rng)
    scales["log_variance"] = tau
    strengths, local = covariance.draw(rng, 1)[0], None
    if parts.smoothness:
        rho, local = float(rng.random()), draw_local(rng, len(strengths))
        scales["smoothness"] = rho
        strengths = np.sqrt(rho) * strengths + np.sqrt((1 - rho) * local) * rng.standard_normal(len(strengths))
    views, zeros = np.zeros((n_judges, covariance.n_areas)), np.zeros(n_judges)
    if parts.disagreement is not None:
        scales["log_disagreement"] = HalfNormal(DISAGREEMENT_SCALE).terms.draw(rng)
        views = np.exp(scales["log_disagreement"] / 2) * parts.disagreement.draw(rng, n_judges)
    if parts.ties is not None:
        scales["tie_chance"] = float(rng.random())
    side, attention, lapse = zeros, np.ones(n_judges), zeros
    if parts.side:
        scales["lean"] = float(rng.standard_normal())
        scales["log_side"] = _log_half_cauchy(rng, SIDE_SCALE)
        side = scales["lean"] + np.exp(scales["log_side"] / 2) * rng.standard_normal(n_judges)
    if parts.attention:
        scales["log_attention"] = _log_half_cauchy(rng, ATTENTION_SCALE)
        attention = 1 + np.exp(scales["log_attention"] / 2) * rng.standard_normal(n_judges)
    if parts.lapses:
        lapse = rng.beta(1.0, LAPSE_REST, n_judges)
    known = None
    if parts.reach is not None:
        log_prior = parts.reach.log_prior
        chosen = rng.choice(log_prior.size, n_judges, p=np.exp(log_prior).ravel())
        known = parts.reach.known(*np.unravel_index(chosen, log_prior.shape))
    return Panel(np.exp(tau / 2) * strengths, views, side, attention, lapse, scales, local, known)


def _log_half_cauchy(rng, scale):
    return float(2 * np.log(scale * np.abs(rng.standard_cauchy())))


def simulate_panel(rng, panel, rule, answers):
    """Let each judge answer a number of uniformly drawn pairs, sides at random, and count the answers."""
    judge, n_areas = np.repeat(np.arange(len(answers)), answers), len(panel.strengths)
    left, right = draw_pairs(rng, n_areas, len(judge)).T
    choice = answer(rng, panel, rule, judge, left, right)
    return count_judged(judge, left, right, choice, n_areas=n_areas, n_judges=len(answers))


def panel_study(covariance, parts, answers, *, differ=False):
    """Simulate a study in which one answer of five about equal areas is a tie; its judges are alike, or σ = α/2."""
    rng = np.random.default_rng(1)
    panel = draw_panel(rng, covariance, FixedVariance(4.0), Parts(), len(answers))
    if differ:
        panel = panel._replace(views=covariance.draw(rng, len(answers)))
    panel.scales["tie_chance"] = 0.2
    counts = simulate_panel(rng, panel, TieRule.RAO_KUPPER, np.array(answers))
    return PanelModel(counts, covariance, InverseGamma(), parts)


def kicking_evenly(look):
    """Travel by the trapezium rule, with a look at q after each rotation, as compiled code should."""

    def travel(state, momentum, turn, kicks):
        cos, sin = np.cos(turn / kicks), np.sin(turn / kicks)
        for _ in range(kicks):
            momentum += turn / kicks / 2 * state.residual
            q, state = state.q, look(cos * state.q + sin * momentum)
            momentum[:] = cos * momentum - sin * q
            momentum += turn / kicks / 2 * state.residual
        return state

    return travel
