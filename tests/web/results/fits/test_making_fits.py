"""The task that makes a fit: from answers to results, everything that can come in between, and large maps."""

from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.utils import timezone

from judgemap.errors import StudyError
from judgemap.study.fit import large
from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.results import actions, running
from judgemap.web.results.files import open_fit
from judgemap.web.results.models import Exclusion, FitRun
from judgemap.web.results.running import warm_up
from judgemap.web.server import jobs, worker
from judgemap.web.server.jobs import SILENCE
from judgemap.web.studies import editing
from judgemap.web.studies.areas import load_areas

QUICK = FitSettings(chains=2, warmup=5, draws=20, seed=1, alpha=2.0, as_in_paper=True)
CLUSTERS = FitSettings(model="clusters", chains=2, warmup=20, draws=60, thin=1, seed=1)


@pytest.mark.parametrize(
    "settings",
    [QUICK, replace(QUICK, model="standard"), CLUSTERS, replace(QUICK, alpha=1.0, chains=1, draws=4)],
    ids=["spatial", "standard", "clusters", "diagnostics that are no number"],
)
def test_every_number_is_the_library_s(judged, ask_fit, make_fit, settings):
    run = make_fit(ask_fit(judged, settings))
    assert run.status == FitRun.Status.DONE, run.said
    fit = settings.run(load_comparisons(judged), load_areas(judged.version))
    again = open_fit(run)
    assert (again.risk == fit.risk).all()
    assert [row["id"] for row in run.rows] == list(fit.map.ids)
    for name in fit.areas.columns:
        assert [row[name] for row in run.rows] == fit.areas[name].tolist(), name
    assert run.data_sha256 == load_comparisons(judged).digest() == run.info["data"]["sha256"]
    assert run.info["hyperparameters"] == fit.info["hyperparameters"]
    assert run.findings["warnings"] == fit.warnings
    assert (run.answers, run.progress) == (60, 1.0)
    assert run.started_at <= run.finished_at <= run.explained_at
    if settings.model == "clusters":
        assert [row["cluster"] for row in run.rows] == fit.clusters["cluster"].tolist()
        assert [row["probability"] for row in run.rows] == fit.clusters["probability"].tolist()


def test_judges_who_are_left_out(judged, ask_fit, make_fit):
    first, second, third = judged.judge_names
    Exclusion.objects.create(judge_id=first, reason="in a hurry")
    run = make_fit(ask_fit(judged, left_out=[second]))
    assert run.left_out == sorted([first, second])
    assert run.info["data"]["shown"] == 20
    assert "come from one judge" in run.info["notes"][-1]
    assert run.data_sha256 == load_comparisons(judged).only([third]).digest()
    Exclusion.objects.all().delete()
    as_asked = {"version": judged.version, "settings": QUICK.to_dict(), "left_out": [first]}
    later = make_fit(FitRun.objects.create(study=judged, number=9, **as_asked))
    assert later.info["data"]["shown"] == 40, "what was left out when it was asked for stays so"


def test_only_one_judge_even_one_who_is_left_out(judged, ask_fit, make_fit):
    first = judged.judge_names[0]
    Exclusion.objects.create(judge_id=first, reason="in a hurry")
    run = make_fit(ask_fit(judged, only=[first]))
    assert (run.only, run.left_out) == ([first], [])
    assert run.data_sha256 == load_comparisons(judged).only([first]).digest()


def test_edges_and_direction_are_those_of_the_version_when_it_was_asked_for(judged, ask_fit, make_fit):
    run = ask_fit(judged)
    definition = replace(editing.definition_of(judged), direction="higher")
    editing.edit_study(judged, definition)
    a, b = judged.areas.order_by("position")[:2]
    editing.change_edge(judged, a, b)
    run = make_fit(run)
    judged.refresh_from_db()
    assert run.version.number == 1 != judged.version.number
    assert run.info["winner_is"] == "lower"
    assert len(open_fit(run).map.graph.edges) == 24


