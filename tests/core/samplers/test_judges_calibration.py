"""Geweke's joint test and simulation-based calibration of the samplers of a panel, and planted bugs that they catch.

As `calibration` for the other samplers: the joint distribution of a whole panel and its answers. Half-Cauchy scales
leave effects without moments, so that test functions of effects are bounded. False alarms: every test compares its
worst statistic with a bound passed with probability 1e-3 by an exact sampler.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from calibration import FALSE_ALARM, joint_ranks, joint_scores, smallest_p, worst
from judges_quadrature import log_chances
from scipy import linalg
from scipy.special import logit, ndtri_exp
from synthetic import draw_panel, simulate_panel
from threadpoolctl import threadpool_limits

from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import LAPSE_REST, Panel, PanelModel, Parts, Reach
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import HalfNormal, VariancePrior, communicability
from judgemap.core.samplers.judges import hmc
from judgemap.core.samplers.judges import layout as panel_layout
from judgemap.core.samplers.judges.target import parameters, roughness

pytestmark = pytest.mark.statistical

ROW = AreaGraph(3, [[0, 1], [1, 2]])
PATH, REACH = communicability(ROW), Reach.on(ROW)
ANSWERS = np.array([7, 5, 4])


@dataclass(frozen=True)
class Setting:
    """The joint distribution to simulate from."""

    parts: Parts
    variance: VariancePrior = HalfNormal(1.5)  # noqa: RUF009 - a frozen value
    answers: tuple[int, ...] = tuple(ANSWERS)

    def prior(self, rng):
        return draw_panel(rng, PATH, self.variance, self.parts, len(self.answers))

    def data(self, rng, panel):
        return simulate_panel(rng, panel, self.parts.ties, np.array(self.answers))

    def model(self, counts):
        return PanelModel(counts, PATH, self.variance, self.parts)

    def evaluate(self, counts, panel):
        """Evaluate the test functions: bounded, or with moments."""
        values = {f"strength_{i}": panel.strengths[i] for i in range(3)}
        values |= {f"strength_{i}²": panel.strengths[i] ** 2 for i in range(3)}
        values |= panel.scales
        shown = {"view": panel.views[:, 0] - panel.views[:, 2], "side": panel.side, "attention": panel.attention - 1}
        there = {
            "view": self.parts.disagreement is not None,
            "side": self.parts.side,
            "attention": self.parts.attention,
        }
        for name in (name for name, part in there.items() if part):
            values[name] = np.arctan(shown[name][0])
            values[f"|{name}|"] = np.abs(np.arctan(shown[name])).mean()
            values[f"{name} with the map"] = np.arctan(shown[name][1] * (panel.strengths[0] - panel.strengths[2]))
        if self.parts.lapses:
            values["lapse"] = panel.lapse[0]
        if self.parts.reach is not None:
            values["known"] = panel.known[0].mean()
            values["known with the map"] = panel.known[1, 0] * np.arctan(np.abs(panel.strengths[0]))
        if self.parts.smoothness:
            values["local"] = np.log(panel.local[0])
            values["local with the map"] = np.log(panel.local[1]) * np.arctan(np.abs(panel.strengths[1]))
        values["log_likelihood"] = log_likelihood(self.parts, counts, panel)
        return np.array([*values.values()])


def log_likelihood(parts, counts, panel):
    """Written out afresh: no code shared with what is tested."""
    k, i, j = counts.judge, counts.first, counts.second
    maps = panel.strengths + panel.views
    x = np.where(counts.first_left == 1, 1.0, -1.0)
    seen = 1.0 if panel.known is None else panel.known[k, i] * panel.known[k, j]
    d = seen * panel.attention[k] * (maps[k, i] - maps[k, j]) + x * panel.side[k]
    first, second, tie = log_chances(parts.ties, d, panel.scales.get("tie_chance", 0.0))
    if parts.lapses:
        lapse = panel.lapse[k]
        first, second = (np.log((1 - lapse) * np.exp(each) + lapse / 2) for each in (first, second))
        tie = tie + np.log1p(-lapse)
    value = counts.wins @ first + (counts.n - counts.wins) @ second
    return value + counts.ties[counts.ties > 0] @ tie[counts.ties > 0]


SETTINGS = {
    "ties": Setting(Parts(ties=TieRule.RAO_KUPPER)),
    "Davidson's ties": Setting(Parts(ties=TieRule.DAVIDSON)),
    "views": Setting(Parts(disagreement=PATH)),
    "views and ties": Setting(Parts(ties=TieRule.RAO_KUPPER, disagreement=PATH)),
    "side and attention": Setting(Parts(side=True, attention=True)),
    "reach": Setting(Parts(reach=REACH)),
    "smoothness and lapses": Setting(Parts(smoothness=True, lapses=True)),
    "everything": Setting(Parts(TieRule.RAO_KUPPER, True, PATH, True, True, True, REACH)),
}


class Hmc:
    """Three kicks from the first coordinates, and wide moves: a pilot would cost more than the step."""

    def __init__(self, model):
        layout, views = panel_layout.lay_out(model), model.parts.disagreement
        factors = panel_layout.build_views(layout, None if views is None else views.factor)
        target = hmc.first_target(model, layout, factors)
        # Exact whatever the shear: a pilot's would be nearly none on these small maps.
        shear = 0.1 * np.random.default_rng(1).standard_normal(target.coordinates.shear.shape)
        self.target = replace(target, coordinates=replace(target.coordinates, shear=shear))

    def advance(self, rng, panels, steps):
        q = np.hstack([to_coordinates(self.target, panel) for panel in panels])
        state = hmc.start(rng, self.target, q, self._roughness(panels))
        return panels_of(hmc.transition(self.target, 3, widely=True).advance(rng, state, steps, steps)[1], panels)

    def _roughness(self, panels):
        if panels[0].local is None:
            return None
        rho = np.array([panel.scales["smoothness"] for panel in panels])
        local = np.array([panel.local for panel in panels])
        return roughness(self.target.model.covariance, logit(rho), local)

    def settle(self, rng, truth, draws, steps):
        """From the truth to a hub, and from there to each of the draws, as many steps: see `calibration`."""
        hub = self.advance(rng, [truth], steps)[0]
        return self.advance(rng, [hub] * draws, steps)


def to_coordinates(target, panel):
    """Find the coordinates q of one panel: the inverse of `read`."""
    shear = target.coordinates.shear
    target = replace(target, coordinates=replace(target.coordinates, shear=np.zeros_like(shear)))
    layout, at, part = target.layout, target.coordinates, target.sections
    values = dict(panel.scales)
    if "tie_chance" in values:
        values["tie_chance"] = float(logit(values["tie_chance"]))
    q = np.zeros((target.size, 1))
    x = np.array([values[scale.name] for scale in target.scales])
    q[part["scales"], 0] = linalg.solve_triangular(at.known.scales.factor, x - at.known.scales.mean, lower=True)
    point = parameters(target, q)
    w = linalg.solve(at.V, panel.strengths)[:, None] / point.shared.alpha
    q[part["map"]] = (w - point.shared.map.centre) / point.shared.map.root
    if target.model.parts.disagreement is not None:
        point = parameters(target, q)
        v = linalg.solve(target.model.parts.disagreement.factor, panel.views.T) / point.shared.sigma
        seen = [V.T @ own for own, (_, V) in zip(v.T, at.views.each(layout.n_areas), strict=True)]
        q[part["views"]] = (np.concatenate(seen)[:, None] - point.views.centre) / point.views.root
    if target.model.parts.side:
        w = (panel.side - values["lean"])[:, None] / np.exp(values["log_side"] / 2)
        q[part["side"]] = (w - point.side.centre) / point.side.root
    if target.model.parts.attention:
        w = (panel.attention - 1)[:, None] / np.exp(values["log_attention"] / 2)
        q[part["attention"]] = (w - point.attention.centre) / point.attention.root
    if target.model.parts.lapses:
        z = -ndtri_exp(LAPSE_REST * np.log1p(-panel.lapse))[:, None]  # the inverse of `lapse_rate`
        q[part["lapses"]] = (z - at.known.lapse_mean) / at.known.lapse_sd
    q[: len(shear)] -= shear @ q[part["scales"]]
    return q


def panels_of(draws, before):
    """Make panels of the last of some draws."""
    last = {name: each[:, -1].astype(float) for name, each in draws.items()}
    return [
        Panel(
            last["strengths"][chain],
            *(
                last[name][chain] if name in last else getattr(old, attribute)
                for name, attribute in (("views", "views"), ("side",) * 2, ("attention",) * 2, ("lapse",) * 2)
            ),
            scales={name: float(last[name][chain]) if name in last else value for name, value in old.scales.items()},
            local=last["local_variance"][chain] if "local_variance" in last else None,
            known=REACH.known(*(last[name][chain].astype(int) for name in ("centre", "reach")))
            if "reach" in last
            else None,
        )
        for chain, old in enumerate(before)
    ]


def worst_score(seed, setting, chains, length=25, reference=3000):
    """Run Geweke's joint test; return the largest |z| over its limit."""

    def step(rng, counts, panel):
        return Hmc(setting.model(counts)).advance(rng, [panel], 1)[0]

    return worst(joint_scores(np.random.default_rng(seed), setting, step, chains, length, reference))


def calibration(seed, setting, replicates, draws=15, steps=60):
    """Run simulation-based calibration; return the smallest p-value, corrected for how many there are.

    A reversible sampler needs no settling: the truth is a draw of its own posterior. ``steps`` lead from it to a hub,
    and as many from the hub to each of ``draws`` others; truth and draws are then exchangeable given the hub, and the
    truth's rank is uniform however slowly the chains mix. Source: Besag and Clifford (1989), Biometrika 76, 633-642.
    """

    def posterior(rng, counts, truth):
        return Hmc(setting.model(counts)).settle(rng, truth, draws, steps)

    return smallest_p(joint_ranks(np.random.default_rng(seed), setting, posterior, replicates), draws)


@pytest.fixture(autouse=True)
def _one_thread():
    with threadpool_limits(limits=1):
        yield


def test_geweke():
    assert worst_score(11, SETTINGS["everything"], chains=12, length=8, reference=1000) < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_geweke_long(name):
    assert worst_score(13, SETTINGS[name], chains=300) < 1


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_calibrated(name):
    assert calibration(12, SETTINGS[name], replicates=300, steps=20) > FALSE_ALARM
