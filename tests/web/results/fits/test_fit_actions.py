"""Asking for fits, taking them back, and fits that the number of answers asks for."""

from dataclasses import replace

import pytest

from judgemap.errors import StudyError
from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge.models import Judge
from judgemap.web.results import actions
from judgemap.web.results.models import AutoFit, Exclusion, FitRun
from judgemap.web.studies.models import Act

QUICK = FitSettings(chains=2, warmup=5, draws=20, seed=1, alpha=2.0, as_in_paper=True)


def acts(study):
    return list(study.acts.order_by("pk").values_list("verb", "researcher__email", "detail"))


def test_what_is_asked_for_is_kept_and_written_down(judged, people, ask_fit):
    before = Act.objects.count()
    run = ask_fit(judged, by=people["teammate"], note="first look")
    assert (run.number, run.status, run.settings) == (1, "waiting", QUICK.to_dict())
    assert FitSettings.from_dict(FitRun.objects.get().settings) == QUICK
    assert run.version == judged.version
    assert "teammate@example.org" in run.log
    assert Act.objects.count() == before + 1
    verb, who, detail = acts(judged)[-1]
    assert (verb, who) == ("fit asked for", "teammate@example.org")
    assert detail == {"fit": 1, "model": "spatial", "left out": [], "only": [], "note": "first look"}


def test_fits_are_numbered_in_each_study(judged, draft, answers, ask_fit):
    answers(draft)
    assert [ask_fit(judged).number, ask_fit(judged).number, ask_fit(draft).number] == [1, 2, 1]


@pytest.mark.parametrize("outcomes", [None, ["tie", "skipped"]])
def test_without_answers_nothing_is_asked_for(owned, answers, ask_fit, outcomes):
    if outcomes:
        answers(owned, outcomes=outcomes)
    with pytest.raises(StudyError, match="nothing to fit yet: nobody has chosen between two areas; invite judges"):
        ask_fit(owned)
    assert not FitRun.objects.exists()


@pytest.mark.parametrize("how", ["left_out", "only"])
def test_a_judge_of_another_study_is_no_judge(judged, draft, answers, ask_fit, how):
    other = answers(draft, judges=1)[0]
    with pytest.raises(StudyError, match="there is no judge"):
        ask_fit(judged, **{how: [other]})


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"draws": 1_600_000}, "draws: 2 chains of 16 areas have room for 1,562,500 draws each"),
        ({"chains": 10**6}, "draws: 1000000 chains of 16 areas have room for 3 draws each"),
        ({"warmup": 10**6, "chains": 8}, "draws: that is 8,000,160 steps in all; the server allows at most 5,000,000"),
        ({"thin": 10**6}, "draws: that is 40,000,010 steps"),
    ],
)
def test_more_than_the_server_can_do(judged, ask_fit, more, said):
    with pytest.raises(StudyError, match=said):
        ask_fit(judged, FitSettings.from_dict(QUICK.to_dict() | more))


def test_only_so_many_wait(judged, ask_fit):
    for _ in range(actions.MOST_WAITING):
        last = ask_fit(judged)
    with pytest.raises(StudyError, match="20 fits of this study are already waiting"):
        ask_fit(judged)
    actions.cancel_fit(last)
    assert ask_fit(judged).number == 21


def test_cancelling_is_written_down_once(judged, people, ask_fit, make_fit):
    run = ask_fit(judged)
    assert actions.cancel_fit(run, people["owner"]).status == "cancelled"
    actions.cancel_fit(run, people["owner"])
    assert [verb for verb, *_ in acts(judged)].count("fit cancelled") == 1
    done = make_fit(ask_fit(judged))
    assert actions.cancel_fit(done).status == "done", "what is over stays"


def test_again_is_the_same_fit_of_the_answers_there_are_now(judged, people, ask_fit, make_fit, answers):
    first = judged.judge_names[0]
    run = actions.cancel_fit(ask_fit(judged, left_out=[first], note="x", by=people["owner"]))
    Exclusion.objects.create(judge_id=judged.judge_names[1], reason="later")
    answers(judged, judges=1)
    other = make_fit(actions.again(run, people["teammate"]))
    assert (other.number, other.settings, other.left_out, other.note) == (2, run.settings, [first], "x")
    assert other.info["data"]["shown"] == 60
    assert other.asked_by == people["teammate"]


def test_again_where_the_judges_withdrew(judged, ask_fit, make_fit):
    run = ask_fit(judged, only=judged.judge_names[:1])
    Judge.objects.get(name=judged.judge_names[0]).pairs.all().delete()
    assert make_fit(actions.again(run)).said.startswith("This fit has no answers to use")


def test_fits_by_themselves(judged, people, answers, make_fit):
    actions.set_auto_fit(judged, 50, replace(QUICK, model="standard", seed=5), people["owner"])
    assert acts(judged)[-1][::2] == ("automatic fits on", {"every": 50, "model": "standard"})
    [run] = actions.ask_where_due()
    assert (run.asked_by, run.note, run.settings["model"]) == (None, "every 50 answers", "standard")
    assert actions.ask_where_due() == [], "none while one waits"
    FitRun.objects.update(status="running")
    assert actions.ask_where_due() == [], "none while one runs"
    FitRun.objects.update(status="waiting")
    make_fit(run)
    assert actions.ask_where_due() == [], "not before there are more answers"
    answers(judged, judges=2, each=20)
    assert actions.ask_where_due() == [], "40 are too few"
    answers(judged, judges=1, each=10)
    [other] = actions.ask_where_due()
    assert other.answers == 110
    assert other.settings["seed"] != run.settings["seed"]


@pytest.mark.parametrize("status", ["failed", "lost", "cancelled"])
def test_one_that_came_to_nothing_is_not_tried_for_ever(judged, answers, status):
    actions.set_auto_fit(judged, 50)
    actions.ask_where_due()
    FitRun.objects.update(status=status)
    assert actions.ask_where_due() == []
    answers(judged, judges=5, each=10)
    assert len(actions.ask_where_due()) == 1


def test_a_fit_of_one_judge_does_not_count(judged, ask_fit, make_fit):
    make_fit(ask_fit(judged, only=judged.judge_names[:1]))
    actions.set_auto_fit(judged, 50)
    assert len(actions.ask_where_due()) == 1


def test_a_study_without_decisions_waits(owned, answers):
    answers(owned, outcomes=["tie"])
    actions.set_auto_fit(owned, 10)
    assert actions.ask_where_due() == []


def test_excluded_judges_are_left_out_by_themselves_too(judged):
    Exclusion.objects.create(judge_id=judged.judge_names[0], reason="in a hurry")
    actions.set_auto_fit(judged, 10)
    [run] = actions.ask_where_due()
    assert run.left_out == [judged.judge_names[0]]


def test_too_often_is_refused_and_off_is_off(judged, people):
    with pytest.raises(StudyError, match="every: fit after every 10 answers or more"):
        actions.set_auto_fit(judged, 9)
    actions.set_auto_fit(judged, 10)
    actions.set_auto_fit(judged, 20)
    assert AutoFit.objects.get().every == 20
    actions.set_auto_fit(judged, None, by=people["owner"])
    assert not AutoFit.objects.exists()
    assert acts(judged)[-1][0] == "automatic fits off"
    actions.set_auto_fit(judged, None)
    assert [verb for verb, *_ in acts(judged)].count("automatic fits off") == 1
