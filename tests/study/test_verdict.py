"""One verdict: each rule on its own, the worst of them wins, and nothing contradicts it."""

import json

import numpy as np
import pytest

from judgemap.core.assess.misfit import EXTREME
from judgemap.study.assess.findings import JudgeFinding, Measure, ReliabilityFinding
from judgemap.study.assess.verdict import (
    Grade,
    Subject,
    Verdict,
    judge_checks,
    judge_fit,
)

AGREE = [JudgeFinding(judge=name) for name in ("ann", "bob", "cy")]
USUAL = [Measure(name=name, words=name, p=0.4) for name in ("areas", "pairs", "left", "triads")]
RELIABLE = ReliabilityFinding(split_half_full=0.9, bayes=0.95, judges=3, answers=500)


def verdict(warnings=(), checks=USUAL, reliability=RELIABLE, judges=AGREE, *, differ=False):
    return judge_fit(warnings, checks, reliability, judges, differ=differ)


def test_nothing_wrong_is_sound():
    found = verdict()
    assert found.grade is Grade.SOUND
    assert found.headline == "Sound"
    assert len(found.reasons) == 4


def test_one_warning_about_the_draws_is_enough():
    found = verdict(warnings=["Effective sample size 26."])
    assert (found.grade, found.headline) == (Grade.NO, "Not ready for use")
    assert "Effective sample size 26." in found.lines[1]


STOPPED = "The fit was stopped after 500 of 1,000 draws per chain."


def test_a_stopped_fit_is_said_to_be_stopped_and_may_have_settled():
    found = judge_fit([STOPPED], USUAL, RELIABLE, AGREE, differ=False, stopped=True)
    assert found.grade is Grade.CARE
    assert found.lines[1].startswith(f"{STOPPED} By then the chains agreed")
    found = judge_fit([STOPPED, "Too few."], USUAL, RELIABLE, AGREE, differ=False, stopped=True)
    assert (found.grade, found.headline) == (Grade.NO, "Not ready for use")
    assert found.lines[1] == f"{STOPPED} By then the computation had not settled. Too few."


def test_what_could_not_be_assessed_is_said():
    found = judge_fit([], USUAL, None, AGREE, differ=False, failed={Subject.RELIABILITY: "Singular matrix"})
    assert found.grade is Grade.CARE
    assert found.lines == [
        "Use with care.",
        "How far another panel would agree could not be assessed (Singular matrix).",
    ]


@pytest.mark.parametrize("p", [0.0, 0.007, EXTREME - 1e-6, 1 - EXTREME + 1e-6, 1.0])
def test_an_unusual_measure_needs_care(p):
    found = verdict(checks=[*USUAL[:3], Measure(name="left", words="left", p=p)])
    assert found.grade is Grade.CARE
    assert "whatever the pair" in found.ground(Subject.CHECKS).text


@pytest.mark.parametrize("p", [EXTREME, 0.5, 1 - EXTREME])
def test_a_usual_measure_does_not(p):
    assert verdict(checks=[Measure(name="left", words="left", p=p)]).grade is Grade.SOUND


@pytest.mark.parametrize(("p", "said"), [(0.014, True), (0.98, True), (0.03, False)])
def test_a_measure_outside_its_interval_is_mentioned(p, said):
    found = verdict(checks=[Measure(name="left", words="left", p=p)])
    assert found.grade is Grade.SOUND
    assert ("Borderline: left" in found.ground(Subject.CHECKS).text) is said


@pytest.mark.parametrize(
    ("correlation", "grade"),
    [
        (0.95, Grade.SOUND),
        (0.8, Grade.SOUND),
        (0.79, Grade.CARE),
        (0.6, Grade.CARE),
        (0.59, Grade.NO),
        (-0.2, Grade.NO),
    ],
)
def test_another_panel_must_agree(correlation, grade):
    found = verdict(reliability=ReliabilityFinding(split_half_full=correlation, bayes=0.99, judges=3, answers=50))
    assert found.grade is grade
    assert (found.headline == "Too uncertain to rank areas") == (grade is Grade.NO)


def test_too_few_answers_are_no_ground_to_rank():
    early = ReliabilityFinding(note="With 3 decided answers it is too early to judge reliability.", answers=3)
    assert verdict(reliability=early).grade is Grade.NO


def test_judges_who_stand_out_are_counted_and_not_named():
    odd = JudgeFinding(judge="secretive", stands_out=["Chose the left area in 90% of answers."])
    found = verdict(judges=[*AGREE, odd])
    assert found.grade is Grade.CARE
    assert found.ground(Subject.JUDGES).text == "1 of the 4 judges stands out from the others."
    assert "secretive" not in json.dumps(found.to_dict())


def test_judges_of_whom_too_little_is_known_are_counted():
    unknown = JudgeFinding(judge="secretive", kind_note="Not enough draws to tell.")
    found = verdict(judges=[*AGREE, unknown])
    assert found.grade is Grade.SOUND
    assert found.ground(Subject.JUDGES).text == (
        "None of the 4 judges stands out from the others. For 1 of them there are not enough draws to tell a judge who "
        "guesses, or answers the other way round, from one who sees another map."
    )


@pytest.mark.parametrize("judges", [[], AGREE[:1]])
def test_nobody_to_compare_with_needs_care(judges):
    assert verdict(judges=judges).grade is Grade.CARE


def test_judges_who_differ_make_intervals_too_narrow():
    assert "too narrow" in verdict(differ=True).ground(Subject.JUDGES).text


def test_what_was_not_judged_needs_care():
    found = judge_fit([], None, None, None, differ=False)
    assert found.grade is Grade.CARE
    assert len(found.reasons) == 3


def test_the_worst_comes_first():
    low = ReliabilityFinding(split_half_full=0.1, judges=3, answers=50)
    found = verdict(reliability=low, judges=AGREE[:1])
    assert [each.subject for each in found.reasons] == [Subject.RELIABILITY, Subject.JUDGES]


def test_it_survives_json():
    found = verdict(warnings=["Wait."], differ=True)
    assert Verdict.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    assert np.all([each.text for each in found.grounds])


def test_too_few_circles_are_not_several_scales():
    """A small p means more circles than the model expects, a large one fewer."""
    many, few = (judge_checks([Measure(name="triads", words="circles", p=p)]).text for p in (0.009, 0.991))
    assert "several scales" in many
    assert "several scales" not in few
    assert "fewer circles" in few
