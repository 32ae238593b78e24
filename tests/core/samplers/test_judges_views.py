"""The compiled passes over the judges' views against the same in NumPy, and slopes against differences."""

from dataclasses import replace

import numpy as np
import pytest
from test_judges_pilot import MAP, study

from judgemap.core.model.judges import Attention, Disagreement, Lapses, Parts, Side
from judgemap.core.model.outcomes import TieRule
from judgemap.core.samplers.judges import compiled, hmc
from judgemap.core.samplers.judges.target import Effects, Placed, gradient, log_density, parameters, place, pull_back

JUDGES, ROWS, VIEWS, CHAINS = 3, 5, 4, 6


class Case:
    """Some judges' factors, coordinates and slopes."""

    def __init__(self, precision):
        rng = np.random.default_rng(1)
        self.B = rng.standard_normal((JUDGES, ROWS, VIEWS)).astype(precision)
        self.weight, self.g = rng.random((JUDGES * ROWS, 1)), rng.random((JUDGES * VIEWS, 1))
        self.r, self.sigma = rng.standard_normal((JUDGES * VIEWS, 1)), rng.random(CHAINS) + 0.5
        self.dimmed = rng.random(CHAINS) + 0.5
        self.q, self.e = (rng.standard_normal((JUDGES * size, CHAINS)) for size in (VIEWS, ROWS))
        self.to_e = rng.standard_normal((JUDGES * ROWS, CHAINS))

    def forward(self, by_view):
        return (self.B @ by_view.reshape(JUDGES, VIEWS, CHAINS)).reshape(-1, CHAINS)

    def back(self, by_row):
        return (np.swapaxes(self.B, 1, 2) @ by_row.reshape(JUDGES, ROWS, CHAINS)).reshape(-1, CHAINS)

    def placed(self):
        linear = self.r - self.dimmed * self.back(self.weight * self.e)
        return place(self.q, Effects(linear, self.dimmed * self.g), self.sigma)


@pytest.fixture(params=[np.float64, np.float32])
def case(request):
    return Case(request.param)


def close(found, expected, case):
    np.testing.assert_allclose(found, expected, rtol=1e-10 if case.B.dtype == np.float64 else 1e-4, atol=1e-5)


def test_see(case):
    found, e = Placed(*(np.empty_like(case.q) for _ in range(3))), case.e.copy()
    compiled.see(case.B, case.weight, (case.r, case.g), case.sigma, case.dimmed, case.q, found, e)
    expected = case.placed()
    for mine, theirs in zip(found, expected, strict=True):
        close(mine, theirs, case)
    close(e, case.e + case.forward(case.sigma * expected.w), case)


def test_pull(case):
    placed, to_e, slope = case.placed(), case.to_e.copy(), np.empty_like(case.q)
    seen = (case.r, case.g)
    to_both = compiled.pull(case.B, case.weight, seen, case.sigma, case.dimmed, case.q, placed, to_e, slope)
    direct, g = case.sigma * case.back(case.to_e), case.dimmed * case.g
    pulled = pull_back(direct - placed.w, case.q, placed, Effects(case.r, g), case.sigma)
    close(slope, pulled.q, case)
    close(to_both[0], (direct * placed.w).sum(axis=0) / 2 + pulled.log_scale2, case)
    follows = pulled.r * case.dimmed * case.back(case.weight * case.e)
    close(to_both[1], (case.sigma**2 * g * pulled.base - follows).sum(axis=0), case)
    close(to_e, case.to_e - case.weight * case.forward(case.dimmed * pulled.r), case)


PARTS = {
    "views": Parts(disagreement=Disagreement(MAP)),
    "views and ties": Parts(TieRule.RAO_KUPPER, disagreement=Disagreement(MAP)),
    "all": Parts(TieRule.DAVIDSON, None, Disagreement(MAP), Side(), Attention(), Lapses()),
}


def slope_error(parts):
    """Return the largest error of a slope, compared with the difference between two points near each other."""
    target, _ = hmc.first_coordinates(study(parts, 8))
    bent = np.full(len(target.scales), 0.2)
    target = replace(target, coordinates=replace(target.coordinates, swell=bent, dim=-bent))
    rng = np.random.default_rng(2)
    q, step = rng.standard_normal((target.size, 1)), 1e-4
    slope = gradient(target, q, parameters(target, q))[:, 0]
    apart = np.eye(target.size) * step
    up, down = (log_density(target, parameters(target, q + side * apart)) for side in (1, -1))
    return np.abs((up - down) / (2 * step) - slope).max() / np.abs(slope).max()


@pytest.mark.parametrize("parts", PARTS)
def test_slopes_are_those_of_the_density(parts):
    assert slope_error(PARTS[parts]) < 1e-5


def test_catches_a_slope_that_forgets_how_views_follow_the_map(monkeypatch):
    right = compiled.pull

    def forgetful(B, weight, *others):
        return right(B, np.zeros_like(weight), *others)

    monkeypatch.setattr(compiled, "pull", forgetful)
    assert slope_error(PARTS["views"]) > 1e-3