def test_answers_that_come_meanwhile_are_used(judged, ask_fit, make_fit, answers):
    run = ask_fit(judged)
    assert run.answers == 60
    answers(judged, judges=1, each=5)
    run = make_fit(run)
    assert run.answers == run.info["data"]["shown"] == 65


def test_a_worker_takes_what_waits_and_explains_it_afterwards(judged, ask_fit, make_fit):
    run = ask_fit(judged)
    assert worker.take_one()
    run.refresh_from_db()
    assert run.status == FitRun.Status.DONE
    assert run.explained_at is None, "the map is there first"
    assert {(FitRun, run.pk)} == jobs.HERE
    steps = 0
    while worker.take_one():
        steps += 1
    assert steps == 4
    run.refresh_from_db()
    assert run.explained_at
    assert not jobs.HERE


def test_other_fits_come_before_explanations_but_not_for_ever(judged, ask_fit, make_fit):
    runs = [ask_fit(judged) for _ in range(5)]
    for _ in runs:
        worker.take_one()
    assert len(worker.LEFT) == 3, "each has its draws in memory"
    for run in runs:
        run.refresh_from_db()
    assert [run.status for run in runs] == ["done"] * 5
    assert [bool(run.explained_at) for run in runs] == [True, True, False, False, False]


def test_a_worker_that_is_asked_to_end_does_not_explain(judged, ask_fit, make_fit):
    steps = FitRun.claim(ask_fit(judged).pk).carry_out()
    jobs.STOPPING.set()
    list(steps)
    run = FitRun.objects.get()
    assert run.status == FitRun.Status.DONE
    assert run.log.count("the worker was stopped before") == 3
    assert run.explained_at


def test_what_explains_a_fit_is_made(judged, ask_fit, carry_out):
    carry_out(ask_fit(judged, replace(QUICK, draws=200)))
    run = FitRun.objects.get()
    assert all(f" {word} made\n" in run.log for word in ("figures", "pictures", "briefing")), run.log
    assert {each["judge"] for each in run.findings["judges"]} == set(judged.judge_names)
    assert run.findings["warnings"] is not None
    assert run.pictures.count() >= 3
    assert all(each.svg.startswith("<svg") and each.alt for each in run.pictures.all())
    assert run.version.question in run.files.briefing


@pytest.mark.usefixtures("undrawn")
def test_a_briefing_tells_of_both_models_of_the_same_answers(judged, ask_fit, make_fit):
    make_fit(ask_fit(judged), "briefing")
    make_fit(ask_fit(judged, CLUSTERS), "briefing")
    alone, both = FitRun.objects.order_by("number")
    assert "Diagnostics: the clustering model" not in alone.files.briefing
    assert "Diagnostics: the clustering model" in both.files.briefing
    assert "spatial" in both.files.briefing


def test_a_mistake_of_the_user_s_is_a_sentence(owned, answers, make_fit):
    names = answers(owned)
    asked = {"version": owned.version, "settings": QUICK.to_dict(), "left_out": names}
    run = make_fit(FitRun.objects.create(study=owned, number=1, **asked))
    assert run.status == FitRun.Status.FAILED
    assert run.said.startswith("This fit has no answers to use: ")
    assert run.said in run.log
    assert run.finished_at


def test_a_fault_of_ours_is_logged_and_never_shown(judged, ask_fit, make_fit, monkeypatch, caplog):
    def broken(version):
        raise RuntimeError("secret detail")

    monkeypatch.setattr(running, "load_areas", broken)
    run = make_fit(ask_fit(judged))
    assert run.status == FitRun.Status.FAILED
    assert run.said.startswith("The fit failed. This is our fault, not yours;")
    assert "secret detail" not in run.said + run.log
    assert "secret detail" in caplog.text


