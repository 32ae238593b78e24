"""The sampler of a panel against brute-force integration, and the planted bugs that this catches.

Limits: 5 Monte Carlo standard errors for each of up to 14 moments, false alarm below 1e-5 a test. Tails are
heavy: spread is compared as E|x − mean|, scales by their logarithms. Chains that do not agree, R-hat above 1.5, are
wrong too: without its volume a scale runs away, and its standard error with it.
"""

import functools
from dataclasses import replace

import numpy as np
import pytest
from judges_quadrature import exact_moments, sample_means

from judgemap.core.model.counts import count_judged
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.judges import PanelModel, Parts
from judgemap.core.model.outcomes import TieRule
from judgemap.core.model.prior import FixedVariance, HalfNormal, InverseGamma, communicability, independent
from judgemap.core.samplers.diagnostics import ess_bulk, rhat
from judgemap.core.samplers.judges import hmc
from judgemap.core.samplers.judges.hmc import sample_panel
from judgemap.core.samplers.run import Plan

pytestmark = pytest.mark.statistical

LIMIT = 5.0
LONG = Plan(chains=32, warmup=40, draws=250)
SHORT = Plan(chains=32, warmup=20, draws=100)
"""The short runs find every planted bug below."""
PAIR = independent(2)
NEIGHBOURS = communicability(AreaGraph(2, [[0, 1]]))
PATH = communicability(AreaGraph(3, [[0, 1], [1, 2]]))


@pytest.fixture(autouse=True)
def _one_batch(monkeypatch):
    """All 32 chains of a run together: on two areas a step of 32 costs little more than a step of one."""
    monkeypatch.setattr(hmc, "BATCH", 32)


def two_areas(parts, variance=FixedVariance(2.0), covariance=PAIR):  # noqa: B008 - a frozen value
    judge = [0] * 7 + [1] * 6
    left = [0, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1]
    choice = [1, 1, -1, 0, -1, 1, 1, -1, 1, 0, 1, 1, -1]
    if parts.ties is None:
        choice = [c or 1 for c in choice]
    counts = count_judged(judge, left, [1 - a for a in left], choice, n_areas=2, n_judges=2)
    return PanelModel(counts, covariance, variance, parts)


def three_areas(parts, variance=FixedVariance(1.5)):  # noqa: B008
    judge, left, right = [0] * 5 + [1] * 4, [0, 1, 0, 0, 2, 0, 1, 2, 1], [1, 2, 2, 1, 1, 2, 2, 0, 0]
    counts = count_judged(judge, left, right, [1, 1, 1, -1, 1, 1, -1, 1, 1], n_areas=3, n_judges=2)
    return PanelModel(counts, PATH, variance, parts)


MODELS = {
    "ties": (two_areas(Parts(ties=TieRule.RAO_KUPPER), InverseGamma(3, 3)), (81, 60, 1)),
    "Davidson's ties": (two_areas(Parts(ties=TieRule.DAVIDSON), InverseGamma(3, 3)), (81, 60, 1)),
    "views": (two_areas(Parts(disagreement=PAIR), HalfNormal(2.0)), (31, 40, 61)),
    "views and ties": (two_areas(Parts(ties=TieRule.RAO_KUPPER, disagreement=PAIR)), (31, 30, 61)),
    "views on three areas": (three_areas(Parts(disagreement=PATH)), (21, 40, 31)),
    "side": (two_areas(Parts(side=True)), (121, 30, 61)),  # E|x − mean| has a kink: 31 points are 3 % off
    "attention": (two_areas(Parts(attention=True)), (81, 80, 121)),
    "attention and the map's size": (two_areas(Parts(attention=True), InverseGamma(3, 3)), (81, 44, 81)),
    "lapses": (two_areas(Parts(lapses=True), InverseGamma(3, 3)), (81, 60, 80)),
    "smoothness": (two_areas(Parts(smoothness=True), InverseGamma(3, 3), NEIGHBOURS), (41, 32, 1)),
}


@functools.cache
def exact_answer(name):
    return exact_moments(*MODELS[name])


def moment_errors(name, plan=SHORT):
    """Difference of each moment from the exact one, in Monte Carlo standard errors."""
    model, exact = MODELS[name][0], exact_answer(name)
    draws = sample_panel(np.random.default_rng(1), model, plan)
    series = sample_means(draws, model.parts)
    assert series.keys() == exact.keys()
    errors = {}
    for quantity, x in series.items():
        mean, spread = exact[quantity]
        errors[quantity] = (x.mean() - mean) / (x.std() / np.sqrt(ess_bulk(x)))
        errors[f"{quantity}, R-hat"] = LIMIT * (rhat(x) - 1) / 0.5
        if spread is not None:
            away = np.abs(x - mean)
            errors[f"{quantity}, spread"] = (away.mean() - spread) / (away.std() / np.sqrt(ess_bulk(away)))
    return errors


def largest(errors):
    return max(abs(error) for error in errors.values())


@pytest.mark.parametrize("name", [name for name in MODELS if "three" not in name])
def test_agrees_with_integration(name):
    errors = moment_errors(name)
    assert largest(errors) < LIMIT, errors


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_agrees_with_integration_in_the_long_run(name):
    errors = moment_errors(name, LONG)
    assert largest(errors) < LIMIT, errors


# Planted bugs. Each must be caught by comparison with the integral, in short runs.


def caught(monkeypatch, place, attribute, bug, name, draws=SHORT.draws):
    with monkeypatch.context() as patch:
        patch.setattr(place, attribute, bug)
        return largest(moment_errors(name, replace(SHORT, draws=draws))) > LIMIT


def test_catches_a_wide_move_without_its_jacobian(monkeypatch):
    """A scale drawn given n effects without n/2 log s², the volume that they fill."""
    right = hmc.interweave

    def no_volume(rng, scale, x, effects, likelihood):
        return right(rng, scale, x, (0, effects[1]), likelihood)

    assert caught(monkeypatch, hmc, "interweave", no_volume, "views")


@pytest.mark.slow  # nine seconds; the lost sign of attention is the quick sibling
def test_catches_ties_counted_once(monkeypatch):
    """A tie is evidence against both areas: it counts as a win of neither."""
    right = hmc.one_sided

    def once(layout):
        answers = layout.answers
        return right(replace(layout, answers=answers._replace(second=answers.second - answers.ties)))

    assert caught(monkeypatch, hmc, "one_sided", once, "ties")


def test_catches_a_trade_without_its_volume(monkeypatch):
    """A map c times as small for judges who are c times as attentive, without c^judges."""
    right = hmc.slice_line

    def no_volume(rng, x, heights, step):
        judges = 2 if step == hmc.TRADE_STEP else 0
        return right(rng, x, lambda at: heights(at) - judges * at, step)

    assert caught(monkeypatch, hmc, "slice_line", no_volume, "attention and the map's size")


def test_catches_a_lost_sign_of_attention(monkeypatch):
    right = hmc.read

    def positive(target, states, *, keep_views):
        arrays = right(target, states, keep_views=keep_views)
        return arrays | {"attention": np.abs(arrays["attention"])}

    assert caught(monkeypatch, hmc, "read", positive, "attention", draws=400)


def test_catches_a_side_on_the_wrong_area(monkeypatch):
    right = hmc.lay_out

    def mirrored(model):
        layout = right(model)
        return replace(layout, x=-layout.x)

    assert caught(monkeypatch, hmc, "lay_out", mirrored, "side")
