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
from judgemap.study.assess.verdict import Evidence, Grade, Reach, Subject, Verdict, judge_fit
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


STOPPED = "The fit was stopped after 500 of 1,000 draws per chain."
SIDE = Remedy("side", value=True)
ODD = JudgeFinding(judge="secretive", stands_out=["Chose the left area in 90% of answers."])
UNKNOWN = JudgeFinding(judge="secretive", kind_note="Not enough draws to tell.")
NO_HEADLINES = {
    Subject.CONVERGENCE: "Not ready for use",
    Subject.AREAS: "Too few areas compared",
    Subject.RELIABILITY: "Too uncertain to rank areas",
}


def measured(name, p, remedy=None):
    return [*USUAL[:3], Measure(name=name, words=name, p=p, remedy=remedy)]


def reliable(low, value):
    """Both estimates are 0.99 but for one."""
    return Reliability(**{"split_half_full": 0.99, "bayes": 0.99, low: value}, judges=3, answers=50)


def clustered(shown, agreement):
    groups = [Group(areas=5, mean=0.0, low=-1.0, high=1.0)] * shown
    return Grouping(groups=groups, chance=0.01, agreement=agreement, numbers=[(2, 0.6), (3, 0.4)])


OF_DRAWS = [
    (["Effective sample size 26."], Grade.NO, "Effective sample size 26."),
    ([STOPPED], Grade.CARE, f"{STOPPED} By then the chains agreed"),
    ([STOPPED, "Too few."], Grade.NO, f"{STOPPED} By then the computation had not settled. Too few."),
]
OF_AREAS = [
    (Reach(areas=60, compared=54), Grade.SOUND, "6 of the 60 areas were never compared"),
    (Reach(areas=60, compared=53), Grade.CARE, "7 of the 60"),
    (Reach(areas=60, compared=12), Grade.NO, "48 of the 60"),
    (Reach(areas=60, compared=60, groups=2), Grade.CARE, "2 groups"),
    (Reach(areas=60, compared=60, endless=1), Grade.CARE, "no practical end"),
    (Reach(areas=60, compared=60, contradicted=False), Grade.CARE, "No answer contradicts another"),
    (None, Grade.CARE, "did not check"),
]
OF_CHECKS = [
    *(("left", p, Grade.CARE, "whatever the pair") for p in (0.0, 0.007, EXTREME - 1e-6, 1 - EXTREME + 1e-6, 1.0)),
    *(("left", p, Grade.SOUND, "") for p in (0.03, 0.5)),
    *(("left", p, Grade.SOUND, "Borderline: left") for p in (EXTREME, 0.014, 0.98, 1 - EXTREME)),
    ("smooth", 1.0, Grade.SOUND, ""),  # a map may well be smoother than its prior
    ("triads", 0.009, Grade.CARE, "several scales"),  # a small p means more circles than the model expects
    ("triads", 0.991, Grade.CARE, "fewer circles"),
]
CORRELATIONS = {0.95: Grade.SOUND, 0.8: Grade.SOUND, 0.79: Grade.CARE, 0.6: Grade.CARE, 0.59: Grade.NO, -0.2: Grade.NO}
OF_JUDGES = [
    ({"judges": [*AGREE, ODD]}, Grade.CARE, "1 of the 4 judges stands out from the others."),
    ({"judges": [*AGREE, UNKNOWN]}, Grade.SOUND, "None of the 4 judges stands out from the others. For 1 of them we"),
    ({"judges": []}, Grade.CARE, "do not say who gave them"),
    ({"judges": AGREE[:1]}, Grade.CARE, "one person's view"),
    ({"judges": AGREE[:1], "part": "On a part."}, Grade.CARE, "in the part that was checked"),
    ({"judges": None}, Grade.CARE, "did not check"),
    ({"left_out": 2}, Grade.CARE, "2 judges were left out of this fit."),
    ({"differ": True}, Grade.CARE, "too narrow"),
]
RULES = [
    *(({"warnings": texts, "stopped": texts[0] == STOPPED}, Subject.CONVERGENCE, *rest) for texts, *rest in OF_DRAWS),
    *(({"reach": reach}, Subject.AREAS, *rest) for reach, *rest in OF_AREAS),
    *(({"checks": measured(name, p)}, Subject.CHECKS, *rest) for name, p, *rest in OF_CHECKS),
    *(
        ({"reliability": reliable(low, value)}, Subject.RELIABILITY, grade, "Another panel of 3 judges")
        for low in ("split_half_full", "bayes")
        for value, grade in CORRELATIONS.items()
    ),
    ({"reliability": Reliability(answers=3)}, Subject.RELIABILITY, Grade.NO, "too early"),
    ({"failed": {Subject.RELIABILITY: "Singular"}}, Subject.RELIABILITY, Grade.CARE, "not be assessed (Singular)."),
    *((found, Subject.JUDGES, *rest) for found, *rest in OF_JUDGES),
    ({"grouping": clustered(2, 0.9)}, Subject.CLUSTERS, Grade.SOUND, "the likeliest number (60 %)"),
    (
        {"grouping": clustered(1, 0.9)}, Subject.CLUSTERS, Grade.CARE,
        "1 cluster (probability 0 %), though 2 clusters are likelier (60 %)",
    ),
    ({"grouping": clustered(2, 0.7)}, Subject.CLUSTERS, Grade.CARE, "Only 70 % of pairs"),
]  # fmt: skip


@pytest.mark.parametrize(("found", "subject", "grade", "said"), RULES)
def test_each_rule_alone(found, subject, grade, said):
    """Judges are counted and never named."""
    told = verdict(**found)
    assert told.grade is told.ground(subject).grade is grade
    assert said in told.ground(subject).text
    assert ("Borderline" in told.ground(subject).text) == ("Borderline" in said)
    headlines = {Grade.SOUND: "Sound", Grade.CARE: "Use with care", Grade.NO: NO_HEADLINES.get(subject)}
    assert told.lines[0] == f"{headlines[grade]}."
    assert "secretive" not in json.dumps(told.to_dict())


def test_remedies_are_named():
    found = verdict(checks=measured("left", 0.007, SIDE))
    assert found.ground(Subject.CHECKS).text.endswith("Fit again with --side.")
    assert found.remedies == (SIDE,)
    assert verdict(differ=True).remedies == (DIFFER,)


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