def test_what_explains_may_fail_and_spoils_nothing(judged, ask_fit, make_fit, monkeypatch, caplog):
    def broken(subject):
        raise StudyError("no picture today")

    monkeypatch.setattr(running, "steps", lambda fit: [("pictures", broken), ("briefing", lambda subject: None)])
    run = make_fit(ask_fit(judged))
    assert run.status == FitRun.Status.DONE
    assert run.explained_at
    assert "no pictures: making this failed" in run.log
    assert "briefing made" in run.log
    assert "no picture today" in caplog.text
    assert run.rows


def test_cancelled_in_the_middle(judged, ask_fit, make_fit, monkeypatch):
    monkeypatch.setattr(jobs, "SECONDS_BETWEEN_NEWS", 0.0)
    run, blocks, watch = ask_fit(judged), [], running.watch

    def watched(claimed, draws, wanted):
        blocks.append(draws.n_draws)
        if len(blocks) == 3:
            actions.cancel_fit(run)
        watch(claimed, draws, wanted)

    monkeypatch.setattr(running, "watch", watched)
    make_fit(run)
    assert len(blocks) == 3, "it stops at once"
    assert (run.status, run.said, run.rows) == (FitRun.Status.CANCELLED, "Cancelled.", [])


def test_news_on_the_way(judged, ask_fit, make_fit, monkeypatch):
    monkeypatch.setattr(jobs, "SECONDS_BETWEEN_NEWS", 0.0)
    seen = []
    write = FitRun._report

    def written(self):
        write(self)
        seen.append(FitRun.objects.values_list("progress", "said", "status").get(pk=self.pk))

    monkeypatch.setattr(FitRun, "_report", written)
    make_fit(ask_fit(judged))
    shares = [share for share, _, _ in seen]
    assert shares == sorted(shares)
    assert 0 < shares[10] < 1
    assert any("draws per chain; effective sample size at least" in said and "R-hat" in said for _, said, _ in seen)
    assert {status for *_, status in seen} == {"running"}


def test_a_fit_that_was_given_up_is_not_written_over(judged, ask_fit, make_fit, monkeypatch):
    run = ask_fit(judged)

    def asleep(version):
        FitRun.objects.filter(pk=run.pk).update(heard_at=timezone.now() - 2 * SILENCE)
        FitRun.mark_lost()
        return load_areas(version)

    monkeypatch.setattr(running, "load_areas", asleep)
    make_fit(run)
    assert (run.status, run.rows) == (FitRun.Status.LOST, [])
    assert not hasattr(run, "files")


def test_a_round(judged, ask_fit):
    run = ask_fit(judged)
    FitRun.objects.filter(pk=run.pk).update(status="running", answers=0, heard_at=timezone.now() - timedelta(hours=1))
    actions.set_auto_fit(judged, 50)
    worker.go_round()
    run.refresh_from_db()
    assert run.status == "lost"
    assert FitRun.objects.get(number=2).note == "every 50 answers"
    worker.go_round()
    assert FitRun.objects.count() == 2


def test_warming_up_leaves_nothing_behind(db, monkeypatch):
    monkeypatch.setattr("judgemap.core.samplers.compiled.compile_all", lambda: None)  # which takes a minute
    warm_up()
    assert not FitRun.objects.exists()


def test_a_large_fit_says_how_much_memory_it_takes_before_it_starts(monkeypatch):
    lines = []
    told = SimpleNamespace(said="", write_line=lines.append)

    def state(free, n_areas):
        for module in (large, running):
            monkeypatch.setattr(module, "free_memory", lambda: int(free * 10**9))
        running.state_memory(told, FitSettings(), n_areas, 1_000_000)

    state(0.001, 76)
    assert lines == []
    state(16, 32_844)
    assert told.said == f"{lines[0]}."
    assert "GB of memory; 16.0 GB is free" in told.said
    with pytest.raises(StudyError, match=r"needs about .* GB of memory, and 0.5 GB are free; use a larger machine"):
        state(0.5, 32_844)
