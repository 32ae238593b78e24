import numpy as np
import pytest

import judgemap as jm
from judgemap.core.model.graph import AreaGraph
from judgemap.report.pages.planning import (
    judge_picture,
    judge_section,
    judge_sentences,
    judge_table,
)
from judgemap.study.plan.planning import JudgePlan


@pytest.fixture(scope="module")
def planned():
    return jm.plan_judges(jm.chicago(), judges=8, per_judge=40, differ=0.5, seed=1, simulations=3)


def test_more_judges_and_more_answers_help_and_answers_have_an_end(planned):
    assert planned.sd.shape == (7, 5), "six numbers of answers and answers without end; five of judges"
    assert (np.diff(planned.sd, axis=0) < 0).all()
    assert (np.diff(planned.sd, axis=1) < 0).all()
    assert (np.diff(planned.correlation, axis=0) > 0).all()
    assert planned.sd[3, 2] > planned.sd[2, 3], "as many answers in all teach more from more judges"


def test_judges_who_differ_more_need_more_judges(planned):
    apart = jm.plan_judges(jm.chicago(), judges=8, per_judge=40, differ=1.5, seed=1, simulations=3)
    assert (apart.sd > planned.sd).all()
    assert apart.helps_little(8) < planned.helps_little(8)


def test_hours_are_judges_times_answers_times_seconds(planned):
    assert planned.hours[2, 2] == pytest.approx(8 * 40 * 4 / 3600)
    slow = jm.plan_judges(jm.chicago(), judges=8, per_judge=40, seed=1, simulations=1, seconds=10)
    assert slow.hours[2, 2] == pytest.approx(8 * 40 * 10 / 3600)


def test_one_judge_is_one_judge(planned):
    alone = jm.plan_judges(jm.chicago(), judges=1, per_judge=40, differ=0.5, seed=1, simulations=2)
    assert (alone.judges, alone.planned) == ((1, 2, 4), (1, 40))
    assert alone.hours[alone.at(1, 40)] == pytest.approx(40 * 4 / 3600)
    assert (np.diff(alone.sd, axis=1) < 0).all()
    assert "one judge with 40 answers gives the population's map" in judge_sentences(alone)[0]
    assert "1 judge  " in judge_table(alone).text()
    assert "1 judge × 40" in judge_picture(alone).alt


def test_same_seed_same_numbers(planned):
    again = jm.plan_judges(jm.chicago(), judges=8, per_judge=40, differ=0.5, seed=1, simulations=3)
    np.testing.assert_array_equal(again.sd, planned.sd)


def test_where_more_answers_help_little():
    """With sd = (9/n + 1)^½ a doubling gains a tenth where (9/2n + 1)/(9/n + 1) = 0.81."""
    answers = (5, 10, 20, 40, 80)
    sd = np.sqrt(9 / np.array([*answers, np.inf]) + 1)[:, None]
    plan = JudgePlan(
        jm.chicago(),
        (8,),
        answers,
        (8, 20),
        sd,
        sd,
        sd,
        seconds=4,
        differ=0.5,
        alpha=3,
        truth="made up",
        design="uniform",
        simulations=1,
        seed=1,
    )
    assert plan.helps_little(8) == pytest.approx(9 * (0.5 - 0.81) / (0.81 - 1), rel=0.05)


def test_a_pilot_gives_the_map_and_the_guess_stands_in_where_its_judges_are_alike():
    areas, data = jm.example_study(seed=1)
    pilot = jm.fit_spatial(data, areas, seed=1, chains=2, draws=50)
    plan = jm.plan_judges(areas, judges=4, per_judge=20, seed=1, pilot=pilot, simulations=1)
    assert plan.differ == 0.5
    assert plan.alpha == pytest.approx(np.median(pilot.alpha))
    assert "pilot" in plan.truth


def test_a_pilot_in_which_judges_differ_says_how_far():
    areas, data = jm.example_study(seed=1)
    pilot = jm.fit_spatial(data, areas, seed=1, judges="differ", chains=2, draws=50)
    plan = jm.plan_judges(areas, judges=4, per_judge=20, seed=1, pilot=pilot, simulations=1)
    assert plan.differ == pytest.approx(np.median(pilot.sigma / pilot.alpha))


def test_the_optimal_design_for_these_judges():
    """Six areas in a row: the best pairs leave less uncertainty than equally likely ones."""
    row = jm.Areas(tuple("abcdef"), tuple("ABCDEF"), AreaGraph(6, [[i, i + 1] for i in range(5)]))
    given = {"judges": 4, "per_judge": 12, "seed": 1, "simulations": 8}
    even, best = (jm.plan_judges(row, design=design, **given) for design in ("uniform", "optimal"))
    assert best.u1[2, 1] > even.u1[2, 1]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"differ": -1.0}, "how far judges differ must be a positive number"),
        ({"seconds": 0.0}, "the seconds that an answer takes must be a positive number"),
        ({"judges": 0}, "the number of judges must be at least 1, not 0"),
        ({"simulations": 0}, "the number of simulated maps must be at least 1, not 0"),
    ],
)
def test_mistakes(given, sentence):
    with pytest.raises(jm.StudyError, match=sentence):
        jm.plan_judges(jm.chicago(), seed=1, **given)


def test_sentences_table_and_picture(planned):
    first, doubled, end = judge_sentences(planned)
    assert first.startswith("If judges differ from each other by 0.5 of how far areas differ, eight judges with 40 ")
    assert "twice the judges" in doubled
    assert "answers each" in end
    table = judge_table(planned)
    assert [str(row[0]) for row in table.rows] == ["10", "20", "40", "80", "160", "320", "no limit"]
    assert "eight" not in judge_picture(planned).caption
    assert judge_section(planned).table is not None
    assert planned.to_frame().shape == (30, 6)
    assert len(planned.to_dict()["sd"]) == 7
