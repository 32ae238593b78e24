"""The probability of an unseen judge's answers, against brute-force integration at two areas."""

import numpy as np
import pytest
from scipy.special import log_ndtr, logsumexp

from judgemap.core.assess.held_out import Shared, _factor, log_probability, rows_of
from judgemap.core.model.counts import count_judged
from judgemap.core.model.judges import Parts
from judgemap.core.model.outcomes import Answers, TieRule, log_likelihood
from judgemap.core.model.prior import independent

PAIR = independent(2)
CHOICES = [1, 1, 1, -1, 1, 0, 1, 1, -1, 1, 1, 1]
LEFT = [0, 1] * 6
SHARED = (
    Shared(np.array([0.8, 0.1]), tie_chance=0.3, sigma=0.7, lean=0.4, side_sd=0.6, attention_sd=0.5),
    Shared(np.array([0.2, 0.4]), tie_chance=0.1, sigma=0.3, lean=0.0, side_sd=0.9, attention_sd=0.3),
)


def of(parts, at):
    """Return the one judge's rows."""
    return rows_of(counts_of(parts), 0, parts, at.sigma * PAIR.factor if parts.disagreement is not None else None)


def counts_of(parts):
    choice = CHOICES if parts.ties is not None else [each or 1 for each in CHOICES]
    return count_judged([0] * 12, LEFT, [1 - a for a in LEFT], choice, n_areas=2, n_judges=1)


def exact(parts, at):
    """Integrate over a grid of the view's one difference, side, attention and the lapse score."""
    grid = np.linspace(-7, 7, 41)
    counts = counts_of(parts)
    on = [parts.disagreement, parts.side, parts.attention, parts.lapses]
    axes = np.meshgrid(*(grid if each is not None else np.zeros(1) for each in on), indexing="ij")
    view, side, attention, score = (axis.ravel() for axis in axes)
    logs = -sum(
        axis**2 / 2 + np.log(np.sqrt(2 * np.pi) / (grid[1] - grid[0]))
        for axis, each in zip((view, side, attention, score), on, strict=True)
        if each is not None
    )
    d = at.strengths[0] - at.strengths[1] + (np.sqrt(2) * at.sigma * view if parts.disagreement is not None else 0.0)
    a = 1 + at.attention_sd * attention if parts.attention else 1.0
    b = at.lean + at.side_sd * side if parts.side else 0.0
    x = 2.0 * counts.first_left - 1
    lapse = -np.expm1(log_ndtr(-score) / 4.0) if parts.lapses else np.zeros(1)
    eta = a * d + x[:, None] * b + np.zeros(len(score))
    y = Answers(*(each[:, None].astype(float) for each in (counts.wins, counts.n - counts.wins, counts.ties)))
    rows = log_likelihood(y, parts.ties, eta, np.array([at.tie_chance]), np.broadcast_to(lapse, eta.shape[1:])[None, :])
    return logsumexp(rows.sum(axis=0) + logs)


MODELS = {
    "alike": Parts(),
    "ties": Parts(ties=TieRule.RAO_KUPPER),
    "views": Parts(disagreement=PAIR),
    "views and ties": Parts(ties=TieRule.DAVIDSON, disagreement=PAIR),
    "side": Parts(side=True),
    "attention": Parts(attention=True),
    "lapses": Parts(lapses=True),
    "views, side and attention": Parts(disagreement=PAIR, side=True, attention=True),
}


@pytest.mark.parametrize("at", SHARED)
@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_integration(name, at):
    """The mean of 40 estimates is within 5 of its standard errors: a false alarm in 10⁵ tests."""
    parts = MODELS[name]
    found = [log_probability(np.random.default_rng(seed), of(parts, at), parts, at) for seed in range(40)]
    ratio = np.exp(found - exact(parts, at))
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(40) + 1e-4
    assert ratio.std() < 0.3


def test_a_bug_is_caught():
    """Views as wide as twice σ give another integral."""
    parts, at = MODELS["views"], SHARED[0]
    wide = of(parts, at._replace(sigma=2 * at.sigma))
    assert abs(log_probability(np.random.default_rng(1), wide, parts, at) - exact(parts, at)) > 0.02


@pytest.mark.parametrize("scale", [1e6, 1e9, 1e12])
def test_an_enormous_scale_is_no_error(scale):
    """Views and attention then say the same, and rounding makes the matrix of curvatures indefinite."""
    parts, at = MODELS["views, side and attention"], SHARED[0]
    far = at._replace(strengths=scale * at.strengths, sigma=scale * at.sigma)
    assert np.isfinite(log_probability(np.random.default_rng(1), of(parts, far), parts, far))


def test_a_factor_of_what_rounding_made_indefinite():
    J = 1e9 * np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 2.0]])
    H = J.T @ J + np.eye(3) - 1e3 * np.eye(3)
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(H)
    L = _factor(H)
    np.testing.assert_allclose(L @ L.T, H, atol=1e5)
    assert (np.diag(L) > 0).all()
