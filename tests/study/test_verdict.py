"""One verdict: each rule on its own, the worst of them wins, and nothing contradicts it."""

import json
from dataclasses import replace

import numpy as np
import pytest

import judgemap as jm
from judgemap.core.assess.misfit import EXTREME
from judgemap.study.assess.explain import Explanation, judge
from judgemap.study.assess.findings import (
    DIFFER,
    Group,
    Grouping,
    JudgeFinding,
    Measure,
    Reliability,
    Remedy,
)
from judgemap.study.assess.verdict import Evidence, Grade, Reach, Subject, Verdict, judge_checks, judge_fit
from judgemap.study.data.comparisons import Comparisons

AGREE = [JudgeFinding(judge=name) for name in ("ann", "bob", "cy")]
USUAL = [Measure(name=name, words=name, p=0.4) for name in ("areas", "pairs", "left", "triads")]
RELIABLE = Reliability(split_half_full=0.9, bayes=0.95, judges=3, answers=500)
SOUND = Evidence(reach=Reach(areas=60, compared=60), checks=USUAL, reliability=RELIABLE, judges=AGREE)


def verdict(**found):
    return judge_fit(replace(SOUND, **found))


def test_nothing_wrong_is_sound():
    found = verdict()
    assert found.grade is Grade.SOUND
    assert found.headline == "Sound"
    assert len(found.reasons) == 5
    assert found.remedies == ()


def test_one_warning_about_the_draws_is_enough():
    found = verdict(warnings=["Effective sample size 26."])
    assert (found.grade, found.headline) == (Grade.NO, "Not ready for use")
    assert "Effective sample size 26." in found.lines[1]


STOPPED = "The fit was stopped after 500 of 1,000 draws per chain."


def test_a_stopped_fit_is_said_to_be_stopped_and_may_have_settled():
    found = verdict(warnings=[STOPPED], stopped=True)
    assert found.grade is Grade.CARE
    assert found.lines[1].startswith(f"{STOPPED} By then the chains agreed")
    found = verdict(warnings=[STOPPED, "Too few."], stopped=True)
    assert (found.grade, found.headline) == (Grade.NO, "Not ready for use")
    assert found.lines[1] == f"{STOPPED} By then the computation had not settled. Too few."


def test_what_could_not_be_assessed_is_said():
    found = verdict(reliability=None, failed={Subject.RELIABILITY: "Singular matrix"})
    assert found.grade is Grade.CARE
    assert found.lines == [
        "Use with care.",
        "How far another panel would agree could not be assessed (Singular matrix).",
    ]


@pytest.mark.parametrize(
    ("reach", "grade"),
    [
        (Reach(areas=60, compared=54), Grade.SOUND),
        (Reach(areas=60, compared=53), Grade.CARE),
        (Reach(areas=60, compared=12), Grade.NO),
        (Reach(areas=60, compared=60, groups=2), Grade.CARE),
        (Reach(areas=60, compared=60, endless=1), Grade.CARE),
        (Reach(areas=60, compared=60, contradicted=False), Grade.CARE),
        (None, Grade.CARE),
    ],
)
def test_a_map_is_sound_only_where_answers_reach_it(reach, grade):
    found = verdict(reach=reach)
    assert found.grade is grade
    assert (found.headline == "Too few areas compared") == (grade is Grade.NO)


@pytest.mark.parametrize("p", [0.0, 0.007, EXTREME - 1e-6, 1 - EXTREME + 1e-6, 1.0])
def test_an_unusual_measure_needs_care_and_names_its_remedy(p):
    side = Remedy("side", value=True)
    found = verdict(checks=[*USUAL[:3], Measure(name="left", words="left", p=p, remedy=side)])
    assert found.grade is Grade.CARE
    assert "whatever the pair" in found.ground(Subject.CHECKS).text
    assert found.ground(Subject.CHECKS).text.endswith("Fit again with --side.")
    assert found.remedies == (side,)


