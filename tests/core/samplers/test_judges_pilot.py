"""Where chains start: coordinates placed by some judges and without trajectories, and starts that chains can leave."""

import numpy as np
import pytest
from synthetic import delaunay_map, draw_panel, panel_study, simulate_panel

from judgemap.core.model.judges import PanelModel, Parts
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, HalfNormal, InverseGamma, communicability
from judgemap.core.samplers.judges import hmc
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Plan

MAP = communicability(delaunay_map(12))
FAR_OUT = 8.0
DIFFER = Parts(disagreement=MAP)


def study(parts, judges):
    """Simulate judges with 1 to 24 answers."""
    return panel_study(MAP, parts, np.arange(judges) % 24 + 1, differ=True)


def residual(target):
    """Return the root mean square, over views, of the mean slope that N(0, I) leaves."""
    rng = np.random.default_rng(5)
    q = target.noise(rng, 400)
    slope = hmc.look(target, q).residual
    return np.sqrt((slope[target.sections["views"]].mean(axis=1) ** 2).mean())


def test_effects_are_placed_without_trajectories():
    """It falls to a twentieth here; the test leaves room for noise."""
    target, views = hmc.first_coordinates(study(DIFFER, 60))
    before, rng = residual(target), np.random.default_rng(1)
    for _ in range(3):
        target = hmc.refined(rng, target, views, 40)
    assert residual(target) < before / 5


def test_some_judges_are_as_unequal_as_all(monkeypatch):
    monkeypatch.setattr(hmc, "SOME", 24)
    model = study(DIFFER, 240)
    some = hmc._some_judges(model).counts
    assert some.n_judges == 24
    given = np.bincount(some.judge, some.n + some.ties, 24)
    assert sorted(given) == pytest.approx(np.arange(24) + 1, abs=1)


def test_many_judges_need_no_more_kicks(monkeypatch):
    """The scales of a third of the judges are a good start: both ways of placing come to about as many kicks."""
    model = study(DIFFER, 90)
    _, by_rounds = hmc.build_target(model)
    monkeypatch.setattr(hmc, "MANY", 80)
    monkeypatch.setattr(hmc, "SOME", 30)
    target, by_some = hmc.build_target(model)
    assert by_some <= by_rounds + 2
    draws = hmc.transition(target, by_some)
    rng = np.random.default_rng(1)
    assert draws.advance(rng, draws.init(rng, np.arange(16)), 20, 1)[1]["acceptance"].mean() > 0.6


def test_every_part_with_many_judges(monkeypatch):
    monkeypatch.setattr(hmc, "MANY", 10)
    monkeypatch.setattr(hmc, "SOME", 6)
    parts = Parts(TieRule.RAO_KUPPER, True, MAP, True, True, True)
    draws = sample_panel(np.random.default_rng(1), study(parts, 12), plan=Plan(chains=4, warmup=2, draws=5))
    assert all(np.isfinite(array).all() for array in draws.arrays.values())
    assert draws["acceptance"].mean() > 0.5


def test_many_ties_do_not_lead_the_pilot_astray():
    """Six answers in ten are ties. From p = 0.2 ± 0.5 the pilot went so far astray that no trajectory was accepted."""
    C, rng = communicability(delaunay_map(30)), np.random.default_rng(1)
    panel = draw_panel(rng, C, FixedVariance(9.0), Parts(), 1)
    panel.scales["tie_chance"] = 0.8
    counts = simulate_panel(rng, panel, TieRule.RAO_KUPPER, np.array([3000]))
    model = PanelModel(counts, C, InverseGamma(), Parts(ties=TieRule.RAO_KUPPER))
    draws = sample_panel(np.random.default_rng(1), model, plan=Plan(chains=8, warmup=20, draws=20))
    assert draws["acceptance"].mean() > 0.6


def moving(target, kicks, chains=32):
    """Start chains and let them go on; return how many of them ever move, and the chains."""
    rng = np.random.default_rng(5)
    kernel = hmc.transition(target, kicks)
    state = kernel.init(rng, np.arange(chains))
    began = state.q
    for _ in range(10):
        state = hmc.trajectory(rng, target, state, kicks)
    return int((state.q != began).any(axis=0).sum()), state


@pytest.fixture(scope="module")
def alike():
    """Judges who are alike: log σ² has a long tail to the left, and a wall to the right."""
    C, rng = communicability(delaunay_map(40)), np.random.default_rng(2)
    panel = draw_panel(rng, C, FixedVariance(9.0), Parts(), 12)
    counts = simulate_panel(rng, panel, None, np.full(12, 170))
    return hmc.build_target(PanelModel(counts, C, InverseGamma(), Parts(disagreement=C)))


def test_no_chain_freezes_where_judges_are_alike(alike):
    moved, state = moving(*alike)
    assert moved == 32
    assert not state.chains.divergences.any()


def test_chains_that_start_far_out_freeze_without_the_first_fine_steps(alike, monkeypatch):
    monkeypatch.setattr(hmc, "START_SPREAD", FAR_OUT)
    monkeypatch.setattr(hmc, "settled", lambda rng, target, state, kicks: state)
    moved, _ = moving(*alike)
    assert moved < 32


def test_a_chain_that_accepts_nothing_starts_again_and_is_counted(alike, monkeypatch):
    monkeypatch.setattr(hmc, "START_SPREAD", FAR_OUT)
    monkeypatch.setattr(hmc, "FINER", 1)
    moved, state = moving(*alike)
    assert moved == 32
    assert state.restarts.any()
    assert hmc.read(alike[0], [state], keep_views=False)["restarts"].sum() == state.restarts.sum()


@pytest.mark.parametrize(("answers", "wide"), [(15, True), (600, False)])
def test_scales_are_also_drawn_by_slices_if_few_answers_leave_them_open(answers, wide):
    """Eight judges who are alike: after a few answers each, σ² may be as large as α²; after many it is small."""
    rng = np.random.default_rng(3)
    panel = draw_panel(rng, MAP, FixedVariance(4.0), Parts(), 8)
    counts = simulate_panel(rng, panel, None, np.full(8, answers))
    target, _ = hmc.build_target(PanelModel(counts, MAP, HalfNormal(5.0), DIFFER))
    sd = target.coordinates.known.scales.sds()
    assert sd["log_disagreement"] > hmc.WIDE_VIEWS, "uncertain in both: the logarithm of nearly nothing"
    assert hmc.is_wide(target) is wide


def test_slices_follow_now_and_then_where_views_are_known_but_may_be_nearly_nothing(monkeypatch):
    """One judge has nine answers in ten, so that few answers say how far judges differ."""
    rng, moves = np.random.default_rng(3), []
    panel = draw_panel(rng, MAP, FixedVariance(4.0), Parts(), 8)._replace(views=MAP.draw(rng, 8))
    model = PanelModel(simulate_panel(rng, panel, None, np.r_[900, np.full(7, 15)]), MAP, HalfNormal(5.0), DIFFER)
    right = hmc.move_widely
    monkeypatch.setattr(hmc, "move_widely", lambda *given: moves.append(given) or right(*given))
    kernel = hmc.kernel(model)
    state = kernel.init(rng, np.arange(2))
    kernel.advance(rng, state, 80, 1)
    assert 8 <= len(moves) <= 36
