"""A judge who withdraws, and the fits that were made before."""

import io
import zipfile
from datetime import timedelta

import pytest
from django.utils import timezone

from judgemap.study.fit.settings import FitSettings
from judgemap.web.judge.comparisons import load_comparisons
from judgemap.web.judge.joining import withdraw
from judgemap.web.judge.models import Answer, Judge, Pair
from judgemap.web.results import running
from judgemap.web.results.files import open_fit
from judgemap.web.results.forgetting import forget_everybody
from judgemap.web.results.models import FitFiles, FitPicture, FitRun
from judgemap.web.results.running import explain
from judgemap.web.server.jobs import SILENCE
from judgemap.web.server.tokens import hashed, tidy_code
from judgemap.web.studies.models import Imprint


@pytest.fixture
def leave():
    """Have a judge withdraw by a code."""

    def left(name):
        code = f"{name}-code"
        Judge.objects.filter(name=name).update(withdrawal_hash=hashed(tidy_code(code)))
        withdraw(code)

    return left


def everything(run) -> str:
    """Everything that the database says about a fit in words."""
    run.refresh_from_db()
    pictures = [each.svg + each.alt + each.caption for each in run.pictures.all()]
    pictures += run.pictures.values_list("name", flat=True)
    briefing = getattr(FitFiles.objects.filter(fit=run).first(), "briefing", "")
    return str([run.findings, run.info, run.rows, run.said, run.log, pictures, briefing])


def test_a_map_of_several_stays_and_says_nothing_of_the_one(judged, ask_fit, make_fit, leave):
    gone, stays, _ = judged.judge_names
    run = make_fit(ask_fit(judged))
    run.findings |= {"judges": [{"judge": gone, "ties": 3}, {"judge": stays}],
                     "surprises": [{"judge": gone, "chosen": "W01"}]}  # fmt: skip
    run.info["notes"].append(f"Judges with a single answer: '{gone}'.")
    run.info["note_kinds"].append("single answers")
    run.save()
    FitFiles.objects.update(briefing=f"<p>{gone} and others</p>")
    FitPicture.objects.create(fit=run, name="judges", svg=f"<svg>{gone}</svg>", alt="Judges.")
    FitPicture.objects.create(fit=run, name="map", svg="<svg/>", alt="A map.")
    rows = run.rows
    leave(gone)
    assert gone not in everything(run)
    assert run.findings["judges"] == [{"judge": stays}]
    assert (run.status, run.rows) == ("done", rows)
    assert list(run.pictures.values_list("name", flat=True)) == ["map"]
    assert "a judge who withdrew and others" in run.files.briefing
    assert set(open_fit(run).observed_data.arrays) == {"n", "wins"}, "the files know pairs and no judges"


def test_files_and_log_do_not_name_a_judge_with_one_answer(judged, ask_fit, make_fit, leave):
    gone, *_ = judged.judge_names
    Pair.objects.filter(judge=gone).exclude(pk=Pair.objects.filter(judge=gone).earliest("pk").pk).delete()
    run = make_fit(ask_fit(judged))
    assert gone in run.log
    assert any(gone in note.text for note in open_fit(run).record.notes)
    leave(gone)
    assert gone not in everything(run)
    kept = open_fit(run).record.notes
    assert not any(gone in note.text for note in kept)
    assert any("'a judge who withdrew'" in note.text for note in kept)


def test_an_area_with_the_judges_name_stays(judged, ask_fit, make_fit, leave):
    gone, stays, _ = judged.judge_names
    run = make_fit(ask_fit(judged))
    kept = {"surprises": [{"judge": stays, "chosen": gone, "chosen_name": gone}], "areas": [{"id": gone, "wins": 2}]}
    FitRun.objects.filter(pk=run.pk).update(findings=kept)
    leave(gone)
    run.refresh_from_db()
    assert run.findings == kept


def test_when_all_answers_go_no_fit_names_a_judge(judged, ask_fit, make_fit):
    names = judged.judge_names
    whole, alone = make_fit(ask_fit(judged, left_out=names[:1])), make_fit(ask_fit(judged, only=[names[1]]))
    waiting = ask_fit(judged)
    whole.findings |= {"judges": [{"judge": name} for name in names], "surprises": []}
    whole.info["notes"].append(f"Judges with a single answer: '{names[0]}'.")
    whole.save()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as written:
        written.writestr("fit.json", f'{{"left_out": ["{names[0]}"]}}')
    FitFiles.objects.filter(fit=whole).update(archive=archive.getvalue(), briefing=f"<p>{names[2]}</p>")
    changed = forget_everybody(judged, names)
    assert changed == {"fits that tell judges apart": 1, "fits kept without judges": 1}
    for run in (whole, alone, waiting):
        told = everything(run) + str([run.only, run.left_out])
        assert not any(name in told for name in names)
    with zipfile.ZipFile(io.BytesIO(bytes(FitFiles.objects.get(fit=whole).archive))) as kept:
        assert names[0] not in kept.read("fit.json").decode()
    assert (whole.status, alone.status, waiting.status) == ("done", "failed", "cancelled")
    assert len(whole.rows) == 16
    assert not FitFiles.objects.filter(fit=alone).exists()


