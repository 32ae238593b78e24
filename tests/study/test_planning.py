import json
from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.core.simulate.trials import Merits, answer
from judgemap.report.pages.planning import sentences
from judgemap.study.data.comparisons import Comparisons
from judgemap.study.plan.planning import DESIGNS, PlanRecord

N = 12
CHANCE = (N**2 - 1) / (3 * N)
"""The mean rank error of ranks drawn blindly."""


@pytest.fixture(scope="module")
def ring():
    names = tuple(f"Ward {i}" for i in range(N))
    return jm.Areas(tuple(map(str, range(N))), names, AreaGraph(N, [[i, (i + 1) % N] for i in range(N)]))


def fitted(areas, strengths, *, alpha, size=400, winner_is="lower"):
    """Fit answers to uniformly drawn pairs from known strengths, α fixed."""
    rng = np.random.default_rng(2)
    pairs = np.stack([rng.permutation(N)[:2] for _ in range(size)])
    won = answer(rng, pairs, np.asarray(strengths, dtype=float))
    outcome = np.where(won, "left", "right").tolist()
    data = Comparisons.from_words(areas.ids, ("1",) * size, *pairs.T, outcome, winner_is=winner_is)
    return jm.fit_spatial(data, areas, seed=1, alpha=alpha, chains=4, draws=100, as_in_paper=True)


@pytest.fixture(scope="module")
def alike(ring):
    """A pilot that found all areas alike."""
    return fitted(ring, np.zeros(N), alpha=0.02)


def quick(areas, **options):
    usual = {"judges": 4, "per_judge": 15, "seed": 1, "designs": ["uniform"], "simulations": 6}
    return jm.plan(areas, **usual | options)


@pytest.fixture(scope="module")
def plain(ring):
    return quick(ring)


def test_lengths_and_shapes(ring):
    plan = quick(ring, designs=["adaptive", "uniform", "naive", "uniform"])
    assert plan.lengths == (15, 30, 45, 60, 90)
    assert (plan.planned, plan.reference, plan.top) == (60, "uniform", 3)
    assert plan.designs == ("adaptive", "uniform", "naive")
    assert plan.merits["naive"].shape == plan.merits["uniform"].shape == (6, 5, len(Merits._fields))
    assert (plan.panels, plan.answers) == ((1, 2, 4, 8, 16), (4, 8, 15, 30, 60, 120))
    assert plan.grid.shape == (7, 5, len(Merits._fields)), "six numbers of answers and answers without end"
    assert len(plan.to_frame()) == 3 * 5 * len(Merits._fields)
    np.testing.assert_allclose(plan.curve("naive", "missed"), 1 - plan.curve("naive", "found"))
    assert quick(ring, designs=["naive"], grid=False).reference == "naive"


def test_one_study_has_one_sd(ring, plain):
    """In the sentences, among the designs and in the grid."""
    for measure in ("sd", "rank_error", "found", "correlation"):
        assert plain.over_grid(measure)[plain.at] == pytest.approx(plain.at_planned("uniform", measure).middle)
    narrow = quick(ring, grid=False)
    np.testing.assert_array_equal(narrow.over_grid("sd")[0], narrow.curve("uniform", "sd").mean(axis=0))


@pytest.mark.parametrize("cores", [1, pytest.param(2, marks=pytest.mark.slow)])  # starts two processes
def test_neither_cores_nor_other_designs_change_the_numbers(ring, cores):
    """Sets on two processes are in the quick tests of `test_experiments.py`."""
    alone = quick(ring, cores=1, grid=False)
    beside = quick(ring, cores=cores, designs=["principal", "uniform"], grid=False)
    np.testing.assert_array_equal(alone.merits["uniform"], beside.merits["uniform"])
    assert not np.array_equal(alone.merits["uniform"], quick(ring, seed=2, grid=False).merits["uniform"])


def test_news_come_as_trials_are_done(ring):
    heard = []
    quick(ring, grid=False, watch=lambda done, of: heard.append((done, of)))
    assert heard == [(done, 6) for done in range(1, 7)]


