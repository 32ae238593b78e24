"""The moves for studies that say little about α²: exact, made where they are needed, and enough for chains to agree."""

import numpy as np
import pytest
from test_spatial_exactness import LIMIT, largest, moment_errors, three_areas, two_areas

from judgemap.core.model.counts import count_pairs
from judgemap.core.model.graph import AreaGraph
from judgemap.core.model.prior import FixedVariance, InverseGamma, Model, communicability, independent
from judgemap.core.samplers import slices
from judgemap.core.samplers.run import Draws, Plan, run, sample
from judgemap.core.samplers.spatial import hmc
from judgemap.core.simulate.trials import simulate_counts

pytestmark = pytest.mark.statistical

CONSISTENT = Model(count_pairs([0] * 3, [1] * 3, n_areas=2), independent(2), InverseGamma(3, 3))
MODELS = {"two areas": two_areas(), "three areas": three_areas(), "one wins all": CONSISTENT}
MANY = Plan(chains=32, draws=250, most=2000)
"""As many draws as eight chains of 1,000, up to 8,000, in one batch. Without the wide moves 2,000 still disagree."""


def draw(model: Model, kicks: int = 1) -> Draws:
    """One kick a trajectory moves α² badly: the wide moves do most of the work. All chains are one batch."""
    rng, target = np.random.default_rng(7), hmc.build_target(model)
    starts, kernel = target.laplace.draw(rng, 64, 1.5), hmc.transition(target, kicks, widely=True)
    return run(rng, kernel._replace(width=64), starts, Plan(chains=64, warmup=50, draws=250))


@pytest.mark.parametrize("name", MODELS)
def test_moments_are_exact(name: str) -> None:
    errors = moment_errors(draw(MODELS[name]), MODELS[name])
    assert largest(errors) < LIMIT, errors


def flat_prior(rng, tau, heights, step):
    """Forget the prior of α² along the ray: χ = 3 gives e^{−3τ}."""
    return slices.slice_line(rng, tau, lambda at: heights(at) + 3 * at, step)


def without_a_level(rng, tau, heights, step):
    """Take the highest place, not one from the slice."""
    grid = tau + np.linspace(-2, 2, 9)[:, None]
    return np.take_along_axis(grid, np.argmax([heights(at) for at in grid], axis=0)[None], axis=0)[0]


def half_an_ellipse(rng, here, there, heights):
    """Draw what the ellipse leads to from a prior that is too narrow."""
    return slices.slice_ellipse(rng, here, there / 2, heights)


BUGS = [("slice_line", flat_prior), ("slice_line", without_a_level), ("slice_ellipse", half_an_ellipse)]


@pytest.mark.parametrize(("attribute", "bug"), BUGS)
def test_planted_bugs_are_caught(monkeypatch, attribute, bug) -> None:
    monkeypatch.setattr(hmc, attribute, bug)
    assert largest(moment_errors(draw(MODELS["three areas"]), MODELS["three areas"])) > LIMIT


def test_where_they_are_needed() -> None:
    def needed(model: Model) -> bool:
        return hmc.needed(model, hmc.build_target(model).laplace)

    rng = np.random.default_rng(1)
    first, second = rng.integers(4, size=200), rng.integers(1, 4, size=200)
    many = Model(count_pairs(first, (first + second) % 4, 4), independent(4), InverseGamma(3, 3))
    assert not needed(many)
    assert needed(CONSISTENT)
    assert needed(Model(count_pairs([0, 1], [1, 0], 2), independent(2), InverseGamma()))
    assert not needed(Model(CONSISTENT.counts, independent(2), FixedVariance(2.0)))


@pytest.mark.parametrize("answers", [1, *(pytest.param(more, marks=pytest.mark.slow) for more in (8, 25))])
def test_the_first_answers_make_chains_agree(answers: int) -> None:
    """Answers that never contradict each other: any larger α² would explain them better still.

    Without the wide moves the chains of one answer disagree too; more answers need more draws.
    """
    ring = communicability(AreaGraph(12, [[i, (i + 1) % 12] for i in range(12)]))
    rng = np.random.default_rng(answers)
    pairs = np.sort([rng.choice(12, 2, replace=False) for _ in range(answers)], axis=1)
    model = Model(count_pairs(pairs[:, 0], pairs[:, 1], 12), ring, InverseGamma())
    assert sample(np.random.default_rng(2), model, plan=MANY).good()


def test_two_hundred_answers_on_77_areas_make_chains_agree() -> None:
    """A live study's first day: α² is known to a factor of ten, and answers contradict each other here and there."""
    places = np.arange(77).reshape(7, 11)
    edges = [*zip(places[:, :-1].ravel(), places[:, 1:].ravel(), strict=True)]
    edges += [*zip(places[:-1].ravel(), places[1:].ravel(), strict=True)]
    C, rng = communicability(AreaGraph(77, edges)), np.random.default_rng(4)
    model = Model(simulate_counts(rng, 3 * C.draw(rng, 1)[0], 200), C, InverseGamma())
    assert sample(rng, model, plan=Plan(draws=1000, most=8000)).good()