@pytest.mark.parametrize("how", ["only", "left_out", "alone"])
def test_a_fit_of_the_one_judge_loses_its_results(judged, ask_fit, make_fit, leave, how):
    gone, *others = judged.judge_names
    if how == "alone":
        for name in others:
            leave(name)
    judges = {"only": {"only": [gone]}, "left_out": {"left_out": others}, "alone": {}}[how]
    run = make_fit(ask_fit(judged, **judges))
    assert run.status == "done"
    leave(gone)
    run.refresh_from_db()
    assert (run.status, run.rows, run.findings, run.info) == ("failed", [], {}, {})
    assert run.said == "The only judge in this fit withdrew, so its results were removed."
    assert not FitFiles.objects.filter(fit=run).exists()


def test_a_fit_that_describes_every_judge_loses_its_results(judged, ask_fit, make_fit, leave, clients):
    gone, *_ = judged.judge_names
    run = make_fit(
        ask_fit(judged, FitSettings(judges="differ", chains=2, warmup=5, draws=20, seed=1, as_in_paper=True))
    )
    assert gone in open_fit(run).judges
    leave(gone)
    run.refresh_from_db()
    assert (run.status, run.rows, run.findings, run.info) == ("failed", [], {}, {})
    assert run.said.startswith("A judge in this fit withdrew. The fit describes every judge")
    assert not FitFiles.objects.filter(fit=run).exists()
    page = clients["owner"].get(f"/studies/{judged.slug}/fits/1/progress").text
    assert (run.label, "notice error" in page, "Fit again" in page) == ("removed", False, True), "it did not fail"


def test_a_fit_of_another_judge_alone_is_left_alone(judged, ask_fit, make_fit, leave):
    gone, stays, _ = judged.judge_names
    run = make_fit(ask_fit(judged, only=[stays]))
    leave(gone)
    run.refresh_from_db()
    assert run.status == "done"
    assert FitFiles.objects.filter(fit=run).exists()


def test_two_judges_who_withdraw_while_the_fit_is_made(judged, ask_fit, make_fit):
    gone = judged.judge_names[:2]
    run = make_fit(ask_fit(judged))
    data = load_comparisons(judged)
    run.findings["judges"] = [{"judge": name} for name in judged.judge_names]
    FitRun.objects.filter(pk=run.pk).update(findings=run.findings)
    Judge.objects.filter(name__in=gone).update(withdrawn_at=run.finished_at)
    list(explain(run, open_fit(run), data))
    run.refresh_from_db()
    assert run.findings["judges"] == [{"judge": judged.judge_names[2]}]


def test_the_only_judge_withdraws_while_the_fit_is_explained(judged, ask_fit, make_fit, leave, monkeypatch):
    gone = judged.judge_names[0]
    run = make_fit(ask_fit(judged, only=[gone]))
    fit, data = open_fit(run), load_comparisons(judged).only({gone})

    def find(subject):
        leave(gone)
        FitRun.objects.filter(pk=run.pk).update(findings={"areas": [1, 2]})

    monkeypatch.setattr(running, "steps", lambda fit: [("figures", find)])
    list(explain(run, fit, data))
    run.refresh_from_db()
    assert (run.status, run.rows, run.findings, run.info) == ("failed", [], {}, {})
    assert not run.pictures.exists()


def test_a_worker_that_dies_before_it_forgets(judged, ask_fit, make_fit):
    gone = judged.judge_names[0]
    run = make_fit(ask_fit(judged))
    Judge.objects.filter(name=gone).update(withdrawn_at=run.finished_at)
    silent = timezone.now() - 2 * SILENCE
    FitRun.objects.filter(pk=run.pk).update(findings={"judges": [{"judge": gone}]}, explained_at=None, heard_at=silent)
    FitRun.mark_lost()
    run.refresh_from_db()
    assert (run.status, run.findings) == ("done", {"judges": []})
    assert run.explained_at is not None, "what nobody makes any more is not waited for"
    assert "may be missing" in run.log


def test_an_answer_that_came_after_the_fit_began(judged, ask_fit, make_fit, leave):
    gone = judged.judge_names[0]
    run = make_fit(ask_fit(judged))
    first = Answer.objects.filter(pair__judge=gone).earliest("answered_at").answered_at
    FitRun.objects.filter(pk=run.pk).update(
        findings={"judges": [{"judge": gone}]}, started_at=first - timedelta(seconds=1)
    )
    leave(gone)
    assert gone not in everything(run)


def test_a_judge_without_answers_changes_nothing(judged, ask_fit, make_fit, leave, visit):
    run = make_fit(ask_fit(judged))
    before = FitRun.objects.values().get(pk=run.pk)
    leave(visit(of=judged).name)
    assert FitRun.objects.values().get(pk=run.pk) == before


def test_a_fit_says_that_answers_it_counts_were_withdrawn_since(judged, ask_fit, make_fit, leave, clients):
    """The map, the list, the files and the briefing went on as if nothing had happened, and the archive failed."""
    run, other = make_fit(ask_fit(judged)), make_fit(ask_fit(judged, left_out=judged.judge_names[:1]))
    FitFiles.objects.update(briefing="<p>Briefing</p><!--byline--><!--/byline-->")
    Imprint.objects.create(study=judged, next_steps="Visit.")
    leave(judged.judge_names[0])
    owner, here = clients["owner"], f"/studies/{judged.slug}/fits/"
    for page in ("", "1/map", "1/checks", "1/files"):
        assert 'class="notice warn withdrawn"' in owner.get(here + page).text, page
    assert "download/replication" not in owner.get(f"{here}1/files").text
    assert "have withdrawn since" in owner.get(f"{here}1/briefing").text
    assert 'class="notice warn withdrawn"' not in owner.get(f"{here}2/map").text, "it left that judge out"
    run.refresh_from_db()
    other.refresh_from_db()
    assert (run.withdrawn, other.withdrawn) == (1, 0)