def test_more_judges_and_more_answers_help_and_answers_have_an_end(ring, plain):
    assert plain.record.differ == 0.5
    apart, sd = quick(ring, judge_spread=1.5), plain.over_grid("sd")
    assert (np.diff(sd, axis=0) < 0).all()
    assert (np.diff(sd, axis=1) < 0).all()
    assert (np.diff(plain.over_grid("correlation"), axis=0) > 0).all()
    row, column = plain.at
    assert sd[row + 1, column] > sd[row, column + 1], "as many answers in all teach more from more judges"
    assert (apart.over_grid("sd") > sd).all()
    assert apart.helps_little < plain.helps_little


def test_hours_are_judges_times_answers_times_seconds(ring, plain):
    assert plain.hours[2, 2] == pytest.approx(4 * 15 * 4 / 3600)
    alone = quick(ring, judges=1, answer_seconds=10)
    assert (alone.panels, alone.lengths) == ((1, 2, 4), (15, 30)), "one judge is one judge"
    assert alone.hours[alone.at] == pytest.approx(15 * 10 / 3600)


def test_where_more_answers_help_little(ring):
    """With sd = (9/n + 1)^½ a doubling gains a tenth where (9/2n + 1)/(9/n + 1) = 0.81."""
    plan = made_up(ring, {"uniform": 1.0})
    answers = (5, 10, 20, 40, 80)
    grid = np.repeat(np.sqrt(9 / np.array([*answers, np.inf]) + 1)[:, None, None], len(Merits._fields), axis=2)
    plan = replace(plan, panels=(12,), per_judge=20, answers=answers, grid=grid)
    assert plan.helps_little == pytest.approx(9 * (0.5 - 0.81) / (0.81 - 1), rel=0.05)


@pytest.mark.statistical
def test_longer_studies_teach_more(ring):
    """Rank error falls and stays below chance, each by more than 4 standard errors."""

    def z(values):
        return values.mean() / (values.std(ddof=1) / np.sqrt(len(values)))

    errors = quick(ring, simulations=24, grid=False).curve("uniform", "rank_error")
    assert z(errors[:, 0] - errors[:, -1]) > 4
    assert z(CHANCE - errors[:, -1]) > 4


@pytest.mark.statistical
def test_the_pilot_is_what_truths_are_drawn_from(ring, alike):
    """Where a pilot found all areas alike, ranks cannot be found: within 4 standard errors of chance (6e-5).

    The planted bug, a pilot that is ignored, is a plan from a guess: it must be far below chance.
    """
    for pilot in (alike, None):
        errors = quick(ring, pilot=pilot, simulations=20, grid=False).curve("uniform", "rank_error")[:, -1]
        z = (errors.mean() - CHANCE) / (errors.std(ddof=1) / np.sqrt(len(errors)))
        assert (abs(z) > 4) == (pilot is None)


@pytest.mark.parametrize("winner_is", ["lower", "higher"])
def test_a_pilots_worst_areas_are_the_worst_of_its_truths(ring, winner_is):
    """One area far worse than all others: a pilot read the wrong way round would look for the best."""
    strengths = np.full(N, 0.0)
    strengths[4] = -6.0 if winner_is == "lower" else 6.0
    pilot = fitted(ring, strengths, alpha=3.0, winner_is=winner_is)
    assert pilot.areas["risk_median"].argmax() == 4
    from judgemap.study.plan.planning import TruthSource

    source = TruthSource.make(ring, None, pilot)
    drawn = np.array([source.draw(np.random.default_rng(k), None) for k in range(50)])
    assert (drawn.argmin(axis=1) == 4).all(), "a low strength is a high risk"
    assert source.alpha == pytest.approx(3.0)


def test_what_a_pilot_adds_to_the_record(ring, alike):
    plan = quick(ring, pilot=alike, grid=False)
    assert plan.record.differ == 0.5, "the guess stands in where the pilot's judges are alike"
    assert plan.record.truth == "drawn from the posterior of a pilot with 400 comparisons"
    assert "The pilot's own answers are not counted in the planned study." in plan.record.notes
    assert plan.record.alpha == pytest.approx(0.02)