@pytest.mark.parametrize(("name", "p"), [("left", EXTREME), ("left", 0.5), ("left", 1 - EXTREME), ("smooth", 1.0)])
def test_a_usual_measure_does_not(name, p):
    """A map may well be smoother than its prior."""
    assert verdict(checks=[Measure(name=name, words=name, p=p)]).grade is Grade.SOUND


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
@pytest.mark.parametrize("figures", [("split_half_full", "bayes"), ("bayes", "split_half_full")])
def test_another_panel_must_agree_by_halves_and_by_the_posterior(correlation, grade, figures):
    low, high = figures
    found = verdict(reliability=Reliability(**{low: correlation, high: 0.99}, judges=3, answers=50))
    assert found.grade is grade
    assert (found.headline == "Too uncertain to rank areas") == (grade is Grade.NO)


def test_too_few_answers_are_no_ground_to_rank():
    early = Reliability(answers=3)
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
        "None of the 4 judges stands out from the others. For 1 of them we cannot tell a judge who guesses, or answers "
        "the other way round, from one who sees another map."
    )


@pytest.mark.parametrize("judges", [[], AGREE[:1], None])
def test_nobody_to_compare_with_needs_care(judges):
    assert verdict(judges=judges).grade is Grade.CARE


def test_one_judge_in_the_part_that_was_checked_is_not_one_judge_in_all():
    judges = Subject.JUDGES
    assert "one person's view" in verdict(judges=AGREE[:1]).ground(judges).text
    assert "in the part that was checked" in verdict(judges=AGREE[:1], part="On a part.").ground(judges).text


def test_judges_left_out_are_counted():
    found = verdict(left_out=2).ground(Subject.JUDGES)
    assert found.grade is Grade.CARE
    assert found.text.startswith("2 judges were left out of this fit.")


def test_judges_who_differ_make_intervals_too_narrow():
    found = verdict(differ=True).ground(Subject.JUDGES)
    assert "too narrow" in found.text
    assert found.remedies == (DIFFER,)


@pytest.mark.parametrize(
    ("shown", "agreement", "grade", "said"),
    [
        (2, 0.9, Grade.SOUND, "the likeliest number (60 %)"),
        (1, 0.9, Grade.CARE, "1 cluster (probability 0 %), though 2 clusters are likelier (60 %)"),
        (2, 0.7, Grade.CARE, "Only 70 % of pairs"),
    ],
)
def test_clusters_must_be_as_many_as_likely_and_hold_together(shown, agreement, grade, said):
    groups = [Group(areas=5, mean=0.0, low=-1.0, high=1.0)] * shown
    numbers = [(2, 0.6), (3, 0.4)]
    found = verdict(grouping=Grouping(groups=groups, chance=0.01, agreement=agreement, numbers=numbers))
    assert found.grade is grade
    assert said in found.ground(Subject.CLUSTERS).text


def test_what_was_not_judged_needs_care():
    found = judge_fit(Evidence())
    assert found.grade is Grade.CARE
    assert len(found.reasons) == 4


def test_the_worst_comes_first():
    low = Reliability(split_half_full=0.1, judges=3, answers=50)
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


@pytest.mark.parametrize("compared", [2, 12])
def test_a_map_that_was_hardly_asked_about_is_never_sound(compared):
    """Two judges agree perfectly about a few of 77 areas, so halves of the judges do too."""
    areas, rng = jm.chicago(), np.random.default_rng(1)
    left = rng.integers(compared, size=200)
    right = (left + rng.integers(1, compared, size=200)) % compared
    outcome = ["left" if better else "right" for better in rng.random(200) < 1 / (1 + np.exp((left - right) / 3.0))]
    data = Comparisons.from_words(areas.ids, ("ann", "bob") * 100, left, right, outcome)
    fit = jm.fit_spatial(data, areas, seed=1, chains=2, draws=100, as_in_paper=True)
    found = Explanation(fit, data, left_out=1).verdict
    assert found.ground(Subject.AREAS).grade is Grade.NO
    assert "1 judge was left out" in found.ground(Subject.JUDGES).text


def test_answers_that_never_contradict_each_other_say_so(square):
    data = Comparisons.from_words(square.ids, ("ann", "bob") * 3, [0, 1, 2] * 2, [1, 2, 3] * 2, ("left",) * 6)
    found = judge(jm.fit_standard(data, square, seed=1, chains=2, draws=100, as_in_paper=True), data).verdict
    assert "No answer contradicts another" in found.ground(Subject.AREAS).text