def made_up(ring, designs, sims=40, noise=0.01, top=10):
    """A plan whose curves are known: each design needs ``factor`` of the comparisons of the uniform one."""
    rng = np.random.default_rng(4)
    lengths = np.array([150, 300, 450, 600, 900])
    truths = np.exp(0.2 * rng.standard_normal((sims, 1)))
    merits = {}
    for name, factor in designs.items():
        loss = truths * (lengths / factor / 600) ** -0.5 * np.exp(noise * rng.standard_normal((sims, 5)))
        values = np.empty((sims, 5, len(Merits._fields)))
        columns = {"sd": 0.6 * loss, "rank_error": 4 * loss, "found": 1 - 0.15 * np.clip(loss, 0, 5)}
        for place, measure in enumerate(Merits._fields):
            values[:, :, place] = columns.get(measure, 100 / loss)
        merits[name] = values
    record = PlanRecord(N, "made up", "car", 3.0, 0.5, 4.0, sims, seed=1, seconds=1.0, versions={}, notes=[])
    grid = np.broadcast_to((1 / np.sqrt([1, 2, 4, np.inf]))[:, None, None], (4, 3, len(Merits._fields)))
    return jm.StudyPlan(ring, 12, 50, tuple(lengths.tolist()), top, merits, (6, 12, 24), (25, 50, 100), grid, record)


def test_sentences_are_computed_from_the_curves(ring):
    plan = made_up(ring, {"uniform": 1.0, "principal": 1.0, "naive": 1.2, "adaptive": 0.7})
    assert plan.needed("adaptive", "sd").saving == pytest.approx(0.3, abs=0.01)
    assert [plan.needed(name, "sd").gain for name in ("principal", "naive", "adaptive")] == [0, -1, 1]
    first, _, end, principal, naive, adaptive, enough = sentences(plan)
    assert "answers each" in end
    assert first.startswith("600 comparisons (12 judges × 50) with the uniform design give each area's risk")
    assert principal.startswith("Principal component design: no gain is visible in 40 simulated studies")
    assert "20 % more" in naive
    assert "30 % fewer (30 to 31 %)" in adaptive
    assert "fewer" not in principal
    assert enough.startswith("To find eight of the ten worst areas on average takes 3")


@pytest.mark.parametrize(("factor", "words"), [(0.1, "fewer than 150"), (9.0, "more than 900")])
def test_beyond_what_was_simulated(ring, factor, words):
    plan = made_up(ring, {"uniform": 1.0, "adaptive": factor})
    assert words in sentences(plan)[3]
    told = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert told["needed_for_the_same"]["adaptive"]["sd"] == [None, None, None]


def test_a_difference_within_noise_is_not_called_a_gain(ring):
    plan = made_up(ring, {"uniform": 1.0, "optimal": 0.97}, sims=12, noise=0.3)
    assert plan.needed("optimal", "sd").gain == 0
    assert "no gain is visible in 12 simulated studies" in sentences(plan)[3]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"judges": 0}, "the number of judges must be at least 1, not 0"),
        ({"per_judge": -3}, "the number of comparisons per judge must be at least 1, not -3"),
        ({"judges": 2, "per_judge": 5}, "2 × 5 comparisons cannot even connect 12 areas"),
        ({"simulations": 5}, "intervals need at least 6 simulated studies, not 5"),
        ({"alpha": 0.0}, "the guess at α must be a positive number, not 0"),
        ({"judge_spread": -1.0}, "how far judges differ must be a number from 0 up"),
        ({"answer_seconds": 0.0}, "the seconds that an answer takes must be a positive number"),
        ({"alpha": float("nan")}, "the guess at α must be a positive number, not nan"),
        ({"designs": ["uniform", "adaptiv"]}, "there is no design 'adaptiv' (did you mean 'adaptive'?)"),
        ({"designs": []}, "no design was named"),
    ],
)
def test_mistakes_are_one_sentence(ring, options, sentence):
    with pytest.raises(jm.StudyError) as error:
        quick(ring, **options)
    assert str(error.value).startswith(sentence)


def test_a_pilot_of_other_areas_or_beside_a_guess(ring, square, alike):
    with pytest.raises(jm.StudyError, match="the pilot is a fit of different areas"):
        quick(square, pilot=alike)
    with pytest.raises(jm.StudyError, match="both a guess at α and a pilot were given"):
        quick(ring, pilot=alike, alpha=3.0)


def test_every_design_has_its_own_place():
    assert DESIGNS == ("uniform", "naive", "principal", "optimal", "adaptive"), "places are part of seeds: append only"
